//! The contracts of placements and sizes, checked on random clusters.
//!
//! For: the stock opinions in our own tests, and anybody's own in theirs: `laws::place(&Arc::new(Mine), &Case::random(7))`.
//! What must hold is stated at [`consort_sched::policy::Place`] and [`consort_sched::policy::Size`]. A case is a cluster and
//! asks of one role each; between two rounds some asks are started at random places, so that ever less is free.

use super::{jobs, setting};
use crate::dice::Dice;
use crate::workload::{Cluster, Submission};
use consort_sched::policy::place::Random;
use consort_sched::policy::{Place, Size};
use consort_sched::{AskView, Draft, Policy, Scheduler};
use consort_types::*;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// A cluster, and what waits for it.
pub struct Case {
    /// The cluster; quotas are left out.
    pub cluster: Cluster,
    /// The jobs, all of which wait.
    pub submissions: Vec<Submission>,
    /// Of what is left to chance.
    pub seed: u64,
}

impl Case {
    /// Everything that a cluster and a job can be, out of dice.
    pub fn random(seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let cluster = setting::cluster(&mut dice);
        let count = dice.whole(5, 25);
        let submissions = jobs::submissions(&mut dice, &cluster, count, 60.0);
        Case { cluster, submissions, seed }
    }

    /// Plays a judge on it; returns how many answers were compared, or the first that breaks the contract.
    fn judge(&self, opinion: Opinion) -> Result<u64, String> {
        let judge = Arc::new(Judge { opinion, seed: self.seed, found: Mutex::default() });
        let mut scheduler = Scheduler::new(judge.clone(), Capabilities::default());
        let mut cluster = self.cluster.clone();
        cluster.tenants.iter_mut().for_each(|tenant| tenant.quotas.clear());
        let jobs = self
            .submissions
            .iter()
            .map(|job| Input::Submit(Arc::new(JobSpec { after: vec![], ..JobSpec::clone(&job.spec) })));
        for input in cluster.inputs().into_iter().chain(jobs) {
            if let Ok(event) = scheduler.accept(Time::ZERO, input) {
                scheduler.apply(&event);
            }
        }
        scheduler.plan(Time::ZERO);
        if let Some(broken) = scheduler.take_rejections().first() {
            return Err(format!("seed {}: check rejects what was placed: {broken}", self.seed));
        }
        let found = judge.found.lock().unwrap_or_else(PoisonError::into_inner);
        match found.wrong.first() {
            Some(wrong) => Err(format!("seed {}: {wrong}", self.seed)),
            None => Ok(found.compared),
        }
    }
}

/// Checks a placement. Returns how many answers were compared.
pub fn place(place: &Arc<dyn Place>, case: &Case) -> Result<u64, String> {
    case.judge(Opinion::Place(place.clone()))
}

/// Checks a size. Returns how many answers were compared.
pub fn size(size: &Arc<dyn Size>, case: &Case) -> Result<u64, String> {
    case.judge(Opinion::Size(size.clone()))
}

enum Opinion {
    Place(Arc<dyn Place>),
    Size(Arc<dyn Size>),
}

/// A policy that starts asks at random places and asks the opinion about every ask in between.
struct Judge {
    opinion: Opinion,
    seed: u64,
    found: Mutex<Found>,
}

#[derive(Default)]
struct Found {
    compared: u64,
    wrong: Vec<String>,
}

/// Rounds, and asks that are started after each.
const ROUNDS: usize = 12;
const STARTS: usize = 2;

impl Policy for Judge {
    fn name(&self) -> &str {
        "judge"
    }

    fn fill(&self, draft: &mut Draft<'_>) {
        let mut dice = Dice::new(self.seed);
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let view = draft.view();
        let has_one_role = |ask: &AskView<'_>| ask.class().least().len() == 1;
        let asks: Vec<AskView<'_>> =
            view.waiting().filter_map(|id| view.ask(id)).filter(has_one_role).collect();
        let mut full: BTreeMap<(AskId, u32), ()> = BTreeMap::new();
        for _ in 0..ROUNDS {
            for ask in &asks {
                if draft.starts(ask.id()) {
                    continue;
                }
                match &self.opinion {
                    Opinion::Size(size) => found.see_size(draft, size.as_ref(), ask),
                    Opinion::Place(place) => found.see_place(draft, place.as_ref(), ask, &mut full),
                }
            }
            found.see_classes(&asks, &full, draft);
            for _ in 0..STARTS {
                let Some(ask) = asks.get(dice.below(asks.len().max(1) as u64) as usize) else { return };
                let dealt = Random { seed: dice.below(1 << 32) };
                if let Some(placement) = draft.find_room(&dealt, ask, &ask.class().least()) {
                    let _ = draft.start(ask.id(), placement); // it may run already
                }
            }
        }
    }
}

impl Found {
    fn fail(&mut self, ask: &AskView<'_>, what: &str) {
        self.wrong.push(format!("{} ({}): {what}", ask.id(), ask.spec().name));
    }

    fn see_size(&mut self, draft: &Draft<'_>, size: &dyn Size, ask: &AskView<'_>) {
        let steps = size.steps(draft, ask).max(1);
        let widths: Vec<Vec<u32>> = (0..steps).map(|step| size.counts(draft, ask, step)).collect();
        self.compared += u64::from(steps);
        let grows = |pair: &[Vec<u32>]| pair[0].iter().zip(&pair[1]).any(|(wide, narrow)| narrow > wide);
        if widths.windows(2).any(grows) {
            self.fail(ask, "a later step asks for more");
        }
        if widths[0].iter().zip(ask.class().most()).any(|(&wide, most)| wide > most) {
            self.fail(ask, "the first step is wider than the class");
        }
        if widths[widths.len() - 1] != ask.class().least() {
            self.fail(ask, "the last step is not the least width of the class");
        }
    }

    fn see_place(
        &mut self,
        draft: &mut Draft<'_>,
        place: &dyn Place,
        ask: &AskView<'_>,
        full: &mut BTreeMap<(AskId, u32), ()>,
    ) {
        let (least, most) = (ask.class().least()[0], ask.class().most()[0]);
        let mut had_room = true;
        for count in least..=most.min(least + 6) {
            self.compared += 1;
            let room = draft.find_room(place, ask, &[count]);
            let has_room = room.is_some();
            if has_room && !had_room {
                self.fail(ask, &format!("{count} members fit and fewer did not"));
            }
            if has_room && full.contains_key(&(ask.id(), count)) {
                self.fail(ask, &format!("{count} members fit, and did not when more was free"));
            }
            if let Some(placement) = room {
                let mark = draft.mark();
                if let Err(denied) = draft.start(ask.id(), placement) {
                    self.fail(ask, &format!("{count} members were placed on what is not free: {denied:?}"));
                }
                draft.back_to(mark);
            } else {
                full.insert((ask.id(), count), ());
            }
            had_room = has_room;
        }
    }

    /// Asks of one class find room together.
    fn see_classes(&mut self, asks: &[AskView<'_>], full: &BTreeMap<(AskId, u32), ()>, draft: &Draft<'_>) {
        let mut by_class = BTreeMap::new();
        for ask in asks.iter().filter(|ask| !draft.starts(ask.id())) {
            let is_full = full.contains_key(&(ask.id(), ask.class().least()[0]));
            if *by_class.entry(ask.class_id()).or_insert(is_full) != is_full {
                self.fail(ask, "whether there is room depends on the ask and not on the class alone");
            }
        }
    }
}
