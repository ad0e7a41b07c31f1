//! Reads an answer row by row after it could not be read as a whole.
//!
//! Names and comments are free text of every user of the cluster, and older releases pass bytes on as they are: text that
//! is no UTF-8, control characters, halves of a surrogate pair. None of that is a reason to lose sight of all jobs. So the
//! text is cut into rows by its brackets alone, and each row is read for itself.

use super::Answer;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;

/// What can be read, and the rows that cannot. Nothing if it is not even the frame of an answer.
pub fn read(bytes: &[u8]) -> Option<Answer> {
    // Between values a control character is white space or an error, within them it is free text.
    let blank = |letter: char| if letter.is_control() { ' ' } else { letter };
    let text: String = String::from_utf8_lossy(bytes).chars().map(blank).collect();
    let fields = fields(&text)?;
    let (mut skipped, mut other) = (vec![], vec![]);
    let mut answer = Answer {
        errors: rows(&fields, "errors", &mut other).unwrap_or_default(),
        nodes: rows(&fields, "nodes", &mut skipped),
        jobs: rows(&fields, "jobs", &mut skipped),
        partitions: rows(&fields, "partitions", &mut skipped),
        status: rows(&fields, "status", &mut other).unwrap_or_default(),
        job_id: field(&fields, "job_id").unwrap_or_default(),
        meta: field(&fields, "meta").unwrap_or_default(),
        ..Answer::default()
    };
    answer.skipped = skipped;
    Some(answer)
}

/// The rows of a list, if there is one.
fn rows<T: DeserializeOwned>(
    fields: &BTreeMap<&str, &str>,
    name: &str,
    skipped: &mut Vec<String>,
) -> Option<Vec<T>> {
    let mut all = vec![];
    for row in values(fields.get(name)?, '[', ']')? {
        match serde_json::from_str(row) {
            Ok(row) => all.push(row),
            Err(_) => skipped.push(row.to_owned()),
        }
    }
    Some(all)
}

fn field<T: DeserializeOwned>(fields: &BTreeMap<&str, &str>, name: &str) -> Option<T> {
    serde_json::from_str(fields.get(name)?).ok()
}

/// The members of an object, by name. Of two of one name, the last.
fn fields(text: &str) -> Option<BTreeMap<&str, &str>> {
    let member = |text: &'_ str| -> Option<(usize, usize)> {
        let name = end_of_string(text.as_bytes(), 0)?;
        Some((name, name + text[name..].find(':')? + 1))
    };
    let mut all = BTreeMap::new();
    for text in values(text, '{', '}')? {
        let (name, value) = member(text)?;
        all.insert(&text[1..name - 1], text[value..].trim());
    }
    Some(all)
}

/// What stands between the commas of a list or an object. Nothing if the bracket is not closed at the very end.
fn values(text: &str, open: char, close: char) -> Option<Vec<&str>> {
    let inner = text.trim().strip_prefix(open)?.strip_suffix(close)?;
    let (bytes, mut all, mut depth, mut start, mut at) = (inner.as_bytes(), vec![], 0_usize, 0, 0);
    while at < bytes.len() {
        match bytes[at] {
            b'"' => at = end_of_string(bytes, at)? - 1,
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.checked_sub(1)?,
            b',' if depth == 0 => {
                all.push(inner[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    if !inner[start..].trim().is_empty() {
        all.push(inner[start..].trim());
    }
    (depth == 0).then_some(all)
}

/// One past the quote that ends the string that begins here.
fn end_of_string(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    if bytes.get(start) != Some(&b'"') {
        return None;
    }
    loop {
        match bytes.get(at)? {
            b'\\' => at += 2,
            b'"' => return Some(at + 1),
            _ => at += 1,
        }
    }
}
