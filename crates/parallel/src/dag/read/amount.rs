//! Amounts as people write them, as numbers to compute with.

use consort_types::file::value::{self, Expected};
use consort_types::time::Span;

/// `10MB`, `1.5GiB`, `0`.
pub fn bytes(text: &str) -> Result<f64, Expected> {
    value::memory(text).map(|bytes| bytes as f64).map_err(|_| "an amount like 10MB, 1.5GiB or 0".into())
}

/// `25GB/s`, `200Gbit/s`, `10 Gbit`.
pub fn bandwidth(text: &str) -> Result<f64, Expected> {
    let expected = || "a speed like 25GB/s or 200Gbit/s, above zero".to_string();
    let text = text.trim().strip_suffix("/s").unwrap_or(text.trim());
    let speed = match text.to_ascii_lowercase().strip_suffix("bit") {
        Some(bits) => {
            let (number, factor) = match bits.trim_end_matches(['k', 'm', 'g', 't']) {
                number if number.len() == bits.len() => (number, 1.0),
                number if number.len() + 1 == bits.len() => match bits.as_bytes()[number.len()] {
                    b'k' => (number, 1e3),
                    b'm' => (number, 1e6),
                    b'g' => (number, 1e9),
                    _ => (number, 1e12),
                },
                _ => return Err(expected()),
            };
            self::number(number.trim()).map(|number| number * factor / 8.0)
        }
        None => bytes(text).ok(),
    };
    speed.filter(|&speed| speed > 0.0).ok_or_else(expected)
}

/// `10s`, `2ms`, `1h30m`; a bare number counts seconds.
pub fn seconds(text: &str) -> Result<f64, Expected> {
    value::span(text).map(|Span(ns)| ns as f64 / 1e9)
}

/// How fast, beside others.
pub fn speed(text: &str) -> Result<f64, Expected> {
    number(text).filter(|&speed| speed > 0.0).ok_or_else(|| "a number above zero, like 2.5".into())
}

/// How much a time varies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spread {
    /// A part of the time itself.
    Part(f64),
    /// Seconds.
    Seconds(f64),
}

/// `20%` of the time, or `2s`.
pub fn spread(text: &str) -> Result<Spread, Expected> {
    match text.strip_suffix('%') {
        Some(percent) => {
            let percent = number(percent.trim()).ok_or("a part like 20%, or a time like 2s")?;
            Ok(Spread::Part(percent / 100.0))
        }
        None => seconds(text).map(Spread::Seconds),
    }
}

/// Digits with at most one point.
fn number(text: &str) -> Option<f64> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') && text.len() <= 20;
    text.parse::<f64>().ok().filter(|_| plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_as_people_write_them() {
        assert_eq!(bandwidth("25GB/s"), Ok(25e9));
        assert_eq!(bandwidth("200Gbit/s"), Ok(25e9));
        assert_eq!((bandwidth("8bit"), bandwidth("10 Gbit")), (Ok(1.0), Ok(1.25e9)));
        assert_eq!((bytes("10MB"), bytes("0")), (Ok(1e7), Ok(0.0)));
        assert_eq!((seconds("250ms"), seconds("90")), (Ok(0.25), Ok(90.0)));
        assert_eq!((spread("20%"), spread("2s")), (Ok(Spread::Part(0.2)), Ok(Spread::Seconds(2.0))));
        for text in ["0GB/s", "fast", "", "1e9bit", "5xbit", "kbit", "-1Gbit", "1ggbit"] {
            assert!(bandwidth(text).is_err(), "{text}");
        }
        assert!(
            speed("0").is_err() && speed("inf").is_err() && speed("nan").is_err() && spread("x%").is_err()
        );
    }
}
