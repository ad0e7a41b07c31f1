//! How speeds and delays are written: `400Gb/s`, `450GB/s`, `5us`.

/// Bytes per second: `400Gb/s`, `25Gbit/s`, `200Gbps`, `450GB/s`, `12.5 GiB/s`. A small `b` is a bit, a large `B` a byte.
/// On failure, what was expected.
pub fn bandwidth(text: &str) -> Result<f64, String> {
    let expected = || "a bandwidth above zero like 400Gb/s or 50GB/s".to_string();
    let (number, unit) = parts(text).ok_or_else(expected)?;
    let unit = unit.strip_suffix("/s").or_else(|| unit.strip_suffix("ps")).ok_or_else(expected)?;
    let (scale, eighths) = match () {
        () if unit.ends_with("bit") => (&unit[..unit.len() - 3], 8.0),
        () if unit.ends_with('b') => (&unit[..unit.len() - 1], 8.0),
        () if unit.ends_with('B') => (&unit[..unit.len() - 1], 1.0),
        () => return Err(expected()),
    };
    let scale = match scale {
        "" => 1.0,
        "k" | "K" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        "Ki" => 1024.0,
        "Mi" => 1_048_576.0,
        "Gi" => 1_073_741_824.0,
        "Ti" => 1_099_511_627_776.0,
        _ => return Err(expected()),
    };
    let speed = number * scale / eighths;
    // Nothing built moves a byte a year, or an exabyte a second.
    if (1e-3..=1e18).contains(&speed) { Ok(speed) } else { Err(expected()) }
}

/// Seconds: `5us`, `800ns`, `2ms`, `0.5 s`. Nothing at all needs no unit. On failure, what was expected.
pub fn latency(text: &str) -> Result<f64, String> {
    let expected = || "a delay like 5us, 800ns or 2ms, at most an hour".to_string();
    let (number, unit) = parts(text).ok_or_else(expected)?;
    // Divided, so that 5us is the number that people write as 5e-6.
    let parts = match unit {
        "" if number == 0.0 => 1.0,
        "s" => 1.0,
        "ms" => 1e3,
        "us" | "µs" | "μs" => 1e6,
        "ns" => 1e9,
        _ => return Err(expected()),
    };
    let delay = number / parts;
    if delay <= 3600.0 { Ok(delay) } else { Err(expected()) }
}

/// A bandwidth for people: `50 GB/s`, `312.5 MB/s`.
pub fn shown(bandwidth: f64) -> String {
    let scales = [(1e12, "TB/s"), (1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s")];
    let (scale, unit) = scales.into_iter().find(|(scale, _)| bandwidth >= *scale).unwrap_or((1.0, "B/s"));
    let text = format!("{:.2}", bandwidth / scale);
    format!("{} {unit}", text.trim_end_matches('0').trim_end_matches('.'))
}

/// A number without sign or exponent, and what stands behind it.
fn parts(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    Some((number.parse().ok()?, unit.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_and_bytes_are_told_apart() {
        assert_eq!(bandwidth("400Gb/s"), Ok(50e9));
        assert_eq!(bandwidth("450GB/s"), Ok(450e9));
        assert_eq!(bandwidth("25Gbit/s"), Ok(3.125e9));
        assert_eq!(bandwidth("12.5 GB/s"), Ok(12.5e9));
        assert_eq!(bandwidth("200Gbps"), Ok(25e9));
        assert_eq!(bandwidth("1GiB/s"), Ok(1_073_741_824.0));
        for text in
            ["", "400", "400G", "400Gb", "0Gb/s", "-1Gb/s", "1e9B/s", "NaNGb/s", "5 parsecs/s", "1..2GB/s"]
        {
            assert!(bandwidth(text).is_err(), "{text}");
        }
    }

    #[test]
    fn delays_are_seconds() {
        assert_eq!((latency("5us"), latency("2ms"), latency("800ns")), (Ok(5e-6), Ok(2e-3), Ok(8e-7)));
        assert_eq!((latency("0"), latency("1.5 µs")), (Ok(0.0), Ok(1.5e-6)));
        for text in ["", "5", "us", "-1us", "2h"] {
            assert!(latency(text).is_err(), "{text}");
        }
    }

    #[test]
    fn speeds_are_shown_in_the_unit_that_fits() {
        assert_eq!([50e9, 12.5e9, 3.125e8, 7.0].map(shown), ["50 GB/s", "12.5 GB/s", "312.5 MB/s", "7 B/s"]);
    }
}
