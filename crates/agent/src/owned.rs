//! Folders and files that no other user can write, replace or plant something in.
//!
//! For: data directories, configuration folders and shared folders. Whoever can write there decides what runs as us.
//! Promises: [`require`] accepts a folder only if it belongs to the effective user, is writable by that user alone, and
//! cannot be swapped for another one: every folder above it belongs to this user or to root, and is closed to others or
//! sticky. What [`open`] returns is a regular file of ours that was not reached through a link.
//! Never: follows a link of another user; changes modes by path, only by descriptor.
//!
//! Access lists need no look of their own: the kernel shows what they grant in the group bits of the mode.

use rustix::fs::{Mode, OFlags};
use rustix::process::geteuid;
use std::fmt;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Why a folder or a file is not used.
#[derive(Debug)]
pub enum Refused {
    /// Another user owns it, or could change or replace it.
    Unsafe {
        /// The folder or file that was asked about.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
        /// What would help.
        remedy: String,
    },
    /// It cannot be looked at or opened.
    Io {
        /// The folder or file that was asked about.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
}

impl Refused {
    fn new(path: &Path, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Refused::Unsafe { path: path.into(), what: what.into(), remedy: remedy.into() }
    }

    fn io(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |error| Refused::Io { path: path.into(), error }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::Unsafe { path, what, remedy } => write!(f, "{} {what}; {remedy}", path.display()),
            Refused::Io { path, error } => write!(f, "{}: {error}", path.display()),
        }
    }
}

impl std::error::Error for Refused {}

/// Bits of a mode that let others than the owner write.
const OTHERS_WRITE: u32 = 0o022;
/// The bit of a folder in which only owners may rename and delete.
const STICKY: u32 = 0o1000;

/// Accepts an existing folder that only this user can write and that no other user can replace.
pub fn require(path: &Path) -> Result<(), Refused> {
    resolve(path).map(drop)
}

/// Makes a folder, and those above it, with mode 0700 where they are missing; then the same as [`require`]. Returns the
/// path without links.
pub fn make(path: &Path) -> Result<PathBuf, Refused> {
    match fs::DirBuilder::new().recursive(true).mode(0o700).create(path) {
        Err(error) => Err(Refused::Io { path: path.into(), error }),
        Ok(()) => resolve(path),
    }
}

fn resolve(path: &Path) -> Result<PathBuf, Refused> {
    let us = geteuid().as_raw();
    let absolute = std::path::absolute(path).map_err(Refused::io(path))?;
    for part in absolute.ancestors() {
        let found = fs::symlink_metadata(part).map_err(Refused::io(path))?;
        if found.is_symlink() && ![0, us].contains(&found.uid()) {
            let what =
                format!("leads through the link {}, which belongs to {}", part.display(), user(found.uid()));
            return Err(Refused::new(path, what, "remove that link, or choose another folder"));
        }
    }
    let whole = absolute.canonicalize().map_err(Refused::io(path))?;
    judge(path, &fs::symlink_metadata(&whole).map_err(Refused::io(path))?, us)?;
    for above in whole.ancestors().skip(1) {
        judge_above(path, above, &fs::symlink_metadata(above).map_err(Refused::io(path))?, us)?;
    }
    Ok(whole)
}

/// Judges the folder itself.
fn judge(path: &Path, found: &Metadata, us: u32) -> Result<(), Refused> {
    if !found.is_dir() {
        return Err(Refused::new(path, "is not a folder", "choose another one"));
    }
    if found.uid() != us {
        let what = format!("belongs to {}, and this is {}", user(found.uid()), user(us));
        return Err(Refused::new(path, what, "run as its owner, or choose a folder of your own"));
    }
    if found.mode() & OTHERS_WRITE != 0 {
        let what = format!("can be written by other users (mode {:04o})", found.mode() & 0o7777);
        let remedy = "check its contents, then fix it with `chmod go-w`, or choose another folder";
        return Err(Refused::new(path, what, remedy));
    }
    Ok(())
}

/// Judges a folder above: those who can write it can put another one in the place of ours.
fn judge_above(path: &Path, above: &Path, found: &Metadata, us: u32) -> Result<(), Refused> {
    if ![0, us].contains(&found.uid()) {
        let what = format!("can be replaced by {}, the owner of {}", user(found.uid()), above.display());
        return Err(Refused::new(path, what, "run as that user, or choose another folder"));
    }
    if found.mode() & OTHERS_WRITE != 0 && found.mode() & STICKY == 0 {
        let mode = found.mode() & 0o7777;
        let what =
            format!("can be replaced by other users, who can write {} (mode {mode:04o})", above.display());
        return Err(Refused::new(path, what, "fix it with `chmod go-w`, or choose another folder"));
    }
    Ok(())
}

