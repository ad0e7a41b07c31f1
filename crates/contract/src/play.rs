//! A real scheduler in a loop like the daemon's, which can crash at any moment.
//!
//! ```text
//! inputs, news ─▶ accept, apply ─▶ plan ─▶ commit ─▶ desires ─▶ settled ─▶ the next turn
//!                                     ▲         ▲          ▲
//!                                     └─────────┴──────────┴── it may die here
//! ```
//! For: cases that read like stories.
//! Promises: nothing is desired before it is committed, nothing is settled before its end is; what holds for every
//! world is looked at in every turn. Every wait is bounded.
//! Never: looks into a world, except through its stage.

mod turn;

use crate::news::News;
use crate::stage::{Crew, Part, Stage};
use consort_sched::{Doing, Ending, Held, Policy, Rollout, Scheduler, stock};
use consort_types::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What gives no sign is looked at this often.
const GLANCE: Span = Span(10_000_000);

/// Plays one case on a fresh stage, then ends whatever is left and looks at everything once more.
pub fn perform<S: Stage>(stage: S, case: impl FnOnce(&mut Play<S>)) {
    let mut play = Play::new(stage);
    case(&mut play);
    play.end();
}

/// Where in a turn the loop dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// What the world said was heard, and is lost.
    BeforeCommit,
    /// What is desired was written down, and the world was not told.
    BeforeDesires,
    /// The world does not know that its endings are safe.
    BeforeSettled,
}

/// When the loop dies by itself.
#[derive(Clone, Copy)]
pub enum Crashes {
    /// Never.
    Never,
    /// Once, in a turn that brings news like this.
    Once(Moment, fn(&Input) -> bool),
    /// In every turn that brings news, at one moment after the other.
    Always(usize),
}

/// How desires are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Telling {
    /// As they are.
    Once,
    /// Each of them twice.
    Twice,
    /// All that there are, in every turn.
    All,
}

/// A scheduler and a world.
pub struct Play<S: Stage> {
    /// What is around the world.
    pub stage: S,
    /// Whether and when the loop dies.
    pub crashes: Crashes,
    /// How desires are told.
    pub telling: Telling,
    /// Everything the world ever said about allocations.
    pub news: Vec<News>,
    policy: Arc<dyn Policy>,
    /// Absent between a crash and the next turn.
    rollout: Option<Rollout<Held<S::World>>>,
    /// What was committed.
    journal: Vec<Event>,
    openings: u32,
    /// Every allocation that the world was ever told to run, and how many workers it has.
    wide: BTreeMap<AllocationId, usize>,
    /// Those that the world is known to have ended.
    over: BTreeSet<AllocationId>,
}

impl<S: Stage> Play<S> {
    fn new(stage: S) -> Self {
        let mut play = Play {
            stage,
            crashes: Crashes::Never,
            telling: Telling::Once,
            news: vec![],
            policy: stock::standard().policy(),
            rollout: None,
            journal: vec![],
            openings: 0,
            wide: BTreeMap::new(),
            over: BTreeSet::new(),
        };
        let inputs = play.stage.cluster();
        play.turn(inputs);
        play
    }

    // -- what a case does

    /// Submits a job and says what it does. It has been told to start, if there is room for it.
    pub fn submit(&mut self, mut spec: JobSpec, part: Part) -> JobId {
        self.open();
        for role in spec.stages.iter_mut().flat_map(|stage| &mut stage.roles) {
            role.shapes = vec![S::shape()];
        }
        let (job, spec) = (self.scheduler().view().next_job(), Arc::new(spec));
        self.stage.prepare(job, &spec, part);
        self.say(Input::Submit(spec));
        job
    }

    /// Somebody asks for something that must be accepted.
    pub fn say(&mut self, input: Input) {
        self.turn(vec![input]);
    }

    /// Goes on until something is so.
    pub fn until(&mut self, what: &str, mut is_so: impl FnMut(&Self) -> bool) {
        let late = self.stage.now() + S::PATIENCE;
        loop {
            self.turn(vec![]);
            if self.rollout.is_some() && is_so(self) {
                return;
            }
            let now = self.stage.now();
            assert!(now < late, "{what}: it did not come to that; the world said {:#?}", self.news);
            self.pass((now + GLANCE).min(late));
        }
    }

    /// Goes on for so long.
    pub fn go_on(&mut self, span: Span) {
        let end = self.stage.now() + span;
        while self.stage.now() < end {
            self.turn(vec![]);
            self.pass(end);
        }
        self.turn(vec![]);
    }

    /// Goes on until the loop has died of what was ordered.
    pub fn until_crash(&mut self) {
        let late = self.stage.now() + S::PATIENCE;
        while self.rollout.is_some() {
            assert!(self.stage.now() < late, "it does not die; the world said {:#?}", self.news);
            self.pass(late);
            self.turn(vec![]);
        }
    }

    /// The loop dies. It comes back with the next turn.
    pub fn crash(&mut self) {
        self.rollout = None;
    }

    /// Time passes while nobody is there.
    pub fn stay_away(&mut self, span: Span) {
        self.crash();
        let end = self.stage.now() + span;
        while self.stage.now() < end {
            self.pass(end);
        }
    }

