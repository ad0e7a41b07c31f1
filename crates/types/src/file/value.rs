//! How single values are written: times, counts, shares, memory, names. The same in YAML and in tables.
//!
//! Each function takes the text of one value and returns it, or what was expected instead: a noun phrase that
//! finishes the sentence "`run` is `5 parsecs`, expected ...". Arithmetic is exact; no value passes through
//! floating point.

use super::limits;
use crate::job::{Condition, Count, OnFailure, OnOom, Qos, WHOLE};
use crate::precision::Precision;
use crate::time::{Span, Time};

/// What was expected.
pub type Expected = String;

/// The sentence that all readers use.
pub fn complaint(what: &str, found: &str, expected: &str) -> String {
    match found.is_empty() {
        true => format!("`{what}` is empty, expected {expected}"),
        false => format!("`{what}` is {}, expected {expected}", quoted(found)),
    }
}

/// A found text, short and printable whatever it is.
pub fn quoted(found: &str) -> String {
    let mut shown: String = found.chars().take(40).flat_map(char::escape_debug).collect();
    if found.chars().nth(40).is_some() {
        shown.push_str("...");
    }
    format!("`{shown}`")
}

/// A name: something a person can type and a terminal can print.
pub fn name(text: &str) -> Result<String, Expected> {
    let long = text.len() > limits::NAME && text.chars().count() > limits::NAME;
    if text.is_empty() || long || text.chars().any(is_hidden) {
        return Err("a name of 1 to 256 printable characters".into());
    }
    Ok(text.into())
}

/// Whether a character cannot be seen, or changes how others are shown: control characters, zero-width characters, and
/// those that reverse the direction of text. Two names that differ only in them look the same.
pub fn is_hidden(letter: char) -> bool {
    let hidden = matches!(letter,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}');
    hidden || letter.is_control()
}

/// Names in order, each once.
pub fn sorted(mut names: Vec<String>) -> Vec<String> {
    names.sort_unstable();
    names.dedup();
    names
}

/// A length of time from nothing to a century.
pub fn span(text: &str) -> Result<Span, Expected> {
    match text.parse::<Span>() {
        Ok(span) if span < Span::ZERO || span > Span::CENTURY => Err("a time from 0s to 100 years".into()),
        Ok(span) => Ok(span),
        Err(error) => Err(error.to_string()),
    }
}

/// An instant from the origin to a century after it.
pub fn instant(text: &str) -> Result<Time, Expected> {
    span(text).map(|span| Time::ZERO + span)
}

/// An instant, or with a plus sign so long after the submission. Never before it.
pub fn deadline(text: &str, at: Time) -> Result<Time, Expected> {
    let deadline = match text.strip_prefix('+') {
        Some(after) => at + span(after)?,
        None => instant(text)?,
    };
    match deadline < at {
        true => Err(format!("a time after the submission at {at}, or one relative to it like +2h")),
        false => Ok(deadline),
    }
}

/// Seconds as public tables write them: whole, possibly negative.
pub fn seconds(text: &str) -> Result<i64, Expected> {
    const CENTURY_S: i64 = Span::CENTURY.0 / 1_000_000_000;
    let expected = || "whole seconds, at most 100 years".to_string();
    // Some tools write whole numbers as `12.0`.
    let text = text.strip_suffix(".0").unwrap_or(text);
    let seconds: i64 = text.parse().map_err(|_| expected())?;
    if seconds.unsigned_abs() > CENTURY_S as u64 { Err(expected()) } else { Ok(seconds) }
}

/// Seconds that cannot be negative.
pub fn positive_seconds(text: &str) -> Result<i64, Expected> {
    match seconds(text) {
        Ok(seconds) if seconds >= 0 => Ok(seconds),
        _ => Err("whole seconds, from 0 to 100 years".into()),
    }
}

/// A whole number between two others.
pub fn count(text: &str, least: u32, most: u32) -> Result<u32, Expected> {
    match text.parse::<u32>() {
        Ok(number) if (least..=most).contains(&number) && !text.starts_with('+') => Ok(number),
        _ => Err(format!("a whole number from {} to {}", grouped(least), grouped(most))),
    }
}