/// Opens a file with these options and mode 0600. It must be a regular file of this user, with one name, and is never
/// reached through a link in the last part of its path; the folder is the caller's to [`require`].
pub fn open(path: &Path, options: &mut OpenOptions) -> Result<File, Refused> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let opened = options.mode(0o600).custom_flags(flags.bits() as i32).open(path);
    let file = match opened {
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
            return Err(Refused::new(path, "is a link", "remove it"));
        }
        other => other.map_err(Refused::io(path))?,
    };
    judge_file(path, &file.metadata().map_err(Refused::io(path))?)?;
    Ok(file)
}

/// Reads a file that [`open`] accepts, and is not longer than this. Never waits for another process, as reading a pipe would.
pub fn read(path: &Path, most: u64) -> Result<Vec<u8>, Refused> {
    read_from(path, open(path, OpenOptions::new().read(true))?, most)
}

/// Reads a file that the user named: any owner and links are accepted, but it must be a regular file.
pub fn read_named(path: &Path, most: u64) -> Result<Vec<u8>, Refused> {
    read_from(path, open_named(path)?, most)
}

/// Opens a regular file of any owner for reading.
pub fn open_named(path: &Path) -> Result<File, Refused> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let opened = OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(path);
    let file = opened.map_err(Refused::io(path))?;
    match file.metadata().map_err(Refused::io(path))?.is_file() {
        true => Ok(file),
        false => Err(Refused::new(path, "is not a regular file", "give another one")),
    }
}

fn read_from(path: &Path, file: File, most: u64) -> Result<Vec<u8>, Refused> {
    let mut bytes = vec![];
    file.take(most + 1).read_to_end(&mut bytes).map_err(Refused::io(path))?;
    match bytes.len() as u64 > most {
        true => Err(Refused::new(path, format!("has more than {most} bytes"), "check where it comes from")),
        false => Ok(bytes),
    }
}

/// Judges a file that another library opens by its path: absent, or what [`open`] would accept.
pub fn require_file(path: &Path) -> Result<(), Refused> {
    match fs::symlink_metadata(path) {
        Ok(found) => judge_file(path, &found),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(Refused::Io { path: path.into(), error }),
    }
}

fn judge_file(path: &Path, found: &Metadata) -> Result<(), Refused> {
    let us = geteuid().as_raw();
    let remedy = "check where it comes from, then remove it";
    match found.file_type() {
        kind if kind.is_symlink() => Err(Refused::new(path, "is a link", remedy)),
        kind if !kind.is_file() => Err(Refused::new(path, "is not a regular file", remedy)),
        _ if found.uid() != us => {
            let what = format!("belongs to {}, and this is {}", user(found.uid()), user(us));
            Err(Refused::new(path, what, "check where it comes from, then remove it or run as its owner"))
        }
        _ if found.nlink() != 1 => Err(Refused::new(path, "has another hard link", remedy)),
        _ => Ok(()),
    }
}

/// Closes an open file to everybody but its owner, and says whether others could read or write it before.
pub fn close_to_others(file: &File) -> io::Result<bool> {
    let was_open = file.metadata()?.mode() & 0o077 != 0;
    if was_open {
        rustix::fs::fchmod(file, Mode::RUSR | Mode::WUSR)?;
    }
    Ok(was_open)
}

/// A user as people know it: `alice (uid 1000)`, or the number alone where `/etc/passwd` does not have it.
pub fn user(uid: u32) -> String {
    let known = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let mut names = known.lines().filter_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(uid)).then_some(name)
    });
    names.next().map_or_else(|| format!("uid {uid}"), |name| format!("{name} (uid {uid})"))
}

/// `HOME`, `LOGNAME`, `SHELL` and `USER` of the user that this process runs as; nothing where `/etc/passwd` does not have it.
pub fn login() -> Vec<(String, String)> {
    let known = fs::read_to_string("/etc/passwd").unwrap_or_default();
    login_in(&known, rustix::process::geteuid().as_raw())
}

