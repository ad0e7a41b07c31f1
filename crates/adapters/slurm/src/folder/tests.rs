use super::*;
use consort_types::{AskId, JobId};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::os::unix::fs::{PermissionsExt, symlink};

fn id() -> AllocationId {
    AllocationId { ask: AskId::whole(JobId(3)), attempt: 2 }
}

fn open() -> (tempfile::TempDir, Folder, PathBuf) {
    let place = tempfile::tempdir().unwrap();
    let folder = Folder::open(&place.path().join("shared"), None).unwrap();
    let run = folder.of(id());
    fs::create_dir_all(run.join("out")).unwrap();
    (place, folder, run)
}

fn fifo(path: &Path) {
    mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
}

/// Puts everything in the place of a file that a job could put there, one after the other.
fn replace(path: &Path, look: impl Fn(&str)) {
    let clear = || {
        let _ = fs::remove_dir_all(path).or_else(|_| fs::remove_file(path));
    };
    type Put = fn(&Path);
    let puts: [(&str, Put); 6] = [
        ("a FIFO", fifo),
        ("a folder", |path| fs::create_dir(path).unwrap()),
        ("a link", |path| symlink("/etc/passwd", path).unwrap()),
        ("a huge file", |path| fs::File::create(path).unwrap().set_len(6 << 30).unwrap()),
        ("garbage", |path| fs::write(path, [0xff, 0, b'\n', 0x80]).unwrap()),
        ("a link to itself", |path| symlink(path, path).unwrap()),
    ];
    for (what, put) in puts {
        clear();
        put(path);
        look(what);
    }
    clear();
}

#[test]
fn what_a_job_puts_in_the_place_of_a_file_is_no_record() {
    let (_place, folder, run) = open();
    replace(&run.join("out/ended"), |what| assert_eq!(folder.record(id()), None, "{what}"));
    replace(&run.join("id"), |what| assert_eq!(folder.noted(id()), None, "{what}"));
    replace(&run.join("intent"), |what| {
        let intent = folder.intent(id()).unwrap_or_else(|| panic!("{what}: something was intended"));
        assert_eq!(intent.secret, None, "{what}");
    });
    replace(&run.join("out/begun"), |what| assert_eq!(folder.begun(id()), what == "a folder", "{what}"));
    replace(&run.join("out/batch.log"), |what| drop((folder.said(id()), what)));
    replace(&run.join("out"), |what| {
        assert_eq!(
            (folder.record(id()), folder.said(id()), folder.begun(id())),
            (None, None, false),
            "{what}"
        );
        folder.look_closely(id());
    });
    replace(&run, |what| {
        assert_eq!((folder.record(id()), folder.noted(id())), (None, None), "{what}");
        folder.stop(id());
    });
}

/// Where jobs run as another user, they cannot change what we know of where they are.
#[test]
fn the_nodes_of_an_attempt_are_ours_to_write() {
    use std::os::unix::fs::{MetadataExt, chown};
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: the_nodes_of_an_attempt_are_ours_to_write needs root, to make files of others");
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let folder = Folder::open(&place.path().join("shared"), Some(65534)).unwrap();
    fs::create_dir_all(folder.of(id())).unwrap();
    let hosts = folder.of(id()).join("hosts");
    for _ in 0..2 {
        folder.put_hosts(id(), "n2\nn1\nn1\n").unwrap();
        let found = fs::metadata(&hosts).unwrap();
        assert_eq!((found.uid(), found.mode() & 0o777), (0, 0o644));
        assert_eq!(folder.nodes(id()), Some(vec!["n1".into(), "n2".into()]));
        chown(&hosts, Some(65534), None).unwrap();
        assert_eq!(folder.nodes(id()), None, "somebody else's word");
    }
}

#[test]
fn marker_files_that_cannot_be_removed_are_not_told_for_ever() {
    let (_place, folder, _run) = open();
    let signs = folder.shared.join("signs");
    fs::write(signs.join("3.0.0#2"), "").unwrap();
    fs::write(signs.join("nonsense"), "").unwrap();
    fifo(&signs.join("4.0.0#1"));
    fs::create_dir_all(signs.join("5.0.0#1/x")).unwrap();
    let mut told: Vec<String> = folder.signs().into_iter().map(allocation_name).collect();
    told.sort();
    assert_eq!(told, ["3.0.0#2", "4.0.0#1"]);
    assert_eq!(folder.signs(), []);
}

#[test]
fn an_intent_keeps_its_secret_and_old_ones_have_none() {
    let (_place, folder, run) = open();
    assert_eq!(folder.intent(id()), None);
    fs::write(run.join("intent"), "").unwrap();
    assert_eq!(folder.intent(id()).unwrap().secret, None, "of a daemon that knew no secrets");
    let secret = folder.intend(id()).unwrap();
    assert_eq!(folder.intent(id()).unwrap().secret.as_ref(), Some(&secret));
    assert_eq!(folder.intend(id()).unwrap(), secret, "that submission may be under way");
}

#[test]
fn folders_of_others_are_refused() {
    let place = tempfile::tempdir().unwrap();
    let shared = place.path().join("shared");
    let told = || Folder::open(&shared, None).unwrap_err().to_string();
    let set = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    fs::create_dir(&shared).unwrap();
    for mode in [0o777, 0o775, 0o757] {
        set(&shared, mode);
        assert!(
            told().contains("can be written by other users") && told().contains("--slurm-shared"),
            "{}",
            told()
        );
    }
    set(&shared, 0o755);
    Folder::open(&shared, None).unwrap();
    // Links in the place of our own folders.
    fs::remove_dir(shared.join("run")).unwrap();
    symlink("/tmp", shared.join("run")).unwrap();
    assert!(told().contains("run"), "{}", told());
    fs::remove_file(shared.join("run")).unwrap();
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(&shared, Some(65534), None).unwrap();
        assert!(told().contains("uid 65534") && told().contains("--slurm-shared"), "{}", told());
    }
}
