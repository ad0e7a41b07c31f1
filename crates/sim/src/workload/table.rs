//! CSV whose header names the columns, in any order, with errors that point at the very cell.
//!
//! Cells are trimmed and an empty cell counts as not given. Lines and columns are found only when something is
//! wrong, by walking the raw bytes once more: the happy path pays nothing for good messages.

use super::read_error::{Place, ReadError};
use super::value::{self, Expected};
use csv::{ByteRecord, Reader, ReaderBuilder};

/// A table that is read row by row.
pub(super) struct Table<'a> {
    bytes: &'a [u8],
    reader: Reader<&'a [u8]>,
    header: Vec<String>,
    /// Whether the text itself names the columns.
    named: bool,
    row: ByteRecord,
}

/// A column of a table, if the header names it.
#[derive(Clone, Copy)]
pub(super) struct Column {
    name: &'static str,
    index: Option<usize>,
}

impl Column {
    /// Whether the header names it.
    pub fn is_there(self) -> bool {
        self.index.is_some()
    }
}

/// The names in the header of a table, for telling tables apart. Empty when it has none.
pub(super) fn header(bytes: &[u8]) -> Vec<String> {
    let line = without_mark(bytes).split(|byte| matches!(byte, b'\n' | b'\r')).next().unwrap_or_default();
    let line = String::from_utf8_lossy(&line[..line.len().min(64 << 10)]);
    line.split(',').map(|name| name.trim().trim_matches('"').to_string()).collect()
}

/// Some programs begin a text with a byte order mark.
pub(super) fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}

impl<'a> Table<'a> {
    /// Reads the header. Every column must be `known`, and all that are `needed` must be there.
    pub fn open(bytes: &'a [u8], known: &[&str], needed: &[&str]) -> Result<Self, ReadError> {
        let bytes = without_mark(bytes);
        let mut reader = ReaderBuilder::new().has_headers(false).flexible(true).from_reader(bytes);
        let mut row = ByteRecord::new();
        let found =
            reader.read_byte_record(&mut row).map_err(|error| Place::default().fail(error.to_string()))?;
        let mut table = Table { bytes, reader, header: vec![], named: true, row };
        if !found {
            return Err(
                Place::default().fail(format!("is empty, expected a header with {}", needed.join(", ")))
            );
        }
        for index in 0..table.row.len() {
            let name = table.cell(index)?.to_string();
            let fail = |message| table.place(index).fail(message);
            if !known.contains(&name.as_str()) {
                let (name, known) = (value::quoted(&name), known.join(", "));
                return Err(fail(format!("column {name} is unknown, expected one of {known}")));
            }
            if table.header.contains(&name) {
                return Err(fail(format!("duplicate column `{name}`")));
            }
            table.header.push(name);
        }
        match needed.iter().find(|name| !table.header.iter().any(|column| column == **name)) {
            Some(name) => Err(table.place(0).fail(format!("missing column `{name}`"))),
            None => Ok(table),
        }
    }

    /// A table that may do without a header: if its first cell is not the name of the first column, all `names` are
    /// there in this order.
    pub fn open_named(bytes: &'a [u8], names: &[&str]) -> Result<Self, ReadError> {
        let bytes = without_mark(bytes);
        if header(bytes).first().is_some_and(|name| names.first() == Some(&name.as_str())) {
            return Self::open(bytes, names, names);
        }
        let reader = ReaderBuilder::new().has_headers(false).flexible(true).from_reader(bytes);
        let header = names.iter().map(|name| name.to_string()).collect();
        Ok(Table { bytes, reader, header, named: false, row: ByteRecord::new() })
    }

    /// Looks a column up, once for all rows.
    pub fn column(&self, name: &'static str) -> Column {
        Column { name, index: self.header.iter().position(|column| column == name) }
    }

