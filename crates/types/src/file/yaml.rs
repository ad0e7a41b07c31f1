//! YAML as a tree in which every value knows its line and column.
//!
//! The readers of people's files walk this tree instead of deriving a deserializer, because then a wrong unit or
//! an unknown name can be reported at the very place where it is written, in our words. Anchors and aliases are
//! refused: ten short lines of them can stand for more text than any machine holds, and no file here needs them.
//! Tags are refused too, since none has a meaning here. Every scalar is text; what it means is decided where it is used. JSON gives the same
//! tree ([`json`](super::json)), without the places.

use super::limits;
use super::nearest::nearest;
use super::read_error::{Place, ReadError};
use super::value::{self, Expected};
use saphyr_parser::{Event, Marker, Parser};
use std::collections::BTreeSet;

/// One value and where it begins.
#[derive(Debug)]
pub struct Node {
    /// Where it begins.
    pub place: Place,
    /// What it is.
    pub value: Value,
}

/// What a value is.
#[derive(Debug)]
pub enum Value {
    /// One value, as it is written.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// A map; keys are text, and each is there once.
    Map(Vec<(Node, Node)>),
}

/// A list or map that has begun and not yet ended.
struct Open {
    place: Place,
    map: bool,
    /// Of a map: keys and values in turn.
    items: Vec<Node>,
}

const NO_ALIASES: &str = "is an anchor or an alias, which are not supported; write the value out";

/// Reads the only document of a text, in which something is `expected`.
pub fn parse(text: &str, expected: &str) -> Result<Node, ReadError> {
    if text.len() as u64 > limits::YAML_BYTES {
        return Err(Place::default().fail("is larger than 256 MiB; use a CSV table"));
    }
    let mut parser = Parser::new_from_str(text);
    let (mut root, mut open, mut values) = (None, Vec::<Open>::new(), 0);
    // Pulled one by one, so that what is refused here is never expanded or recursed into by the parser.
    while let Some(event) = parser.next_event() {
        let (event, span) =
            event.map_err(|error| place(error.marker()).fail(format!("is not YAML: {}", error.info())))?;
        let place = place(&span.start);
        let (map, done) = match event {
            Event::Alias(_) | Event::Scalar(_, _, 1.., _) => return Err(place.fail(NO_ALIASES)),
            Event::SequenceStart(1.., _) | Event::MappingStart(1.., _) => return Err(place.fail(NO_ALIASES)),
            Event::Scalar(_, _, _, Some(tag))
            | Event::SequenceStart(_, Some(tag))
            | Event::MappingStart(_, Some(tag)) => {
                let tag = value::quoted(&tag.to_string());
                return Err(place.fail(format!("unexpected tag {tag}; tags are not supported")));
            }
            Event::DocumentStart(_) if root.is_some() => {
                return Err(place.fail("is the start of a second document, expected a single one"));
            }
            Event::Scalar(text, ..) => (false, Some(Node { place, value: Value::Text(text.into_owned()) })),
            Event::SequenceStart(..) => (false, None),
            Event::MappingStart(..) => (true, None),
            Event::SequenceEnd | Event::MappingEnd => (false, open.pop().map(close).transpose()?),
            Event::StreamEnd => break,
            Event::Nothing | Event::StreamStart | Event::DocumentStart(_) | Event::DocumentEnd => continue,
        };
        let Some(node) = done else {
            if open.len() == limits::YAML_DEPTH {
                return Err(place.fail("is nested more than 32 levels deep"));
            }
            open.push(Open { place, map, items: vec![] });
            continue;
        };
        values += 1;
        if values > limits::YAML_VALUES {
            return Err(place.fail("is beyond the limit of 20,000,000 values; use a CSV table"));
        }
        match open.last_mut() {
            Some(parent) => parent.items.push(node),
            None => root = Some(node),
        }
    }
    root.ok_or_else(|| Place::default().fail(format!("is empty, expected {expected}")))
}

/// Turns what has ended into a value; of a map, says which key is there twice.
fn close(open: Open) -> Result<Node, ReadError> {
    let Open { place, map, items } = open;
    if !map {
        return Ok(Node { place, value: Value::List(items) });
    }
    let mut entries = Vec::with_capacity(items.len() / 2);
    let mut items = items.into_iter();
    while let (Some(key), Some(value)) = (items.next(), items.next()) {
        entries.push((key, value));
    }
    let mut seen = BTreeSet::new();
    for (key, _) in &entries {
        let Value::Text(text) = &key.value else {
            return Err(key.place.fail("is a list or a map, expected the name of a field"));
        };
        if !seen.insert(text.as_str()) {
            return Err(key.place.fail(format!("duplicate key {}", value::quoted(text))));
        }
    }
    Ok(Node { place, value: Value::Map(entries) })
}

fn place(marker: &Marker) -> Place {
    Place { line: marker.line() as u64, column: marker.col() as u64 + 1 }
}

impl Node {
    /// The text of a scalar.
    pub fn text(&self, what: &str) -> Result<&str, ReadError> {
        match &self.value {
            Value::Text(text) => Ok(text),
            _ => Err(self.place.fail(format!("`{what}` is {}, expected one value", self.noun()))),
        }
    }

    /// The meaning of a scalar.
    pub fn read<T>(
        &self,
        what: &str,
        parse: impl FnOnce(&str) -> Result<T, Expected>,
    ) -> Result<T, ReadError> {
        let text = self.text(what)?;
        parse(text).map_err(|expected| self.place.fail(value::complaint(what, text, &expected)))
    }

