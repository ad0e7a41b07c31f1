//! The jobs that are alive, their asks, and the allocations these hold.
//!
//! A job that has ended leaves the table at once; one byte remains, so that a later job may still depend on it.
//!
//! States of an ask, and inside *granted* those of its allocation:
//! ```text
//! blocked ─▶ waiting ─▶ granted: planned ─▶ starting ─▶ running ─▶ releasing ─▶ (released)
//!    ▲          ▲                   │            │           │           │            │
//!    │          └───────────────────┴── refused ─┘           └───────────┴── again ───┤
//!    └── paused, or something it waits for                                            ▼
//!                                                                                   done
//! ```
//! *Planned* waits for devices that others give back; *starting* holds all its devices.

use crate::chunked::{Slots, SortedSet};
use crate::class::ClassId;
use crate::state::observed::Rates;
use consort_types::*;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

#[derive(Clone, Debug, Default, Hash, Serialize, Deserialize)]
pub(crate) struct Jobs {
    /// By id, behind the `gone` that fell off at the front because they ended. The first job has id 1.
    slots: Slots<Job>,
    gone: u64,
    /// How many slots hold a job.
    living: u64,
    /// How many asks these jobs have.
    asks: u64,
    /// How each job ended, by id less one; `None` while it lives.
    endings: Vec<Option<Ending>>,
    /// Asks that could start now, were there room and were it their turn; some may still back off.
    pub waiting: SortedSet<AskId>,
    /// Asks that hold or are promised devices.
    pub granted: SortedSet<AskId>,
    /// The gangs among them that may be wider or narrower.
    pub elastic: Elastic,
    /// When running allocations reach their time limit.
    pub limits: SortedSet<(Time, AllocationId)>,
    /// Turns handed out so far.
    turns: u64,
}

/// Gangs that accept other widths. It follows from what is granted, so the hash of the state says nothing of it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Elastic(pub SortedSet<AskId>);

impl Hash for Elastic {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

/// How a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Ending {
    /// All its work is done.
    Succeeded,
    /// Its work broke more often than it was allowed to, or ran too long once.
    Failed,
    /// Somebody ended it, or what it waited for can never happen.
    Cancelled,
}

/// Why a job ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Why {
    /// All its work is done.
    Done,
    /// An attempt broke, and no retry was left.
    Broke {
        /// Which ask.
        ask: AskId,
        /// How.
        outcome: Outcome,
        /// What the world had to say about it.
        words: Option<Arc<str>>,
    },
    /// Tasks of bags failed, and the others ran to their end.
    TasksFailed {
        /// How many.
        failed: u32,
        /// Of how many tasks in these bags.
        of: u32,
        /// The first of them, in order.
        tasks: Vec<AskId>,
        /// How the first one failed, and what the world had to say about it; nothing if it exceeded its time limit.
        first: Option<(Outcome, Option<Arc<str>>)>,
        /// The largest exit status of a task.
        code: Option<i32>,
    },
    /// An attempt ran longer than the job's time limit.
    TimeLimit {
        /// Which ask.
        ask: AskId,
    },
    /// Somebody ended it.
    Asked,
    /// Somebody ended all there is of it where it ran, past us.
    AskedThere {
        /// What the world had to say about it.
        words: Option<Arc<str>>,
    },
    /// What it waited for can never happen.
    Hopeless {
        /// The job it waited for.
        on: JobId,
    },
}

impl Why {
    /// The ending that goes with it.
    pub fn ending(&self) -> Ending {
        match self {
            Why::Done => Ending::Succeeded,
            Why::Broke { .. } | Why::TasksFailed { .. } | Why::TimeLimit { .. } => Ending::Failed,
            Why::Asked | Why::AskedThere { .. } | Why::Hopeless { .. } => Ending::Cancelled,
        }
    }

    /// The exit status that stands for the whole job, where there is one.
    pub fn exit_code(&self) -> Option<i32> {
        match self {
            Why::Done => Some(0),
            Why::Broke { outcome: Outcome::Failed { code, .. }, .. } => Some(*code),
            Why::TasksFailed { code, .. } => *code,
            Why::Broke { .. } | Why::TimeLimit { .. } => None,
            Why::Asked | Why::AskedThere { .. } | Why::Hopeless { .. } => None,
        }
    }
}

/// What the world had to say, at the end of a sentence.
pub(crate) fn said(words: &Option<Arc<str>>) -> String {
    words.as_ref().map_or(String::new(), |words| format!(": {words}"))
}

/// Failed tasks that are named.
const NAMED: usize = 10;

