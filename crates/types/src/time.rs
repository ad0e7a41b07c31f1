//! Instants and spans, in whole nanoseconds.
//!
//! Integers, because two machines must agree to the last bit. Arithmetic saturates: a time a thousand years away
//! behaves like "never" and does not wrap around into the past.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Add, Sub};
use std::str::FromStr;

pub mod calendar;

const NS: i64 = 1_000_000_000;

/// An instant: nanoseconds after an origin that the world chooses. May be negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Time(pub i64);

/// A length of time in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Span(pub i64);

impl Time {
    /// The origin.
    pub const ZERO: Time = Time(0);
    /// Later than anything that happens.
    pub const NEVER: Time = Time(i64::MAX);

    /// Whole seconds after the origin.
    pub const fn seconds(seconds: i64) -> Self {
        Time(seconds.saturating_mul(NS))
    }

    /// For reports and truth models; never for decisions.
    pub fn as_seconds(self) -> f64 {
        self.0 as f64 / NS as f64
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Span = Span(0);
    /// A century: longer than any span we accept from a person.
    pub const CENTURY: Span = Span::seconds(100 * 366 * 86_400);

    /// Whole seconds.
    pub const fn seconds(seconds: i64) -> Self {
        Span(seconds.saturating_mul(NS))
    }

    /// For reports and truth models; never for decisions.
    pub fn as_seconds(self) -> f64 {
        self.0 as f64 / NS as f64
    }

    /// The span times `part / whole`, rounded towards zero; `whole` is not 0.
    pub fn scaled(self, part: impl Into<u64>, whole: impl Into<u64>) -> Self {
        let (part, whole) = (part.into(), whole.into());
        if part == whole {
            return self;
        }
        let scaled = i128::from(self.0) * i128::from(part) / i128::from(whole);
        Span(scaled.clamp(i64::MIN.into(), i64::MAX.into()) as i64)
    }

    /// The span `factor` times over.
    pub const fn times(self, factor: i64) -> Self {
        Span(self.0.saturating_mul(factor))
    }
}

/// A sum of spans, in nanoseconds: wide enough for a million tasks that each run for years.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Total(pub i128);

impl Total {
    /// The sum divided by the number of spans, which is not 0.
    pub fn mean(self, count: u64) -> Span {
        Span((self.0 / i128::from(count)).clamp(i64::MIN.into(), i64::MAX.into()) as i64)
    }
}

impl std::iter::Sum<Span> for Total {
    fn sum<I: Iterator<Item = Span>>(spans: I) -> Self {
        Total(spans.map(|span| i128::from(span.0)).sum())
    }
}

/// Formatted like [`Span`]; in whole days beyond its range.
impl fmt::Display for Total {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match i64::try_from(self.0) {
            Ok(ns) => Span(ns).fmt(f),
            Err(_) => write!(f, "{}d", self.0 / (86_400 * i128::from(NS))),
        }
    }
}

impl Add<Span> for Time {
    type Output = Time;
    fn add(self, span: Span) -> Time {
        Time(self.0.saturating_add(span.0))
    }
}

impl Sub for Time {
    type Output = Span;
    fn sub(self, earlier: Time) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Add for Span {
    type Output = Span;
    fn add(self, other: Span) -> Span {
        Span(self.0.saturating_add(other.0))
    }
}

impl Sub for Span {
    type Output = Span;
    fn sub(self, other: Span) -> Span {
        Span(self.0.saturating_sub(other.0))
    }
}

/// As people write it: the two largest units that matter, as in `1h 30m`, `45s`, `2d`, `1.5s`, `20ms`.
impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.0.unsigned_abs();
        if self.0 < 0 {
            f.write_str("-")?;
        }
        if ns < NS as u64 {
            return match ns {
                0 => f.write_str("0s"),
                _ if ns.is_multiple_of(1_000_000) => write!(f, "{}ms", ns / 1_000_000),
                _ => write!(f, "{ns}ns"),
            };
        }
        if ns < 60 * NS as u64 && !ns.is_multiple_of(NS as u64) {
            return write!(f, "{}s", (ns / 1_000_000) as f64 / 1000.0);
        }
        let seconds = ns / NS as u64;
        let units = [(86_400, "d"), (3_600, "h"), (60, "m"), (1, "s")];
        let (mut rest, mut shown) = (seconds, 0);
        for (size, unit) in units {
            if rest >= size && shown < 2 {
                if shown == 1 {
                    f.write_str(" ")?;
                }
                write!(f, "{}{unit}", rest / size)?;
                rest %= size;
                shown += 1;
            } else if shown == 1 {
                break; // "2d" and not "2d 5s": a unit is skipped only at the end
            }
        }
        Ok(())
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Time::NEVER { f.write_str("never") } else { Span(self.0).fmt(f) }
    }
}