    /// The items of a list.
    pub fn list(self, what: &str) -> Result<Vec<Node>, ReadError> {
        match self.value {
            Value::List(items) => Ok(items),
            _ => Err(self.place.fail(format!("`{what}` is {}, expected a list", self.noun()))),
        }
    }

    /// The items of a list, or the one value that stands for a list of one.
    pub fn one_or_more(self, what: &str) -> Result<Vec<Node>, ReadError> {
        match self.value {
            Value::Map(_) => Err(self.place.fail(format!("`{what}` is a map, expected a value or a list"))),
            Value::List(items) => Ok(items),
            Value::Text(_) => Ok(vec![self]),
        }
    }

    /// The entries of a map whose keys are names and not fields.
    pub fn entries(self, what: &str) -> Result<Vec<(Node, Node)>, ReadError> {
        match self.value {
            Value::Map(entries) => Ok(entries),
            _ => Err(self.place.fail(format!("`{what}` is {}, expected a map", self.noun()))),
        }
    }

    /// The text of a scalar, without a copy.
    pub fn into_text(self, what: &str) -> Result<String, ReadError> {
        self.text(what)?;
        match self.value {
            Value::Text(text) => Ok(text),
            Value::List(_) | Value::Map(_) => unreachable!("what is no text has just been refused"),
        }
    }

    /// The fields of a map. One that is not `known` is an error with the nearest known name, or all of them.
    pub fn fields(self, what: &'static str, known: &[&str]) -> Result<Fields, ReadError> {
        let place = self.place;
        let Value::Map(entries) = self.value else {
            return Err(place.fail(format!("{what} is {}, expected a map", self.noun())));
        };
        for (key, _) in &entries {
            let Value::Text(name) = &key.value else { continue };
            if !known.contains(&name.as_str()) {
                let shown = value::quoted(name);
                let message = match nearest(name, known) {
                    Some(meant) => format!("unknown field {shown}; did you mean `{meant}`?"),
                    None => format!("unknown field {shown} of {what}, expected one of {}", known.join(", ")),
                };
                return Err(key.place.fail(message));
            }
        }
        Ok(Fields { place, what, entries })
    }

    /// Complains about the first text with a NUL in it: no program could ever be given such a text.
    pub fn refuse_nul(&self) -> Result<(), ReadError> {
        match &self.value {
            Value::Text(text) if text.contains('\0') => {
                Err(self.place.fail(format!("{} contains a NUL character", value::quoted(text))))
            }
            Value::Text(_) => Ok(()),
            Value::List(items) => items.iter().try_for_each(Node::refuse_nul),
            Value::Map(entries) => {
                entries.iter().try_for_each(|(key, value)| key.refuse_nul().and_then(|()| value.refuse_nul()))
            }
        }
    }

    fn noun(&self) -> String {
        match &self.value {
            Value::Text(text) if text.is_empty() => "empty".into(),
            Value::Text(text) => value::quoted(text),
            Value::List(_) => "a list".into(),
            Value::Map(_) => "a map".into(),
        }
    }
}

/// A map that is being taken apart, field by field.
pub struct Fields {
    /// Where the map begins.
    pub place: Place,
    what: &'static str,
    entries: Vec<(Node, Node)>,
}

impl Fields {
    /// Where the key of a field stands, if it was given.
    pub fn given(&self, name: &str) -> Option<Place> {
        let is = |key: &Node| matches!(&key.value, Value::Text(text) if text == name);
        self.entries.iter().find(|(key, _)| is(key)).map(|(key, _)| key.place)
    }

    /// The value of a field, once.
    pub fn take(&mut self, name: &str) -> Option<Node> {
        let is = |key: &Node| matches!(&key.value, Value::Text(text) if text == name);
        let position = self.entries.iter().position(|(key, _)| is(key))?;
        Some(self.entries.swap_remove(position).1)
    }

    /// Lets a field be called by another name as well; both at once are an error.
    pub fn alias(&mut self, alias: &str, name: &str) -> Result<(), ReadError> {
        if self.given(alias).is_some() {
            self.refuse_beside(alias, &[name])?;
        }
        let is = |key: &Node| matches!(&key.value, Value::Text(text) if text == alias);
        if let Some((key, _)) = self.entries.iter_mut().find(|(key, _)| is(key)) {
            key.value = Value::Text(name.into());
        }
        Ok(())
    }

    /// The value of a field that must be there.
    pub fn need(&mut self, name: &str) -> Result<Node, ReadError> {
        let missing = format!("missing field `{name}` of {}", self.what);
        self.take(name).ok_or_else(|| self.place.fail(missing))
    }

    /// The meaning of a scalar field, if it was given.
    pub fn read<T>(
        &mut self,
        name: &str,
        parse: impl FnOnce(&str) -> Result<T, Expected>,
    ) -> Result<Option<T>, ReadError> {
        self.take(name).map(|node| node.read(name, parse)).transpose()
    }

    /// Complains about the first field of `others` that was given although `name` was.
    pub fn refuse_beside(&self, name: &str, others: &[&str]) -> Result<(), ReadError> {
        match others.iter().find_map(|other| Some((other, self.given(other)?))) {
            Some((other, place)) => Err(place.fail(format!("`{other}` cannot be used with `{name}`"))),
            None => Ok(()),
        }
    }
}
