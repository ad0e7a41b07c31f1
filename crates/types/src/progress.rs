//! What a running job reports of itself: work done, how fast, and what it needs.
//!
//! A world condenses what jobs write into [`Report`]s and stamps each with the attempt that it belongs to; a job cannot
//! report for another one. Everything is a whole number, so that the state it ends up in is the same on any machine.

use crate::id::{AllocationId, AskId, JobId};
use serde::de::{self, SeqAccess, Visitor};
use serde::ser::SerializeSeq;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::sync::Arc;

/// Condensed report of one running attempt.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Report {
    /// Attempt that is reported on.
    pub allocation: AllocationId,
    /// What is new of it.
    pub sample: Sample,
}

/// Measurements of a job. A field that is 0 or empty was not reported: the value before it stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Sample {
    /// Work done by the job so far, in thousandths of its own unit, work restored from a save included.
    pub done_milli: u64,
    /// Work that there is in all, in thousandths of the unit.
    pub total_milli: u64,
    /// Speed just now, in billionths of a unit per second.
    pub rate_nano: u64,
    /// Global batch size.
    pub batch: u64,
    /// Work that the last save would restore, in thousandths of the unit.
    pub saved_milli: u64,
    /// Most memory used on one device.
    pub memory_bytes: u64,
    /// Most power drawn by one device.
    pub power_mw: u64,
    /// What the job counts in: `step`, `sample`, `epoch`.
    pub unit: Option<Arc<str>>,
    /// Statistics by name, in thousandths, sorted by name: gradient noise, loss.
    pub stats: Vec<(Arc<str>, i64)>,
}

impl Sample {
    /// Largest amount of work, batch, memory or power that is taken; anything above is a mistake.
    pub const MOST: u64 = 1_000_000_000_000_000_000;
    /// Largest number of statistics.
    pub const STATS: usize = 8;
    /// Longest name of a unit or a statistic, in bytes.
    pub const NAME: usize = 32;

    /// Numbers in the order in which they are written, the least often used last.
    fn numbers(&self) -> [u64; 7] {
        [
            self.done_milli,
            self.rate_nano,
            self.total_milli,
            self.saved_milli,
            self.batch,
            self.memory_bytes,
            self.power_mw,
        ]
    }

    /// Whether every value is one that a job could mean.
    pub fn is_sane(&self) -> bool {
        let is_name = |name: &str| {
            !name.is_empty() && name.len() <= Self::NAME && !name.chars().any(crate::file::value::is_hidden)
        };
        self.numbers().iter().all(|&number| number <= Self::MOST)
            && self.unit.as_deref().is_none_or(is_name)
            && self.stats.len() <= Self::STATS
            && self.stats.iter().all(|(name, _)| is_name(name))
            && self.stats.is_sorted_by(|one, other| one.0 < other.0)
    }

    /// Takes over what a later sample says.
    pub fn update(&mut self, later: &Sample) {
        let newer = |old: &mut u64, new: u64| *old = if new > 0 { new } else { *old };
        newer(&mut self.done_milli, later.done_milli);
        newer(&mut self.total_milli, later.total_milli);
        newer(&mut self.rate_nano, later.rate_nano);
        newer(&mut self.batch, later.batch);
        newer(&mut self.saved_milli, later.saved_milli);
        self.memory_bytes = self.memory_bytes.max(later.memory_bytes);
        self.power_mw = self.power_mw.max(later.power_mw);
        if later.unit.is_some() {
            self.unit.clone_from(&later.unit);
        }
        if !later.stats.is_empty() {
            self.stats.clone_from(&later.stats);
        }
    }
}

/// What people read: `1,200 of 5,000 steps, 3.2 steps a second`.
impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = self.unit.as_deref().unwrap_or("unit");
        let done = grouped(self.done_milli, 3);
        match (self.done_milli, self.total_milli) {
            (0, 0) => f.write_str("measurements")?,
            (_, 0) => write!(f, "{done} {unit}s done")?,
            (_, total) => write!(f, "{done} of {} {unit}s", grouped(total, 3))?,
        }
        match self.rate_nano {
            0 => Ok(()),
            rate if rate < 1_000_000_000 / 60 => {
                write!(f, ", {} {unit}s an hour", grouped((u128::from(rate) * 36 / 1_000_000) as u64, 1))
            }
            rate => write!(f, ", {} {unit}s a second", grouped(rate / 1_000_000, 3)),
        }
    }
}

