//! Jobs that are alive: in a line, in full, and explained.

use crate::telling;
use consort_api::Moment;
use consort_api::shapes::{Ask, AskedFor, Job, JobDetail, Progress, RanOn, State};
use consort_sched::{AskView, Doing, Ended, JobView, Reading, View, belief};
use consort_types::*;
use std::collections::BTreeMap;

/// Which jobs are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Wanted {
    /// Only jobs before this one.
    pub before: Option<JobId>,
    /// Only in one of these states; in any when empty.
    pub states: Vec<State>,
    /// Only of this tenant.
    pub tenant: Option<String>,
    /// Only of this queue.
    pub queue: Option<String>,
    /// Only of this name.
    pub name: Option<String>,
}

impl Wanted {
    fn admits(&self, job: &JobView<'_>) -> bool {
        let spec = job.spec();
        let is = |wanted: &Option<String>, is: &str| wanted.as_deref().is_none_or(|wanted| wanted == is);
        self.before.is_none_or(|before| job.id() < before)
            && is(&self.tenant, &spec.tenant)
            && is(&self.queue, &spec.queue)
            && is(&self.name, &spec.name)
    }
}

/// What the world says of an attempt that it has in its hands. Asked within the loop, so it must not wait.
pub type Words<'a> = dyn Fn(AllocationId) -> Option<String> + 'a;

/// What it says of what an ask has granted.
pub(super) fn engine(words: &Words<'_>, ask: &AskView<'_>) -> Option<String> {
    let is_out = matches!(ask.doing(), Doing::Starting | Doing::Running | Doing::Releasing);
    if is_out { words(ask.allocation()) } else { None }
}

/// A reason, and what the world says meanwhile.
pub(super) fn meanwhile(reason: &Reason, now: Time, words: Option<String>) -> String {
    match (reason, words) {
        (reason, None) => reason.told(now).to_string(),
        (Reason::Starting, Some(words)) => format!("is being started: {words}"),
        (reason, Some(words)) => format!("{}: {words}", reason.told(now)),
    }
}

/// In a list nobody needs to be told twice that something runs.
fn is_plain(words: &str) -> bool {
    words.ends_with(" is running")
}

/// Reasons found so far for one page. Jobs that ask for the same thing with the same claim wait for the same reason, so
/// the policy is asked once for all of them.
#[derive(Default)]
pub struct Reasons(BTreeMap<Group, (JobId, String)>);

type Group = (QueueId, consort_sched::ClassId, TenantId, Qos, i32);

impl Reasons {
    fn of(&mut self, reading: &Reading<'_>, now: Time, ask: &AskView<'_>) -> String {
        beside(self.shared(reading, now, ask), ask.last_words(now))
    }

    fn shared(&mut self, reading: &Reading<'_>, now: Time, ask: &AskView<'_>) -> String {
        let spec = ask.spec();
        let group = (ask.queue(), ask.class_id(), ask.tenant(), spec.qos, spec.priority);
        let is_held_up = ask.not_before() > now || ask.earlier_attempt().is_some();
        if let Some((first, reason)) = self.0.get(&group).filter(|_| !is_held_up) {
            return match reason.is_empty() {
                true => format!("is behind job {first}"),
                false => reason.clone(),
            };
        }
        let Some(reason) = reading.why(now, ask.id()) else { return String::new() };
        let told = reason.told(now).to_string();
        if !is_held_up {
            // What stands first may be about to start; that does not hold for those behind it.
            let shared = matches!(
                reason,
                Reason::NoRoom { .. }
                    | Reason::Ceiling { .. }
                    | Reason::HostCeiling { .. }
                    | Reason::Behind { .. }
            );
            self.0.insert(group, (ask.id().job, if shared { told.clone() } else { String::new() }));
        }
        told
    }
}

