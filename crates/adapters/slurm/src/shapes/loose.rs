//! Values that different versions write differently.

use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, de};
use std::fmt;

/// A number, however it is written. Absent, infinite or nonsensical ones are 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Number(pub u64);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Seen;
        impl<'de> Visitor<'de> for Seen {
            type Value = Number;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number")
            }
            fn visit_u64<E>(self, value: u64) -> Result<Number, E> {
                Ok(Number(value))
            }
            fn visit_i64<E>(self, value: i64) -> Result<Number, E> {
                Ok(Number(u64::try_from(value).unwrap_or(0)))
            }
            fn visit_f64<E>(self, value: f64) -> Result<Number, E> {
                Ok(Number(value.max(0.0) as u64))
            }
            fn visit_bool<E>(self, value: bool) -> Result<Number, E> {
                Ok(Number(value.into()))
            }
            fn visit_str<E>(self, value: &str) -> Result<Number, E> {
                Ok(Number(value.trim().parse().unwrap_or(0)))
            }
            fn visit_unit<E>(self) -> Result<Number, E> {
                Ok(Number(0))
            }
            fn visit_none<E>(self) -> Result<Number, E> {
                Ok(Number(0))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Number, A::Error> {
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Number(0))
            }
            /// `{"set": true, "infinite": false, "number": 4}`, and for signals `{"id": 9, "name": "KILL"}`.
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Number, A::Error> {
                #[derive(Deserialize)]
                #[serde(field_identifier, rename_all = "snake_case")]
                enum Key {
                    Set,
                    Infinite,
                    #[serde(alias = "id", alias = "signal_id")]
                    Number,
                    #[serde(other)]
                    Other,
                }
                let (mut set, mut infinite, mut number) = (true, false, 0);
                while let Some(key) = map.next_key()? {
                    match key {
                        Key::Set => set = map.next_value::<Number>()?.0 != 0,
                        Key::Infinite => infinite = map.next_value::<Number>()?.0 != 0,
                        Key::Number => number = map.next_value::<Number>()?.0,
                        Key::Other => drop(map.next_value::<IgnoredAny>()?),
                    }
                }
                Ok(Number(if set && !infinite { number } else { 0 }))
            }
        }
        deserializer.deserialize_any(Seen)
    }
}

/// Words: a list of them, or one text with commas.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words(pub Vec<String>);

impl<'de> Deserialize<'de> for Words {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Seen;
        impl<'de> Visitor<'de> for Seen {
            type Value = Words;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("words")
            }
            fn visit_str<E>(self, value: &str) -> Result<Words, E> {
                let words = value.split(',').map(str::trim).filter(|word| !word.is_empty());
                Ok(Words(words.map(str::to_owned).collect()))
            }
            fn visit_unit<E>(self) -> Result<Words, E> {
                Ok(Words::default())
            }
            fn visit_none<E>(self) -> Result<Words, E> {
                Ok(Words::default())
            }
            fn visit_u64<E>(self, value: u64) -> Result<Words, E> {
                Ok(Words(vec![value.to_string()]))
            }
            fn visit_i64<E>(self, value: i64) -> Result<Words, E> {
                Ok(Words(vec![value.to_string()]))
            }
            fn visit_f64<E>(self, _value: f64) -> Result<Words, E> {
                Ok(Words::default())
            }
            fn visit_bool<E>(self, _value: bool) -> Result<Words, E> {
                Ok(Words::default())
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Words, A::Error> {
                let mut all = vec![];
                while let Some(Words(words)) = seq.next_element()? {
                    all.extend(words);
                }
                Ok(Words(all))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Words, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Words::default())
            }
        }
        deserializer.deserialize_any(Seen)
    }
}

/// Text; of several by who wrote them, the job's own; whatever else stands there is none.
struct Text(String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Seen;
        impl<'de> Visitor<'de> for Seen {
            type Value = Text;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text")
            }
            fn visit_str<E>(self, value: &str) -> Result<Text, E> {
                Ok(Text(value.into()))
            }
            fn visit_unit<E>(self) -> Result<Text, E> {
                Ok(Text(String::new()))
            }
            fn visit_none<E>(self) -> Result<Text, E> {
                Ok(Text(String::new()))
            }
            fn visit_bool<E>(self, _value: bool) -> Result<Text, E> {
                Ok(Text(String::new()))
            }
            fn visit_u64<E>(self, value: u64) -> Result<Text, E> {
                Ok(Text(value.to_string()))
            }
            fn visit_i64<E>(self, value: i64) -> Result<Text, E> {
                Ok(Text(value.to_string()))
            }
            fn visit_f64<E>(self, _value: f64) -> Result<Text, E> {
                Ok(Text(String::new()))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Text, A::Error> {
                let mut all = vec![];
                while let Some(Text(text)) = seq.next_element()? {
                    all.push(text);
                }
                Ok(Text(all.join(",")))
            }
            /// `{"job": "what its owner says", "system": "..."}`
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Text, A::Error> {
                #[derive(Deserialize)]
                #[serde(field_identifier, rename_all = "snake_case")]
                enum Key {
                    Job,
                    #[serde(other)]
                    Other,
                }
                let mut text = String::new();
                while let Some(key) = map.next_key()? {
                    match key {
                        Key::Job => text = map.next_value::<Text>()?.0,
                        Key::Other => drop(map.next_value::<IgnoredAny>()?),
                    }
                }
                Ok(Text(text))
            }
        }
        deserializer.deserialize_any(Seen)
    }
}