/// How many devices or members: at least one.
pub fn width(text: &str) -> Result<u32, Expected> {
    count(text, 1, limits::WIDTH)
}

/// `8`, or `2-8` when elastic.
pub fn range(text: &str) -> Result<Count, Expected> {
    let (least, most) = text.split_once('-').unwrap_or((text, text));
    match (width(least.trim()), width(most.trim())) {
        (Ok(min), Ok(max)) if min <= max => Ok(Count { min, max }),
        _ => Err("a whole number from 1 to 1,000,000, or a range of them like 2-8".into()),
    }
}

/// A priority.
pub fn priority(text: &str) -> Result<i32, Expected> {
    text.parse().map_err(|_| "a whole number; it may be negative".into())
}

/// How many times something is tried again.
pub fn retries(text: &str) -> Result<u32, Expected> {
    count(text, 0, limits::RETRIES)
}

/// `0.5` of a device, in thousandths.
pub fn share(text: &str) -> Result<u16, Expected> {
    match thousandths(text) {
        Some(share) if (1..=u64::from(WHOLE)).contains(&share) => Ok(share as u16),
        _ => Err("a share of a device from 0.001 to 1".into()),
    }
}

/// A number format.
pub fn precision(text: &str) -> Result<Precision, Expected> {
    let names = || Precision::ALL.map(|(_, name)| name).join(", ");
    Precision::named(text).ok_or_else(|| format!("a number format: one of {}", names()))
}

/// What is done about an attempt that ran out of device memory.
pub fn on_oom(text: &str) -> Result<OnOom, Expected> {
    match text {
        "retry" => Ok(OnOom::Retry),
        "larger" => Ok(OnOom::Larger),
        _ => Err("retry or larger".into()),
    }
}

/// What becomes of the other tasks when one has failed.
pub fn on_failure(text: &str) -> Result<OnFailure, Expected> {
    match text {
        "continue" => Ok(OnFailure::Continue),
        "stop" => Ok(OnFailure::Stop),
        _ => Err("continue or stop".into()),
    }
}

/// Processors, in thousandths.
pub fn processors(text: &str) -> Result<u64, Expected> {
    match thousandths(text) {
        Some(milli) if (1..=1_000_000_000).contains(&milli) => Ok(milli),
        _ => Err("a number of processors from 0.001 to 1,000,000, like 8 or 2.5".into()),
    }
}

/// A decimal number with at most three places, times a thousand.
pub fn thousandths(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if (whole.is_empty() && fraction.is_empty()) || whole.len() > 9 || fraction.len() > 3 {
        return None;
    }
    if !digits(whole) || !digits(fraction) {
        return None;
    }
    let number = |part: &str| if part.is_empty() { 0 } else { part.parse::<u64>().unwrap_or(0) };
    Some(number(whole) * 1000 + number(fraction) * 10u64.pow(3 - fraction.len() as u32))
}

/// `141GiB`, `40 GB`, `1.5TiB`, or `40Gi` as Kubernetes writes it. Only nothing at all needs no unit: whoever writes
/// `40` means gibibytes more often than bytes.
pub fn memory(text: &str) -> Result<u64, Expected> {
    let expected = || "an amount of memory like 40GiB, 512MiB or 1.5TB, at most 1PiB".to_string();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let bare = unit.trim().is_empty();
    let unit: u128 = match unit.trim() {
        "" | "B" => 1,
        "kB" | "KB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "TB" => 1_000_000_000_000,
        "KiB" | "Ki" => 1 << 10,
        "MiB" | "Mi" => 1 << 20,
        "GiB" | "Gi" => 1 << 30,
        "TiB" | "Ti" => 1 << 40,
        "PiB" | "Pi" => 1 << 50,
        _ => return Err(expected()),
    };
    if bare && number.bytes().any(|byte| byte.is_ascii_digit() && byte != b'0') {
        return Err(format!("a unit, like {number}GiB"));
    }
    // Bytes may have more digits than a decimal number of larger units is given.
    let bytes = match number.parse::<u64>() {
        Ok(number) => u128::from(number) * unit,
        Err(_) => u128::from(thousandths(number).ok_or_else(expected)?) * unit / 1000,
    };
    if bytes > u128::from(limits::MEMORY_BYTES) { Err(expected()) } else { Ok(bytes as u64) }
}