/// A number in parts of `10^digits`, with at most two of them, and its thousands apart.
fn grouped(number: u64, digits: u32) -> String {
    let scale = 10u64.pow(digits);
    let (whole, part) = (number / scale, number % scale);
    let plain = whole.to_string();
    let mut text = String::new();
    for (at, digit) in plain.chars().enumerate() {
        if at > 0 && (plain.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    let part = format!("{part:0width$}", width = digits as usize);
    let part = part.get(..2).unwrap_or(&part).trim_end_matches('0');
    if whole < 1_000 && !part.is_empty() {
        text.push('.');
        text.push_str(part);
    }
    text
}

/// Written as a list without names, because there are many: job, stage, task, attempt, then the numbers of the sample, unit and
/// statistics, without what was not reported at the end: `[17,0,0,1,1200000,3200000000]`.
impl Serialize for Report {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let AllocationId { ask: AskId { job, stage, task }, attempt } = self.allocation;
        let numbers = self.sample.numbers();
        let (unit, stats) = (&self.sample.unit, &self.sample.stats);
        let used = match () {
            () if !stats.is_empty() => 9,
            () if unit.is_some() => 8,
            () => numbers.iter().rposition(|&number| number > 0).map_or(0, |last| last + 1),
        };
        let mut list = to.serialize_seq(Some(4 + used))?;
        list.serialize_element(&job)?;
        list.serialize_element(&stage)?;
        list.serialize_element(&task)?;
        list.serialize_element(&attempt)?;
        numbers.iter().take(used).try_for_each(|number| list.serialize_element(number))?;
        if used > 7 {
            list.serialize_element(unit)?;
        }
        if used > 8 {
            list.serialize_element(stats)?;
        }
        list.end()
    }
}

impl<'de> Deserialize<'de> for Report {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_seq(List)
    }
}

struct List;

impl<'de> Visitor<'de> for List {
    type Value = Report;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of job, stage, task, attempt and what was reported")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Report, A::Error> {
        let short = |at| de::Error::invalid_length(at, &self);
        let job: JobId = list.next_element()?.ok_or_else(|| short(0))?;
        let stage = list.next_element()?.ok_or_else(|| short(1))?;
        let task = list.next_element()?.ok_or_else(|| short(2))?;
        let attempt = list.next_element()?.ok_or_else(|| short(3))?;
        let mut sample = Sample::default();
        for number in [
            &mut sample.done_milli,
            &mut sample.rate_nano,
            &mut sample.total_milli,
            &mut sample.saved_milli,
            &mut sample.batch,
            &mut sample.memory_bytes,
            &mut sample.power_mw,
        ] {
            *number = list.next_element()?.unwrap_or(0);
        }
        sample.unit = list.next_element()?.unwrap_or(None);
        sample.stats = list.next_element()?.unwrap_or_default();
        Ok(Report { allocation: AllocationId { ask: AskId { job, stage, task }, attempt }, sample })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(sample: Sample) -> Report {
        Report { allocation: AllocationId { ask: AskId::whole(JobId(17)), attempt: 1 }, sample }
    }

    #[test]
    fn reports_are_short_and_can_be_read_back() {
        let plain = Sample { done_milli: 1_200_000, rate_nano: 3_200_000_000, ..Sample::default() };
        let full = Sample {
            total_milli: 5_000_000,
            saved_milli: 1_000_000,
            batch: 256,
            memory_bytes: 1 << 36,
            power_mw: 700_000,
            unit: Some("step".into()),
            stats: vec![("gradient_noise".into(), 1_500), ("loss".into(), -3)],
            ..plain.clone()
        };
        for (sample, text) in [
            (Sample::default(), "[17,0,0,1]"),
            (plain, "[17,0,0,1,1200000,3200000000]"),
            (
                full,
                "[17,0,0,1,1200000,3200000000,5000000,1000000,256,68719476736,700000,\"step\",\
                 [[\"gradient_noise\",1500],[\"loss\",-3]]]",
            ),
        ] {
            assert!(sample.is_sane());
            let report = report(sample);
            assert_eq!(serde_json::to_string(&report).unwrap(), text);
            assert_eq!(serde_json::from_str::<Report>(text).unwrap(), report);
        }
        assert!(serde_json::from_str::<Report>("[17,0,0]").is_err());
    }

    #[test]
    fn people_read_round_numbers() {
        let said = |done, total, rate| {
            let sample = Sample {
                done_milli: done,
                total_milli: total,
                rate_nano: rate,
                unit: Some("step".into()),
                ..Sample::default()
            };
            sample.to_string()
        };
        let all = [
            (said(1_200_000, 5_000_000, 3_250_000_000), "1,200 of 5,000 steps, 3.25 steps a second"),
            (said(500, 0, 1_000_000), "0.5 steps done, 3.6 steps an hour"),
            (said(0, 0, 0), "measurements"),
            (said(1_234_567_890, 0, 12_345_678_000_000), "1,234,567 steps done, 12,345 steps a second"),
        ];
        for (said, expected) in all {
            assert_eq!(said, expected);
        }
    }

    #[test]
    fn what_no_job_can_mean_is_not_sane() {
        let insane = [
            Sample { done_milli: u64::MAX, ..Sample::default() },
            Sample { rate_nano: Sample::MOST + 1, ..Sample::default() },
            Sample { unit: Some("".into()), ..Sample::default() },
            Sample { unit: Some("st\u{202e}ep".into()), ..Sample::default() },
            Sample { stats: vec![("b".into(), 1), ("a".into(), 1)], ..Sample::default() },
            Sample { stats: (0..9).map(|n| (format!("s{n}").into(), 0)).collect(), ..Sample::default() },
        ];
        assert!(insane.iter().all(|sample| !sample.is_sane()));
    }

    #[test]
    fn what_was_not_reported_stands() {
        let mut known = Sample { done_milli: 5, total_milli: 9, memory_bytes: 7, ..Sample::default() };
        known.update(&Sample { done_milli: 3, memory_bytes: 2, batch: 4, ..Sample::default() });
        let expected =
            Sample { done_milli: 3, total_milli: 9, memory_bytes: 7, batch: 4, ..Sample::default() };
        assert_eq!(known, expected);
    }
}
