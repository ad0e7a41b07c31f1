//! Amounts as people write them, as numbers to compute with.

use consort_types::file::value::{self, Expected};
use consort_types::time::Span;

/// `10MB`, `1.5GiB`, `0`.
pub fn bytes(text: &str) -> Result<f64, Expected> {
    value::memory(text).map(|bytes| bytes as f64).map_err(|_| "an amount like 10MB, 1.5GiB or 0".into())
}

/// `10s`, `2ms`, `1h30m`, `4.724814926717392s`; a bare number counts seconds. Measured times have more digits than
/// nanoseconds, so this is not the time of jobs.
pub fn seconds(text: &str) -> Result<f64, Expected> {
    let malformed = || "a time like 90s, 1h30m, 2d or 1.5s".to_string();
    let beyond = || "a time from 0s to 100 years".to_string();
    let mut rest = text.trim();
    if rest.starts_with('-') {
        return Err(beyond());
    }
    let (mut total, mut pieces) = (0.0, 0);
    while !rest.is_empty() || pieces == 0 {
        let (number, tail) = rest.split_at(rest.find(|c: char| !is_digit(c)).unwrap_or(rest.len()));
        let letters = tail.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(letters);
        let number: f64 = number.parse().map_err(|_| malformed())?;
        // Divided, so that 5us is the number that people write as 5e-6.
        total += match unit {
            "ns" => number / 1e9,
            "us" => number / 1e6,
            "ms" => number / 1e3,
            "s" => number,
            "m" | "min" => number * 60.0,
            "h" => number * 3_600.0,
            "d" => number * 86_400.0,
            "" if tail.is_empty() && pieces == 0 => number,
            _ => return Err(malformed()),
        };
        (rest, pieces) = (tail.trim_start(), pieces + 1);
    }
    if total <= Span::CENTURY.0 as f64 / 1e9 { Ok(total) } else { Err(beyond()) }
}

fn is_digit(letter: char) -> bool {
    letter.is_ascii_digit() || letter == '.'
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
    let plain = text.chars().all(is_digit) && text.len() <= 20;
    text.parse::<f64>().ok().filter(|_| plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_as_people_write_them() {
        assert_eq!((bytes("10MB"), bytes("0")), (Ok(1e7), Ok(0.0)));
        assert_eq!((seconds("250ms"), seconds("90")), (Ok(0.25), Ok(90.0)));
        assert_eq!((spread("20%"), spread("2s")), (Ok(Spread::Part(0.2)), Ok(Spread::Seconds(2.0))));
        assert_eq!((seconds("1h30m"), seconds("1h 30 m").is_ok()), (Ok(5400.0), false));
        assert_eq!(seconds("4.724814926717392s"), Ok(4.724814926717392));
        assert_eq!(
            (seconds("36500d"), seconds("5us"), seconds("0")),
            (Ok(36_500.0 * 86_400.0), Ok(5e-6), Ok(0.0))
        );
        let endless = "9".repeat(400);
        for text in
            ["", " ", "-1s", "-0.5", "nan", "inf", "NaNs", "infs", "1e3s", "s", ".", "1.2.3s", "5x", "40000d"]
        {
            assert!(seconds(text).is_err(), "{text}");
        }
        assert!(seconds(&endless).is_err() && seconds("1h5").is_err());
        assert!(
            speed("0").is_err() && speed("inf").is_err() && speed("nan").is_err() && spread("x%").is_err()
        );
    }
}
