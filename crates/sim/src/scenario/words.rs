//! A statement as a row of words, each with its place, so that what is wrong can be pointed at.

use crate::workload::ReadError;
use crate::workload::read_error::Place;
use crate::workload::value::quoted;

/// The words of one statement, taken one by one. Commas and colons are words of their own.
pub(super) struct Words<'t> {
    words: Vec<(&'t str, Place)>,
    next: usize,
    end: Place,
}

impl<'t> Words<'t> {
    /// Splits lines, each with its number.
    pub fn of(lines: &[(u64, &'t str)]) -> Self {
        let (mut words, mut end) = (vec![], Place::default());
        for &(number, line) in lines {
            let mut rest = line;
            while let Some(start) = rest.find(|c: char| !c.is_whitespace()) {
                rest = &rest[start..];
                let column = line[..line.len() - rest.len()].chars().count() as u64 + 1;
                let mark = |c: char| c.is_whitespace() || matches!(c, ',' | ':');
                let length = match rest.find(mark) {
                    Some(0) => 1,
                    Some(length) => length,
                    None => rest.len(),
                };
                words.push((&rest[..length], Place { line: number, column }));
                rest = &rest[length..];
            }
            end = Place { line: number, column: line.trim_end().chars().count() as u64 + 1 };
        }
        Words { words, next: 0, end }
    }

    /// The next word, if there is one.
    pub fn peek(&self) -> Option<&'t str> {
        self.words.get(self.next).map(|word| word.0)
    }

    /// Where the next word stands.
    pub fn place(&self) -> Place {
        self.words.get(self.next).map_or(self.end, |word| word.1)
    }

    /// Takes the next word if it is this one.
    pub fn take(&mut self, word: &str) -> bool {
        let is_next = self.peek() == Some(word);
        self.next += usize::from(is_next);
        is_next
    }

    /// Takes the next word, which must be one of these forms of the same.
    pub fn need(&mut self, forms: &[&str]) -> Result<(), ReadError> {
        if forms.iter().any(|form| self.take(form)) {
            return Ok(());
        }
        let forms: Vec<String> = forms.iter().map(|form| format!("`{form}`")).collect();
        Err(self.fail(&forms.join(" or ")))
    }

    /// Takes the next word, whatever it is but a mark.
    pub fn word(&mut self, what: &str) -> Result<&'t str, ReadError> {
        match self.peek() {
            Some(word) if !matches!(word, "," | ":") => {
                self.next += 1;
                Ok(word)
            }
            _ => Err(self.fail(what)),
        }
    }

    /// Takes all that is left, as a sentence.
    pub fn rest(&mut self, what: &str) -> Result<String, ReadError> {
        let mut sentence = self.word(what)?.to_string();
        while let Some(word) = self.peek() {
            self.next += 1;
            let gap = if matches!(word, "," | ":") { "" } else { " " };
            sentence += &format!("{gap}{word}");
        }
        Ok(sentence)
    }

    /// Takes the next word as a value.
    pub fn read<T>(
        &mut self,
        what: &str,
        read: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<T, ReadError> {
        let place = self.place();
        let word = self.word(what)?;
        read(word).map_err(|expected| place.fail(format!("found {}, expected {expected}", quoted(word))))
    }

    /// Whether a comma, and with it another clause, follows.
    pub fn another(&mut self) -> Result<bool, ReadError> {
        match self.peek() {
            None => Ok(false),
            Some(",") => {
                self.next += 1;
                Ok(true)
            }
            Some(_) => Err(self.fail("a comma or the end of the line")),
        }
    }

    /// The word just taken is not what was expected.
    pub fn before(&mut self, expected: &str) -> ReadError {
        self.next -= 1;
        self.fail(expected)
    }

    /// Nothing may follow.
    pub fn done(&self) -> Result<(), ReadError> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.fail("the end of the line")),
        }
    }

    /// The next word is not what was expected.
    pub fn fail(&self, expected: &str) -> ReadError {
        self.place().fail(match self.peek() {
            Some(word) => format!("found {}, expected {expected}", quoted(word)),
            None => format!("the line ends here, expected {expected}"),
        })
    }
}
