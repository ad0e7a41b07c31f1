//! Fourth verb: the state becomes reasons.
//!
//! No second opinion: for an ask that waits, the policy itself is run once more, and what it says about this ask is the
//! answer. So an explanation cannot disagree with the decision. Like planning, explaining changes no decision: the swarm
//! compares plans with and without it.

mod remedy;
mod room;

pub use remedy::Remedy;
pub(crate) use room::{ceiling, no_room};

use crate::check::domain;
use crate::class::Class;
use crate::draft::Draft;
use crate::free::Free;
use crate::holders::Holders;
use crate::lines::Lines;
use crate::policy::Policy;
use crate::scheduler::Scheduler;
use crate::state::State;
use crate::state::cluster::Cluster;
use crate::state::jobs::{Allocation, AskState, Job, Last, Phase, Resizing, said};
use crate::view::View;
use consort_types::*;
use std::cell::RefCell;
use std::sync::Arc;

/// A scheduler for reading: what it knows, and why. Made by [`Scheduler::reading`].
///
/// Keeps the sorted queues from one question to the next, so that a question costs what a plan costs that starts nothing.
pub struct Reading<'a> {
    state: &'a State,
    policy: &'a Arc<dyn Policy>,
    capabilities: Capabilities,
    caches: RefCell<(&'a mut Free, &'a mut Lines, &'a mut Holders)>,
}

impl Scheduler {
    /// The same as [`Reading::explain`], on copies of the caches. For a single question.
    pub fn explain(&self, now: Time, id: JobId) -> Option<Explanation> {
        let (mut free, mut lines, mut holders) = (self.free.clone(), self.lines.clone(), Holders::default());
        let caches = RefCell::new((&mut free, &mut lines, &mut holders));
        let capabilities = self.capabilities;
        Reading { state: &self.state, policy: &self.policy, capabilities, caches }.explain(now, id)
    }

    /// For those who ask more than one question.
    pub fn reading(&mut self) -> Reading<'_> {
        let caches = RefCell::new((&mut self.free, &mut self.lines, &mut self.holders));
        Reading { state: &self.state, policy: &self.policy, capabilities: self.capabilities, caches }
    }
}

impl<'a> Reading<'a> {
    /// The read-only face of the state.
    pub fn view(&self) -> View<'a> {
        View::of(self.state)
    }

    /// A digest of the whole state; see [`Scheduler::state_hash`].
    pub fn state_hash(&self) -> u64 {
        self.state.digest()
    }

    /// Why a living job is where it is; `None` when there is no such job alive. Asks of one stage that are in the
    /// same position and follow each other are told once; each that holds devices is told by itself.
    pub fn explain(&self, now: Time, id: JobId) -> Option<Explanation> {
        let now = now.max(self.state.now);
        let job = self.state.jobs.get(id)?;
        let mut asks: Vec<(AskId, Reason)> = vec![];
        let mut last = None;
        for (index, ask) in job.asks.iter().enumerate() {
            let ask_id = job.ask_id(index);
            let words = world_words(&ask.last);
            let held_up = (ask.not_before > now, self.state.tombstones.of(ask_id).map(|(_, node)| node));
            let position = (ask_id.stage, std::mem::discriminant(&ask.state), held_up, words);
            if last.as_ref() != Some(&position) || matches!(ask.state, AskState::Granted(_)) {
                asks.push((ask_id, self.reason(now, job, ask_id)));
            }
            last = Some(position);
        }
        Some(Explanation { job: id, asks })
    }

    /// Why one ask of a living job is where it is.
    pub fn why(&self, now: Time, id: AskId) -> Option<Reason> {
        let job = self.state.jobs.get(id.job)?;
        job.ask(id).map(|_| self.reason(now.max(self.state.now), job, id))
    }

    fn reason(&self, now: Time, job: &Job, id: AskId) -> Reason {
        let ask = job.ask(id).expect("one of the job's own");
        match &ask.state {
            AskState::Done => Reason::Done,
            AskState::Granted(allocation) => match allocation.phase {
                Phase::Starting => Reason::Starting,
                Phase::Running { since } => {
                    let devices = allocation.placement.devices().count() as u32;
                    if let Some(resizing) = &allocation.width.resizing {
                        return resizing_of(allocation, resizing);
                    }
                    let class = self.state.classes.get(job.stages[usize::from(id.stage)].class);
                    let roles = &job.spec.stages[usize::from(id.stage)].roles;
                    let apart = given_up(&self.state.cluster, class, roles, &allocation.placement);
                    Reason::Running { since, devices, apart }
                }
                Phase::Releasing { .. } => match &allocation.width.resizing {
                    Some(resizing) => resizing_of(allocation, resizing),
                    None => Reason::Releasing,
                },
                Phase::Planned => {
                    let mut from: Vec<AllocationId> = allocation.owed.iter().map(|owed| owed.by).collect();
                    from.dedup();
                    Reason::Promised(from)
                }
            },
            AskState::Blocked if job.paused => Reason::Paused,
            AskState::Blocked if !job.after.is_empty() => {
                Reason::AfterJobs(job.after.iter().map(|dependency| dependency.job).collect())
            }
            AskState::Blocked => Reason::AfterStages(unfinished(job, id)),
            AskState::Waiting if ask.not_before > now => {
                Reason::BackingOff { until: ask.not_before, last: last_words(&ask.last) }
            }
            AskState::Waiting => match self.state.tombstones.of(id) {
                Some((attempt, node)) => Reason::EarlierAttempt {
                    attempt: attempt.attempt,
                    node: self.state.cluster.nodes[node.index()].spec.name.clone(),
                },
                None => self.ask_the_policy(now, id),
            },
        }
    }

    fn ask_the_policy(&self, now: Time, id: AskId) -> Reason {
        let (free, lines, holders) = &mut *self.caches.borrow_mut();
        let now = (self.policy.name(), now);
        let mut draft = Draft::new(self.state, free, lines, self.capabilities, now, Some(id));
        draft.holders = Some(holders);
        self.policy.fill(&mut draft);
        let starts = draft.starts(id);
        let (_, noted) = draft.finish();
        if starts { Reason::Next } else { noted.unwrap_or(Reason::NotReached) }
    }
}

