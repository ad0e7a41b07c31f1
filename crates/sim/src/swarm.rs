//! The swarm: many short histories, each from one number, in which everything goes wrong that can.
//!
//! A history is a random small cluster, random jobs, a random policy of a registry, and a troublemaker who cancels, pauses,
//! drains, kills nodes, cuts them off, crashes the controller, repeats old news and lies about attempts. After every
//! event a witness holds the scheduler to its promises; the virtual world keeps a ledger of its own of who
//! really runs where. At the end the trouble stops, and everything that can run must run to its end.
//!
//! The same number gives the same history on any machine, so a failure is repeated by naming it.
//!
//! | read | for |
//! |---|---|
//! | `setting`, `jobs` | clusters and submissions out of dice |
//! | `restless` | a policy that resizes what runs for no reason |
//! | `trouble` | what users, administrators and bad luck do |
//! | `witness` | what must hold after every event |
//! | [`laws`] | what placements and sizes must keep to, for those of others too |

mod jobs;
pub mod laws;
mod restless;
mod setting;
mod trouble;
mod witness;
mod words;

use crate::dice::Dice;
use crate::run::recover;
use crate::workload::Submission;
use crate::world::VirtualWorld;
use consort_sched::{Policy, Registry, Rollout, Scheduler, stock};
use consort_types::*;
use restless::Restless;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use trouble::Trouble;
use witness::Witness;

/// What went on in one history or in many.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// How many histories.
    pub histories: u64,
    /// Inputs accepted or refused, and plans committed.
    pub events: u64,
    /// Things that went wrong or were made to, by kind.
    pub faults: BTreeMap<String, u64>,
    /// Histories by policy.
    pub policies: BTreeMap<String, u64>,
    /// Plans made.
    pub plans: u64,
    /// Allocations that a plan took back.
    pub preemptions: u64,
    /// Resizes planned, and those carried out: in place, and by a restart.
    pub resizes: [u64; 3],
    /// Inputs refused.
    pub refused: u64,
    /// Jobs that ended.
    pub ended: u64,
    /// Jobs that can never run any more, because somebody took hardware away.
    pub stranded: u64,
    /// Digest of the final states.
    pub hash: u64,
}

impl Tally {
    /// Adds another to this one.
    pub fn add(&mut self, other: &Tally) {
        self.histories += other.histories;
        self.events += other.events;
        for (kind, count) in &other.faults {
            *self.faults.entry(kind.clone()).or_default() += count;
        }
        for (policy, count) in &other.policies {
            *self.policies.entry(policy.clone()).or_default() += count;
        }
        self.plans += other.plans;
        self.preemptions += other.preemptions;
        for (sum, more) in self.resizes.iter_mut().zip(other.resizes) {
            *sum += more;
        }
        self.refused += other.refused;
        self.ended += other.ended;
        self.stranded += other.stranded;
        self.hash = Digest::of(&(self.hash, other.hash));
    }

    /// Faults of all kinds.
    pub fn all_faults(&self) -> u64 {
        self.faults.values().sum()
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} histories, {} events, {} faults, {} plans, {} preemptions",
            self.histories,
            self.events,
            self.all_faults(),
            self.plans,
            self.preemptions
        )?;
        let [planned, in_place, restarted] = self.resizes;
        writeln!(f, "{planned} resizes planned, {in_place} done in place, {restarted} by a restart")?;
        writeln!(
            f,
            "{} jobs ended, {} stranded, {} inputs refused",
            self.ended, self.stranded, self.refused
        )?;
        for (what, counts) in [("faults", &self.faults), ("policies", &self.policies)] {
            let list: Vec<String> = counts.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
            writeln!(f, "{what}: {}", list.join(", "))?;
        }
        write!(f, "hash {:016x}", self.hash)
    }
}

/// A promise that was not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The number of the history.
    pub seed: u64,
    /// Which promise.
    pub what: String,
    /// The last few events before it.
    pub last: Vec<String>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in &self.last {
            writeln!(f, "  {line}")?;
        }
        writeln!(f, "history {} failed: {}", self.seed, self.what)?;
        write!(
            f,
            "repeat it: CONSORT_SWARM_SEED={} cargo test -p consort-sim --test swarm -- --nocapture",
            self.seed
        )
    }
}

/// Plays one history to its end, under a stock policy. A panic inside it is a failure like any other.
pub fn play(seed: u64) -> Result<Tally, Failure> {
    play_under(&Registry::stock(), seed)
}

