//! JSON as the same tree that YAML gives, for those who send thousands of job files a second.
//!
//! Numbers and flags become the text that a person would have written. A field that is `null` is as good as absent.
//! A key that is there twice is an error here as it is in YAML. Places are not known, except where the text is no
//! JSON at all.

use super::limits;
use super::read_error::{Place, ReadError};
use super::value::quoted;
use super::yaml::{Node, Value};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::collections::BTreeSet;
use std::fmt;

/// Reads a JSON text.
pub fn parse(text: &[u8]) -> Result<Node, ReadError> {
    if text.len() as u64 > limits::YAML_BYTES {
        return Err(Place::default().fail("is larger than 256 MiB"));
    }
    let node: Node = serde_json::from_slice(text).map_err(|error| {
        let place = Place { line: error.line() as u64, column: error.column() as u64 };
        let whole = error.to_string();
        let words = whole.split(" at line ").next().unwrap_or_default();
        match error.is_data() {
            true => place.fail(words),
            false => place.fail(format!("is not JSON: {words}")),
        }
    })?;
    shallow(&node, limits::YAML_DEPTH)?;
    Ok(node)
}

fn shallow(node: &Node, levels: usize) -> Result<(), ReadError> {
    let deeper = |node: &Node| match levels {
        0 => Err(node.place.fail("is nested more than 32 levels deep")),
        _ => shallow(node, levels - 1),
    };
    match &node.value {
        Value::Text(_) => Ok(()),
        Value::List(items) => items.iter().try_for_each(deeper),
        Value::Map(entries) => entries.iter().try_for_each(|(_, value)| deeper(value)),
    }
}

impl Node {
    /// The tree of a JSON value that was read already.
    pub fn from_json(value: &serde_json::Value) -> Node {
        Node::deserialize(value).expect("a JSON value is a tree, and its keys are unique")
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = deserializer.deserialize_any(Tree)?;
        Ok(Node { place: Place::default(), value: value.unwrap_or(Value::Text(String::new())) })
    }
}

/// A value, or nothing for `null`.
struct Maybe(Option<Value>);

impl<'de> Deserialize<'de> for Maybe {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Tree).map(Maybe)
    }
}

struct Tree;

impl<'de> Visitor<'de> for Tree {
    type Value = Option<Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Self::Value, E> {
        Ok(Some(Value::Text(flag.to_string())))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Some(Value::Text(number.to_string())))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Some(Value::Text(number.to_string())))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
        Ok(Some(Value::Text(number.to_string())))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Some(Value::Text(text.into())))
    }

    fn visit_string<E>(self, text: String) -> Result<Self::Value, E> {
        Ok(Some(Value::Text(text)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Self::Value, A::Error> {
        let mut items = vec![];
        while let Some(item) = sequence.next_element::<Node>()? {
            items.push(item);
        }
        Ok(Some(Value::List(items)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let text = |text: String| Node { place: Place::default(), value: Value::Text(text) };
        let (mut entries, mut seen) = (vec![], BTreeSet::new());
        while let Some((key, Maybe(value))) = map.next_entry::<String, Maybe>()? {
            if !seen.insert(key.clone()) {
                return Err(A::Error::custom(format!("duplicate key {}", quoted(&key))));
            }
            if let Some(value) = value {
                entries.push((text(key), Node { place: Place::default(), value }));
            }
        }
        Ok(Some(Value::Map(entries)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_the_tree_that_yaml_gives() {
        let node = parse(br#"{"a": [1, 2.5, true, "x"], "b": null, "c": {"d": -3}}"#).unwrap();
        let mut fields = node.fields("a test", &["a", "c"]).unwrap();
        let texts: Vec<String> = fields
            .take("a")
            .unwrap()
            .list("a")
            .unwrap()
            .into_iter()
            .map(|node| node.into_text("a").unwrap())
            .collect();
        assert_eq!(texts, ["1", "2.5", "true", "x"]);
        assert!(fields.given("b").is_none(), "null is as good as absent");
    }

    #[test]
    fn what_is_no_json_is_refused_at_its_place() {
        for (text, message) in [
            (r#"{"a": 1, "a": 2}"#, "1:16: duplicate key `a`"),
            (r#"{"a": "#, "1:6: is not JSON: EOF while parsing a value"),
            ("", "1:0: is not JSON: EOF while parsing a value"),
        ] {
            let error = parse(text.as_bytes()).unwrap_err();
            assert_eq!(format!("{}:{}: {}", error.line, error.column, error.message), message);
        }
        assert!(parse("[".repeat(100_000).as_bytes()).is_err());
        assert!(parse(format!("{}{}", "[".repeat(40), "]".repeat(40)).as_bytes()).is_err());
    }
}