    /// The loop dies, and its journal loses everything from the submission of this job on.
    pub fn lose_everything_since(&mut self, job: JobId) {
        self.crash();
        let mut scheduler = Scheduler::new(self.policy.clone(), S::CAPABILITIES);
        let kept = self.journal.iter().take_while(|event| {
            scheduler.apply(event);
            scheduler.view().next_job() <= job
        });
        self.journal.truncate(kept.count());
        self.wide.retain(|id, _| id.ask.job < job);
        self.over.retain(|id| id.ask.job < job);
        self.news.retain(|news| news.allocation.ask.job < job);
    }

    /// Comes back although nothing is to be done yet.
    pub fn open(&mut self) {
        if self.rollout.is_some() {
            return;
        }
        let scheduler = Scheduler::recover(self.policy.clone(), S::CAPABILITIES, &self.journal);
        let desired: Vec<AllocationId> = scheduler.all_desires().iter().map(|one| one.allocation).collect();
        self.open_with(scheduler, &desired);
    }

    /// The same, and an allocation that is over according to the journal is desired to be gone once more.
    pub fn open_and_dismiss(&mut self, over: AllocationId) {
        let scheduler = Scheduler::recover(self.policy.clone(), S::CAPABILITIES, &self.journal);
        let mut desired: Vec<AllocationId> =
            scheduler.all_desires().iter().map(|one| one.allocation).collect();
        desired.push(over);
        self.open_with(scheduler, &desired);
        let now = self.stage.now();
        let rollout = self.rollout.as_mut().expect("just opened");
        rollout.world.world.desire(now, &[Desired { allocation: over, wanted: Wanted::Gone }]);
    }

    // -- what a case looks at

    /// The scheduler.
    pub fn scheduler(&self) -> &Scheduler {
        &self.rollout.as_ref().expect("it has not crashed").scheduler
    }

    /// Devices in all that a worker of the cases can have.
    pub fn devices(&self) -> u32 {
        let (view, shape) = (self.scheduler().view(), S::shape());
        let kinds: Vec<&KindSpec> = view.kinds().map(|(_, spec)| spec).collect();
        let fits = |device| {
            let kind = kinds[view.device(device).kind.index()];
            shape.kind.as_ref().map_or(!kind.by_name, |wanted| *wanted == kind.name)
        };
        let all = view.nodes().filter(|node| node.usable);
        let all = all.flat_map(|node| (node.first.0..node.first.0 + node.devices).map(DeviceId));
        all.filter(|&device| fits(device)).count() as u32
    }

    /// What the only ask of a job is doing; nothing once the job has ended.
    pub fn doing(&self, job: JobId) -> Option<Doing> {
        self.scheduler().view().ask(AskId::whole(job)).map(|ask| ask.doing())
    }

    /// The attempt that the only ask of a job is on.
    pub fn allocation(&self, job: JobId) -> AllocationId {
        self.scheduler().view().ask(AskId::whole(job)).expect("the job lives").allocation()
    }

    /// How a job ended, if it has.
    pub fn ending(&self, job: JobId) -> Option<Ending> {
        self.scheduler().view().ending(job)
    }

    /// How the attempts of a job's only ask ended, in order, as far as that was believed.
    pub fn outcomes(&self, job: JobId) -> Vec<Outcome> {
        let counts =
            self.news.iter().filter(|news| news.counts() && news.allocation.ask == AskId::whole(job));
        counts.filter_map(News::outcome).collect()
    }

    /// Whether everybody is up.
    pub fn is_running(&self, job: JobId) -> bool {
        self.doing(job) == Some(Doing::Running)
    }

    /// The workers of an allocation; nothing if they cannot be seen.
    pub fn crew(&self, allocation: AllocationId) -> Option<Crew> {
        self.stage.crew(allocation)
    }

    // -- the loop

    fn pass(&mut self, until: Time) {
        let now = self.stage.now();
        let wake = self.rollout.as_ref().and_then(|rollout| rollout.wake_at);
        let until = wake.map_or(until, |at| at.clamp(now, until));
        self.stage.pass(self.rollout.as_ref().map(|rollout| &rollout.world.world), until);
    }

    fn open_with(&mut self, scheduler: Scheduler, desired: &[AllocationId]) {
        assert!(self.rollout.is_none(), "nothing is opened twice at once");
        let world = self.stage.open(desired);
        assert_eq!(world.capabilities(), S::CAPABILITIES, "it says what its stage says of it");
        self.openings += 1;
        self.rollout = Some(Rollout::new(scheduler, Held::new(world)));
        self.tell();
    }

    fn end(mut self) {
        (self.crashes, self.telling) = (Crashes::Never, Telling::Once);
        self.open();
        let living: Vec<JobId> = self.scheduler().view().jobs().map(|job| job.id()).collect();
        for job in living {
            self.say(Input::Cancel(job));
        }
        self.until("everything ends", |play| play.scheduler().view().living_count() == 0);
        self.count_workers();
        let state = self.scheduler().state_hash();
        let again = Scheduler::recover(self.policy.clone(), S::CAPABILITIES, &self.journal);
        assert_eq!(again.state_hash(), state, "the journal tells another story");
        for allocation in self.wide.keys() {
            assert_eq!(self.stage.crew(*allocation).unwrap_or_default().up, 0, "{allocation} is left");
        }
        assert_eq!(self.stage.complaints(), Vec::<String>::new());
    }
}
