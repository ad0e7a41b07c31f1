//! What happened over the time of a run: how much was in use, for whom, how many waited, and who was where.
//!
//! For: pictures of a run. It is kept only when asked for, because benchmarks have no use for it.
//! Promises: memory is bounded however long the run is; levels are integrated exactly, so that what is in use adds up
//! to what the report says was used. Who was where is kept while the run is small enough for a picture of it.
//! Never: seen by a policy. It listens to the events of the loop and looks at the state after each.

mod series;

pub use series::Series;

use consort_sched::{Doing, Scheduler};
use consort_types::*;
use series::Grid;
use std::collections::BTreeMap;

/// Beyond so many tenants, the later ones are added up under [`Course::OTHERS`].
const TENANTS: usize = 256;

/// Who was where is kept up to so many jobs.
pub const MOST_JOBS: u64 = 200;
/// And up to so many devices.
pub const MOST_DEVICES: u64 = 64;
/// And up to so many stays: a small run can be interrupted very often.
pub const MOST_STAYS: usize = 1_000;

/// The course of one run.
#[derive(Clone, Debug)]
pub struct Course {
    grid: Option<Grid>,
    now: Time,
    waiting: Series,
    in_use: Series,
    tenants: Vec<(String, Series)>,
    running: BTreeMap<AllocationId, Running>,
    jobs: u64,
    stays: Result<Vec<Stay>, TooMany>,
}

/// Why who was where is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TooMany {
    /// The cluster has so many devices.
    Devices(u64),
    /// More jobs than [`MOST_JOBS`].
    Jobs,
    /// More stays than [`MOST_STAYS`].
    Stays,
}

/// One attempt of one ask, from the moment it ran to the moment its devices were back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stay {
    /// What ran.
    pub allocation: AllocationId,
    /// Whose it was.
    pub tenant: TenantId,
    /// On which devices, in ascending order, and on how many thousandths of each.
    pub devices: Vec<(DeviceId, u16)>,
    /// When it came up.
    pub from: Time,
    /// When its devices were back; or the end of the run.
    pub to: Time,
    /// How it ended, if it did.
    pub outcome: Option<Outcome>,
}

/// Means over equal parts of the time.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// The length of one part; the last may be shorter.
    pub width_s: f64,
    /// The length of them all.
    pub length_s: f64,
    /// The mean of each part.
    pub means: Vec<f64>,
}

#[derive(Clone, Debug)]
struct Running {
    tenant: usize,
    thousandths: u64,
    stay: Option<usize>,
}

impl Course {
    /// What tenants beyond the bound are called together.
    pub const OTHERS: &str = "others";

    /// Of a run that has not begun, on so many devices.
    pub fn new(devices: u64) -> Self {
        let stays = if devices > MOST_DEVICES { Err(TooMany::Devices(devices)) } else { Ok(vec![]) };
        Self {
            grid: None,
            now: Time::ZERO,
            waiting: Series::new(Time::ZERO),
            in_use: Series::new(Time::ZERO),
            tenants: vec![],
            running: BTreeMap::new(),
            jobs: 0,
            stays,
        }
    }

    /// When it began: the first event after the cluster was there.
    pub fn start(&self) -> Time {
        self.grid.as_ref().map_or(Time::ZERO, |grid| grid.start)
    }

    /// When the last thing happened.
    pub fn end(&self) -> Time {
        self.now
    }

    /// Asks that could have run and waited for devices.
    pub fn waiting(&self) -> &Series {
        &self.waiting
    }

    /// Thousandths of a device in use.
    pub fn in_use(&self) -> &Series {
        &self.in_use
    }

    /// The same for each tenant that used any, in order of id.
    pub fn tenants(&self) -> impl Iterator<Item = (&str, &Series)> {
        self.tenants.iter().map(|(name, series)| (name.as_str(), series)).filter(|(_, used)| used.total() > 0)
    }

    /// Who was where, in order of start; or why that was not kept.
    pub fn stays(&self) -> Result<&[Stay], TooMany> {
        self.stays.as_deref().map_err(|why| *why)
    }

    /// A series of this course as means over equal parts of its time.
    pub fn curve(&self, series: &Series) -> Curve {
        let Some(grid) = &self.grid else { return Curve { width_s: 1.0, length_s: 0.0, means: vec![] } };
        let length = grid.since_start(self.now);
        let parts = length.div_euclid(grid.width) + i128::from(length % grid.width > 0);
        let mean = |part: i128| {
            let covered = (length - part * grid.width).min(grid.width);
            series.sums().get(part as usize).map_or(0.0, |sum| *sum as f64 / covered as f64)
        };
        Curve {
            width_s: grid.width as f64 / 1e9,
            length_s: length as f64 / 1e9,
            means: (0..parts).map(mean).collect(),
        }
    }

