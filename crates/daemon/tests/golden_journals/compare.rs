//! Compares what is told now with what was told then.
//!
//! Every key that was there must be there with the same value; a key that is new is nobody's loss. Lists must have the
//! same length: a job, an allocation or a reason more is a difference. Kinds of lines that are new are ignored.

use crate::told::Told;
use serde_json::Value;

/// One place in which the two differ.
pub struct Difference {
    /// `job 17: asks[0].phase`.
    place: String,
    then: String,
    now: String,
    /// Only a sentence for people.
    pub is_of_words: bool,
}

/// All of them. Lines about the state's hash are judged elsewhere.
pub fn differences(then: &[Told], now: &[Told]) -> Vec<Difference> {
    let mut found = vec![];
    let mut kinds: Vec<&str> =
        then.iter().map(|told| told.what.as_str()).filter(|what| *what != "state").collect();
    kinds.dedup();
    for kind in kinds {
        let of_kind = |told: &[Told]| -> Vec<Value> {
            told.iter().filter(|told| told.what == kind).map(|told| told.facts.clone()).collect()
        };
        let (then, now) = (of_kind(then), of_kind(now));
        if then.len() != now.len() {
            let count = |list: &[Value]| format!("{} of them: {:?}", list.len(), ids(list));
            let (then, now) = (count(&then), count(&now));
            found.push(Difference { place: kind.into(), then, now, is_of_words: false });
            continue;
        }
        for (then, now) in then.iter().zip(&now) {
            let id = then["id"].as_u64().map_or(String::new(), |id| format!(" {id}"));
            differ(&format!("{kind}{id}: "), then, now, false, &mut found);
        }
    }
    found
}

fn ids(list: &[Value]) -> Vec<u64> {
    list.iter().filter_map(|value| value["id"].as_u64()).collect()
}

fn differ(place: &str, then: &Value, now: &Value, is_of_words: bool, found: &mut Vec<Difference>) {
    match (then, now) {
        (Value::Object(fields), Value::Object(_)) => {
            for (name, then) in fields {
                let now = now.get(name).unwrap_or(&Value::Null);
                differ(&format!("{place}.{name}"), then, now, is_of_words || name == "words", found);
            }
        }
        (Value::Array(thens), Value::Array(nows)) if thens.len() == nows.len() => {
            for (index, (then, now)) in thens.iter().zip(nows).enumerate() {
                differ(&format!("{place}[{index}]"), then, now, is_of_words, found);
            }
        }
        _ if then == now => {}
        _ => found.push(Difference {
            place: place.into(),
            then: then.to_string(),
            now: now.to_string(),
            is_of_words,
        }),
    }
}

/// The first few, for a person.
pub fn list(differences: &[Difference]) -> String {
    let line = |it: &Difference| format!("  {}\n    then {}\n    now  {}\n", it.place, it.then, it.now);
    differences.iter().take(20).map(line).collect()
}

/// Takes over the words of now, and nothing else: the facts were compared before.
pub fn reword(then: &mut [Told], now: &[Told]) {
    for kind in ["job", "ended"] {
        let of_kind = then.iter_mut().filter(|told| told.what == kind);
        for (then, now) in of_kind.zip(now.iter().filter(|told| told.what == kind)) {
            take_words(&mut then.facts, &now.facts);
        }
    }
}

fn take_words(then: &mut Value, now: &Value) {
    match (then, now) {
        (Value::Object(fields), Value::Object(_)) => {
            for (name, then) in fields {
                match name.as_str() {
                    "words" => *then = now[name].clone(),
                    _ => take_words(then, &now[name]),
                }
            }
        }
        (Value::Array(thens), Value::Array(nows)) => {
            for (then, now) in thens.iter_mut().zip(nows) {
                take_words(then, now);
            }
        }
        _ => {}
    }
}

#[test]
fn a_new_key_is_no_difference_and_a_new_entry_is() {
    let told = |facts: Value| vec![Told::new("job", facts)];
    let then = told(serde_json::json!({"id": 1, "asks": [{"phase": "running", "words": "fine"}]}));
    let found = |now: Value| -> Vec<(String, bool)> {
        differences(&then, &told(now)).into_iter().map(|it| (it.place, it.is_of_words)).collect()
    };
    use serde_json::json;
    assert_eq!(found(json!({"id": 1, "asks": [{"phase": "running", "words": "fine", "new": 3}]})), []);
    let place = |text: &str, is_of_words| vec![(format!("job 1: {text}"), is_of_words)];
    assert_eq!(
        found(json!({"id": 1, "asks": [{"phase": "done", "words": "fine"}]})),
        place(".asks[0].phase", false)
    );
    assert_eq!(
        found(json!({"id": 1, "asks": [{"phase": "running", "words": "good"}]})),
        place(".asks[0].words", true)
    );
    assert_eq!(found(json!({"id": 1, "asks": [{"words": "fine"}]})), place(".asks[0].phase", false));
    assert_eq!(found(json!({"id": 1, "asks": []})), place(".asks", false));
    assert_eq!(differences(&then, &[]).len(), 1);
    assert_eq!(differences(&then, &[then[0].clone(), Told::new("tombstone", json!({}))]).len(), 0);
}
