//! Output on its way: which bytes of which file of which worker, and lines made of them.
//!
//! A log that is asked for with `marks` comes in pieces, each behind a [`Mark`] on a line of its own. Whoever remembers
//! the last mark of every worker can take up a broken stream without losing or repeating a byte.

use serde::{Deserialize, Serialize};
use std::io::{BufRead, Read, Result};

/// What the next bytes are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// Which stage of the job.
    pub stage: u16,
    /// Which task of the stage, by position.
    pub task: u32,
    /// Which worker of the task.
    pub rank: u32,
    /// Which attempt.
    pub attempt: u32,
    /// What its lines are told behind; empty when there is only one worker.
    pub name: String,
    /// Which file: a number that stays the same when it is put aside. 0 for words of the server.
    pub file: u64,
    /// Where in the file.
    pub at: u64,
    /// How many bytes.
    pub bytes: usize,
}

/// No piece is larger.
const LARGEST: usize = 64 << 20;

impl Mark {
    /// The next piece of a marked log; none at its end.
    pub fn read(reader: &mut impl BufRead) -> Result<Option<(Mark, Vec<u8>)>> {
        let mut line = vec![];
        reader.by_ref().take(64 << 10).read_until(b'\n', &mut line)?;
        if line.is_empty() {
            return Ok(None);
        }
        let mark: Mark = serde_json::from_slice(&line)?;
        if mark.bytes > LARGEST {
            return Err(std::io::ErrorKind::InvalidData.into());
        }
        let mut bytes = vec![0; mark.bytes];
        reader.read_exact(&mut bytes)?;
        Ok(Some((mark, bytes)))
    }
}

/// Makes whole lines of pieces. What has no end yet is kept until it has one.
#[derive(Clone, Debug, Default)]
pub struct Lines {
    rest: Vec<u8>,
}

/// A line that is longer is told in parts.
const LONGEST: usize = 1 << 20;

impl Lines {
    /// The lines that these bytes complete, each behind the name.
    pub fn add(&mut self, name: &str, bytes: &[u8]) -> Vec<u8> {
        let end = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let mut told = vec![];
        if end > 0 {
            let whole = [std::mem::take(&mut self.rest).as_slice(), &bytes[..end]].concat();
            for line in whole.split_inclusive(|&byte| byte == b'\n') {
                told.extend_from_slice(name.as_bytes());
                told.extend_from_slice(line);
            }
        }
        self.rest.extend_from_slice(&bytes[end..]);
        if self.rest.len() > LONGEST {
            told.extend(self.finish(name));
        }
        told
    }

    /// The last line, although it has no end.
    pub fn finish(&mut self, name: &str) -> Vec<u8> {
        match std::mem::take(&mut self.rest) {
            rest if rest.is_empty() => vec![],
            rest => [name.as_bytes(), &rest, b"\n"].concat(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_told_whole() {
        let mut lines = Lines::default();
        assert_eq!(lines.add("[a] ", b"one"), b"");
        assert_eq!(lines.add("[a] ", b" line\ntwo\nth"), b"[a] one line\n[a] two\n");
        assert_eq!(lines.add("[a] ", b"ree"), b"");
        assert_eq!(lines.finish("[a] "), b"[a] three\n");
        assert_eq!(lines.finish("[a] "), b"");
    }

    #[test]
    fn pieces_are_read_whole_or_not_at_all() {
        let mark = Mark { file: 3, bytes: 2, ..Mark::default() };
        let mut sent = serde_json::to_vec(&mark).unwrap();
        sent.extend_from_slice(b"\nab");
        let mut reader = sent.as_slice();
        assert_eq!(Mark::read(&mut reader).unwrap(), Some((mark, b"ab".to_vec())));
        assert_eq!(Mark::read(&mut reader).unwrap(), None);
        assert!(Mark::read(&mut &sent[..sent.len() - 1]).is_err());
    }
}