fn resizing_of(allocation: &Allocation, resizing: &Resizing) -> Reason {
    let mut after: Vec<AllocationId> = allocation.owed.iter().map(|owed| owed.by).collect();
    after.dedup();
    Reason::Resizing {
        devices: allocation.placement.devices().count() as u32,
        from: allocation.placement.members(),
        to: resizing.placement.members(),
        in_place: resizing.generation.is_some(),
        after,
    }
}

/// The level that the first role to prefer one did not get.
fn given_up(cluster: &Cluster, class: &Class, roles: &[Role], placement: &Placement) -> Option<String> {
    let mut rest = placement.devices();
    for ((role, fill), spec) in class.roles.iter().zip(&placement.fills).zip(roles) {
        let shape = &role.shapes[usize::from(fill.shape)];
        let mine: Vec<_> = rest.by_ref().take(fill.count as usize * shape.devices as usize).collect();
        let (Some(level), Some(first)) = (shape.prefer, mine.first()) else { continue };
        let place = |grant: &Grant| domain(cluster, level, grant.device);
        if place(first).is_none() || mine.iter().any(|grant| place(grant) != place(first)) {
            return spec.shapes[usize::from(fill.shape)].prefer.clone();
        }
    }
    None
}

fn unfinished(job: &Job, id: AskId) -> Vec<String> {
    let after = job.spec.stages[usize::from(id.stage)].after.iter().map(|&stage| usize::from(stage));
    let open = after.filter(|&stage| job.stages[stage].done < job.stages[stage].count);
    open.map(|stage| job.spec.stages[stage].name.clone()).collect()
}

pub(crate) fn last_words(last: &Last) -> String {
    match last {
        Last::Nothing => "it has not run yet".into(),
        Last::Ended { outcome: Outcome::Succeeded, words } => {
            format!("the last replica ended with status 0, and a service must go on{}", said(words))
        }
        Last::Ended { outcome, words } => format!("the last attempt {outcome}{}", said(words)),
        Last::Refused(why) => format!("the last start was refused: {why}"),
        Last::Preempted(by) => format!("it was preempted for job {by}"),
        Last::DeviceIll(node) => format!("a device of node {node} became unhealthy"),
        Last::NodeLost(node) => format!("node {node} was lost"),
        Last::TimeLimit => "the last attempt exceeded its time limit".into(),
    }
}

/// What the world had to say about the end of the last attempt, if anything.
pub(crate) fn world_words(last: &Last) -> Option<String> {
    match last {
        Last::Ended { outcome: Outcome::Stopped, words: Some(words) } => {
            Some(format!("its last attempt was stopped: {words}"))
        }
        Last::Ended { outcome, words: Some(words) } => Some(format!("its last attempt {outcome}: {words}")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::{Scheduler, stock};
    use consort_types::*;
    use std::sync::Arc;

    fn say(scheduler: &mut Scheduler, input: Input) {
        let event = scheduler.accept(Time::ZERO, input).expect("the story is in order");
        scheduler.apply(&event);
    }

    fn reason(scheduler: &Scheduler, job: u64) -> String {
        scheduler.explain(Time::ZERO, JobId(job + 1)).expect("it lives").asks[0].1.to_string()
    }

    #[test]
    fn whoever_is_at_the_ceiling_is_not_said_to_be_behind_those_it_lets_pass() {
        let mut scheduler =
            Scheduler::new(stock::find("fifo").expect("it is there").policy(), Capabilities::default());
        say(&mut scheduler, Input::SetKind(KindSpec::named("a")));
        let quota = Quota { kind: "a".into(), guarantee: 0, ceiling: Some(1) };
        say(&mut scheduler, Input::SetTenant(TenantSpec { name: "red".into(), quotas: vec![quota] }));
        say(&mut scheduler, Input::SetTenant(TenantSpec { name: "default".into(), quotas: vec![] }));
        let queue = QueueSpec { name: "default".into(), priority: 0, strict: true, tenants: vec![] };
        say(&mut scheduler, Input::SetQueue(queue));
        let devices = vec![DeviceGroup { kind: "a".into(), count: 2, island: 0 }];
        say(&mut scheduler, Input::NodeJoined(NodeSpec { name: "n".into(), devices, ..NodeSpec::default() }));
        for (name, tenant, count) in
            [("one", "red", 1), ("two", "red", 1), ("wide", "default", 2), ("last", "default", 1)]
        {
            let spec = JobSpec { tenant: tenant.into(), ..JobSpec::gang(name, count, Shape::of("a")) };
            say(&mut scheduler, Input::Submit(Arc::new(spec)));
        }
        let plan = scheduler.plan(Time::ZERO);
        scheduler.apply(&Event::new(Time::ZERO, Fact::Planned(plan)));
        assert_eq!(reason(&scheduler, 0), "is starting");
        assert_eq!(reason(&scheduler, 1), "tenant red is limited to 1 a: 1 in use, 1 more needed");
        assert_eq!(reason(&scheduler, 2), "needs 2 a, 1 free, 1 held by one");
        assert_eq!(reason(&scheduler, 3), "is behind wide in queue default");
    }
}
