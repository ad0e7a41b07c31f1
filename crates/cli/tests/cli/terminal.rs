//! How it looks: width and colours.

use super::*;

fn shown(line: &str, settings: &[(&str, &str)]) -> String {
    let folder = Folder::with_inputs();
    Ran::of(folder.command(line).envs(settings.iter().copied()).output().unwrap()).done().out
}

#[test]
fn a_narrow_screen_loses_columns_and_says_which() {
    let narrow = shown("compare --jobs 200", &[("COLUMNS", "60")]);
    let widest = narrow.lines().map(|line| line.chars().count()).max().unwrap();
    // The lines that name commands are not cut: somebody wants to copy them.
    assert!(widest <= 80, "{narrow}");
    assert!(narrow.lines().take(15).all(|line| line.chars().count() <= 60), "{narrow}");
    assert!(narrow.contains("Left out: ") && narrow.contains("avg JCT"), "{narrow}");
    let wide = shown("compare --jobs 200", &[("COLUMNS", "200")]);
    assert!(!wide.contains("Left out: ") && wide.contains("makespan"), "{wide}");
}

#[test]
fn sentences_are_wrapped_not_cut() {
    let narrow = shown("policies", &[("COLUMNS", "50")]);
    assert!(narrow.lines().take(15).all(|line| line.chars().count() <= 50), "{narrow}");
    assert!(!narrow.contains('…'), "{narrow}");
    let line = "simulate --cluster cluster.yaml --workload jobs.yaml --policy las";
    let narrow = shown(line, &[("COLUMNS", "50")]);
    assert!(narrow.lines().all(|line| line.chars().count() <= 50) && !narrow.contains('…'), "{narrow}");
}

#[test]
fn odd_widths_do_no_harm() {
    for width in ["0", "1", "-5", "many", "99999999999999999999", ""] {
        for line in ["compare --jobs 20", "policies", "simulate --help"] {
            shown(line, &[("COLUMNS", width)]);
        }
    }
}

#[test]
fn colours_only_where_they_are_wanted() {
    let forced = shown("compare --jobs 200", &[("CLICOLOR_FORCE", "1")]);
    assert!(forced.contains("\u{1b}[1m") && !forced.contains('*'), "{forced}");
    let refused = shown("compare --jobs 200", &[("NO_COLOR", "1")]);
    assert!(!refused.contains('\u{1b}') && refused.contains('*'), "{refused}");
}
