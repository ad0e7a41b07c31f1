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
            ErrorKind::StorageFull => FREE_SPACE,
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

/// What helps where the disk is full.
pub const FREE_SPACE: &str = "free some space, then start again; jobs that run go on";

/// What helps where SQLite says no.
pub fn sqlite_remedy(error: &rusqlite::Error) -> &'static str {
    use rusqlite::ErrorCode::*;
    match error.sqlite_error_code() {
        Some(DiskFull) => FREE_SPACE,
        Some(SystemIoFailure) if error.to_string().contains("full") => FREE_SPACE,
        Some(PermissionDenied | CannotOpen | ReadOnly | AuthorizationForStatementDenied) => {
            "give this user access to it, or choose another data directory"
        }
        Some(DatabaseBusy | DatabaseLocked | FileLockingProtocolFailed) => {
            "end the other program that uses it, then try again"
        }
        Some(OutOfMemory) => "free some memory, then try again",
        _ => "check the disk it is on",
    }
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Fault::new(format!("the journal: {error}"), sqlite_remedy(&error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::ffi;

    #[test]
    fn what_sqlite_says_has_a_remedy_of_its_kind() {
        let remedy = |code| sqlite_remedy(&rusqlite::Error::SqliteFailure(ffi::Error::new(code), None));
        assert_eq!(remedy(ffi::SQLITE_FULL), FREE_SPACE);
        assert!(remedy(ffi::SQLITE_CANTOPEN).contains("give this user access"));
        assert!(remedy(ffi::SQLITE_READONLY).contains("give this user access"));
        assert!(remedy(ffi::SQLITE_BUSY).contains("end the other program"));
        assert!(remedy(ffi::SQLITE_IOERR).contains("check the disk"));
    }
}