    /// An event was applied.
    pub(crate) fn event(&mut self, event: &Event, scheduler: &Scheduler) {
        self.pass_to(event.at);
        match &event.fact {
            Fact::Accepted(Input::Submit(_)) => {
                self.jobs += 1;
                if self.jobs > MOST_JOBS && self.stays.is_ok() {
                    self.stays = Err(TooMany::Jobs);
                }
            }
            Fact::Accepted(Input::Started(id)) => self.come(*id, scheduler),
            Fact::Accepted(Input::Ended { allocation, outcome, .. }) => self.go(*allocation, Some(*outcome)),
            Fact::Accepted(Input::NodeFenced(_)) => self.look_again(scheduler),
            Fact::Planned(plan) if plan.moves.iter().any(|change| matches!(change, Move::Fence { .. })) => {
                self.look_again(scheduler);
            }
            _ => {}
        }
        let waiting = scheduler.view().waiting_count() as u64;
        let grid = self.grid.as_ref().expect("time has passed to the event");
        self.waiting.set(grid, self.now, waiting);
    }

    /// Nothing more can happen.
    pub(crate) fn finish(&mut self) {
        let Some(grid) = &self.grid else { return };
        let all = [&mut self.waiting, &mut self.in_use].into_iter();
        all.chain(self.tenants.iter_mut().map(|(_, series)| series))
            .for_each(|series| series.reach(grid, self.now));
        for stay in self.running.values().filter_map(|running| running.stay) {
            if let Ok(stays) = &mut self.stays {
                stays[stay].to = self.now;
            }
        }
    }

    fn pass_to(&mut self, now: Time) {
        if self.grid.is_none() {
            self.grid = Some(Grid::new(now));
            (self.waiting, self.in_use) = (Series::new(now), Series::new(now));
        }
        let grid = self.grid.as_mut().expect("it was put there");
        for _ in 0..grid.stretch(now) {
            let all = [&mut self.waiting, &mut self.in_use].into_iter();
            all.chain(self.tenants.iter_mut().map(|(_, series)| series)).for_each(Series::fold);
        }
        self.now = self.now.max(now);
    }

    fn come(&mut self, id: AllocationId, scheduler: &Scheduler) {
        let Some(ask) = scheduler.view().ask(id.ask) else { return };
        let tenant = self.tenant(ask.tenant(), scheduler);
        let mut stay = None;
        if let Ok(stays) = &mut self.stays {
            // Counted node by node, without what stands between two nodes for a host.
            let view = scheduler.view();
            let firsts: Vec<u32> = view
                .nodes()
                .scan(0, |first, node| Some(std::mem::replace(first, *first + node.devices)))
                .collect();
            let counted = |grant: &Grant| {
                let (node, position) = view.locate(grant.device);
                (DeviceId(firsts[node.index()] + position), grant.share)
            };
            let devices = ask.grants().iter().filter(|grant| !grant.is_of_host());
            let mut devices: Vec<(DeviceId, u16)> = devices.map(counted).collect();
            devices.sort_unstable();
            stay = Some(stays.len());
            stays.push(Stay {
                allocation: id,
                tenant: ask.tenant(),
                devices,
                from: self.now,
                to: self.now,
                outcome: None,
            });
            if stays.len() > MOST_STAYS {
                self.stays = Err(TooMany::Stays);
            }
        }
        self.running.insert(id, Running { tenant, thousandths: 0, stay });
        self.hold(id, ask.thousandths());
    }

    fn go(&mut self, id: AllocationId, outcome: Option<Outcome>) {
        self.hold(id, 0);
        let stay = self.running.remove(&id).and_then(|running| running.stay);
        if let (Some(stay), Ok(stays)) = (stay, &mut self.stays) {
            (stays[stay].to, stays[stay].outcome) = (self.now, outcome);
        }
    }

    /// From now on an allocation that runs has so much; nothing happens to others.
    fn hold(&mut self, id: AllocationId, thousandths: u64) {
        let (Some(running), Some(grid)) = (self.running.get_mut(&id), &self.grid) else { return };
        let before = std::mem::replace(&mut running.thousandths, thousandths);
        for series in [&mut self.in_use, &mut self.tenants[running.tenant].1] {
            series.set(grid, self.now, series.level() + thousandths - before);
        }
    }

    /// A node was fenced: what ran there is gone, in whole or in part, and nobody names it.
    fn look_again(&mut self, scheduler: &Scheduler) {
        let known: Vec<AllocationId> = self.running.keys().copied().collect();
        for id in known {
            let found = scheduler.view().ask(id.ask).filter(|ask| {
                ask.allocation() == id && matches!(ask.doing(), Doing::Running | Doing::Releasing)
            });
            match found {
                Some(ask) => self.hold(id, ask.thousandths()),
                None => self.go(id, Some(Outcome::Stopped)),
            }
        }
    }

    fn tenant(&mut self, id: TenantId, scheduler: &Scheduler) -> usize {
        let index = id.index().min(TENANTS);
        while self.tenants.len() <= index {
            let next = self.tenants.len();
            let name = scheduler.view().tenants().nth(next).map_or("", |(_, tenant)| &tenant.name);
            let name = if next == TENANTS { Self::OTHERS } else { name };
            self.tenants.push((name.into(), Series::new(self.start())));
        }
        index
    }
}

#[cfg(test)]
mod tests;
