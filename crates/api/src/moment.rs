//! An instant as it crosses a socket: RFC 3339, in UTC, with milliseconds.

use consort_types::Time;
use consort_types::time::calendar;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

/// An instant, counted from 1970. Written as `2026-03-09T14:05:00.250Z`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(pub Time);

impl From<Time> for Moment {
    fn from(time: Time) -> Self {
        Self(time)
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&calendar::written(self.0))
    }
}

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        let time = calendar::read(&text);
        time.map(Moment).ok_or_else(|| serde::de::Error::custom("expected a time like 2026-03-09T14:05:00Z"))
    }
}

impl JsonSchema for Moment {
    fn schema_name() -> Cow<'static, str> {
        "Moment".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "format": "date-time",
            "description": "An instant: RFC 3339, in UTC, with milliseconds."
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_survive_the_wire_to_the_millisecond() {
        let moment = Moment(Time(1_773_065_100_250_999_999));
        let text = serde_json::to_string(&moment).unwrap();
        assert_eq!(text, "\"2026-03-09T14:05:00.250Z\"");
        assert_eq!(serde_json::from_str::<Moment>(&text).unwrap(), Moment(Time(1_773_065_100_250_000_000)));
        assert!(serde_json::from_str::<Moment>("\"yesterday\"").is_err());
    }
}