/// The same under one of these policies.
pub fn play_under(policies: &Registry, seed: u64) -> Result<Tally, Failure> {
    let journal = Rc::new(RefCell::new(vec![]));
    let history = journal.clone();
    let outcome = catch_unwind(AssertUnwindSafe(move || History::new(policies, seed, history).play()));
    let what = match outcome {
        Ok(Ok(tally)) => return Ok(tally),
        Ok(Err(what)) => what,
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
            format!("panicked: {}", text.unwrap_or("without a word"))
        }
    };
    let last = journal.try_borrow().map_or(vec![], |journal| witness::last_words(&journal, 24));
    Err(Failure { seed, what, last })
}

/// Trouble goes on for at least so many events, and a history ends after at most so many steps.
const EVENTS: u64 = 260;
const STEPS: u64 = 40_000;

struct History {
    rollout: Rollout<VirtualWorld>,
    witness: Witness,
    trouble: Trouble,
    policy: Arc<dyn Policy>,
    is_restless: bool,
    crashes: u64,
    steps: u64,
    /// The true time; the last event may be older.
    now: Time,
}

impl History {
    fn new(policies: &Registry, seed: u64, journal: Rc<RefCell<Vec<Event>>>) -> Self {
        let mut dice = Dice::new(seed);
        let cluster = setting::cluster(&mut dice);
        let entry = dice.one_of(policies.entries());
        let place = if dice.chance(0.5) { &stock::PLACES[0] } else { dice.one_of(stock::PLACES) };
        let mut policy = entry.placed(place).policy();
        let is_restless = dice.chance(0.3);
        if is_restless {
            policy = Arc::new(Restless::new(policy, place.place(seed)));
        }
        let (count, over) = (dice.whole(15, 50), *dice.one_of(&[30.0, 300.0, 3000.0]));
        let submissions: Arc<[Submission]> = jobs::submissions(&mut dice, &cluster, count, over).into();
        let world = VirtualWorld::new(&cluster, submissions)
            .able(setting::capabilities(&mut dice))
            .delayed(setting::delays(&mut dice))
            .breaking(setting::faults(&mut dice), seed ^ 1);
        let mut scheduler = Scheduler::new(policy.clone(), consort_types::World::capabilities(&world));
        for input in cluster.inputs() {
            let event = scheduler.accept(Time::ZERO, input).expect("the set-up is in order");
            scheduler.apply(&event);
            journal.borrow_mut().push(event);
        }
        let witness = Witness::new(journal, seed ^ 2);
        let trouble = Trouble::new(dice, cluster);
        History {
            rollout: Rollout::new(scheduler, world),
            witness,
            trouble,
            policy,
            is_restless,
            crashes: 0,
            steps: 0,
            now: Time::ZERO,
        }
    }

    fn play(mut self) -> Result<Tally, String> {
        let mut rate = self.trouble.dice.between(0.05, 0.6);
        while self.step()?.is_some() {
            if self.rollout.events > EVENTS {
                rate = rate.min(0.01);
            }
            if self.trouble.dice.chance(rate) {
                self.trouble.strike(self.now, &mut self.rollout, &mut self.witness);
            }
            if self.trouble.dice.chance(rate / 10.0) {
                self.crash()?;
            }
            if self.rollout.events > 2 * EVENTS && self.steps > 400 {
                break;
            }
        }
        self.end()?;
        self.replay()?;
        self.tally()
    }

    fn step(&mut self) -> Result<Option<Time>, String> {
        self.steps += 1;
        if self.steps > STEPS {
            return Err("it never comes to rest".into());
        }
        let at = self.rollout.step(&mut self.witness);
        let rejected = self.rollout.scheduler.take_rejections();
        if !rejected.is_empty() {
            self.witness.fail(format!("check threw a plan away: {rejected:?}"));
        }
        if let Some(overlap) = self.rollout.world.overlaps().first() {
            self.witness.fail(overlap.clone());
        }
        if let Some(miscount) = self.rollout.world.miscounts().first() {
            self.witness.fail(miscount.clone());
        }
        if let Some(now) = at {
            self.now = now;
            self.nothing_is_missed(now);
        }
        match self.witness.wrong.take() {
            Some(wrong) => Err(wrong),
            None => Ok(at),
        }
    }