impl Why {
    /// In words: `it failed with status 9`, `1 of 3 tasks failed: task 30 failed with status 9`.
    pub fn told(&self, spec: &JobSpec) -> String {
        let part = |ask: AskId| match story::part(spec, ask) {
            part if part.is_empty() => "it".into(),
            part => part,
        };
        match self {
            Why::Done if spec.stages.len() == 1 && spec.stages[0].form.asks() == 1 => "it succeeded".into(),
            Why::Done => "all its tasks have succeeded".into(),
            Why::Broke { outcome: Outcome::Succeeded, .. } => "a replica of the service ended".into(),
            Why::Broke { ask, outcome, words } => format!("{} {outcome}{}", part(*ask), said(words)),
            Why::TasksFailed { failed, of, tasks, first, .. } => {
                let ends = match first {
                    Some((outcome, words)) => format!("{outcome}{}", said(words)),
                    None => "exceeded its time limit".into(),
                };
                let ends = tasks.first().map_or(String::new(), |ask| format!("{} {ends}", part(*ask)));
                let name = |ask: &AskId| match part(*ask) {
                    part if spec.stages.len() == 1 => part.trim_start_matches("task ").into(),
                    part => part,
                };
                let mut names: Vec<String> = tasks.iter().map(name).collect();
                match *failed as usize - tasks.len() {
                    0 => {}
                    more => names.push(format!("{more} more")),
                }
                match names.pop().filter(|_| !names.is_empty()) {
                    None => format!("{failed} of {of} tasks failed: {ends}"),
                    Some(last) => {
                        format!("{failed} of {of} tasks failed: {} and {last}; {ends}", names.join(", "))
                    }
                }
            }
            Why::TimeLimit { ask } => format!("{} exceeded its time limit", part(*ask)),
            Why::Asked => "it was cancelled".into(),
            Why::AskedThere { words } => format!("it was cancelled outside Consort{}", said(words)),
            Why::Hopeless { on } => {
                format!("job {on}, which it depends on, did not end as the dependency requires")
            }
        }
    }
}

impl Ending {
    /// Whether this ending is what a dependency waits for.
    pub(crate) fn satisfies(self, when: Condition) -> bool {
        match when {
            Condition::Succeeded => self == Ending::Succeeded,
            Condition::Failed => self != Ending::Succeeded,
            Condition::Ended => true,
        }
    }
}

#[derive(Clone, Debug, Hash, Serialize, Deserialize)]
pub(crate) struct Job {
    pub id: JobId,
    pub spec: Arc<JobSpec>,
    pub tenant: TenantId,
    pub queue: QueueId,
    pub submitted: Time,
    pub paused: bool,
    /// Set once the job is going to end, while allocations are still being released.
    pub ending: Option<Why>,
    pub stages: Vec<Stage>,
    pub asks: Vec<Ask>,
    /// Jobs that this one still waits for.
    pub after: Vec<Dependency>,
    /// Jobs that wait for this one.
    pub dependents: BTreeSet<JobId>,
    /// What happened to it lately.
    pub story: Story,
    /// What it had of hosts while it ran.
    pub hosts: HostUse,
    /// What it reported of itself; absent if it never did, as most.
    pub reported: Option<Box<Reported>>,
}

/// What a job reported of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Reported {
    /// What its asks last reported, by index; of those that ever did.
    pub progress: BTreeMap<u32, Progress>,
    /// How fast it was observed to run.
    pub rates: Rates,
}

/// What an ask last reported of itself, put together from all reports.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Progress {
    /// Attempt that reported last.
    pub attempt: u32,
    /// When it did.
    pub at: Time,
    /// The latest value of everything that was reported.
    pub sample: Sample,
}

/// Processors and memory of hosts, multiplied by the time for which work ran on them. Exact, in whole numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct HostUse {
    /// Thousandths of a processor, multiplied by nanoseconds.
    cpu: u128,
    /// Bytes, multiplied by nanoseconds.
    memory: u128,
}

impl HostUse {
    /// More of the same.
    pub(crate) fn add(&mut self, host: &Host, ran: Span) {
        let ran = ran.0.max(0) as u128;
        self.cpu = self.cpu.saturating_add(u128::from(host.cpu_milli) * ran);
        self.memory = self.memory.saturating_add(u128::from(host.memory_bytes) * ran);
    }

    /// Milliseconds of one processor.
    pub fn cpu_ms(&self) -> u64 {
        u64::try_from(self.cpu / 1_000_000_000).unwrap_or(u64::MAX)
    }

