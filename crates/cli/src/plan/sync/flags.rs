//! How the flags of plans about one job are read: each says what it expected.

use consort_parallel::fabric;
use consort_types::file::value;

/// A time: `120ms`.
pub fn time(text: &str) -> Result<f64, String> {
    fabric::latency(text).map_err(|expected| format!("expected {expected}"))
}

/// A speed: `10Gb/s`.
pub fn speed(text: &str) -> Result<f64, String> {
    fabric::bandwidth(text).map_err(|expected| format!("expected {expected}"))
}

/// A size: `400MB`.
pub fn size(text: &str) -> Result<u64, String> {
    value::memory(text).map_err(|expected| format!("expected {expected}"))
}

/// A whole number.
pub fn whole<N: std::str::FromStr>(text: &str) -> Result<N, String> {
    text.parse().map_err(|_| "expected a whole number that is not negative".into())
}

/// A number that is not negative.
pub fn ratio(text: &str) -> Result<f64, String> {
    let found = text.parse::<f64>().ok().filter(|number| (0.0..1e9).contains(number));
    found.ok_or_else(|| "expected a number that is not negative, like 2.5".into())
}

/// `1024x4096` or `1024x4096x24`.
pub fn shape(text: &str) -> Result<(u64, u64, u32), String> {
    let expected =
        || "expected rows and columns like 1024x4096, and how many of them like 1024x4096x24".to_string();
    let numbers: Vec<u64> =
        text.split('x').map(str::parse).collect::<Result<_, _>>().map_err(|_| expected())?;
    let sound = |number: u64| (1..=1 << 40).contains(&number);
    match numbers[..] {
        [rows, columns] if sound(rows) && sound(columns) => Ok((rows, columns, 1)),
        [rows, columns, count @ 1..=100_000] if sound(rows) && sound(columns) => {
            Ok((rows, columns, count as u32))
        }
        _ => Err(expected()),
    }
}

/// `0.1` or `10%`.
pub fn part(text: &str) -> Result<f64, String> {
    let (number, whole) = text.strip_suffix('%').map_or((text, 1.0), |number| (number, 100.0));
    let found = number.trim().parse::<f64>().ok().map(|number| number / whole);
    found.filter(|part| (0.0..=10.0).contains(part)).ok_or_else(|| "expected a part like 0.1 or 10%".into())
}

/// `2.3,0.6`.
pub fn two(text: &str) -> Result<(f64, f64), String> {
    let found = text.split_once(',').and_then(|(one, two)| {
        let (one, two) = (one.trim().parse::<f64>().ok()?, two.trim().parse::<f64>().ok()?);
        (one > 0.0 && two > 0.0 && one.is_finite() && two.is_finite()).then_some((one, two))
    });
    found.ok_or_else(|| "expected two numbers above zero, like 2.3,0.6".into())
}

/// `powersgd-4=0.6`.
pub fn measured(text: &str) -> Result<(String, f64), String> {
    let found = text.split_once('=').and_then(|(way, error)| Some((way.to_string(), error.parse().ok()?)));
    found.ok_or_else(|| "expected a way and what it loses, like powersgd-4=0.6".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_read_or_refused() {
        assert_eq!(shape("1024x4096x24"), Ok((1024, 4096, 24)));
        assert_eq!(shape("8x9"), Ok((8, 9, 1)));
        assert!(["", "8", "0x4", "8x9x0", "8x9x9x9", "axb"].iter().all(|text| shape(text).is_err()));
        assert_eq!((part("10%"), part("0.1")), (Ok(0.1), Ok(0.1)));
        assert!(["-1", "x", "NaN"].iter().all(|text| part(text).is_err()));
        assert_eq!(two("2.3, 0.6"), Ok((2.3, 0.6)));
        assert!(["2.3", "0,1", "inf,1"].iter().all(|text| two(text).is_err()));
        assert_eq!(measured("powersgd-4=0.6"), Ok(("powersgd-4".into(), 0.6)));
        assert!(measured("powersgd-4").is_err());
        assert_eq!((time("120ms"), speed("10Gb/s"), size("400MB")), (Ok(0.12), Ok(1.25e9), Ok(400_000_000)));
        assert!(speed("0").unwrap_err().starts_with("expected a bandwidth"));
        assert!(ratio("-1").is_err() && ratio("2.5") == Ok(2.5));
    }
}
