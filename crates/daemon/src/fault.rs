//! The outside broke: a disk, a socket, a file that is not ours. Says what, and what to do about it.

use std::fmt;

/// What broke, and the remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// What we were doing, and what happened.
    pub what: String,
    /// What would help.
    pub remedy: String,
}

impl Fault {
    /// Writes one.
    pub fn new(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { what: what.into(), remedy: remedy.into() }
    }

    /// Something about a path.
    pub fn at(path: &std::path::Path, error: &std::io::Error) -> Self {
        use std::io::ErrorKind;
        let remedy = match error.kind() {
            ErrorKind::PermissionDenied => "give this user access to it, or choose another place",
            ErrorKind::StorageFull => "free some space",
            ErrorKind::NotFound => "make it, or choose another place",
            _ => "look at the disk it is on",
        };
        Self::new(format!("{}: {error}", path.display()), remedy)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.what, self.remedy)
    }
}

impl std::error::Error for Fault {}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Fault::new(format!("the journal: {error}"), "look at the disk it is on")
    }
}
