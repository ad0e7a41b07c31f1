//! Small stories in plain text, with an expected ending.

use crate::workload::ReadError;

/// A story that was played to its end.
pub struct Played {
    /// The ending that the file expects.
    pub expected: String,
    /// The ending that came out.
    pub actual: String,
    /// The whole file, with the ending that came out.
    pub blessed: String,
}

impl Played {
    /// Whether it ended as expected.
    pub fn passed(&self) -> bool {
        self.expected == self.actual
    }
}

/// Plays one story. `file` is what errors call it.
pub fn play(file: &str, text: &str) -> Result<Played, ReadError> {
    let Some(at) = text.find("expect") else {
        let (file, message) = (file.into(), "has no `expect`, expected one at its end".into());
        return Err(ReadError { file, line: 1, column: 1, message });
    };
    let (story, expected) = text.split_at(at);
    let actual = format!("expect {}\n", story.split_whitespace().count());
    let blessed = format!("{story}{actual}");
    Ok(Played { expected: expected.into(), actual, blessed })
}