/// A reason, and what else there is to say: about the last attempt, or about the one that ends.
pub(super) fn beside(reason: String, words: Option<String>) -> String {
    match words {
        Some(words) => format!("{reason}; {words}"),
        None => reason,
    }
}

/// The latest living jobs that are wanted, latest first, and whether there are more.
pub fn living(
    reading: &Reading<'_>,
    now: Time,
    words: &Words<'_>,
    wanted: &Wanted,
    limit: usize,
) -> (Vec<Job>, bool) {
    let view = reading.view();
    let mut reasons = Reasons::default();
    let (mut rows, mut more) = (vec![], false);
    for job in view.jobs().rev().filter(|job| wanted.admits(job)) {
        if !wanted.states.is_empty() && !wanted.states.contains(&Summary::of(reading, &job).state(&job)) {
            continue;
        }
        if rows.len() == limit {
            more = true;
            break;
        }
        rows.push(row(reading, now, words, &job, &mut reasons));
    }
    (rows, more)
}

fn asks<'a>(reading: &Reading<'a>, job: &JobView<'a>) -> impl Iterator<Item = AskView<'a>> {
    let view = reading.view();
    job.asks().filter_map(move |id| view.ask(id))
}

fn doing(ask: &AskView<'_>, paused: bool) -> State {
    match ask.doing() {
        Doing::Blocked if paused => State::Paused,
        Doing::Blocked => State::Held,
        Doing::Waiting | Doing::Planned => State::Waiting,
        Doing::Starting => State::Starting,
        Doing::Running => State::Running,
        Doing::Releasing => State::Stopping,
        Doing::Done if ask.has_failed() => State::Failed,
        Doing::Done => State::Succeeded,
    }
}

/// What all asks of a job do, in one pass: a job may have a million of them.
#[derive(Default)]
pub(super) struct Summary<'a> {
    /// The first ask in each state that is asked about later.
    waiting: Option<AskView<'a>>,
    starts: Option<AskView<'a>>,
    runs: Option<AskView<'a>>,
    stops: Option<AskView<'a>>,
    running: u64,
    starting: u64,
    stopping: u64,
    blocked: u64,
    done: u64,
    failed: u64,
    waits: u64,
    held: u64,
    devices_running: u64,
    started: Option<Time>,
    attempts: u32,
    preemptions: u32,
    restarts: u32,
}

impl<'a> Summary<'a> {
    pub fn of(reading: &Reading<'a>, job: &JobView<'a>) -> Self {
        let mut sum = Summary::default();
        for ask in asks(reading, job) {
            let devices = ask.grants().iter().filter(|grant| !grant.is_of_host()).count() as u64;
            match ask.doing() {
                Doing::Blocked => sum.blocked += 1,
                Doing::Waiting | Doing::Planned => {
                    sum.waits += 1;
                    sum.waiting.get_or_insert(ask);
                }
                Doing::Starting => {
                    (sum.starting, sum.held) = (sum.starting + 1, sum.held + devices);
                    sum.starts.get_or_insert(ask);
                }
                Doing::Running => {
                    (sum.running, sum.held) = (sum.running + 1, sum.held + devices);
                    sum.devices_running += devices;
                    sum.runs.get_or_insert(ask);
                }
                Doing::Releasing => {
                    (sum.stopping, sum.held) = (sum.stopping + 1, sum.held + devices);
                    sum.stops.get_or_insert(ask);
                }
                Doing::Done => {
                    sum.done += 1;
                    sum.failed += u64::from(ask.has_failed());
                }
            }
            sum.started = [sum.started, ask.first_started()].into_iter().flatten().min();
            sum.attempts += ask.attempt();
            sum.preemptions += ask.preemptions();
            sum.restarts += ask.restarts();
        }
        sum
    }