    /// Milliseconds of one mebibyte.
    pub fn memory_mib_ms(&self) -> u64 {
        u64::try_from((self.memory / 1_000_000) >> 20).unwrap_or(u64::MAX)
    }
}

#[derive(Clone, Debug, Hash, Serialize, Deserialize)]
pub(crate) struct Stage {
    pub class: ClassId,
    /// Its asks are `asks[first..first + count]` of the job.
    pub first: u32,
    pub count: u32,
    pub done: u32,
    /// Tasks of a bag that failed for good while the others went on.
    pub failed: u32,
}

#[derive(Clone, Debug, Hash, Serialize, Deserialize)]
pub(crate) struct Ask {
    pub state: AskState,
    /// Attempts started so far.
    pub attempt: u32,
    /// Attempts that failed by themselves.
    pub failures: u32,
    /// Starts that the world refused since the last one that worked.
    pub refusals: u32,
    /// Times it ran, was interrupted, and has to run again.
    pub restarts: u32,
    /// The part of `restarts` that a plan decided.
    pub preemptions: u32,
    pub first_started: Option<Time>,
    /// Time spent waiting for devices, over all spells.
    pub waited: Span,
    /// Time spent running, over all attempts.
    pub served: Span,
    /// The same as if it had always run at its full width: time at half the width counts half.
    pub worked: Span,
    /// The same, times devices: what least-attained-service orders by, in device-thousandths times nanoseconds.
    pub attained: i128,
    /// When it last began to wait.
    pub queued: Time,
    /// Orders those who began to wait, or were granted devices, at the same time: who came first has less.
    pub turn: u64,
    /// How long it waited before its current or last attempt.
    pub spell: Span,
    /// Backs off until then.
    pub not_before: Time,
    /// How the last attempt ended, for explanations.
    pub last: Last,
    pub resizes: Resizes,
}

/// What is remembered of the resizes of an ask.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Resizes {
    /// When it last got another placement while it ran, or by a restart.
    pub last: Option<Time>,
    /// Resizes that the world refused since the last one that it carried out.
    pub refusals: u32,
    /// It is not resized again before.
    pub not_before: Option<Time>,
}

/// A state in which nothing was resized has the hash that it had before there were resizes.
impl Hash for Resizes {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        if *self != Self::default() {
            (self.last, self.refusals, self.not_before).hash(hasher);
        }
    }
}

/// How the last attempt ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum Last {
    #[default]
    Nothing,
    Ended {
        outcome: Outcome,
        /// What the world had to say about it.
        words: Option<Arc<str>>,
    },
    Refused(Arc<str>),
    Preempted(AskId),
    /// The node's name.
    NodeLost(Arc<str>),
    DeviceIll(Arc<str>),
    /// It was a task of a bag, and ran longer than the time limit.
    TimeLimit,
}

impl Last {
    /// Whether the attempt failed by itself.
    pub fn has_failed(&self) -> bool {
        matches!(self, Last::TimeLimit | Last::Ended { outcome: Outcome::Failed { .. }, .. })
    }
}

#[derive(Clone, Debug, Hash, Serialize, Deserialize)]
pub(crate) enum AskState {
    Blocked,
    Waiting,
    Granted(Box<Allocation>),
    Done,
}

#[derive(Clone, Debug, Hash, Serialize, Deserialize)]
pub(crate) struct Allocation {
    pub phase: Phase,
    pub placement: Placement,
    /// Up to here its use is settled: when it was granted, or when it last got more.
    pub held_since: Time,
    /// What others still owe it.
    pub owed: Vec<Owed>,
    /// Who is promised what it holds, once it gives that back.
    pub pledges: Vec<AllocationId>,
    pub width: Width,
}

/// How the placement of an allocation changes while it runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Width {
    /// Raised by each resize in place.
    pub generation: u32,
    /// Generations handed out, those that were refused included: none is used twice.
    pub generations: u32,
    /// Up to here its run is counted in the ask, if its width has changed since it came up.
    pub counted: Option<Time>,
    /// The part of what its ask attained that this attempt did before.
    pub attained: i128,
    pub resizing: Option<Box<Resizing>>,
}

/// Like that of [`Resizes`].
impl Hash for Width {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        if *self != Self::default() {
            (self.generation, self.generations, self.counted, self.attained, &self.resizing).hash(hasher);
        }
    }
}