/// `true` or `false`.
pub fn flag(text: &str) -> Result<bool, Expected> {
    match text {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err("true or false".into()),
    }
}

/// A class of service.
pub fn qos(text: &str) -> Result<Qos, Expected> {
    let all = [Qos::BestEffort, Qos::Standard, Qos::Guaranteed];
    let found = all.into_iter().find(|qos| qos.to_string() == text);
    found.ok_or_else(|| "best-effort, standard or guaranteed".into())
}

/// Which ending of another job is waited for.
pub fn condition(text: &str) -> Result<Condition, Expected> {
    match text {
        "succeeded" => Ok(Condition::Succeeded),
        "failed" => Ok(Condition::Failed),
        "ended" => Ok(Condition::Ended),
        _ => Err("succeeded, failed or ended".into()),
    }
}

/// `1,000,000` and not `1000000`.
pub fn grouped(number: impl Into<u64>) -> String {
    let digits = number.into().to_string();
    let mut shown = String::with_capacity(digits.len() + digits.len() / 3);
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_can_be_seen() {
        for good in ["h200", "team red", "naïve", "訓練", "обучение", "rôle-β"] {
            assert_eq!(name(good).as_deref(), Ok(good));
        }
        for hidden in [
            '\u{202e}',
            '\u{2066}',
            '\u{200b}',
            '\u{200d}',
            '\u{feff}',
            '\u{2028}',
            '\u{ad}',
            '\u{fe0f}',
            '\u{e0041}',
            '\n',
        ] {
            assert!(name(&format!("a{hidden}b")).is_err(), "{hidden:?}");
        }
    }

    #[test]
    fn memory_is_read_exactly() {
        assert_eq!(memory("141GiB"), Ok(141 << 30));
        assert_eq!(memory("40 GB"), Ok(40_000_000_000));
        assert_eq!(memory("1.5TiB"), Ok(3 << 39));
        assert_eq!(memory("151397597184B"), Ok(141 << 30));
        assert_eq!((memory("40Gi"), memory("512 Mi"), memory("0")), (Ok(40 << 30), Ok(512 << 20), Ok(0)));
        for text in [
            "",
            "GiB",
            "1e9",
            "-1GiB",
            "1.2345GiB",
            "2PiB",
            "40gib",
            "1..5GiB",
            "40",
            "1.5",
            "0.5",
            "0.0001",
            ".5",
        ] {
            assert!(memory(text).is_err(), "{text}");
        }
    }

    #[test]
    fn shares_are_thousandths() {
        assert_eq!(share("0.5"), Ok(500));
        assert_eq!(share(".25"), Ok(250));
        assert_eq!(share("1"), Ok(1000));
        for text in ["0", "1.001", "0.0001", "-0.5", "", ".", "half"] {
            assert!(share(text).is_err(), "{text}");
        }
    }

    #[test]
    fn ranges_are_ordered_and_bounded() {
        assert_eq!(range("2-8"), Ok(Count { min: 2, max: 8 }));
        assert_eq!(range("2 - 8"), Ok(Count { min: 2, max: 8 }));
        assert_eq!(range("8"), Ok(Count::exactly(8)));
        for text in ["0", "8-2", "0-4", "-4", "1000001", "4-", "+3", "2-4-8"] {
            assert!(range(text).is_err(), "{text}");
        }
    }

    #[test]
    fn numbers_are_grouped_as_people_read_them() {
        let shown = [0u32, 999, 1000, 1_000_000].map(grouped);
        assert_eq!(shown, ["0", "999", "1,000", "1,000,000"]);
    }
}