    /// What the job is doing, all in all: the furthest that any of its asks has come.
    pub fn state(&self, job: &JobView<'_>) -> State {
        if job.ending().is_some() {
            return State::Stopping;
        }
        let in_order = [
            (self.running, State::Running),
            (self.starting, State::Starting),
            (self.stopping, State::Stopping),
            (self.waits, State::Waiting),
            (self.blocked, if job.is_paused() { State::Paused } else { State::Held }),
        ];
        let furthest = in_order.into_iter().find(|(count, _)| *count > 0);
        furthest.map_or(State::Stopping, |(_, state)| state) // all are done and the job has not left yet
    }

    fn reason(
        &self,
        reading: &Reading<'_>,
        now: Time,
        words: &Words<'_>,
        job: &JobView<'_>,
        reasons: &mut Reasons,
    ) -> String {
        let engine = |ask: &Option<AskView<'_>>| ask.as_ref().and_then(|ask| engine(words, ask));
        match self.state(job) {
            State::Waiting => self.waiting.map_or(String::new(), |ask| reasons.of(reading, now, &ask)),
            State::Running => {
                let (devices, left) =
                    (self.devices_running, self.waits + self.starting + self.stopping + self.blocked);
                let plural = if devices == 1 { "" } else { "s" };
                match (self.running, left) {
                    (1, 0) => {
                        if let Some(resizing) = self.runs.as_ref().and_then(|ask| resizing(reading, now, ask))
                        {
                            return resizing;
                        }
                        let said = engine(&self.runs).filter(|said| !is_plain(said));
                        let said = said.map_or(String::new(), |said| format!(": {said}"));
                        let done = self.runs.and_then(|ask| ask.progress()?.thousandths());
                        let done = done.map_or(String::new(), |done| format!(", {} % done", done / 10));
                        format!("runs on {devices} device{plural}{done}{said}")
                    }
                    (running, left) => {
                        let verb = if running == 1 { "task runs" } else { "tasks run" };
                        let failed = match self.failed {
                            0 => String::new(),
                            failed => format!(", {failed} failed"),
                        };
                        format!("{running} {verb} on {devices} device{plural}, {left} left{failed}")
                    }
                }
            }
            State::Stopping => match job.ending() {
                Some(why) => beside(format!("is ending: {}", why.told(job.spec())), engine(&self.stops)),
                None => match self.stops.as_ref().and_then(|ask| resizing(reading, now, ask)) {
                    Some(resizing) => beside(resizing, engine(&self.stops)),
                    None => meanwhile(&Reason::Releasing, now, engine(&self.stops)),
                },
            },
            State::Paused => Reason::Paused.to_string(),
            State::Held => {
                let after: Vec<JobId> = job.after().collect();
                match after.is_empty() {
                    true => "waits for an earlier stage".into(),
                    false => Reason::AfterJobs(after).to_string(),
                }
            }
            State::Starting => meanwhile(&Reason::Starting, now, engine(&self.starts)),
            State::Succeeded | State::Failed | State::Cancelled => String::new(),
        }
    }
}

/// That an ask is being resized, if it is, and to which width.
fn resizing(reading: &Reading<'_>, now: Time, ask: &AskView<'_>) -> Option<String> {
    ask.resizing()?;
    Some(reading.why(now, ask.id())?.told(now).to_string())
}

/// What a job asks for, role by role.
pub fn asks_for(spec: &JobSpec) -> Vec<AskedFor> {
    let role = |(stage, role): (&StageSpec, &Role)| {
        let first = role.shapes.first();
        let mut kinds: Vec<String> = role.shapes.iter().filter_map(|shape| shape.kind.clone()).collect();
        if kinds.len() < role.shapes.len() {
            kinds.clear(); // one of them accepts any kind
        }
        kinds.dedup();
        AskedFor {
            stage: stage.name.clone(),
            role: role.name.clone(),
            tasks: stage.form.asks(),
            workers: role.count.min,
            most_workers: role.count.max,
            devices: first.map_or(0, |shape| shape.devices),
            kinds,
            share_thousandths: first.map_or(0, |shape| u32::from(shape.share)),
            device_memory_bytes: first.map_or(0, |shape| shape.memory_bytes),
            cpu_thousandths: first.map_or(0, |shape| shape.host.cpu_milli),
            memory_bytes: first.map_or(0, |shape| shape.host.memory_bytes),
            precision: first
                .map_or(vec![], |shape| shape.precisions.iter().map(Precision::to_string).collect()),
            image: None,
        }
    };
    let roles = spec.stages.iter().flat_map(|stage| stage.roles.iter().map(move |role| (stage, role)));
    roles.map(role).collect()
}

