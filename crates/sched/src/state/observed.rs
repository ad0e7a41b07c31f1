//! How fast jobs were observed to run, by setting: bounded integers, from which beliefs are derived.
//!
//! Each job keeps rows of its own, and each application (jobs of one tenant and name) keeps rows that outlive its jobs, so
//! that the next job of that name starts with what earlier ones taught. A row is a running mean and mean deviation of the
//! rates reported under one [`Setting`]. Only `apply` changes them; curves fitted to them are never stored, so a better
//! fit changes no history (`belief/speed.rs`).
//!
//! Bounds: [`ROWS`] rows each, and `Constants::learned` applications; of those, the quarter that was reported on longest ago
//! is forgotten at once when there are too many.

use consort_types::{KindId, TenantId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Rows kept for one job, or for one application.
const ROWS: usize = 16;
/// Reports that the mean of a job remembers: few, so that a change of speed shows within a minute.
const OF_JOB: u32 = 4;
/// The same of an application.
const OF_APPLICATION: u32 = 16;

/// What the speed of a job depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Setting {
    /// Kind of its devices; of several, that of the first member.
    pub kind: KindId,
    /// Members.
    pub width: u32,
    /// Nodes they are spread over.
    pub nodes: u32,
    /// Batch size; 0 where it is not known, or where rows of several sizes were merged.
    pub batch: u64,
}

impl Setting {
    /// Whether only the batch size differs.
    pub fn is_like(&self, other: &Setting) -> bool {
        (self.kind, self.width, self.nodes) == (other.kind, other.width, other.nodes)
    }
}

/// Mean rate under one setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Observation {
    /// Under which setting.
    pub setting: Setting,
    /// Billionths of a unit per second, on average over the last reports.
    pub rate_nano: u64,
    /// Mean deviation from it.
    pub spread_nano: u64,
    /// Reports it rests on.
    pub count: u32,
    /// Event that last added to it.
    pub seen: u64,
}

impl Observation {
    fn add(&mut self, rate_nano: u64, window: u32, seen: u64) {
        self.count = self.count.saturating_add(1);
        let weight = i128::from(self.count.min(window));
        let difference = i128::from(rate_nano) - i128::from(self.rate_nano);
        self.rate_nano = (i128::from(self.rate_nano) + difference / weight) as u64;
        let spread = i128::from(self.spread_nano);
        self.spread_nano = (spread + (difference.abs() - spread) / weight) as u64;
        self.seen = seen;
    }

    /// Takes in a row whose batch size differs.
    fn merge(&mut self, other: &Observation) {
        let (mine, theirs) = (u128::from(self.count), u128::from(other.count));
        let all = (mine + theirs).max(1);
        let mean =
            |one: u64, other: u64| ((u128::from(one) * mine + u128::from(other) * theirs) / all) as u64;
        let apart = self.rate_nano.abs_diff(other.rate_nano) / 2;
        self.spread_nano = mean(self.spread_nano, other.spread_nano).max(apart);
        self.rate_nano = mean(self.rate_nano, other.rate_nano);
        self.count = self.count.saturating_add(other.count);
        self.seen = self.seen.max(other.seen);
        self.setting.batch = 0;
    }
}

/// Rows of one job or application, in no particular order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Rates(Vec<Observation>);

impl Rates {
    pub fn rows(&self) -> &[Observation] {
        &self.0
    }

    fn add(&mut self, setting: Setting, rate_nano: u64, window: u32, seen: u64) {
        if let Some(row) = self.0.iter_mut().find(|row| row.setting == setting) {
            return row.add(rate_nano, window, seen);
        }
        self.0.push(Observation { setting, rate_nano, spread_nano: 0, count: 1, seen });
        if self.0.len() > ROWS {
            self.shrink();
        }
    }

    /// Merges the oldest row with one that differs by its batch size only, or forgets it.
    fn shrink(&mut self) {
        let oldest = (0..self.0.len()).min_by_key(|&at| self.0[at].seen).expect("there are too many");
        let old = self.0.swap_remove(oldest);
        let like = self.0.iter_mut().filter(|row| row.setting.is_like(&old.setting));
        if let Some(row) = like.min_by_key(|row| row.seen) {
            row.merge(&old);
        }
    }

    /// Mean rate under a setting. Where its batch size was not reported, that of the last row that differs by nothing else.
    pub fn rate(&self, setting: &Setting) -> Option<&Observation> {
        let like = self.0.iter().filter(|row| row.setting.is_like(setting));
        like.max_by_key(|row| (row.setting.batch == setting.batch, row.seen))
    }

    /// The fastest row with this many members.
    pub fn fastest(&self, width: u32) -> Option<&Observation> {
        let wide = self.0.iter().filter(|row| row.setting.width == width);
        wide.max_by_key(|row| (row.rate_nano, row.seen))
    }

