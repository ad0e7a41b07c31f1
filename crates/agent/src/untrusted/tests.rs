use super::*;
use rustix::fs::mknodat;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::{Duration, Instant};

const MOST: u64 = 100;

/// A trusted folder with `slot/status` in it.
fn slot(text: &str) -> tempfile::TempDir {
    let base = tempfile::tempdir().unwrap();
    std::fs::create_dir(base.path().join("slot")).unwrap();
    std::fs::write(base.path().join("slot/status"), text).unwrap();
    base
}

/// Reads `slot/status` on a thread of its own, so that a read that blocks fails the test instead of hanging it.
fn read_status(base: &Path) -> Result<Vec<u8>, ErrorKind> {
    let base = base.to_owned();
    let (done, result) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let _ = done.send(read(&base, Path::new("slot/status"), Owners::ours(), MOST));
    });
    let result = result.recv_timeout(Duration::from_secs(20)).expect("the read blocks");
    result.map_err(|error| error.kind())
}

fn make_fifo(path: &Path) {
    mknodat(CWD, path, rustix::fs::FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
}

#[test]
fn a_plain_file_is_read() {
    assert_eq!(read_status(slot("hello").path()).unwrap(), b"hello");
    assert_eq!(read_status(slot("").path()).unwrap(), b"");
}

#[test]
fn a_missing_file_or_folder_is_not_found() {
    let base = slot("");
    std::fs::remove_file(base.path().join("slot/status")).unwrap();
    assert_eq!(read_status(base.path()), Err(ErrorKind::NotFound));
    std::fs::remove_dir(base.path().join("slot")).unwrap();
    assert_eq!(read_status(base.path()), Err(ErrorKind::NotFound));
}

#[test]
fn a_link_is_refused_wherever_it_leads() {
    for target in ["other", "/etc/passwd", "nowhere", "status"] {
        let base = slot("");
        let status = base.path().join("slot/status");
        std::fs::write(base.path().join("slot/other"), "secret").unwrap();
        std::fs::remove_file(&status).unwrap();
        symlink(target, &status).unwrap();
        assert_eq!(read_status(base.path()), Err(ErrorKind::InvalidData), "{target}");
    }
}

#[test]
fn a_link_in_the_place_of_a_parent_is_refused() {
    let base = slot("secret");
    std::fs::rename(base.path().join("slot"), base.path().join("moved")).unwrap();
    symlink("moved", base.path().join("slot")).unwrap();
    assert_eq!(read_status(base.path()), Err(ErrorKind::InvalidData));
}

#[test]
fn a_file_in_the_place_of_a_parent_is_refused() {
    let base = tempfile::tempdir().unwrap();
    std::fs::write(base.path().join("slot"), "").unwrap();
    assert_eq!(read_status(base.path()), Err(ErrorKind::InvalidData));
}

#[test]
fn the_trusted_folder_itself_may_be_a_link() {
    let base = slot("hello");
    let outside = tempfile::tempdir().unwrap();
    let link = outside.path().join("base");
    symlink(base.path(), &link).unwrap();
    assert_eq!(read_status(&link).unwrap(), b"hello");
}

#[test]
fn what_is_not_a_regular_file_is_refused_at_once() {
    let base = slot("");
    let status = base.path().join("slot/status");
    std::fs::remove_file(&status).unwrap();
    make_fifo(&status);
    assert_eq!(read_status(base.path()), Err(ErrorKind::InvalidData), "FIFO");
    std::fs::remove_file(&status).unwrap();
    std::fs::create_dir(&status).unwrap();
    assert_eq!(read_status(base.path()), Err(ErrorKind::InvalidData), "directory");
    std::fs::remove_dir(&status).unwrap();
    let _listener = std::os::unix::net::UnixListener::bind(&status).unwrap();
    assert_eq!(read_status(base.path()), Err(ErrorKind::InvalidData), "socket");
}

#[test]
fn a_file_of_another_user_is_refused() {
    let base = slot("hello");
    let other = rustix::process::geteuid().as_raw() + 1;
    let read = |owners| read(base.path(), Path::new("slot/status"), owners, MOST);
    assert_eq!(read(Owners::only(other)).unwrap_err().kind(), ErrorKind::InvalidData);
    assert_eq!(read(Owners::ours_or(other)).unwrap(), b"hello");
}

#[test]
fn a_file_with_a_second_name_is_refused() {
    let base = slot("hello");
    let second = base.path().join("second");
    std::fs::hard_link(base.path().join("slot/status"), &second).unwrap();
    assert_eq!(read_status(base.path()), Err(ErrorKind::InvalidData));
    std::fs::remove_file(second).unwrap();
    assert_eq!(read_status(base.path()).unwrap(), b"hello");
}

#[test]
fn a_file_is_read_whole_or_not_at_all() {
    assert_eq!(read_status(slot(&"x".repeat(100)).path()).unwrap().len(), 100);
    assert_eq!(read_status(slot(&"x".repeat(101)).path()), Err(ErrorKind::InvalidData));
}

#[test]
fn a_sparse_file_of_terabytes_is_refused_without_reading_it() {
    let base = slot("");
    let status = File::options().write(true).open(base.path().join("slot/status")).unwrap();
    status.set_len(1 << 42).unwrap();
    let begin = Instant::now();
    assert_eq!(read_status(base.path()), Err(ErrorKind::InvalidData));
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
}

#[test]
fn a_file_that_grows_while_it_is_read_stays_within_the_bound() {
    let base = slot("short");
    let name = Path::new("slot/status");
    let opened = open(base.path(), name, Owners::ours()).unwrap();
    let mut writer = File::options().append(true).open(base.path().join(name)).unwrap();
    writer.write_all(&[b'x'; 1000]).unwrap();
    assert_eq!(read_at_most(opened, name, MOST).unwrap_err().kind(), ErrorKind::InvalidData);
    // One that never ends, as a file does that is written faster than it is read.
    assert_eq!(read_at_most(std::io::repeat(b'x'), name, MOST).unwrap_err().kind(), ErrorKind::InvalidData);
}

#[test]
fn a_file_that_cannot_be_read_is_an_error_and_no_answer() {
    let base = slot("hello");
    let status = base.path().join("slot/status");
    std::fs::set_permissions(&status, std::fs::Permissions::from_mode(0o0)).unwrap();
    match read_status(base.path()) {
        // Root may read everything.
        Ok(bytes) => assert!(bytes == b"hello" && rustix::process::geteuid().is_root()),
        Err(kind) => assert_eq!(kind, ErrorKind::PermissionDenied),
    }
}

#[test]
fn names_that_leave_the_folder_are_refused() {
    let base = slot("hello");
    for name in ["", "/etc/passwd", "slot/../../x", "../x", "./slot/status", "."] {
        let error = read(base.path(), Path::new(name), Owners::ours(), MOST).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{name}");
    }
}

#[test]
fn a_file_is_written_over_whatever_is_no_folder() {
    let base = slot("old");
    let (name, status) = (Path::new("slot/status"), base.path().join("slot/status"));
    let other = base.path().join("slot/other");
    std::fs::write(&other, "untouched").unwrap();
    let replace_by: [fn(&Path); 4] = [
        |_| (),
        |path| symlink("other", path).unwrap(),
        make_fifo,
        |path| std::fs::hard_link(path.with_file_name("other"), path).unwrap(),
    ];
    for replace in replace_by {
        std::fs::remove_file(&status).unwrap();
        replace(&status);
        write(base.path(), name, b"new").unwrap();
        assert_eq!(read(base.path(), name, Owners::ours(), MOST).unwrap(), b"new");
        assert_eq!(std::fs::read(&other).unwrap(), b"untouched");
        assert_eq!(std::fs::metadata(&status).unwrap().permissions().mode() & 0o777, 0o600);
    }
    std::fs::remove_file(&status).unwrap();
    std::fs::create_dir(&status).unwrap();
    assert!(write(base.path(), name, b"new").is_err());
    assert_eq!(std::fs::read_dir(base.path().join("slot")).unwrap().count(), 2, "nothing is left beside it");
}

#[test]
fn what_is_planted_beside_a_file_is_not_written_to() {
    let base = slot("old");
    let secret = base.path().join("secret");
    std::fs::write(&secret, "untouched").unwrap();
    symlink(&secret, base.path().join("slot/.status.0")).unwrap();
    write(base.path(), Path::new("slot/status"), b"new").unwrap();
    std::fs::create_dir(base.path().join("slot/.status.0")).unwrap();
    write(base.path(), Path::new("slot/status"), b"newer").unwrap();
    assert_eq!(read_status(base.path()).unwrap(), b"newer");
    assert_eq!(std::fs::read(&secret).unwrap(), b"untouched");
}

#[test]
fn records_are_appended_to_regular_files_only() {
    let base = slot("old");
    let (name, status) = (Path::new("slot/status"), base.path().join("slot/status"));
    append(base.path(), name, Owners::ours()).unwrap().write_all(b" new").unwrap();
    assert_eq!(read_status(base.path()).unwrap(), b"old new");
    let refused = || append(base.path(), name, Owners::ours()).unwrap_err().kind();
    std::fs::remove_file(&status).unwrap();
    symlink("/etc/passwd", &status).unwrap();
    assert_eq!(refused(), ErrorKind::InvalidData);
    std::fs::remove_file(&status).unwrap();
    make_fifo(&status);
    assert_eq!(refused(), ErrorKind::InvalidData);
    std::fs::remove_file(&status).unwrap();
    std::fs::create_dir(&status).unwrap();
    assert_eq!(refused(), ErrorKind::InvalidData);
}

#[test]
fn a_folder_is_made_once_and_never_through_a_link() {
    let base = slot("");
    let make = |name: &str| make_folder(base.path(), Path::new(name)).map_err(|error| error.kind());
    assert_eq!(make("new"), Ok(true));
    assert_eq!(make("new"), Ok(false));
    symlink("new", base.path().join("link")).unwrap();
    assert_eq!(make("link"), Err(ErrorKind::InvalidData));
    assert_eq!(make("link/inside"), Err(ErrorKind::InvalidData));
    assert_eq!(make("slot/status"), Err(ErrorKind::InvalidData));
}

#[test]
fn a_tree_is_removed_and_links_in_it_are_not_followed() {
    let base = slot("");
    let (kept, inside) = (base.path().join("kept"), base.path().join("slot/a/b"));
    std::fs::create_dir(&kept).unwrap();
    std::fs::write(kept.join("file"), "").unwrap();
    std::fs::create_dir_all(&inside).unwrap();
    symlink(&kept, inside.join("link")).unwrap();
    make_fifo(&inside.join("fifo"));
    std::fs::set_permissions(&inside, std::fs::Permissions::from_mode(0o0)).unwrap();
    assert!(remove(base.path(), Path::new("slot"), &mut 100).unwrap());
    assert!(remove(base.path(), Path::new("slot"), &mut 0).unwrap(), "it is gone");
    assert!(kept.join("file").exists() && !base.path().join("slot").exists());
    symlink(&kept, base.path().join("slot")).unwrap();
    assert!(remove(base.path(), Path::new("slot"), &mut 0).unwrap());
    assert!(kept.join("file").exists() && !base.path().join("slot").exists());
}

#[test]
fn a_removal_keeps_to_its_budget_and_goes_on() {
    let base = slot("");
    for number in 0..50 {
        std::fs::write(base.path().join(format!("slot/{number}")), "").unwrap();
    }
    let mut turns = 0;
    while !remove(base.path(), Path::new("slot"), &mut 10).unwrap() {
        turns += 1;
    }
    assert!((5..=6).contains(&turns), "{turns}");
}

#[test]
fn folders_nested_deeper_than_a_stack_is_high_are_removed() {
    let base = slot("");
    let mut folder = rustix::fs::open(base.path().join("slot"), OFlags::DIRECTORY, Mode::empty()).unwrap();
    for _ in 0..1_000 {
        rustix::fs::mkdirat(&folder, "d", Mode::from_raw_mode(0o700)).unwrap();
        folder = openat(&folder, "d", OFlags::DIRECTORY, Mode::empty()).unwrap();
    }
    drop(folder);
    let removed = std::thread::Builder::new().stack_size(32 << 10).spawn(move || {
        while !remove(base.path(), Path::new("slot"), &mut 1000).unwrap() {}
        assert!(!base.path().join("slot").exists());
    });
    removed.unwrap().join().unwrap();
}

#[test]
fn a_folder_is_listed_up_to_a_bound() {
    let base = slot("");
    std::fs::write(base.path().join("slot/other"), "").unwrap();
    let mut names = list(base.path(), Path::new("slot"), 10).unwrap();
    names.sort();
    assert_eq!(names, ["other", "status"]);
    assert_eq!(list(base.path(), Path::new("slot"), 1).unwrap().len(), 1);
    assert_eq!(list(base.path(), Path::new("slot/status"), 1).unwrap_err().kind(), ErrorKind::InvalidData);
}
