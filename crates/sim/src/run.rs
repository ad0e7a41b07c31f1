//! One simulated run: a cluster, a workload, a policy, run to the end.
//!
//! The controller may crash in the middle: then the scheduler is thrown away and rebuilt from the journal in
//! memory, and the world is told once more what is desired, exactly as after a real crash.

use crate::course::Course;
use crate::report::Record;
use crate::workload::{Cluster, Submission, Workload};
use crate::world::VirtualWorld;
use consort_sched::check::Breach;
use consort_sched::{Ended, Ending, Policy, Rollout, Scheduler, Watch};
use consort_types::*;
use cpu_time::{ProcessTime, ThreadTime};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// What is run.
pub struct Setup {
    /// Builds the cluster and declares tenants and queues.
    pub inputs: Vec<Input>,
    /// Devices in all, for utilisation.
    pub devices: u64,
    /// Who decides.
    pub policy: Arc<dyn Policy>,
    /// Where it happens, with what is submitted to it.
    pub world: VirtualWorld,
    /// Crash and recover after so many steps each time; keeps a journal in memory.
    pub crash_every: Option<u64>,
}

impl Setup {
    /// The plain case: nothing breaks, nothing takes time but the work.
    pub fn new(cluster: &Cluster, workload: &Workload, policy: Arc<dyn Policy>) -> Self {
        let submissions: Arc<[Submission]> = workload.submissions.clone().into();
        let mut inputs = cluster.inputs();
        inputs.extend(workload.undeclared(cluster));
        let world = VirtualWorld::new(cluster, submissions);
        Setup { inputs, devices: cluster.devices(), policy, world, crash_every: None }
    }
}

/// What came out.
pub struct Outcome {
    /// One for each job that ended, in order of its end.
    pub records: Vec<Record>,
    /// Submissions that were refused, and why.
    pub refused: Vec<Refusal>,
    /// Jobs that were still alive when nothing could happen any more: they wait for ever.
    pub stuck: Vec<JobId>,
    /// The submissions they came from, by position in the workload.
    pub stuck_submissions: Vec<usize>,
    /// Plans made.
    pub plan_calls: u64,
    /// CPU time of single plans, a sample.
    pub plan_cpu: Vec<Duration>,
    /// Inputs and committed plans.
    pub events: u64,
    /// CPU time of it all.
    pub cpu: Duration,
    /// Digest of the final state, and so of everything that led to it.
    pub state_hash: u64,
    /// Thousandths of a device times nanoseconds in use, added up.
    pub used: u128,
}

/// Why a run did not come to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunError {
    /// The cluster, a tenant or a queue makes no sense.
    Refused(Refusal),
    /// A policy broke a rule; this is a bug in the policy.
    Broken {
        /// Which policy.
        policy: String,
        /// Which rule.
        rule: Breach,
    },
    /// The state rebuilt from the journal differs from the one that was lost; this is a bug in the core.
    Diverged,
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::Refused(refusal) => refusal.fmt(f),
            RunError::Broken { policy, rule } => {
                write!(
                    f,
                    "policy {policy} broke the rule {rule:?}, which is a bug in the policy; please report it"
                )
            }
            RunError::Diverged => f.write_str(
                "the state rebuilt from the journal differs from the one that was lost; please report it",
            ),
        }
    }
}

impl std::error::Error for RunError {}

/// Runs to the end. `progress` hears now and then how many jobs have ended.
///
/// Fails when the set-up itself is refused, or when a policy broke a rule.
pub fn run(setup: Setup, progress: &mut dyn FnMut(u64)) -> Result<Outcome, RunError> {
    play(setup, progress, None).map(|(outcome, _)| outcome)
}

/// The same, and keeps what happened over time. It costs a little memory and time, and changes nothing else.
pub fn run_with_course(setup: Setup, progress: &mut dyn FnMut(u64)) -> Result<(Outcome, Course), RunError> {
    let course = Course::new(setup.devices);
    let (outcome, course) = play(setup, progress, Some(course))?;
    Ok((outcome, course.expect("it was given one")))
}