/// How a job ended: the status that `wait` gives, or an object that tells the same in words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exit {
    code: u64,
    signal: u64,
}

impl Exit {
    /// From what `wait` gives.
    pub fn of(status: u64) -> Self {
        Exit { code: (status >> 8) & 0xff, signal: status & 0x7f }
    }

    /// As a shell would tell it.
    pub fn code(self) -> i32 {
        if self.signal > 0 { 128 + self.signal as i32 } else { self.code as i32 }
    }
}

impl<'de> Deserialize<'de> for Exit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // By hand, because a job has one and there are many jobs: an enum without tags would be read twice.
        struct Seen;
        impl<'de> Visitor<'de> for Seen {
            type Value = Exit;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("how a job ended")
            }
            fn visit_u64<E>(self, value: u64) -> Result<Exit, E> {
                Ok(Exit::of(value))
            }
            fn visit_i64<E>(self, value: i64) -> Result<Exit, E> {
                Ok(u64::try_from(value).map_or_else(|_| Exit::default(), Exit::of))
            }
            fn visit_f64<E>(self, _value: f64) -> Result<Exit, E> {
                Ok(Exit::default())
            }
            fn visit_bool<E>(self, _value: bool) -> Result<Exit, E> {
                Ok(Exit::default())
            }
            fn visit_str<E>(self, value: &str) -> Result<Exit, E> {
                Ok(value.trim().parse().map_or_else(|_| Exit::default(), Exit::of))
            }
            fn visit_unit<E>(self) -> Result<Exit, E> {
                Ok(Exit::default())
            }
            fn visit_none<E>(self) -> Result<Exit, E> {
                Ok(Exit::default())
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Exit, A::Error> {
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Exit::default())
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Exit, A::Error> {
                #[derive(Deserialize)]
                #[serde(field_identifier, rename_all = "snake_case")]
                enum Key {
                    ReturnCode,
                    Signal,
                    #[serde(other)]
                    Other,
                }
                let mut exit = Exit::default();
                while let Some(key) = map.next_key()? {
                    match key {
                        Key::ReturnCode => exit.code = map.next_value::<Number>()?.0 & 0xff,
                        Key::Signal => exit.signal = map.next_value::<Number>()?.0 & 0x7f,
                        Key::Other => drop(map.next_value::<IgnoredAny>()?),
                    }
                }
                Ok(exit)
            }
        }
        deserializer.deserialize_any(Seen)
    }
}

pub fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    Number::deserialize(deserializer).map(|number| number.0)
}

/// A number, if there is one.
pub fn some_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    Option::<Number>::deserialize(deserializer).map(|number| number.map(|number| number.0))
}

pub fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Text::deserialize(deserializer).map(|text| text.0)
}

pub fn words<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    Words::deserialize(deserializer).map(|words| words.0)
}

/// States: `idle`, `IDLE+DRAIN`, `["IDLE", "DRAIN"]`.
pub fn upper_words<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let mut words = Words::deserialize(deserializer)?.0;
    if words.iter().any(|word| word.contains('+')) {
        words = words.iter().flat_map(|word| word.split('+')).map(str::to_owned).collect();
    }
    words.iter_mut().for_each(|word| word.make_ascii_uppercase());
    Ok(words)
}

/// What stands there, or what would if nothing did.
pub fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// A list, empty where there is none.
pub fn list<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    some_list(deserializer).map(Option::unwrap_or_default)
}

/// A list, if there is one.
pub fn some_list<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<Vec<T>>, D::Error> {
    struct Seen<T>(std::marker::PhantomData<T>);
    impl<'de, T: Deserialize<'de>> Visitor<'de> for Seen<T> {
        type Value = Option<Vec<T>>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list")
        }
        fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
            Ok(None)
        }
        fn visit_none<E: de::Error>(self) -> Result<Self::Value, E> {
            Ok(None)
        }
        fn visit_str<E: de::Error>(self, _value: &str) -> Result<Self::Value, E> {
            Ok(None)
        }
        fn visit_bool<E: de::Error>(self, _value: bool) -> Result<Self::Value, E> {
            Ok(None)
        }
        fn visit_i64<E: de::Error>(self, _value: i64) -> Result<Self::Value, E> {
            Ok(None)
        }
        fn visit_u64<E: de::Error>(self, _value: u64) -> Result<Self::Value, E> {
            Ok(None)
        }
        fn visit_f64<E: de::Error>(self, _value: f64) -> Result<Self::Value, E> {
            Ok(None)
        }
        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
            let mut all = Vec::with_capacity(seq.size_hint().unwrap_or(0).min(1 << 16));
            while let Some(one) = seq.next_element()? {
                all.push(one);
            }
            Ok(Some(all))
        }
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            Ok(None)
        }
    }
    deserializer.deserialize_any(Seen(std::marker::PhantomData))
}
