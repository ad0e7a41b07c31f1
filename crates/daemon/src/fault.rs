//! The outside broke: a disk, a socket, a file that is not ours. Says what, and what to do about it.

use std::fmt;

/// What broke, and the remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// What we were doing, and what happened.
    pub what: String,
    /// What would help.
    pub remedy: String,
    /// Whether it is the request that was wrong, and not the outside.
    pub is_request: bool,
}

impl Fault {
    /// Writes one.
    pub fn new(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { what: what.into(), remedy: remedy.into(), is_request: false }
    }

    /// The same, where whoever asked asked for the wrong thing.
    pub fn request(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { is_request: true, ..Self::new(what, remedy) }
    }

    /// Something about a path.
    pub fn at(path: &std::path::Path, error: &std::io::Error) -> Self {
        use std::io::ErrorKind;
        let remedy = match error.kind() {
            ErrorKind::PermissionDenied => "give this user access to it, or choose another place",
            ErrorKind::StorageFull => "free some space",
            ErrorKind::NotFound | ErrorKind::AlreadyExists | ErrorKind::NotADirectory => {
                "check the path, or choose another place"
            }
            _ => "check the disk it is on",
        };
        let is_request =
            matches!(error.kind(), ErrorKind::NotFound | ErrorKind::AlreadyExists | ErrorKind::NotADirectory);
        let what = match error.kind() {
            ErrorKind::NotFound => format!("{}: no such file or folder", path.display()),
            ErrorKind::AlreadyExists | ErrorKind::NotADirectory => {
                format!("{}: is not a folder", path.display())
            }
            _ => format!("{}: {error}", path.display()),
        };
        Self { is_request, ..Self::new(what, remedy) }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.what, self.remedy)
    }
}

impl std::error::Error for Fault {}

impl From<consort_agent::owned::Refused> for Fault {
    fn from(refused: consort_agent::owned::Refused) -> Self {
        use consort_agent::owned::Refused;
        match refused {
            Refused::Io { path, error } => Fault::at(&path, &error),
            Refused::Unsafe { path, what, remedy } => {
                Fault::new(format!("{} {what}", path.display()), remedy)
            }
        }
    }
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Fault::new(format!("the journal: {error}"), "check the disk it is on")
    }
}
