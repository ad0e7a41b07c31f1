//! How an event is written: one line of JSON that begins with its version.
//!
//! `{"v":3,"at":...,"fact":{...},"actor":{...}}`. Text, because a journal is read by people in bad hours; with field names, because
//! a later version may add fields and must still read what an older one wrote. The golden file beside the tests keeps
//! these bytes: when it changes, the version must, and the reader of the old one stays.

use consort_types::{Actor, Event, Fact, Time};
use serde::{Deserialize, Serialize};

/// The version that is written. Version 2 had no resizes and no progress, version 1 no nodes that leave for good either; all else is
/// the same.
pub const VERSION: u32 = 3;

#[derive(Serialize)]
struct Written<'a> {
    v: u32,
    at: Time,
    fact: &'a Fact,
    #[serde(skip_serializing_if = "Option::is_none")]
    actor: Option<&'a Actor>,
}

#[derive(Deserialize)]
struct Read {
    at: Time,
    fact: Fact,
    actor: Option<Actor>,
}

#[derive(Deserialize)]
struct Version {
    v: u32,
}

/// Why bytes are not an event.
#[derive(Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// Somebody newer wrote it.
    Newer(u32),
    /// It is damaged.
    Torn(String),
}

impl std::fmt::Display for Unreadable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Unreadable::Newer(version) => {
                write!(f, "was written in version {version}, and this program reads up to {VERSION}")
            }
            Unreadable::Torn(why) => write!(f, "cannot be read ({why})"),
        }
    }
}

/// The bytes of an event.
pub fn write(event: &Event) -> Vec<u8> {
    let written = Written { v: VERSION, at: event.at, fact: &event.fact, actor: event.actor.as_ref() };
    serde_json::to_vec(&written).expect("an event is plain data")
}

/// The event that these bytes are.
pub fn read(bytes: &[u8]) -> Result<Event, Unreadable> {
    let torn = |error: serde_json::Error| Unreadable::Torn(error.to_string());
    if !bytes.starts_with(b"{\"v\":3,") {
        let Version { v } = serde_json::from_slice(bytes).map_err(torn)?;
        if v > VERSION {
            return Err(Unreadable::Newer(v));
        }
    }
    let Read { at, fact, actor } = serde_json::from_slice(bytes).map_err(torn)?;
    Ok(Event { at, fact, actor })
}
