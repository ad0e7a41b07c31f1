//! Fourth verb: the state becomes reasons.
//!
//! No second opinion: for an ask that waits, the policy itself is run once more, and what it says about this ask is the
//! answer. So an explanation cannot disagree with the decision. Like planning, explaining changes no decision: the swarm
//! compares plans with and without it.

use crate::belief::length;
use crate::check::domain;
use crate::class::{Class, ClassRole};
use crate::draft::{Draft, room};
use crate::free::Free;
use crate::lines::Lines;
use crate::policy::Policy;
use crate::scheduler::Scheduler;
use crate::state::State;
use crate::state::cluster::{Cluster, Pool};
use crate::state::jobs::{AskState, Job, Last, Phase, said};
use crate::view::{AskView, Doing, View};
use consort_types::*;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// A scheduler for reading: what it knows, and why. Made by [`Scheduler::reading`].
///
/// Keeps the sorted queues from one question to the next, so that a question costs what a plan costs that starts nothing.
pub struct Reading<'a> {
    state: &'a State,
    policy: &'a dyn Policy,
    capabilities: Capabilities,
    caches: RefCell<(&'a mut Free, &'a mut Lines)>,
}

impl Scheduler {
    /// The same as [`Reading::explain`], on copies of the caches. For a single question.
    pub fn explain(&self, now: Time, id: JobId) -> Option<Explanation> {
        let (mut free, mut lines) = (self.free.clone(), self.lines.clone());
        let caches = RefCell::new((&mut free, &mut lines));
        let capabilities = self.capabilities;
        Reading { state: &self.state, policy: &*self.policy, capabilities, caches }.explain(now, id)
    }

    /// For those who ask more than one question.
    pub fn reading(&mut self) -> Reading<'_> {
        let caches = RefCell::new((&mut self.free, &mut self.lines));
        Reading { state: &self.state, policy: &*self.policy, capabilities: self.capabilities, caches }
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