    /// Moves to the next row; false after the last.
    pub fn next(&mut self) -> Result<bool, ReadError> {
        let more = self.reader.read_byte_record(&mut self.row);
        if !more.map_err(|error| Place::default().fail(error.to_string()))? {
            return Ok(false);
        }
        match self.row.len() == self.header.len() {
            true => Ok(true),
            false => {
                let (found, expected) = (self.row.len(), self.header.len());
                let like = match self.named {
                    true => " as in the header".into(),
                    false => format!(": {}", self.header.join(", ")),
                };
                let message = format!("{found} fields, expected {expected}{like}");
                Err(self.place(0).fail(message))
            }
        }
    }

    /// The text of a cell; none when the column is missing or the cell is empty.
    pub fn text(&self, column: Column) -> Result<Option<&str>, ReadError> {
        let Some(index) = column.index else { return Ok(None) };
        Ok(Some(self.cell(index)?).filter(|text| !text.is_empty()))
    }

    /// The meaning of a cell, if it is given.
    pub fn read<T>(
        &self,
        column: Column,
        parse: impl FnOnce(&str) -> Result<T, Expected>,
    ) -> Result<Option<T>, ReadError> {
        let Some(text) = self.text(column)? else { return Ok(None) };
        parse(text).map(Some).map_err(|expected| self.complain(column, &expected))
    }

    /// The meaning of a cell that must be given.
    pub fn need<T>(
        &self,
        column: Column,
        parse: impl FnOnce(&str) -> Result<T, Expected>,
    ) -> Result<T, ReadError> {
        let text = self.text(column)?.unwrap_or("");
        parse(text).map_err(|expected| self.complain(column, &expected))
    }

    /// Something other than this was expected in this cell.
    pub fn complain(&self, column: Column, expected: &str) -> ReadError {
        let found = self.text(column).ok().flatten().unwrap_or("");
        self.place_of(column).fail(value::complaint(column.name, found, expected))
    }

    /// Where a cell of the current row stands. Walks the whole text before it: only for errors.
    pub fn place_of(&self, column: Column) -> Place {
        self.place(column.index.unwrap_or(0))
    }

    /// Where the current row begins, in bytes: cheap to keep, and [`Table::place_at`] finds a cell of it later.
    pub fn offset(&self) -> u64 {
        self.row.position().map_or(0, csv::Position::byte)
    }

    fn cell(&self, index: usize) -> Result<&str, ReadError> {
        let text = std::str::from_utf8(self.row.get(index).unwrap_or_default());
        let text = text.map_err(|_| self.place(index).fail("the field is not UTF-8"))?;
        Ok(text.trim())
    }

    fn place(&self, index: usize) -> Place {
        place_at(self.bytes, self.offset(), index)
    }

    /// Where a cell of the row that begins at this offset stands.
    pub fn place_at(&self, offset: u64, column: Column) -> Place {
        place_at(self.bytes, offset, column.index.unwrap_or(0))
    }
}

fn place_at(bytes: &[u8], offset: u64, index: usize) -> Place {
    let offset = (offset as usize).min(bytes.len());
    // The reader counts blank lines as part of the row behind them.
    let blank = bytes[offset..].iter().take_while(|byte| matches!(byte, b'\n' | b'\r')).count();
    let (before, row) = bytes.split_at(offset + blank);
    let ends = |at: usize, byte: u8| byte == b'\n' || (byte == b'\r' && before.get(at + 1) != Some(&b'\n'));
    let line = before.iter().enumerate().filter(|(at, byte)| ends(*at, **byte)).count() as u64 + 1;
    let (mut place, mut fields, mut in_quotes) = (Place { line, column: 1 }, 0, false);
    for byte in row {
        match byte {
            // Cells are trimmed, so the blanks before one are not part of it.
            b' ' if fields == index => {}
            _ if fields == index => break,
            b'"' => in_quotes = !in_quotes,
            b',' if !in_quotes => fields += 1,
            b'\n' if in_quotes => place = Place { line: place.line + 1, column: 0 },
            b'\n' => break,
            _ => {}
        }
        // Characters, not bytes: the inner bytes of one do not count.
        place.column += u64::from(byte & 0xc0 != 0x80);
    }
    place
}