    /// Adds a report of a job itself.
    pub fn report(&mut self, setting: Setting, rate_nano: u64, seen: u64) {
        self.add(setting, rate_nano, OF_JOB, seen);
    }
}

/// What is known of one application.
#[derive(Clone, Debug, Default, Hash, Serialize, Deserialize)]
struct Application {
    /// What its jobs count in; rates in another unit cannot be compared.
    unit: Option<Arc<str>>,
    rates: Rates,
    seen: u64,
}

/// All applications that reported.
#[derive(Clone, Debug, Default, Hash, Serialize, Deserialize)]
pub(crate) struct Observed {
    applications: BTreeMap<TenantId, BTreeMap<Arc<str>, Application>>,
    count: u32,
}

impl Observed {
    /// Adds a report of a job of this name.
    pub fn report(
        &mut self,
        (tenant, name): (TenantId, &str),
        unit: Option<&Arc<str>>,
        (setting, rate_nano): (Setting, u64),
        (seen, most): (u64, u32),
    ) {
        let names = self.applications.entry(tenant).or_default();
        if !names.contains_key(name) {
            names.insert(name.into(), Application::default());
            self.count += 1;
        }
        let application = names.get_mut(name).expect("just entered");
        if application.unit.as_ref() != unit {
            (application.unit, application.rates) = (unit.cloned(), Rates::default());
        }
        application.seen = seen;
        application.rates.add(setting, rate_nano, OF_APPLICATION, seen);
        if self.count > most.max(1) {
            self.forget(most.max(1));
        }
    }

    fn forget(&mut self, most: u32) {
        let all = self.applications.values().flat_map(BTreeMap::values);
        let mut ages: Vec<u64> = all.map(|application| application.seen).collect();
        ages.sort_unstable();
        let limit = ages[ages.len() - (most - most / 4) as usize];
        self.applications.retain(|_, names| {
            names.retain(|_, application| application.seen >= limit);
            !names.is_empty()
        });
        self.count = self.applications.values().map(|names| names.len() as u32).sum();
    }

    /// What is known of jobs of this name.
    pub fn of(&self, tenant: TenantId, name: &str) -> Option<&Rates> {
        Some(&self.applications.get(&tenant)?.get(name)?.rates)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(width: u32, batch: u64) -> Setting {
        Setting { kind: KindId(0), width, nodes: 1, batch }
    }

    #[test]
    fn a_change_of_speed_shows_within_a_few_reports_of_the_job() {
        let mut rates = Rates::default();
        (0..100).for_each(|seen| rates.report(setting(1, 0), 1_000, seen));
        (0..6).for_each(|seen| rates.report(setting(1, 0), 2_000, 100 + seen));
        let row = rates.rate(&setting(1, 7)).expect("batch size does not matter");
        assert!(row.rate_nano > 1_800 && row.spread_nano > 0 && row.count == 106, "{row:?}");
    }

    #[test]
    fn rows_are_bounded_and_the_oldest_goes_first() {
        let mut rates = Rates::default();
        for width in 1..=100 {
            rates.report(setting(width, 0), 1, u64::from(width));
        }
        let mut widths: Vec<u32> = rates.rows().iter().map(|row| row.setting.width).collect();
        widths.sort_unstable();
        assert_eq!(widths, (85..=100).collect::<Vec<_>>());
    }

    #[test]
    fn rows_that_differ_by_batch_size_are_merged() {
        let mut rates = Rates::default();
        for batch in 1..=17 {
            rates.report(setting(4, batch), 100 * batch, batch);
        }
        assert_eq!(rates.rows().len(), 16);
        let merged = rates.rows().iter().find(|row| row.setting.batch == 0).expect("merged");
        assert_eq!((merged.rate_nano, merged.count, merged.spread_nano), (150, 2, 50));
    }

    #[test]
    fn applications_are_bounded_and_another_unit_begins_anew() {
        let mut observed = Observed::default();
        let step: Option<Arc<str>> = Some("step".into());
        for seen in 0..100 {
            let name = format!("job-{seen}");
            observed.report((TenantId(1), &name), step.as_ref(), (setting(1, 0), 9), (seen, 8));
            assert!(observed.count <= 8);
        }
        let widths = |observed: &Observed, name: &str| -> Vec<u32> {
            let rates = observed.of(TenantId(1), name);
            rates.map_or(vec![], |rates| rates.rows().iter().map(|row| row.setting.width).collect())
        };
        assert_eq!((widths(&observed, "job-99"), widths(&observed, "job-1")), (vec![1], vec![]));
        observed.report((TenantId(1), "job-99"), None, (setting(2, 0), 5), (100, 8));
        assert_eq!(widths(&observed, "job-99"), [2]);
    }
}