/// Devices of one attempt that history keeps.
const KEPT: usize = 1_000;

/// Where the last attempt of a job that has just ended ran.
pub fn ran_on(view: &View<'_>, ended: &Ended) -> Option<RanOn> {
    let (id, placement) = ended.last.as_ref()?;
    let name = |node| view.node_by_id(node).map_or("", |node| node.spec.name.as_str());
    let mut nodes: Vec<NodeId> = placement.grants.iter().map(|grant| view.locate(grant.device).0).collect();
    nodes.sort_unstable();
    nodes.dedup();
    let place = |grant: &Grant| {
        let (node, index) = view.locate(grant.device);
        format!("{}[{index}]", name(node))
    };
    Some(RanOn {
        ask: id.ask.to_string(),
        attempt: id.attempt,
        nodes: nodes.into_iter().map(|node| name(node).to_string()).collect(),
        devices: placement.devices().take(KEPT).map(place).collect(),
    })
}

/// One job in a line.
pub fn row<'a>(
    reading: &Reading<'a>,
    now: Time,
    words: &Words<'_>,
    job: &JobView<'a>,
    reasons: &mut Reasons,
) -> Job {
    let (spec, sum) = (job.spec(), Summary::of(reading, job));
    Job {
        id: job.id().0,
        name: spec.name.clone(),
        user: None,
        tenant: spec.tenant.clone(),
        queue: spec.queue.clone(),
        state: sum.state(job),
        reason: sum.reason(reading, now, words, job, reasons),
        devices: if sum.held > 0 { sum.held } else { spec.least_devices() },
        submitted: Moment(job.submitted()),
        started: sum.started.map(Moment),
        expected_start: None,
        ended: None,
        exit_code: None,
        priority: spec.priority,
        qos: spec.qos.to_string(),
        attempts: sum.attempts,
        preemptions: sum.preemptions,
        restarts: sum.restarts,
        used_cpu_ms: job.hosts().cpu_ms(),
        used_memory_mib_ms: job.hosts().memory_mib_ms(),
        asks_for: asks_for(spec),
    }
}

/// Asks that are told one by one; a bag of a million tasks is not.
const TOLD: usize = 1_000;