/// Why a text is not a span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpanError;

impl fmt::Display for SpanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a time like 90s, 1h30m, 2d or 1.5s")
    }
}

impl std::error::Error for SpanError {}

/// `90`, `90s`, `1.5s`, `1h30m`, `1h 30m`, `2d`, `250ms`, `5ns`; a bare number counts seconds; a leading minus is
/// understood, so that whoever reads it can refuse it in its own words.
impl FromStr for Span {
    type Err = SpanError;
    fn from_str(text: &str) -> Result<Self, SpanError> {
        let (sign, mut rest) = match text.trim().strip_prefix('-') {
            Some(rest) => (-1, rest),
            None => (1, text.trim()),
        };
        if rest.is_empty() {
            return Err(SpanError);
        }
        let mut total: i128 = 0;
        while !rest.is_empty() {
            let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
            let (number, tail) = rest.split_at(digits);
            let letters = tail.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(tail.len());
            let (unit, tail) = tail.split_at(letters);
            let unit_ns: i128 = match unit {
                "ns" => 1,
                "us" => 1_000,
                "ms" => 1_000_000,
                "s" => NS as i128,
                "m" | "min" => 60 * NS as i128,
                "h" => 3_600 * NS as i128,
                "d" => 86_400 * NS as i128,
                "" if tail.is_empty() && total == 0 => NS as i128,
                _ => return Err(SpanError),
            };
            total = total.checked_add(decimal_times(number, unit_ns)?).ok_or(SpanError)?;
            rest = tail.trim_start();
        }
        i64::try_from(sign * total).map(Span).map_err(|_| SpanError)
    }
}

/// `number` (digits with at most one point) times `unit`, exactly: floating point would lose nanoseconds.
fn decimal_times(number: &str, unit: i128) -> Result<i128, SpanError> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty())
        || whole.len() > 18
        || fraction.len() > 9
        || fraction.contains('.')
    {
        return Err(SpanError);
    }
    let parse =
        |digits: &str| if digits.is_empty() { Ok(0) } else { digits.parse::<i128>().map_err(|_| SpanError) };
    Ok(parse(whole)? * unit + parse(fraction)? * unit / 10i128.pow(fraction.len() as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read_as_people_write_them() {
        for (text, seconds) in [
            ("90", 90.0),
            ("90s", 90.0),
            ("1h30m", 5400.0),
            ("1h 30m", 5400.0),
            ("2d", 172_800.0),
            ("1.5s", 1.5),
            ("250ms", 0.25),
            ("-3s", -3.0),
        ] {
            assert_eq!(text.parse::<Span>().map(Span::as_seconds), Ok(seconds), "{text}");
        }
        for text in ["", "s", "1x", "1h30", "--1", "1..2s", "1 2", "999999999999999999d"] {
            assert_eq!(text.parse::<Span>(), Err(SpanError), "{text}");
        }
    }

    #[test]
    fn spans_are_shown_in_the_two_largest_units() {
        for (seconds, text) in [
            (0, "0s"),
            (59, "59s"),
            (5400, "1h 30m"),
            (3600, "1h"),
            (3601, "1h"),
            (90_061, "1d 1h"),
            (-60, "-1m"),
        ] {
            assert_eq!(Span::seconds(seconds).to_string(), text);
        }
        assert_eq!(Span(1_500_000_000).to_string(), "1.5s");
        assert_eq!(Span(20_000_000).to_string(), "20ms");
        assert_eq!(Span(7).to_string(), "7ns");
    }

    #[test]
    fn arithmetic_saturates_instead_of_wrapping() {
        assert_eq!(Time::NEVER + Span::seconds(1), Time::NEVER);
        assert_eq!(Time(i64::MIN) - Time(1), Span(i64::MIN));
        assert_eq!(Span::CENTURY.times(1 << 40), Span(i64::MAX));
        assert_eq!(Span::CENTURY.scaled(u32::MAX, 1u32), Span(i64::MAX));
        assert_eq!(Span(100).scaled(3u32, 8u32), Span(37));
    }
}
