use super::*;
use std::fs;
use std::io::Write;
use std::path::Path;

fn place(path: &Path) -> Place {
    let (base, name) = (path.parent().unwrap_or(path), path.file_name().unwrap_or_default());
    Place { base: base.into(), name: name.into(), owners: Owners::ours() }
}

fn all(tail: &mut Tail) -> String {
    let mut text = vec![];
    while let Some(piece) = tail.read() {
        text.extend(piece.bytes);
    }
    String::from_utf8(text).unwrap()
}

#[test]
fn what_is_written_just_before_a_file_is_put_aside_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.log");
    let aside = |number: u32| dir.path().join(format!("x.log.{number}"));
    fs::write(&path, "a").unwrap();
    let mut tail = Tail::new(place(&path), true, None);
    assert_eq!(all(&mut tail), "a");
    fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"b").unwrap();
    fs::rename(&path, aside(1)).unwrap();
    assert_eq!(all(&mut tail), "b"); // nothing younger yet
    fs::write(&path, "c").unwrap();
    fs::rename(aside(1), aside(2)).unwrap();
    fs::rename(&path, aside(1)).unwrap();
    fs::write(&path, "d").unwrap();
    assert_eq!(all(&mut tail), "cd");
}

#[test]
fn a_gap_in_the_numbers_hides_nothing() {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in
        [("x.log.3", "a"), ("x.log.2", "b"), ("x.log", "c"), ("x.log.old", "no"), ("y.log.1", "no")]
    {
        fs::write(dir.path().join(name), text).unwrap();
    }
    assert_eq!(all(&mut Tail::new(place(&dir.path().join("x.log")), false, None)), "abc");
}

#[test]
fn the_last_lines_are_found_from_the_end() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.log");
    let long = "l".repeat(PIECE + 7) + "\n";
    fs::write(dir.path().join("x.log.2"), "a\nb\n").unwrap();
    fs::write(dir.path().join("x.log.1"), format!("c\n{long}d")).unwrap();
    fs::write(&path, "d\ne\nf").unwrap();
    let last = |lines: u64| all(&mut Tail::new(place(&path), false, Some(lines)));
    assert_eq!(["", "f", "e\nf", "dd\ne\nf"], [0, 1, 2, 3].map(last).each_ref().map(String::as_str));
    assert_eq!(last(4), format!("{long}dd\ne\nf"));
    assert_eq!(last(6), format!("b\nc\n{long}dd\ne\nf"));
    assert_eq!(last(7), last(700));
    assert!(last(7).starts_with("a\nb\n"));
    fs::write(&path, "d\ne\nf\n").unwrap();
    assert_eq!(last(1), "f\n");
    // Files that are left out are named, so that a reader knows them when it comes back.
    let mut tail = Tail::new(place(&path), true, Some(1));
    let pieces: Vec<Piece> = std::iter::from_fn(|| tail.read()).collect();
    let shown: Vec<(u64, usize)> = pieces.iter().map(|piece| (piece.at, piece.bytes.len())).collect();
    assert_eq!(shown, [(0, 0), (0, 0), (4, 2)]);
}

#[test]
fn one_that_was_closed_goes_on_where_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.log");
    fs::write(&path, "ab").unwrap();
    let mut tail = Tail::new(place(&path), true, None);
    assert_eq!(all(&mut tail), "ab");
    tail.close();
    fs::rename(&path, dir.path().join("x.log.1")).unwrap();
    fs::write(&path, "c").unwrap();
    assert_eq!(all(&mut tail), "c");
}

#[test]
fn only_regular_files_are_read() {
    for path in ["/dev/zero", "/dev/null", "/dev"] {
        let said = all(&mut Tail::new(place(Path::new(path)), true, None));
        assert!(said.ends_with("is not a regular file, not read\n"), "{path}: {said}");
    }
}

#[test]
fn a_job_cannot_have_files_read_that_are_not_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    fs::create_dir(path("secrets")).unwrap();
    fs::write(path("secrets/x.log"), "secret").unwrap();
    let read = |name: &str, owners: Owners| {
        let place = || Place { base: dir.path().into(), name: name.into(), owners };
        [true, false].map(|follow| all(&mut Tail::new(place(), follow, None))).concat()
    };
    // A link in the place of the log, and in the place of the folder it lies in.
    std::os::unix::fs::symlink(path("secrets/x.log"), path("x.log")).unwrap();
    std::os::unix::fs::symlink(path("secrets"), path("12")).unwrap();
    for name in ["x.log", "12/x.log"] {
        let said = read(name, Owners::ours());
        assert!(!said.contains("secret\n") && !said.starts_with("secret"), "{name}: {said}");
        assert!(said.contains(", not read"), "{name}: {said}");
    }
    // A file of the daemon's, named by a job that runs as another user.
    let said = read("secrets/x.log", Owners::only(rustix::process::geteuid().as_raw() + 1));
    assert!(said.contains("belongs to user") && said.contains(", not read"), "{said}");
    // One that was put aside.
    fs::write(path("y.log"), "new").unwrap();
    std::os::unix::fs::symlink(path("secrets/x.log"), path("y.log.1")).unwrap();
    assert_eq!(read("y.log", Owners::ours()), "newnew");
}

#[test]
fn nothing_is_lost_or_repeated_while_files_are_put_aside() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.log");
    fs::write(&path, "").unwrap();
    let (written, name) = (path.clone(), path.display().to_string());
    let writer = std::thread::spawn(move || {
        let mut file = fs::OpenOptions::new().append(true).open(&written).unwrap();
        for number in 0..4_000 {
            writeln!(file, "{number}").unwrap();
            if number % 40 == 39 {
                for aside in (1..200).rev() {
                    let _ = fs::rename(format!("{name}.{aside}"), format!("{name}.{}", aside + 1));
                }
                fs::rename(&written, format!("{name}.1")).unwrap();
                file = fs::File::create(&written).unwrap();
            }
        }
    });
    let mut tail = Tail::new(place(&path), true, None);
    let mut text = String::new();
    while !writer.is_finished() {
        text += &all(&mut tail);
    }
    text += &all(&mut tail);
    writer.join().unwrap();
    let wanted: String = (0..4_000).map(|number| format!("{number}\n")).collect();
    assert!(text == wanted, "{} of {} bytes", text.len(), wanted.len());
}
