//! Dates as public logs write them, and workloads that begin at zero.
//!
//! A log says `2020-06-09 18:41:01` and no zone. Such times are taken as they stand, so an hour that a clock was put
//! back is an hour too long; only differences matter, and a simulation begins with the first submission.

use super::Workload;
use super::value::Expected;
use consort_types::time::calendar;
use consort_types::{Span, Time};

/// A date and a time of day from 1970 on, in no zone in particular.
pub(super) fn moment(text: &str) -> Result<Time, Expected> {
    match calendar::read(&format!("{text}Z")) {
        Some(time) if (Time::ZERO..=Time::ZERO + Span::CENTURY).contains(&time) => Ok(time),
        _ => Err("a date and time like 2020-06-09 18:41:01, from 1970 to 2069".into()),
    }
}

/// Whether a log says that it does not know: nothing at all, or one of the words that programs write for nothing.
pub(super) fn is_nothing(text: &str) -> bool {
    matches!(text, "" | "None" | "NaT" | "nan" | "NaN" | "null" | "Unknown")
}

/// The same, or nothing where the log does not know.
pub(super) fn maybe<T>(
    parse: impl FnOnce(&str) -> Result<T, Expected>,
) -> impl FnOnce(&str) -> Result<Option<T>, Expected> {
    |text| if is_nothing(text) { Ok(None) } else { parse(text).map(Some) }
}

/// The same workload with its first submission at zero. For jobs without deadlines, which would have to move too.
pub(super) fn from_the_first(mut workload: Workload) -> Workload {
    if let Some(first) = workload.submissions.first().map(|submission| submission.at) {
        for submission in &mut workload.submissions {
            submission.at = Time::ZERO + (submission.at - first);
        }
    }
    workload
}
