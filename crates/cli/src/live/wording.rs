//! How jobs, times and amounts are said.

use crate::failure::one_line;
use crate::numbers::{duration, thousands};
use crate::screen::Screen;
use crate::table::Table;
use consort_api::Moment;
use consort_api::shapes::{Job, OutputLost, State, StoryLine};
use consort_types::Time;
use std::time::SystemTime;

/// The clock of this machine.
pub fn now() -> Time {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Time(i64::try_from(since.as_nanos()).unwrap_or(i64::MAX))
}

/// How long ago something was; clocks of two machines may differ, so never less than nothing.
pub fn ago(moment: Moment, now: Time) -> f64 {
    (now - moment.0).as_seconds().max(0.0)
}

/// `1,204 bytes, from 2026-03-09 14:05:00 UTC (3m ago) on`.
pub fn lost(lost: OutputLost, now: Time) -> String {
    format!("{} bytes, from {} on", thousands(lost.bytes), instant(lost.since, now))
}

/// `2026-03-09 14:05:00 UTC (3m ago)`.
pub fn instant(moment: Moment, now: Time) -> String {
    let text = moment.to_string();
    let (date, time) = text.split_once('T').unwrap_or((&text, ""));
    let time = time.split('.').next().unwrap_or_default();
    let apart = (moment.0 - now).as_seconds();
    match apart > 1.0 {
        true => format!("{date} {time} UTC (in {})", duration(apart)),
        false => format!("{date} {time} UTC ({} ago)", duration(-apart)),
    }
}

/// What happened to a job, a line each, under a title.
pub fn story(story: &[StoryLine], screen: &Screen) -> String {
    let now = now();
    let lines: Vec<(String, String)> =
        story.iter().map(|line| (instant(line.at, now), one_line(&line.text))).collect();
    let pairs: Vec<(&str, String)> = lines.iter().map(|(at, text)| (at.as_str(), text.clone())).collect();
    Table::pairs(["when", "what happened"], screen.width, &pairs).show(screen)
}

/// How long a job has been running, or ran; what it waited for so long if it never did.
pub fn elapsed(job: &Job, now: Time) -> f64 {
    let end = job.ended.map_or(now, |ended| ended.0);
    let begin = job.started.unwrap_or(job.submitted).0;
    (end - begin).as_seconds().max(0.0)
}

/// `job 17 (train)`.
pub fn subject(job: &Job) -> String {
    format!("job {} ({})", job.id, one_line(&job.name))
}

/// What became of a job, in a sentence without its end: `job 17 (train) failed with status 3 after 2m`.
pub fn ending(job: &Job) -> String {
    let time = match (job.started, job.ended) {
        (Some(_), Some(_)) => format!(" after {}", duration(elapsed(job, now()))),
        _ => String::new(),
    };
    let reason = one_line(&job.reason);
    let how = match (job.state, job.exit_code) {
        (State::Succeeded, _) => "succeeded".to_string(),
        (State::Cancelled, _) => "was cancelled".to_string(),
        (State::Failed, _) if !reason.is_empty() => {
            // The duration stands before the details: behind them it would belong to their last words.
            let (how, details) = match reason.strip_prefix("it ") {
                Some(what) => what.split_once(": ").map_or((what, None), |(how, why)| (how, Some(why))),
                None => ("failed", Some(reason.as_str())),
            };
            let details = details.map_or(String::new(), |details| format!(": {details}"));
            return format!("{} {how}{time}{details}", subject(job));
        }
        (State::Failed, Some(code)) => format!("failed with status {code}"),
        (State::Failed, None) => "failed".to_string(),
        (state, _) => format!("is {state}"),
    };
    format!("{} {how}{time}", subject(job))
}

/// The status with which `run` and `wait` end: the job's own.
pub fn status(job: &Job) -> u8 {
    match (job.state, job.exit_code) {
        (State::Succeeded, _) => 0,
        (_, Some(code @ 1..=255)) => code as u8,
        _ => 1,
    }
}

/// `64.5 GiB`.
pub fn bytes(bytes: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let (mut amount, mut unit) = (bytes as f64, 0);
    while amount >= 1024.0 && unit + 1 < units.len() {
        amount /= 1024.0;
        unit += 1;
    }
    match amount.fract() == 0.0 || unit == 0 {
        true => format!("{amount} {}", units[unit]),
        false => format!("{amount:.1} {}", units[unit]),
    }
}

/// A number that may be unknown.
pub fn maybe(number: Option<f64>, unit: &str) -> String {
    number.map_or_else(|| "-".into(), |number| format!("{number:.0}{unit}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(state: State, exit_code: Option<i32>) -> Job {
        Job {
            id: 17,
            name: "a\nb".into(),
            user: None,
            tenant: "red".into(),
            queue: "default".into(),
            state,
            reason: String::new(),
            devices: 1,
            submitted: Moment(Time::seconds(0)),
            started: Some(Moment(Time::seconds(10))),
            expected_start: None,
            ended: Some(Moment(Time::seconds(130))),
            exit_code,
            priority: 0,
            qos: "standard".into(),
            attempts: 1,
            preemptions: 0,
            restarts: 0,
            used_cpu_ms: 0,
            used_memory_mib_ms: 0,
            asks_for: vec![],
        }
    }

    #[test]
    fn endings_are_said_and_become_the_status() {
        for (state, code, words, status) in [
            (State::Succeeded, Some(0), "succeeded after 2m", 0),
            (State::Failed, Some(3), "failed with status 3 after 2m", 3),
            (State::Failed, None, "failed after 2m", 1),
            (State::Failed, Some(0), "failed with status 0 after 2m", 1),
            (State::Failed, Some(-9), "failed with status -9 after 2m", 1),
            (State::Cancelled, Some(143), "was cancelled after 2m", 143),
            (State::Cancelled, None, "was cancelled after 2m", 1),
        ] {
            let job = job(state, code);
            assert_eq!(ending(&job), format!("job 17 (a b) {words}"));
            assert_eq!(self::status(&job), status);
        }
    }

    #[test]
    fn a_reason_says_how_it_failed() {
        let mut job = job(State::Failed, Some(137));
        job.reason = "it ran out of memory".into();
        assert_eq!(ending(&job), "job 17 (a b) ran out of memory after 2m");
        job.reason = "it ran out of device memory: no kind has more memory than 192 GiB".into();
        let words = "job 17 (a b) ran out of device memory after 2m: no kind has more memory than 192 GiB";
        assert_eq!(ending(&job), words);
        job.reason = "node n1 was lost".into();
        assert_eq!(ending(&job), "job 17 (a b) failed after 2m: node n1 was lost");
    }

    #[test]
    fn amounts_and_instants_are_for_people() {
        assert_eq!([0, 1023, 1024, 141 << 30].map(bytes), ["0 B", "1023 B", "1 KiB", "141 GiB"]);
        assert_eq!(bytes(1_500_000_000), "1.4 GiB");
        let moment = Moment(Time::seconds(1_773_065_100));
        let now = Time::seconds(1_773_065_280);
        assert_eq!(instant(moment, now), "2026-03-09 14:05:00 UTC (3m ago)");
        assert_eq!(instant(Moment(now), moment.0), "2026-03-09 14:08:00 UTC (in 3m)");
    }
}
