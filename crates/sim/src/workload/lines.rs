//! Lines of fields, without a header and without quotes, with errors that point at the very field.
//!
//! For formats older or plainer than CSV: fields stand between blanks or tabs, and a mark may begin a comment. Empty
//! lines are skipped. What a field is called is said by its reader.

use super::read_error::{Place, ReadError};
use super::table::without_mark;
use super::value::{self, Expected};

/// What stands between two fields.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Between {
    /// Any number of blanks and tabs.
    Blanks,
    /// One tab: a field may hold blanks, or nothing.
    Tabs,
}

/// A text that is read line by line.
pub(super) struct Lines<'a> {
    rest: Option<&'a [u8]>,
    number: u64,
    between: Between,
    comment: Option<u8>,
}

/// One line and its fields.
pub(super) struct Line<'a> {
    number: u64,
    text: &'a str,
    fields: Vec<&'a str>,
}

impl<'a> Lines<'a> {
    /// Begins at the first line. Lines that start with `comment` are skipped, in whatever encoding they are.
    pub fn of(bytes: &'a [u8], between: Between, comment: Option<u8>) -> Self {
        Self { rest: Some(without_mark(bytes)), number: 0, between, comment }
    }

    /// The next line with something in it; none after the last.
    pub fn next(&mut self) -> Result<Option<Line<'a>>, ReadError> {
        while let Some(rest) = self.rest {
            let end = rest.iter().position(|byte| *byte == b'\n');
            let line = &rest[..end.unwrap_or(rest.len())];
            self.rest = end.map(|end| &rest[end + 1..]);
            self.number += 1;
            let line = line.trim_ascii_end();
            let begins = line.trim_ascii_start().first().copied();
            if begins.is_none() || begins == self.comment {
                continue;
            }
            let text = std::str::from_utf8(line).map_err(|error| {
                let before = String::from_utf8_lossy(&line[..error.valid_up_to()]);
                let column = before.chars().count() as u64 + 1;
                Place { line: self.number, column }.fail("the field is not UTF-8")
            })?;
            let fields = match self.between {
                Between::Blanks => text.split_ascii_whitespace().collect(),
                Between::Tabs => text.split('\t').map(str::trim).collect(),
            };
            return Ok(Some(Line { number: self.number, text, fields }));
        }
        Ok(None)
    }
}

impl Line<'_> {
    /// How many fields it has.
    pub fn len(&self) -> usize {
        self.fields.len()
    }

    /// The meaning of a field that must be there.
    pub fn need<T>(
        &self,
        index: usize,
        name: &str,
        parse: impl FnOnce(&str) -> Result<T, Expected>,
    ) -> Result<T, ReadError> {
        let text = self.fields.get(index).copied().unwrap_or("");
        parse(text).map_err(|expected| self.place(index).fail(value::complaint(name, text, &expected)))
    }

    /// Complains about the number of fields.
    pub fn miscounted(&self, expected: &str) -> ReadError {
        self.place(0).fail(format!("{} fields, expected {expected}", self.len()))
    }

    /// Where a field begins. Counts characters: only for errors.
    pub fn place(&self, index: usize) -> Place {
        let start = self.fields.get(index).map_or(0, |field| {
            // A field is a slice of its line, so this is the distance between them.
            field.as_ptr() as usize - self.text.as_ptr() as usize
        });
        let column = self.text.get(..start).map_or(0, |before| before.chars().count()) as u64 + 1;
        Place { line: self.number, column }
    }
}
