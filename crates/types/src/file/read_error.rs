//! The one error of all readers: where, what was found, and what was expected there.

use std::fmt;

/// Why a file cannot be read. One sentence when shown: `FILE:LINE:COLUMN: MESSAGE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadError {
    /// As the caller named it.
    pub file: String,
    /// Counts from 1; 0 when no line is to blame.
    pub line: u64,
    /// In characters, counts from 1; 0 when no column is to blame.
    pub column: u64,
    /// What was found and what was expected.
    pub message: String,
}

impl ReadError {
    /// Nothing in particular inside the file is to blame.
    pub fn whole(file: &str, message: impl Into<String>) -> Self {
        Self { file: file.into(), line: 0, column: 0, message: message.into() }
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.line, self.column) {
            (0, _) => write!(f, "{}: {}", self.file, self.message),
            (line, 0) => write!(f, "{}:{line}: {}", self.file, self.message),
            (line, column) => write!(f, "{}:{line}:{column}: {}", self.file, self.message),
        }
    }
}

impl std::error::Error for ReadError {}

/// Where something stands in the file being read. Kept beside values that are judged only later, such as names
/// of jobs that may yet turn up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Counts from 1; 0 when no line is to blame.
    pub line: u64,
    /// Counts from 1; 0 when no column is to blame.
    pub column: u64,
}

impl Place {
    /// Something is wrong here. The file is filled in once, by the function that knows it.
    pub fn fail(self, message: impl Into<String>) -> ReadError {
        ReadError { file: String::new(), line: self.line, column: self.column, message: message.into() }
    }
}

/// Says in which file it went wrong.
pub trait InFile<T> {
    /// The same, or the error with the name of the file in it.
    fn in_file(self, file: &str) -> Result<T, ReadError>;
}

impl<T> InFile<T> for Result<T, ReadError> {
    fn in_file(self, file: &str) -> Result<T, ReadError> {
        self.map_err(|error| ReadError { file: file.into(), ..error })
    }
}