    /// Between two instants nobody is left who could start, and we wake up in time for what comes next.
    ///
    /// Two exceptions. Roles are placed one after the other, so that less room can lead the first ones to places where the
    /// last one fits as well. And a start, which is no reason to plan, changes what is lost by stopping somebody, and so
    /// who is tried first: what is preempted then, the next event decides.
    fn nothing_is_missed(&mut self, now: Time) {
        let plan = self.rollout.scheduler.clone().plan(now);
        let has_roles = plan.moves.iter().any(|change| match change {
            Move::Start { placement, .. } | Move::Resize { placement, .. } => placement.fills.len() > 1,
            _ => false,
        });
        let takes_back = plan.moves.iter().any(|change| matches!(change, Move::Stop { .. }));
        if has_roles || (takes_back && self.witness.saw_a_start()) || self.is_restless {
            return;
        }
        if !plan.is_empty() {
            self.witness.fail(format!("nobody made this plan under {}: {plan:?}", self.policy.name()));
        }
        if plan.wake_at.is_some_and(|at| self.rollout.next_at().is_none_or(|next| next > at)) {
            let next = self.rollout.next_at();
            self.witness.fail(format!("at {now} nobody wakes up for {:?}, but at {next:?}", plan.wake_at));
        }
    }

    /// The controller forgets everything but its journal.
    fn crash(&mut self) -> Result<(), String> {
        self.crashes += 1;
        let placeholder = Rollout::new(
            Scheduler::new(self.policy.clone(), Capabilities::default()),
            VirtualWorld::new(&Default::default(), Arc::new([])),
        );
        let old = std::mem::replace(&mut self.rollout, placeholder);
        self.rollout =
            recover(old, &self.policy, &self.witness.journal.borrow()).map_err(|error| error.to_string())?;
        Ok(())
    }

    /// The trouble stops, and everything that can run runs.
    fn end(&mut self) -> Result<(), String> {
        self.trouble.make_peace(self.now, &mut self.rollout, &mut self.witness);
        while self.step()?.is_some() {}
        if self.trouble.end_services(self.now, &mut self.rollout, &mut self.witness) {
            while self.step()?.is_some() {}
        }
        let (now, scheduler) = (self.now, &self.rollout.scheduler);
        self.witness.see_reasons(now, scheduler);
        for job in scheduler.view().jobs() {
            let asks = scheduler.explain(now, job.id()).map_or(vec![], |explanation| explanation.asks);
            for (ask, reason) in asks {
                // Only hardware that was taken away can keep anybody waiting now.
                let is_stranded = matches!(
                    reason,
                    Reason::NoRoom { .. }
                        | Reason::Behind { .. }
                        | Reason::AfterJobs(_)
                        | Reason::AfterStages(_)
                        | Reason::Done
                );
                if !is_stranded || (!self.trouble.refitted && reason != Reason::Done) {
                    let spec = words::input(&Input::Submit(Arc::new(job.spec().clone())));
                    return Err(format!("nothing happens any more, yet {ask} {reason}: {spec}"));
                }
            }
        }
        self.witness.settle(&scheduler.view());
        match self.witness.wrong.take() {
            Some(wrong) => Err(wrong),
            None => Ok(()),
        }
    }

    /// The journal gives the same states, from the first event to the last.
    fn replay(&mut self) -> Result<(), String> {
        let journal = self.witness.journal.borrow();
        let capabilities = consort_types::World::capabilities(&self.rollout.world);
        // Under another policy: replaying asks none.
        let mut again = Scheduler::new(stock::standard().policy(), capabilities);
        let mut marks = self.witness.marks.iter().peekable();
        for (index, event) in journal.iter().enumerate() {
            again.apply(event);
            while let Some((_, hash)) = marks.next_if(|(position, _)| *position == index + 1) {
                if again.state_hash() != *hash {
                    return Err(format!("replay differs after event {}", index + 1));
                }
            }
        }
        match again.state_hash() == self.rollout.scheduler.state_hash() {
            true => Ok(()),
            false => Err("replay differs at the end".into()),
        }
    }

    fn tally(self) -> Result<Tally, String> {
        let mut faults: BTreeMap<String, u64> =
            self.trouble.counts.iter().map(|(kind, count)| ((*kind).to_string(), *count)).collect();
        for (kind, count) in self.rollout.world.misfortunes() {
            *faults.entry(kind.into()).or_default() += count;
        }
        faults.insert("controller crashed".into(), self.crashes);
        Ok(Tally {
            histories: 1,
            events: self.rollout.events,
            faults,
            policies: BTreeMap::from([(self.policy.name().to_string(), 1)]),
            plans: self.rollout.plan_calls,
            preemptions: self.witness.preemptions,
            resizes: self.witness.resizes.done,
            refused: self.witness.refused,
            ended: self.witness.ended,
            stranded: self.rollout.scheduler.view().jobs().count() as u64,
            hash: self.rollout.scheduler.state_hash(),
        })
    }
}