fn play(
    setup: Setup,
    progress: &mut dyn FnMut(u64),
    course: Option<Course>,
) -> Result<(Outcome, Option<Course>), RunError> {
    let began = ProcessTime::now();
    let capabilities = setup.world.capabilities();
    let mut scheduler = Scheduler::new(setup.policy.clone(), capabilities);
    let mut journal = setup.crash_every.map(|_| vec![]);
    let start = setup.world.next_at().unwrap_or(Time::ZERO).min(Time::ZERO);
    for input in setup.inputs {
        let event = scheduler.accept(start, input).map_err(RunError::Refused)?;
        scheduler.apply(&event);
        journal.iter_mut().for_each(|journal| journal.push(event.clone()));
    }
    let mut rollout = Rollout::new(scheduler, setup.world);
    let mut watch = Recorder {
        records: vec![],
        refused: vec![],
        plan_cpu: vec![],
        plans: 0,
        timer: None,
        journal,
        used: 0,
        course,
        progress,
    };
    let (mut steps, mut crashed) = (0u64, None);
    while let Some(at) = rollout.step(&mut watch) {
        steps += 1;
        // Whoever comes up makes a plan at once; crashing on that again and again would lead nowhere.
        let is_later = crashed.is_none_or(|last| at > last);
        if is_later && setup.crash_every.is_some_and(|every| steps.is_multiple_of(every)) {
            crashed = Some(at);
            rollout = recover(rollout, &setup.policy, watch.journal.as_deref().unwrap_or_default())?;
        }
    }
    if let Some(broken) = rollout.scheduler.take_rejections().first() {
        return Err(RunError::Broken { policy: setup.policy.name().into(), rule: broken.rule });
    }
    watch.refused.extend_from_slice(rollout.world.withheld());
    watch.records.iter_mut().for_each(|record| record.submission = rollout.world.submission_of(record.job));
    let stuck: Vec<JobId> = rollout.scheduler.view().jobs().map(|job| job.id()).collect();
    watch.course.iter_mut().for_each(Course::finish);
    let outcome = Outcome {
        records: watch.records,
        refused: watch.refused,
        stuck_submissions: stuck.iter().filter_map(|&job| rollout.world.submission_of(job)).collect(),
        stuck,
        plan_calls: rollout.plan_calls,
        plan_cpu: watch.plan_cpu,
        events: rollout.events,
        cpu: began.elapsed(),
        state_hash: rollout.scheduler.state_hash(),
        used: watch.used,
    };
    Ok((outcome, watch.course))
}

/// The controller forgets everything but its journal.
pub(crate) fn recover(
    old: Rollout<VirtualWorld>,
    policy: &Arc<dyn Policy>,
    journal: &[Event],
) -> Result<Rollout<VirtualWorld>, RunError> {
    let scheduler = Scheduler::recover(policy.clone(), old.world.capabilities(), journal);
    if scheduler.state_hash() != old.scheduler.state_hash() {
        return Err(RunError::Diverged);
    }
    let (plan_calls, events) = (old.plan_calls, old.events);
    let mut rollout = Rollout::new(scheduler, old.world);
    (rollout.plan_calls, rollout.events) = (plan_calls, events);
    Ok(rollout)
}

struct Recorder<'p> {
    records: Vec<Record>,
    refused: Vec<Refusal>,
    plan_cpu: Vec<Duration>,
    plans: u64,
    timer: Option<ThreadTime>,
    journal: Option<Vec<Event>>,
    used: u128,
    course: Option<Course>,
    progress: &'p mut dyn FnMut(u64),
}

/// The first plans are all timed, later ones now and then: asking for the time costs as much as a small plan.
const TIMED: u64 = 1_000;
const SAMPLE: u64 = 32;

impl Watch for Recorder<'_> {
    fn event(&mut self, event: &Event, scheduler: &Scheduler) {
        if let Some(journal) = &mut self.journal {
            journal.push(event.clone());
        }
        if let Some(course) = &mut self.course {
            course.event(event, scheduler);
        }
    }

    fn refused(&mut self, _at: Time, input: &Input, refusal: &Refusal) {
        if matches!(input, Input::Submit(_)) {
            self.refused.push(refusal.clone());
        }
    }

    fn planning(&mut self) {
        self.plans += 1;
        let timed = self.plans <= TIMED || self.plans.is_multiple_of(SAMPLE);
        self.timer = timed.then(ThreadTime::now);
    }

    fn planned(&mut self, _plan: &Plan) {
        if let Some(timer) = self.timer.take() {
            self.plan_cpu.push(timer.elapsed());
        }
    }

    fn ended(&mut self, ended: Ended) {
        self.used += ended.used;
        self.records.push(Record {
            job: ended.job,
            submission: None,
            submitted: ended.submitted,
            started: ended.started,
            ended: ended.ended,
            succeeded: ended.ending == Ending::Succeeded,
            waited: ended.waited,
            restarts: ended.restarts,
            preemptions: ended.preemptions,
            deadline: ended.spec.deadline,
        });
        if self.records.len().is_multiple_of(1024) {
            (self.progress)(self.records.len() as u64);
        }
    }
}