/// One job in full, less what only its work knows.
pub fn detail(reading: &Reading<'_>, now: Time, words: &Words<'_>, id: JobId) -> Option<JobDetail> {
    let view = reading.view();
    let job = view.job(id)?;
    let spec = job.spec();
    let mut reasons = Reasons::default();
    let line = row(reading, now, words, &job, &mut reasons);
    let name = |node| view.node_by_id(node).map_or("", |node| node.spec.name.as_str());
    let told = |ask: AskView<'_>| {
        let state = doing(&ask, job.is_paused());
        let place = |grant: &Grant| {
            let (node, index) = view.locate(grant.device);
            format!("{}[{index}]", name(node))
        };
        let node = ask.grants().first().map(|grant| name(view.locate(grant.device).0).to_string());
        let reason = match state {
            State::Waiting => reasons.of(reading, now, &ask),
            State::Succeeded => Reason::Done.to_string(),
            State::Failed => ask.last_words(now).unwrap_or_default(),
            State::Starting => Reason::Starting.to_string(),
            State::Stopping => resizing(reading, now, &ask).unwrap_or_else(|| Reason::Releasing.to_string()),
            State::Running => resizing(reading, now, &ask).unwrap_or_default(),
            _ => String::new(),
        };
        let since = match state {
            State::Running => ask.running_since(),
            State::Waiting => Some(ask.queued()),
            _ => None,
        };
        let kind =
            ask.grants().iter().find(|grant| !grant.is_of_host()).map(|grant| view.kind_of(grant.device));
        let kind = kind.and_then(|kind| view.kinds().find(|(id, _)| *id == kind)).map(|(_, kind)| kind);
        let of_pool = |pool: Pool| -> u64 {
            let of = ask.grants().iter().filter(|grant| view.pool_of(grant.device) == Some(pool));
            of.map(|grant| grant.memory_bytes).sum()
        };
        let shapes = spec.stages[usize::from(ask.id().stage)].roles.iter().flat_map(|role| &role.shapes);
        let wanted = shapes.map(|shape| &shape.precisions[..]).find(|wanted| !wanted.is_empty());
        let precision =
            kind.zip(wanted).and_then(|(kind, wanted)| Precision::best(kind.computes_in(), wanted));
        Ask {
            stage: spec.stages[usize::from(ask.id().stage)].name.clone(),
            task: spec.stages[usize::from(ask.id().stage)].index(ask.id().task),
            state,
            attempt: ask.attempt(),
            node,
            devices: ask.grants().iter().filter(|grant| !grant.is_of_host()).map(place).collect(),
            kind: kind.map(|kind| kind.name.clone()),
            cpu_thousandths: of_pool(Pool::Cpu),
            memory_bytes: of_pool(Pool::Memory),
            variant: None,
            precision: precision.map(|precision| precision.to_string()),
            since: since.map(Moment),
            reason,
            engine: engine(words, &ask),
            progress: progress(&view, &ask, now),
        }
    };
    let asks = asks(reading, &job).take(TOLD).map(told).collect();
    Some(JobDetail {
        workdir: None,
        command: vec![],
        after: job.after().map(|job| job.0).collect(),
        deadline: spec.deadline.map(Moment),
        estimate_s: spec.estimate.map(Span::as_seconds),
        time_limit_s: spec.time_limit.map(Span::as_seconds),
        retries: spec.retries,
        asks,
        parts: spec.stages.iter().map(|stage| u64::from(stage.form.asks())).sum(),
        ran_on: None,
        logs: vec![],
        story: telling::story(job.story(), spec),
        output_lost: None,
        job: line,
    })
}

/// What an ask last reported of itself.
fn progress(view: &View<'_>, ask: &AskView<'_>, now: Time) -> Option<Progress> {
    let found = ask.progress()?;
    let Sample { done_milli, total_milli, saved_milli, batch, memory_bytes, power_mw, unit, stats, .. } =
        &found.sample;
    let milli = |number: u64| number as f64 / 1e3;
    let some = |number: u64| (number > 0).then_some(number);
    let setting = ask.setting().or_else(|| ask.last_setting());
    let rate = setting.and_then(|setting| belief::speed::rate(ask, &setting));
    let nano = |number: u64| number as f64 / 1e9;
    let left = (*total_milli > 0).then(|| belief::length::time_left(view, ask.id(), now)).flatten();
    Some(Progress {
        at: Moment(found.at),
        attempt: found.attempt,
        text: found.sample.to_string(),
        unit: unit.as_deref().map(Into::into),
        done: milli(*done_milli),
        total: some(*total_milli).map(milli),
        saved: some(*saved_milli).map(milli),
        rate_per_s: rate.map(|rate| nano(rate.value)),
        rate_spread_per_s: rate.map(|rate| nano(rate.spread)),
        left_s: left.map(Span::as_seconds),
        batch: some(*batch),
        memory_bytes: some(*memory_bytes),
        power_w: some(*power_mw).map(milli),
        stats: stats.iter().map(|(name, value)| (name.to_string(), *value as f64 / 1e3)).collect(),
    })
}
