//! How fast work really is, as opposed to what the scheduler believes.
//!
//! Only the virtual world looks in here. The scheduler hears of it through reports of progress, like any scheduler.

use consort_types::{Sample, Span};
use std::sync::Arc;

/// True speed of a job, against that at its full width on one node of a kind that is not named.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Speed {
    /// By kind of device, in thousandths; 1000 for all others.
    pub kinds: Vec<(String, u32)>,
    /// The exponent of the width, in thousandths: 1000 is in proportion, 0 gains nothing from width.
    pub scaling_milli: u32,
    /// What is left of it on more than one node, in thousandths.
    pub apart_milli: u32,
    /// Work in all, in steps, for jobs that report their progress.
    pub steps: Option<u64>,
}

impl Default for Speed {
    fn default() -> Self {
        Self { kinds: vec![], scaling_milli: 1000, apart_milli: 1000, steps: None }
    }
}

/// Where work runs.
pub struct Place<'a> {
    /// Kind of its first device; empty for members without any.
    pub kind: &'a str,
    /// Members.
    pub members: u32,
    /// Members at the full width.
    pub most: u32,
    /// Nodes.
    pub nodes: u32,
}

impl Speed {
    /// How often a running job reports.
    pub const BEAT: Span = Span::seconds(60);

    /// The speed as a fraction.
    pub fn at(&self, place: &Place<'_>) -> (u64, u64) {
        const WHOLE: f64 = 1e9;
        let kind = self.kinds.iter().find(|(name, _)| name == place.kind).map_or(1000, |kind| kind.1);
        let apart = if place.nodes > 1 { self.apart_milli } else { 1000 };
        let width = f64::from(place.members.max(1)) / f64::from(place.most.max(1));
        let gain = libm::pow(width, f64::from(self.scaling_milli) / 1e3);
        let speed = gain * f64::from(kind) / 1e3 * f64::from(apart) / 1e3 * WHOLE;
        ((speed as u64).max(1), WHOLE as u64)
    }

    /// What a job says that has this much left of its length, at its present pace.
    pub fn sample(&self, left: Span, length: Span, (part, whole): (u64, u64)) -> Option<Sample> {
        let steps = u128::from(self.steps?);
        let (left, length) = (left.0.max(0) as u128, length.0.max(1) as u128);
        let done = steps * 1_000 * (length - left.min(length)) / length;
        let full = steps * 1_000_000_000 * 1_000_000_000 / length;
        let rate = full * u128::from(part) / u128::from(whole);
        let unit: Arc<str> = "step".into();
        Some(Sample {
            done_milli: done as u64,
            total_milli: self.steps? * 1_000,
            rate_nano: rate.min(u128::from(Sample::MOST)) as u64,
            unit: Some(unit),
            ..Sample::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speed_depends_on_kind_width_and_nodes() {
        let speed = Speed {
            kinds: vec![("slow".into(), 250)],
            scaling_milli: 500,
            apart_milli: 800,
            ..Speed::default()
        };
        let at = |kind, members, nodes| {
            let (part, whole) = speed.at(&Place { kind, members, most: 4, nodes });
            part * 1000 / whole
        };
        assert_eq!(
            [at("fast", 4, 1), at("fast", 1, 1), at("slow", 1, 1), at("slow", 4, 2)],
            [1000, 500, 125, 200]
        );
    }

    #[test]
    fn what_a_job_says_follows_from_what_is_left() {
        let speed = Speed { steps: Some(3600), ..Speed::default() };
        let sample = speed.sample(Span::seconds(900), Span::seconds(3600), (1, 2)).expect("it reports");
        assert_eq!(
            (sample.done_milli, sample.total_milli, sample.rate_nano),
            (2_700_000, 3_600_000, 500_000_000)
        );
        assert_eq!(Speed::default().sample(Span::ZERO, Span::ZERO, (1, 1)), None);
    }
}