/// Another placement, on the way. Until it is there the allocation holds both placements, less what it is owed.
///
/// In place: *promised* while it is owed something; then *asked*, which is what the world hears of; then it is `Resized`, or
/// refused. By restart: from the beginning its attempt is releasing (`Then::Resize`), and the world hears nothing of the
/// new placement before the next attempt starts on it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Resizing {
    pub placement: Placement,
    /// What it gets beside what it has, device by device.
    pub more: Vec<Grant>,
    /// What it gives up.
    pub less: Vec<Grant>,
    /// The generation by which the world is asked to do it in place; absent where it is done by a restart.
    pub generation: Option<u32>,
}

impl Allocation {
    pub fn new(placement: Placement, now: Time, owed: Vec<Owed>) -> Self {
        Allocation {
            phase: Phase::Planned,
            placement,
            held_since: now,
            owed,
            pledges: vec![],
            width: Width::default(),
        }
    }

    /// The placement that the world was asked to give it while it runs, and the generation.
    pub fn asked(&self) -> Option<(&Resizing, u32)> {
        let resizing = self.width.resizing.as_deref().filter(|_| self.owed.is_empty())?;
        resizing.generation.map(|generation| (resizing, generation))
    }

    /// What it has of devices, and what it gets beside them: together with what others still owe it.
    pub fn granted(&self) -> impl Iterator<Item = &Grant> {
        let more = self.width.resizing.iter().flat_map(|resizing| &resizing.more);
        self.placement.grants.iter().chain(more)
    }

    /// Since when it runs at the width that it has, if it came up at that time.
    pub fn width_since(&self, since: Time) -> Time {
        self.width.counted.map_or(since, |counted| counted.max(since))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum Phase {
    Planned,
    Starting,
    Running { since: Time },
    Releasing { ran_since: Option<Time>, then: Then },
}

/// What becomes of an ask once its devices are back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum Then {
    Requeue,
    /// The same, because a plan wants the devices.
    GiveWay,
    JobEnds,
    /// Its task has failed; the others of its bag go on.
    TaskFails,
    /// The next attempt starts on the placement of `Resizing`.
    Resize,
}

/// What is left to do in a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rest {
    /// Some stage can still run.
    Open,
    /// Nothing, and all of it succeeded.
    Done,
    /// Nothing that could still run, and tasks have failed.
    Failed,
}

/// A part of a device that somebody still has to give back.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Owed {
    pub by: AllocationId,
    pub grant: Grant,
}

impl Job {
    pub fn ask_id(&self, index: usize) -> AskId {
        let stage = self.stages.partition_point(|stage| stage.first as usize <= index) - 1;
        AskId { job: self.id, stage: stage as u16, task: index as u32 - self.stages[stage].first }
    }

    pub fn index(&self, ask: AskId) -> Option<usize> {
        if self.stages.len() == 1 {
            return (ask.stage == 0 && (ask.task as usize) < self.asks.len()).then_some(ask.task as usize);
        }
        let stage = self.stages.get(usize::from(ask.stage))?;
        (ask.task < stage.count).then(|| (stage.first + ask.task) as usize)
    }

    pub fn ask(&self, ask: AskId) -> Option<&Ask> {
        self.index(ask).map(|index| &self.asks[index])
    }

    pub fn ask_mut(&mut self, ask: AskId) -> Option<&mut Ask> {
        self.index(ask).map(|index| &mut self.asks[index])
    }

    /// Whether every stage that `stage` comes after has ended.
    pub fn stage_ready(&self, stage: usize) -> bool {
        self.spec.stages[stage].after.iter().all(|&before| {
            let before = &self.stages[usize::from(before)];
            before.done == before.count
        })
    }

    /// What is left to do; services never end.
    pub fn rest(&self) -> Rest {
        let (mut ends, mut has_failed) = (false, false);
        let mut can_succeed: Vec<bool> = vec![];
        for (stage, spec) in self.stages.iter().zip(&self.spec.stages) {
            let can_run = spec.after.iter().all(|&before| can_succeed[usize::from(before)]);
            can_succeed.push(can_run && stage.failed == 0);
            if !matches!(spec.form, Form::Service { .. }) {
                ends = true;
                has_failed |= stage.failed > 0;
                if can_run && stage.done + stage.failed < stage.count {
                    return Rest::Open;
                }
            }
        }
        match (ends, has_failed) {
            (false, _) => Rest::Open,
            (true, true) => Rest::Failed,
            (true, false) => Rest::Done,
        }
    }

