//! Instants by the calendar: RFC 3339, for worlds whose origin is the first second of 1970.
//!
//! The proleptic Gregorian calendar without leap seconds, as every clock of a computer counts. What is written is
//! always UTC with milliseconds; what is read may have any offset and any number of decimals.

use super::{NS, Time};

const DAY: i64 = 86_400;

/// `2026-03-09T14:05:00.250Z`.
pub fn written(time: Time) -> String {
    let (seconds, rest) = (time.0.div_euclid(NS), time.0.rem_euclid(NS));
    let (year, month, day) = date(seconds.div_euclid(DAY));
    let second = seconds.rem_euclid(DAY);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{:03}Z",
        second / 3_600,
        second / 60 % 60,
        second % 60,
        rest / 1_000_000
    )
}

/// The instant that a text names, if it does: a date and a time with `T` or a space between them, and `Z` or an offset.
pub fn read(text: &str) -> Option<Time> {
    let bytes = text.as_bytes();
    if !text.is_ascii() || bytes.len() < 20 {
        return None;
    }
    let (head, tail) = text.split_at(19);
    let marks = [(4, "-"), (7, "-"), (13, ":"), (16, ":")];
    if marks.iter().any(|&(at, mark)| &head[at..=at] != mark) || !matches!(bytes[10], b'T' | b't' | b' ') {
        return None;
    }
    let number = |from: usize, to: usize| digits(&head[from..to]);
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    if !(1..=12).contains(&month) || !(1..=days_in(year, month)).contains(&day) {
        return None;
    }
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let (nanoseconds, zone) = fraction(tail)?;
    let seconds = days(year, month, day) * DAY + hour * 3_600 + minute * 60 + second - offset(zone)?;
    seconds.checked_mul(NS)?.checked_add(nanoseconds).map(Time)
}

/// The decimals of a second, and what follows them.
fn fraction(text: &str) -> Option<(i64, &str)> {
    let Some(rest) = text.strip_prefix('.') else { return Some((0, text)) };
    let end = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
    let (decimals, zone) = rest.split_at(end);
    if decimals.is_empty() {
        return None;
    }
    let kept = &decimals[..decimals.len().min(9)];
    Some((digits(kept)? * 10i64.pow(9 - kept.len() as u32), zone))
}

/// Seconds by which a zone is ahead of UTC.
fn offset(zone: &str) -> Option<i64> {
    let sign = match zone.get(..1)? {
        "Z" | "z" if zone.len() == 1 => return Some(0),
        "+" => 1,
        "-" => -1,
        _ => return None,
    };
    let (hours, minutes) = zone[1..].split_once(':')?;
    let (hours, minutes) = match (hours.len(), minutes.len()) {
        (2, 2) => (digits(hours)?, digits(minutes)?),
        _ => return None,
    };
    (hours < 24 && minutes < 60).then_some(sign * (hours * 3_600 + minutes * 60))
}

fn digits(text: &str) -> Option<i64> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) { text.parse().ok() } else { None }
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if is_leap(year) => 29,
        2 => 28,
        _ => 31,
    }
}

/// Days from the first of 1970 to the first of a year. Years of four centuries repeat, 146,097 days each.
fn days_to_year(year: i64) -> i64 {
    let before = year - 1;
    365 * (year - 1970) + (before.div_euclid(4) - before.div_euclid(100) + before.div_euclid(400)) - 477
}

fn days(year: i64, month: i64, day: i64) -> i64 {
    days_to_year(year) + (1..month).map(|month| days_in(year, month)).sum::<i64>() + day - 1
}

/// The year, month and day of a day counted from the first of 1970.
fn date(day: i64) -> (i64, i64, i64) {
    // Never more than one year off, since no year is longer than 366 days or shorter than 365.
    let mut year = 1970 + (day * 400).div_euclid(146_097);
    while days_to_year(year) > day {
        year -= 1;
    }
    while days_to_year(year + 1) <= day {
        year += 1;
    }
    let (mut month, mut rest) = (1, day - days_to_year(year));
    while rest >= days_in(year, month) {
        rest -= days_in(year, month);
        month += 1;
    }
    (year, month, rest + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_days_have_their_dates() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400, "2000-02-29T00:00:00.000Z"),
            (1_773_065_100, "2026-03-09T14:05:00.000Z"),
            (4_107_542_399, "2100-02-28T23:59:59.000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000Z"),
            (-1, "1969-12-31T23:59:59.000Z"),
        ] {
            assert_eq!(written(Time::seconds(seconds)), text);
            assert_eq!(read(text), Some(Time::seconds(seconds)), "{text}");
        }
    }

    #[test]
    fn every_day_of_four_centuries_comes_back() {
        for day in -146_097..146_097 {
            let (year, month, of_month) = date(day);
            assert_eq!(days(year, month, of_month), day);
        }
    }

    #[test]
    fn offsets_and_decimals_are_understood() {
        let base = read("2026-03-09T14:05:00Z").unwrap();
        assert_eq!(read("2026-03-09 15:05:00+01:00"), Some(base));
        assert_eq!(read("2026-03-09t13:35:00.000-00:30"), Some(base));
        assert_eq!(read("2026-03-09T14:05:00.1234567891Z"), Some(Time(base.0 + 123_456_789)));
        for text in [
            "",
            "2026-03-09",
            "2026-03-09T14:05:00",
            "2026-02-30T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-03-09T24:00:00Z",
            "2026-03-09T14:05:00.Z",
            "2026-03-09T14:05:00+1:00",
            "2026-03-09T14:05:00Zulu",
            "9999-12-31T00:00:00Z",
            "+026-03-09T14:05:00Z",
            "20é6-03-09T14:05:00Z",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
