//! `consort scenario`: which files are played and what becomes of them. What a story means is tested where stories
//! are read.

use super::*;

#[test]
fn without_stories_there_is_a_sentence() {
    let folder = Folder::new();
    folder.run("scenario").refused(2, &["scenarios: no such file or folder; name files or folders"]);
    std::fs::create_dir(folder.path("scenarios")).unwrap();
    folder.write("scenarios/README.md", "not a story\n");
    folder.run("scenario").refused(2, &["scenarios: no scenario in this folder", ".txt"]);
}

#[test]
fn an_unreadable_story_is_placed_and_left_alone() {
    let folder = Folder::new();
    let text = "no story at all\n";
    folder.write("odd.txt", text);
    let ran = folder.run("scenario --bless odd.txt");
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.err.starts_with("consort: odd.txt:") && ran.out.contains("1 unreadable"), "{ran:?}");
    assert_eq!(folder.read("odd.txt"), text);
    assert_eq!(folder.names(), ["odd.txt"]);
}