    /// Why it fails whose tasks failed while the others went on.
    pub fn tasks_failed(&self) -> Why {
        let bags = self.stages.iter().filter(|stage| stage.failed > 0);
        let (failed, of) = bags.fold((0, 0), |(failed, of), stage| (failed + stage.failed, of + stage.count));
        let is_failed = |ask: &AskId| {
            self.stages[usize::from(ask.stage)].failed > 0
                && self
                    .ask(*ask)
                    .is_some_and(|ask| matches!(ask.state, AskState::Done) && ask.last.has_failed())
        };
        let tasks = (0..self.asks.len()).map(|index| self.ask_id(index)).filter(is_failed);
        let tasks: Vec<AskId> = tasks.collect();
        let ended = |ask: &AskId| match &self.ask(*ask).expect("one of its own").last {
            Last::Ended { outcome, words } => Some((*outcome, words.clone())),
            _ => None,
        };
        let code = |ask: &AskId| match ended(ask) {
            Some((Outcome::Failed { code, .. }, _)) => Some(code),
            _ => None,
        };
        let (first, code) = (tasks.first().and_then(ended), tasks.iter().filter_map(code).max());
        Why::TasksFailed { failed, of, tasks: tasks.into_iter().take(NAMED).collect(), first, code }
    }
}

impl Ask {
    pub fn allocation(&self) -> Option<&Allocation> {
        match &self.state {
            AskState::Granted(allocation) => Some(allocation),
            _ => None,
        }
    }

    pub fn allocation_mut(&mut self) -> Option<&mut Allocation> {
        match &mut self.state {
            AskState::Granted(allocation) => Some(allocation),
            _ => None,
        }
    }
}

impl Jobs {
    pub fn next_turn(&mut self) -> u64 {
        self.turns += 1;
        self.turns
    }

    pub fn next_id(&self) -> JobId {
        JobId(1 + self.gone + self.slots.len() as u64)
    }

    pub fn get(&self, id: JobId) -> Option<&Job> {
        self.slots.get(id.0.checked_sub(1 + self.gone)? as usize)
    }

    pub fn get_mut(&mut self, id: JobId) -> Option<&mut Job> {
        self.slots.get_mut(id.0.checked_sub(1 + self.gone)? as usize)
    }

    pub fn ending(&self, id: JobId) -> Option<Ending> {
        self.endings.get(id.index()).copied().flatten()
    }

    pub fn ask(&self, id: AskId) -> Option<&Ask> {
        self.get(id.job)?.ask(id)
    }

    /// The ask and its allocation, if this very attempt still holds something.
    pub fn allocation(&self, id: AllocationId) -> Option<&Allocation> {
        let ask = self.ask(id.ask)?;
        if ask.attempt == id.attempt { ask.allocation() } else { None }
    }

    pub fn asks(&self) -> u64 {
        self.asks
    }

    pub fn living(&self) -> usize {
        self.living as usize
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Job> {
        self.slots.iter()
    }

    pub fn insert(&mut self, job: Job) {
        assert_eq!(job.id, self.next_id(), "job ids are handed out in order");
        self.endings.push(None);
        self.living += 1;
        self.asks += job.asks.len() as u64;
        self.slots.push(job);
    }

    pub fn remove(&mut self, id: JobId, ending: Ending) -> Job {
        let (job, fell) = self.slots.take((id.0 - 1 - self.gone) as usize);
        let job = job.expect("a job ends once");
        self.gone += fell as u64;
        self.endings[id.index()] = Some(ending);
        self.living -= 1;
        self.asks -= job.asks.len() as u64;
        Arc::unwrap_or_clone(job)
    }
}

/// Grants of one ask, device by device: two of its roles may have a share of the same one.
pub(crate) fn by_device(grants: &[Grant]) -> Vec<Grant> {
    let mut devices = grants.to_vec();
    devices.sort_unstable_by_key(|grant| grant.device);
    devices.dedup_by(|next, sum| {
        let is_same = next.device == sum.device;
        if is_same {
            (sum.share, sum.memory_bytes) = (sum.share + next.share, sum.memory_bytes + next.memory_bytes);
        }
        is_same
    });
    devices
}

/// The part of these grants that goes beyond those, device by device; both are in order of devices, each once.
pub(crate) fn beyond(these: &[Grant], those: &[Grant]) -> Vec<Grant> {
    let part = |grant: &Grant| {
        let found = those.binary_search_by_key(&grant.device, |other| other.device);
        let (share, memory_bytes) =
            found.map_or((0, 0), |place| (those[place].share, those[place].memory_bytes));
        Grant {
            share: grant.share.saturating_sub(share),
            memory_bytes: grant.memory_bytes.saturating_sub(memory_bytes),
            ..*grant
        }
    };
    these.iter().map(part).filter(|part| part.share > 0 || part.memory_bytes > 0).collect()
}