fn login_in(passwd: &str, uid: u32) -> Vec<(String, String)> {
    let entries = passwd.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let mut mine = entries.filter(|fields| fields.len() >= 7 && fields[2].parse() == Ok(uid));
    let Some(fields) = mine.next() else { return vec![] };
    let pairs = [("HOME", fields[5]), ("LOGNAME", fields[0]), ("SHELL", fields[6]), ("USER", fields[0])];
    let said = pairs.into_iter().filter(|(_, text)| !text.is_empty());
    said.map(|(name, text)| (name.to_owned(), text.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_users_says_where_home_is() {
        let passwd = "root:x:0:0:root:/root:/bin/bash\nbroken\nada:x:1000:1000::/srv/ada:\n";
        let pair = |name: &str, text: &str| (name.to_owned(), text.to_owned());
        let ada = [pair("HOME", "/srv/ada"), pair("LOGNAME", "ada"), pair("USER", "ada")];
        assert_eq!(login_in(passwd, 1000), ada);
        assert_eq!(login_in(passwd, 7), []);
    }
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    fn mode(path: &Path, mode: u32) {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    fn refusal(path: &Path) -> String {
        require(path).expect_err("refused").to_string()
    }

    #[test]
    fn folders_that_others_can_write_or_replace_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("above/folder");
        make(&folder).unwrap();
        require(&folder).unwrap();
        for open in [0o770, 0o707, 0o1777] {
            mode(&folder, open);
            assert!(refusal(&folder).contains("chmod go-w"), "{open:o}");
        }
        mode(&folder, 0o755);
        mode(&dir.path().join("above"), 0o777);
        assert!(refusal(&folder).contains("can be replaced by other users"));
        mode(&dir.path().join("above"), 0o1777);
        require(&folder).unwrap();
    }

    #[test]
    fn folders_and_links_of_another_user_are_refused() {
        if !geteuid().is_root() {
            eprintln!(
                "skipped: folders_and_links_of_another_user_are_refused needs root, to make folders of others"
            );
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let (folder, inside) = (dir.path().join("theirs"), dir.path().join("theirs/ours"));
        make(&inside).unwrap();
        chown(&folder, Some(65534), None).unwrap();
        assert!(refusal(&folder).contains("uid 65534"), "{}", refusal(&folder));
        assert!(refusal(&inside).contains("can be replaced by"), "{}", refusal(&inside));
        let (ours, link) = (dir.path().join("ours"), dir.path().join("link"));
        make(&ours).unwrap();
        symlink(&ours, &link).unwrap();
        require(&link).unwrap();
        std::os::unix::fs::lchown(&link, Some(65534), None).unwrap();
        assert!(refusal(&link).contains("leads through the link"), "{}", refusal(&link));
    }

    #[test]
    fn only_plain_files_of_ours_are_opened() {
        let dir = tempfile::tempdir().unwrap();
        let (file, link, other) =
            (dir.path().join("file"), dir.path().join("link"), dir.path().join("other"));
        let made = open(&file, OpenOptions::new().write(true).create(true)).unwrap();
        assert!(!close_to_others(&made).unwrap());
        mode(&file, 0o644);
        assert!(close_to_others(&made).unwrap());
        assert_eq!(made.metadata().unwrap().mode() & 0o777, 0o600);
        symlink(&file, &link).unwrap();
        let said = |path: &Path| open(path, OpenOptions::new().read(true)).expect_err("refused").to_string();
        assert!(said(&link).contains("is a link"), "{}", said(&link));
        assert!(require_file(&link).unwrap_err().to_string().contains("is a link"));
        assert!(said(dir.path()).contains("is not a regular file"), "{}", said(dir.path()));
        fs::hard_link(&file, &other).unwrap();
        assert!(said(&file).contains("another hard link"), "{}", said(&file));
        require_file(&dir.path().join("absent")).unwrap();
    }

    #[test]
    fn reading_neither_waits_nor_goes_on_for_ever() {
        let dir = tempfile::tempdir().unwrap();
        let (file, pipe, link) = (dir.path().join("file"), dir.path().join("pipe"), dir.path().join("link"));
        fs::write(&file, "four").unwrap();
        assert_eq!(
            (read(&file, 4).unwrap(), read_named(&file, 4).unwrap()),
            (b"four".into(), b"four".into())
        );
        assert!(read(&file, 3).unwrap_err().to_string().contains("has more than 3 bytes"));
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, Mode::RWXU).unwrap();
        symlink(&file, &link).unwrap();
        for refused in [read(&pipe, 4), read_named(&pipe, 4)] {
            assert!(refused.unwrap_err().to_string().contains("is not a regular file"));
        }
        assert!(read(&link, 4).unwrap_err().to_string().contains("is a link"));
        assert_eq!(read_named(&link, 4).unwrap(), b"four");
    }
}
