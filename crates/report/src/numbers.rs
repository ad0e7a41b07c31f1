//! Numbers as people read them: on a page, and on the command line, which borrows this file.

use consort_types::Span;

/// `1234567` as `1,234,567`.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// With so many decimals and thousands apart: `12,345.67`.
pub fn decimal(number: f64, decimals: usize) -> String {
    if !number.is_finite() {
        return "-".into();
    }
    let text = format!("{:.decimals$}", number.abs());
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let whole = whole.parse().map_or_else(|_| whole.to_string(), thousands);
    let is_negative = number < 0.0 && text.contains(|digit: char| ('1'..='9').contains(&digit));
    format!("{}{whole}{rest}", if is_negative { "-" } else { "" })
}

/// A share between 0 and 1 as `64.3%`.
pub fn percent(share: f64) -> String {
    decimal(share * 100.0, 1) + "%"
}

/// Seconds as `2h 14m`, `13m 20s`, `4.2s`, `0s`.
pub fn duration(seconds: f64) -> String {
    if !seconds.is_finite() {
        return "-".into();
    }
    let tenths = (seconds * 10.0).round();
    if tenths.abs() < 100.0 {
        return format!("{}s", tenths / 10.0);
    }
    // To the minute from an hour on, to the hour only after some days: what a reader needs to compare.
    match seconds.abs() {
        large if large >= 360_000.0 => Span::seconds((seconds / 3_600.0).round() as i64 * 3_600).to_string(),
        large if large >= 86_400.0 => {
            let minutes = (seconds / 60.0).round() as i64;
            match minutes % 60 {
                0 => format!("{}h", minutes / 60),
                rest => format!("{}h {}m", minutes / 60, rest.abs()),
            }
        }
        large if large >= 3_600.0 => Span::seconds((seconds / 60.0).round() as i64 * 60).to_string(),
        _ => Span::seconds(seconds.round() as i64).to_string(),
    }
}

/// Seconds to about four digits, in the unit that suits: `12.35 µs`, `174.5 ms`, `80 s`, `1,118 s`.
pub fn brief(seconds: f64) -> String {
    let (number, unit) = match seconds.abs() {
        large if large >= 1.0 || large == 0.0 => (seconds, "s"),
        large if large >= 1e-3 => (seconds * 1e3, "ms"),
        large if large >= 1e-6 => (seconds * 1e6, "µs"),
        _ => (seconds * 1e9, "ns"),
    };
    format!("{} {unit}", digits(number))
}

/// Bytes per second to about four digits: `12.5 GB/s`.
pub fn speed(bytes_per_s: f64) -> String {
    let (number, unit) = match bytes_per_s.abs() {
        large if large >= 1e12 => (bytes_per_s / 1e12, "TB/s"),
        large if large >= 1e9 => (bytes_per_s / 1e9, "GB/s"),
        large if large >= 1e6 => (bytes_per_s / 1e6, "MB/s"),
        large if large >= 1e3 => (bytes_per_s / 1e3, "kB/s"),
        _ => (bytes_per_s, "B/s"),
    };
    format!("{} {unit}", digits(number))
}

/// About four digits, and no zeros that say nothing.
fn digits(number: f64) -> String {
    let places = match number.abs() {
        large if large >= 1000.0 => 0,
        large if large >= 100.0 => 1,
        large if large >= 10.0 => 2,
        _ => 3,
    };
    let text = decimal(number, places);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
}

/// `1 job`, `2 jobs`.
pub fn counted(number: u64, one: &str) -> String {
    format!("{} {one}{}", thousands(number), if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_times_and_speeds_have_four_digits() {
        let times = [0.0, 1.2346e-5, 0.1744981, 80.0, 1118.4, 3.2e-8].map(brief);
        assert_eq!(times, ["0 s", "12.35 µs", "174.5 ms", "80 s", "1,118 s", "32 ns"]);
        assert_eq!([12.5e9, 1e6, 3.2e12, 7.0].map(speed), ["12.5 GB/s", "1 MB/s", "3.2 TB/s", "7 B/s"]);
    }

    #[test]
    fn numbers_are_grouped() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(thousands), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(decimal(12_345.678, 2), "12,345.68");
        assert_eq!(decimal(-1_234.5, 0), "-1,234");
        assert_eq!(decimal(-0.001, 1), "0.0");
        assert_eq!(decimal(f64::NAN, 1), "-");
        assert_eq!(percent(0.6432), "64.3%");
        assert_eq!(counted(1, "job") + " " + &counted(2_000, "job"), "1 job 2,000 jobs");
    }

    #[test]
    fn durations_keep_what_matters() {
        for (seconds, text) in [
            (f64::NAN, "-"),
            (0.0, "0s"),
            (4.24, "4.2s"),
            (9.99, "10s"),
            (59.6, "1m"),
            (800.0, "13m 20s"),
            (8_040.0, "2h 14m"),
            (3_599.9, "1h"),
            (86_401.0, "24h"),
            (97_300.0, "27h 2m"),
            (360_000.0, "4d 4h"),
        ] {
            assert_eq!(duration(seconds), text, "{seconds}");
        }
    }
}