    fn reason(&self, now: Time, job: &Job, id: AskId) -> Reason {
        let ask = job.ask(id).expect("one of the job's own");
        match &ask.state {
            AskState::Done => Reason::Done,
            AskState::Granted(allocation) => match allocation.phase {
                Phase::Starting => Reason::Starting,
                Phase::Running { since } => {
                    let devices = allocation.placement.devices().count() as u32;
                    let class = self.state.classes.get(job.stages[usize::from(id.stage)].class);
                    let roles = &job.spec.stages[usize::from(id.stage)].roles;
                    let apart = given_up(&self.state.cluster, class, roles, &allocation.placement);
                    Reason::Running { since, devices, apart }
                }
                Phase::Releasing { .. } => Reason::Releasing,
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
        let (free, lines) = &mut *self.caches.borrow_mut();
        let mut draft = Draft::new(self.state, free, lines, self.capabilities, now, Some(id));
        self.policy.fill(&mut draft);
        let starts = draft.starts(id);
        let (_, noted) = draft.finish();
        if starts { Reason::Next } else { noted.unwrap_or(Reason::NotReached) }
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

fn last_words(last: &Last) -> String {
    match last {
        Last::Nothing => "it has not run yet".into(),
        Last::Ended { outcome, words } => format!("the last attempt {outcome}{}", said(words)),
        Last::Refused(why) => format!("the last start was refused: {why}"),
        Last::Preempted(by) => format!("it gave way to job {by}"),
        Last::DeviceIll(node) => format!("a device of {node} fell ill"),
        Last::NodeLost(node) => format!("{node} was lost"),
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

/// Whether no choice of kinds for the roles keeps the tenant below its ceilings, were there room for all; then the first
/// kind that is closed is the reason.
pub(crate) fn ceiling(draft: &Draft<'_>, ask: &AskView<'_>) -> Option<Reason> {
    let view = draft.view();
    let mut closed = None;
    let mut over = |kind: KindId, needs: u64| {
        let in_use = draft.standing(ask.tenant(), kind);
        let ceiling = view.account(ask.tenant(), kind).ceiling.filter(|&ceiling| in_use + needs > ceiling);
        if let Some(ceiling) = ceiling {
            closed.get_or_insert((kind, ceiling, in_use, needs));
        }
        ceiling.is_some()
    };
    let roles = draft.needs_by_role(ask);
    if some_choice_is_open(&roles, &mut BTreeMap::new(), &mut over, &mut room::TRIES.clone()) {
        return None;
    }
    closed.map(|(kind, ceiling, in_use, needs)| Reason::Ceiling {
        tenant: ask.spec().tenant.clone(),
        kind: kind_name(&view, kind),
        ceiling: (ceiling / 1000) as u32,
        in_use,
        needs,
    })
}

/// Whether the roles can choose kinds such that none is over, given what is `taken` of each. Counts its tries; when they
/// run out the answer is yes, because then nobody has found a ceiling in the way.
fn some_choice_is_open(
    roles: &[Vec<(KindId, u64)>],
    taken: &mut BTreeMap<KindId, u64>,
    over: &mut impl FnMut(KindId, u64) -> bool,
    tries: &mut u32,
) -> bool {
    let Some((options, rest)) = roles.split_first() else { return true };
    for &(kind, needs) in options {
        if *tries == 0 {
            return true;
        }
        *tries -= 1;
        let before = taken.get(&kind).copied().unwrap_or(0);
        if over(kind, before + needs) {
            continue;
        }
        taken.insert(kind, before + needs);
        let is_open = some_choice_is_open(rest, taken, over, tries);
        taken.insert(kind, before);
        if is_open {
            return true;
        }
    }
    false
}

/// What the other roles take of a kind because they accept no other.
fn unavoidable(roles: &[Vec<(KindId, u64)>], but: usize, kind: KindId) -> u64 {
    let others = roles.iter().enumerate().filter(|&(role, _)| role != but);
    let only = |options: &Vec<(KindId, u64)>| match options[..] {
        [(only, needs)] if only == kind => needs,
        _ => 0,
    };
    others.map(|(_, options)| only(options)).sum()
}

fn kind_name(view: &View<'_>, kind: KindId) -> String {
    view.kinds().find(|(id, _)| *id == kind).map_or(String::new(), |(_, spec)| spec.name.clone())
}

/// What is missing, and who has it.
pub(crate) fn no_room<'a>(draft: &Draft<'a>, ask: &AskView<'a>) -> Reason {
    let (view, roles) = (draft.view(), draft.needs_by_role(ask));
    let kinds: BTreeSet<KindId> = roles.iter().flatten().map(|need| need.0).collect();
    let enough = draft.has_enough(ask, |role, kind| unavoidable(&roles, role, kind));
    let hosted = ask.class().shapes().any(|shape| !shape.host.is_none());
    let mut ranks = holders(&view, draft, ask, hosted && enough);
    ranks.sort_by_key(|&(until, id, _)| (until.is_none(), until, id));
    let told = ranks.iter().take(TOLD).filter_map(|&(until, id, devices)| {
        Some(Holder { name: view.ask(id)?.spec().name.clone(), devices, until })
    });
    let holders: Vec<Holder> = told.collect();
    let others = (ranks.len() - holders.len()) as u32;
    let stage = &ask.spec().stages[usize::from(ask.id().stage)];
    let (closed, foreign, ill) = draft.out_of_reach(ask);
    Reason::NoRoom {
        needs: stage.roles.iter().zip(&ask.class().roles).map(in_words).collect::<Vec<_>>().join(" and "),
        free: kinds.iter().map(|&kind| (kind_name(&view, kind), draft.free_for(ask, kind))).collect(),
        closed,
        foreign,
        ill,
        scattered: enough,
        hosted,
        nearest: if hosted && enough { nearest_host(draft, ask) } else { None },
        holders,
        others,
    }
}

/// Of the nodes that have the devices of one member, the one whose host lacks least of what the member asks for, and what
/// is left there of what is short.
fn nearest_host(draft: &Draft<'_>, ask: &AskView<'_>) -> Option<(String, String)> {
    let cluster = &draft.state.cluster;
    let shape = ask.class().shapes().find(|shape| shape.devices > 0 && !shape.host.is_none())?;
    let needs = shape.kinds(cluster).map(|kind| shape.need(cluster, draft.free, kind, 1, None));
    let nodes = needs.flat_map(|need| {
        let room = |node: &NodeId| need.has_devices(*node);
        need.nodes().filter(room).map(|node| (node, need.host_left(node))).collect::<Vec<_>>()
    });
    let short = |node: NodeId, left: Host| {
        let has = move |pool: &Pool| cluster.nodes[node.index()].pool(*pool).is_some();
        let is_short = move |pool: &Pool| has(pool) && pool.of(&left) < pool.of(&shape.host);
        Pool::ALL.into_iter().filter(is_short)
    };
    let lacking = |node: NodeId, left: Host| {
        let part = |pool: Pool| u128::from(pool.of(&left)) * 1000 / u128::from(pool.of(&shape.host));
        short(node, left).map(part).fold((0, 0), |(pools, lacks), part| (pools + 1, lacks + 1000 - part))
    };
    let (node, left) = nodes.min_by_key(|&(node, left)| (lacking(node, left), node))?;
    let words = short(node, left).map(|pool| match pool {
        Pool::Cpu => cpu_words(left.cpu_milli),
        Pool::Memory => format!("{} of host memory", memory_words(left.memory_bytes)),
    });
    let words = words.collect::<Vec<_>>().join(" and ");
    (!words.is_empty()).then(|| (cluster.nodes[node.index()].spec.name.clone(), words))
}

/// So many holders are told by name.
const TOLD: usize = 8;

/// When it ends, who, and how many devices.
type Rank = (Option<Time>, AskId, u32);

/// Everybody else who holds what an ask could use. Of very many, in a large cluster, and each is read from a place of its
/// own: so it goes column by column, in loops so short that the machine fetches many of them at once. Where devices are
/// not what is short, those count who hold a part of a host.
fn holders<'a>(view: &View<'a>, draft: &Draft<'a>, ask: &AskView<'a>, of_hosts: bool) -> Vec<Rank> {
    let usable = draft.usable_by(ask);
    let could_use =
        |device| if of_hosts { Some(view.kind_of(device)) == draft.pools() } else { usable(device) };
    let others = view.granted().filter(|id| *id != ask.id());
    let others: Vec<AskView<'a>> = others.filter_map(|id| view.ask(id)).collect();
    let grants: Vec<(Doing, &[Grant])> = others.iter().map(|other| (other.doing(), other.grants())).collect();
    let planned = grants.iter().filter(|(doing, _)| *doing == Doing::Planned);
    let promised: BTreeSet<DeviceId> =
        planned.flat_map(|(_, grants)| grants.iter()).map(|grant| grant.device).collect();
    let is_simple = !ask.class().is_featured() && draft.pools().is_none();
    let counts = others.iter().zip(&grants).map(|(other, &(doing, grants))| {
        // All members of a role have devices of one kind.
        if other.fills().len() == 1 && is_simple && doing != Doing::Releasing {
            return if could_use(grants[0].device) { grants.len() as u32 } else { 0 };
        }
        // What is on its way out counts for whom it is promised to, and otherwise comes back about now.
        let is_passed_on = |grant: &&Grant| doing == Doing::Releasing && promised.contains(&grant.device);
        grants.iter().filter(|grant| could_use(grant.device) && !is_passed_on(grant)).count() as u32
    });
    let counts: Vec<u32> = counts.collect();
    let holding = others.iter().zip(&grants).zip(&counts).filter(|(_, devices)| **devices > 0);
    let mut ranks: Vec<Rank> = vec![];
    for ((other, (doing, _)), &devices) in holding {
        let leaves = *doing == Doing::Releasing;
        let left = if leaves { Some(Span::ZERO) } else { length::time_left(view, other.id(), draft.now()) };
        let until = left.map(|left| draft.now() + left);
        match ranks.last_mut() {
            // Tasks of one bag that end together are told once.
            Some(last) if last.1.job == other.id().job && last.0 == until => last.2 += devices,
            _ => ranks.push((until, other.id(), devices)),
        }
    }
    ranks
}

/// `16 h200`, `2 x 8 h200 within nvlink`, `4 h200 with ib and nvme`, `0.5 of a t4`, `4 to 8 a100 or 8 v100`.
/// Memory is that of the class, which may ask for more than the job did: what it ran out of.
fn in_words((role, class): (&Role, &ClassRole)) -> String {
    let count = match role.count {
        Count { min, max } if min == max => min.to_string(),
        Count { min, max } => format!("{min} to {max}"),
    };
    let shapes = role.shapes.iter().zip(&class.shapes).map(|(shape, class)| {
        let any = if count == "1" && shape.devices == 1 { "device" } else { "devices" };
        let kind = shape.kind.as_deref().unwrap_or(any);
        let what = match (shape.devices, shape.share, count.as_str()) {
            (0, _, "1") => "1 seat".into(),
            (0, ..) => format!("{count} seats"),
            (1, WHOLE, _) => format!("{count} {kind}"),
            (1, share, "1") => format!("{} of a {kind}", f64::from(share) / f64::from(WHOLE)),
            (1, share, _) => format!("{count} x {} of a {kind}", f64::from(share) / f64::from(WHOLE)),
            (devices, ..) => format!("{count} x {devices} {kind}"),
        };
        let memory = match class.memory_bytes {
            0 => None,
            bytes if bytes > shape.memory_bytes => Some(format!("more than {}", memory_words(bytes - 1))),
            bytes => Some(memory_words(bytes)),
        };
        let host = (!shape.host.is_none()).then(|| host_words(&shape.host));
        let more: Vec<String> =
            memory.into_iter().chain(host).chain(shape.features.iter().cloned()).collect();
        let more = if more.is_empty() { String::new() } else { format!(" with {}", more.join(" and ")) };
        let formats: Vec<&str> = shape.precisions.iter().map(|precision| precision.name()).collect();
        let formats = if formats.is_empty() {
            String::new()
        } else {
            format!(" that computes in {}", formats.join(" or "))
        };
        let within = shape.within.as_ref().map(|within| format!(" within {within}")).unwrap_or_default();
        format!("{what}{more}{formats}{within}")
    });
    shapes.collect::<Vec<_>>().join(" or ")
}

/// Processors and memory of a host: `2.5 cpus and 64 GiB of host memory`.
pub(crate) fn host_words(host: &Host) -> String {
    let cpus = (host.cpu_milli > 0).then(|| cpu_words(host.cpu_milli));
    let memory =
        (host.memory_bytes > 0).then(|| format!("{} of host memory", memory_words(host.memory_bytes)));
    cpus.into_iter().chain(memory).collect::<Vec<_>>().join(" and ")
}

/// Processors as people count them.
fn cpu_words(milli: u64) -> String {
    match (milli, milli % 1000) {
        (1000, _) => "1 cpu".into(),
        (_, 0) => format!("{} cpus", milli / 1000),
        _ => format!("{} cpus", milli as f64 / 1000.0),
    }
}

/// Memory as people say it: in the largest unit of which there is one, with one decimal if it needs one.
pub(crate) fn memory_words(bytes: u64) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    let Some((power, unit)) = units.into_iter().find(|(power, _)| bytes >> power > 0) else {
        return format!("{bytes} bytes");
    };
    let tenths = (u128::from(bytes) * 10).div_ceil(1 << power);
    match (tenths / 10, tenths % 10) {
        (whole, 0) => format!("{whole} {unit}"),
        (whole, tenth) => format!("{whole}.{tenth} {unit}"),
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
        scheduler.apply(&Event { at: Time::ZERO, fact: Fact::Planned(plan) });
        assert_eq!(reason(&scheduler, 0), "is starting");
        assert_eq!(reason(&scheduler, 1), "tenant red may use 1 a, uses 1, needs 1 more");
        assert_eq!(reason(&scheduler, 2), "needs 2 a, 1 free, 1 held by one");
        assert_eq!(reason(&scheduler, 3), "is behind wide in queue default");
    }
}
