//! Judges a finished plan. Written apart from the draft, so that one error cannot fool both.
//!
//! Costs what the plan costs: it keeps a small ledger of the devices that the plan touches and believes only
//! `held` in the cluster, never the free index. [`audit`] is the full check of everything, for the swarm.

pub(crate) mod audit;
mod resize;

use crate::class::{ClassRole, ClassShape};
use crate::state::State;
use crate::state::cluster::{Cluster, Level, NO_ISLAND};
use crate::state::jobs::{AskState, Job, Phase};
use consort_types::*;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// A plan broke a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Which rule.
    pub rule: Breach,
    /// Which of the plan's moves.
    pub index: usize,
    /// Job that this move is about, if it is about one.
    pub job: Option<JobId>,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.job {
            Some(job) => write!(f, "move {} (job {job}): {}", self.index + 1, self.rule.sentence()),
            None => write!(f, "move {}: {}", self.index + 1, self.rule.sentence()),
        }
    }
}

/// The rules a plan must keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Breach {
    /// It was made for another state.
    Outdated,
    /// Only something that waits, does not back off and has no earlier attempt left can be started; and only once.
    NotWaiting,
    /// Only something that runs or is starting can be stopped, by this attempt, and only once.
    NotStoppable,
    /// Only something that runs, is not being resized already and does not back off after a refused resize can be resized;
    /// by this attempt, and only once.
    NotResizable,
    /// This world cannot resize work, or not in this way.
    CannotResize,
    /// A resize must change the placement.
    SamePlacement,
    /// Guaranteed work is never taken back, nor made narrower.
    Guaranteed,
    /// This world cannot interrupt work.
    CannotPreempt,
    /// This world cannot grant a part of a device.
    CannotShare,
    /// This world picks the devices of a node itself, so nothing closer than a node can be promised.
    CannotPick,
    /// Every role must be filled, within its range.
    NotWhole,
    /// The device is of another kind, has too little memory, is on a node without a feature, or another share was asked
    /// for.
    WrongShape,
    /// The members of a role, or the devices of a member, are further apart than asked.
    TooFarApart,
    /// The node takes no new work.
    NodeNotUsable,
    /// Somebody else has, or was promised, a part of it.
    Overlap,
    /// Devices may be promised only by what the same plan stops or shrinks.
    NotGiven,
    /// A tenant would hold more than its ceiling.
    Ceiling,
    /// A policy remembers too much.
    SlotTooLarge,
    /// Only a suspect node whose time is up is fenced, only an attempt over its limit is ended for that.
    NotDue,
}

impl Breach {
    /// What is wrong with the plan.
    pub fn sentence(self) -> &'static str {
        match self {
            Breach::Outdated => "it was made for another state",
            Breach::NotWaiting => "it starts an ask that is not pending",
            Breach::NotStoppable => "it stops an ask that is not running",
            Breach::NotResizable => "it resizes an ask that is not running or is being resized",
            Breach::CannotResize => "it resizes where work cannot be resized like that",
            Breach::SamePlacement => "it resizes an ask to the placement that it has",
            Breach::Guaranteed => "it preempts guaranteed work",
            Breach::CannotPreempt => "it preempts where work cannot be interrupted",
            Breach::CannotShare => "it grants a part of a device where only whole ones can be granted",
            Breach::CannotPick => "it picks devices where only nodes can be picked",
            Breach::NotWhole => "it starts a gang in part",
            Breach::WrongShape => "it grants devices that do not match what was asked for",
            Breach::TooFarApart => "it grants devices that are further apart than asked for",
            Breach::NodeNotUsable => "it uses a node that is closed to new work",
            Breach::Overlap => "it grants devices that another job holds or was promised",
            Breach::NotGiven => "it waits for devices that are not being released",
            Breach::Ceiling => "it exceeds a tenant's ceiling",
            Breach::SlotTooLarge => "its policy remembers too much",
            Breach::NotDue => "it fences a node or ends an attempt before its time",
        }
    }
}

/// More than this a policy may not remember: it would be written with every plan.
const SLOT_WORDS: usize = 65_536;

/// Whether a plan may be committed.
pub(crate) fn check(state: &State, capabilities: Capabilities, plan: &Plan, now: Time) -> Result<(), Broken> {
    let broken = |rule, index| Err(Broken { rule, index, job: plan.moves.get(index).and_then(job_of) });
    if plan.based_on != state.seen {
        return broken(Breach::Outdated, 0);
    }
    if plan.slot.as_ref().is_some_and(|slot| slot.words.len() > SLOT_WORDS) {
        return broken(Breach::SlotTooLarge, 0);
    }
    let mut touched = Touched::default();
    for (index, change) in plan.moves.iter().enumerate() {
        let verdict = match change {
            Move::Start { ask, placement, after } => {
                start(state, capabilities, &mut touched, *ask, placement, after, now)
            }
            Move::Stop { allocation, cause } => {
                stop(state, capabilities, &mut touched, *allocation, *cause, now)
            }
            Move::Resize { allocation, placement, after, in_place } => {
                let how = if *in_place { Resize::InPlace } else { Resize::Restart };
                let resize = resize::Resized { id: *allocation, placement, after, how };
                resize::resize(state, capabilities, &mut touched, &resize, now)
            }
            Move::Fence { node } => fence(state, *node, now),
        };
        if let Err(rule) = verdict {
            return broken(rule, index);
        }
    }
    Ok(())
}

fn job_of(change: &Move) -> Option<JobId> {
    match change {
        Move::Start { ask, .. } => Some(ask.job),
        Move::Stop { allocation, .. } | Move::Resize { allocation, .. } => Some(allocation.ask.job),
        Move::Fence { .. } => None,
    }
}

/// What the plan has done so far.
#[derive(Default)]
struct Touched {
    /// Thousandths and memory left on a device that nobody holds.
    left: BTreeMap<DeviceId, (i32, i64)>,
    /// The same of what stopped allocations will give back.
    given: BTreeMap<(AllocationId, DeviceId), (i32, i64)>,
    stopped: BTreeSet<AllocationId>,
    resized: BTreeSet<AllocationId>,
    started: BTreeSet<AskId>,
    /// Additional commitments.
    committed: BTreeMap<(TenantId, KindId), u64>,
}

impl Touched {
    /// Whether the plan so far makes all of these give something back.
    fn gives(&self, givers: &[AllocationId]) -> bool {
        givers.iter().all(|giver| self.stopped.contains(giver) || self.resized.contains(giver))
    }

    /// An allocation will give this back.
    fn give(&mut self, id: AllocationId, grants: &[Grant]) {
        for grant in grants {
            let given = self.given.entry((id, grant.device)).or_default();
            *given = (given.0 + i32::from(grant.share), given.1 + grant.memory_bytes as i64);
        }
    }
}

fn start(
    state: &State,
    capabilities: Capabilities,
    touched: &mut Touched,
    id: AskId,
    placement: &Placement,
    after: &[AllocationId],
    now: Time,
) -> Result<(), Breach> {
    let job = state.jobs.get(id.job).ok_or(Breach::NotWaiting)?;
    let ask = job.ask(id).ok_or(Breach::NotWaiting)?;
    let is_alone = state.tombstones.of(id).is_none();
    let is_ready = matches!(ask.state, AskState::Waiting) && ask.not_before <= now && !job.paused && is_alone;
    if !is_ready || !touched.started.insert(id) {
        return Err(Breach::NotWaiting);
    }
    if !touched.gives(after) {
        return Err(Breach::NotGiven);
    }
    let asked = is_kept(state, capabilities, job, id, placement)?;
    hold(state, capabilities, touched, job.tenant, &placement.grants, after, asked)
}

/// The placement is what was asked for. Returns what it asks for of each pool.
fn is_kept(
    state: &State,
    capabilities: Capabilities,
    job: &Job,
    id: AskId,
    placement: &Placement,
) -> Result<[u64; 2], Breach> {
    let class = state.classes.get(job.stages[usize::from(id.stage)].class);
    if class.roles.len() != placement.fills.len() {
        return Err(Breach::NotWhole);
    }
    let (mut rest, mut asked) = (placement.grants.as_slice(), [0; 2]);
    for (role, fill) in class.roles.iter().zip(&placement.fills) {
        rest = role_is_kept(&state.cluster, capabilities, role, fill, rest, &mut asked)?;
    }
    if rest.is_empty() { Ok(asked) } else { Err(Breach::NotWhole) }
}

/// These grants can be had, by this tenant: nobody else has or was promised them, and no ceiling is in the way. `asked` is
/// the part of each pool that a ceiling judges.
fn hold(
    state: &State,
    capabilities: Capabilities,
    touched: &mut Touched,
    tenant: TenantId,
    grants: &[Grant],
    after: &[AllocationId],
    asked: [u64; 2],
) -> Result<(), Breach> {
    let mut needs: BTreeMap<KindId, (u64, u64)> = BTreeMap::new();
    for grant in grants {
        let device = state.cluster.device(grant.device);
        let node = &state.cluster.nodes[device.node.index()];
        // A device that was taken out of its node still has its number.
        if !node.usable() || !node.has(grant.device) {
            return Err(Breach::NodeNotUsable);
        }
        let own = take(state, touched, tenant, grant, after)?;
        let need = needs.entry(device.kind).or_default();
        *need = (need.0 + state.cluster.amount(grant).1, need.1 + own);
    }
    for (kind, (amount, own)) in needs {
        let committed = touched.committed.entry((tenant, kind)).or_default();
        let account = state.ledger.account(tenant, kind);
        let before = account.committed + *committed;
        *committed += amount;
        // Of hosts, what is only counted may go beyond a ceiling, and what is not asked for is not judged by it.
        let judged = state.cluster.pool_of(kind).map_or(amount, |pool| asked[pool as usize]);
        let is_above = |ceiling: Option<u64>| ceiling.is_some_and(|ceiling| before + judged > ceiling + own);
        if judged > 0 && is_above(account.ceiling) {
            return Err(Breach::Ceiling);
        }
        // Processors as devices are processors: neither account of them goes beyond the ceiling on processors.
        if capabilities.counts_hosts
            && state.cluster.kinds[kind.index()].spec.name == CPU
            && let Some(pool) = state.cluster.pool_kind(Pool::Cpu)
            && is_above(state.ledger.account(tenant, pool).ceiling)
        {
            return Err(Breach::Ceiling);
        }
    }
    Ok(())
}

/// Takes a grant from what is left, then from what the givers give; returns how much its own tenant gives.
fn take(
    state: &State,
    touched: &mut Touched,
    tenant: TenantId,
    grant: &Grant,
    after: &[AllocationId],
) -> Result<u64, Breach> {
    let left = touched.left.entry(grant.device).or_insert_with(|| state.cluster.unheld(grant.device));
    let is_pool = state.cluster.is_pool(grant.device);
    let mut missing = (i32::from(grant.share), grant.memory_bytes as i64);
    let draw = |from: &mut (i32, i64), missing: &mut (i32, i64)| {
        let part = (from.0.max(0).min(missing.0), from.1.max(0).min(missing.1));
        (from.0, from.1) = (from.0 - part.0, from.1 - part.1);
        (missing.0, missing.1) = (missing.0 - part.0, missing.1 - part.1);
        if is_pool { part.1 as u64 } else { part.0 as u64 }
    };
    draw(left, &mut missing);
    let mut own = 0;
    for giver in after {
        if let Some(given) = touched.given.get_mut(&(*giver, grant.device)) {
            let drawn = draw(given, &mut missing);
            let is_own = state.jobs.get(giver.ask.job).is_some_and(|job| job.tenant == tenant);
            own += if is_own { drawn } else { 0 };
        }
    }
    if missing.0 > 0 || missing.1 > 0 { Err(Breach::Overlap) } else { Ok(own) }
}

/// Splits off the grants of so many members: devices, and behind those of each member what it takes of its host. Returns
/// the devices, and the grants of the roles behind. Adds what was asked for of each pool.
fn members_are_kept<'g>(
    cluster: &Cluster,
    counts_hosts: bool,
    shape: &ClassShape,
    count: u32,
    grants: &'g [Grant],
    asked_of: &mut [u64; 2],
) -> Result<(Cow<'g, [Grant]>, &'g [Grant]), Breach> {
    if grants.iter().any(|grant| grant.device.index() >= cluster.devices.len()) {
        return Err(Breach::WrongShape);
    }
    let devices = shape.devices as usize;
    let counts_hosts = counts_hosts && devices > 0 && cluster.pools.is_some();
    if shape.host.is_none() && !counts_hosts {
        let (mine, rest) = grants.split_at(count as usize * devices);
        return Ok((mine.into(), rest));
    }
    let (mut mine, mut rest) = (vec![], grants);
    for _ in 0..count {
        let (member, behind) = rest.split_at_checked(devices).ok_or(Breach::NotWhole)?;
        let seat = member.first().or(behind.first()).ok_or(Breach::NotWhole)?;
        let node = &cluster.nodes[cluster.device(seat.device).node.index()];
        rest = behind;
        for pool in Pool::ALL {
            let Some(device) = node.pool(pool) else { continue };
            let asked = pool.of(&shape.host);
            if asked == 0 && !counts_hosts {
                continue;
            }
            let (taken, behind) = rest.split_first().ok_or(Breach::NotWhole)?;
            let is_kept = match asked {
                0 => {
                    let kind = cluster.device(seat.device).kind;
                    let thousandths = u64::from(shape.devices) * u64::from(shape.share);
                    let most = cluster.share_of_pool(cluster.device(device).node, pool, kind, thousandths);
                    taken.memory_bytes <= most
                }
                asked => taken.memory_bytes == asked,
            };
            let seat_kind = &cluster.kinds[cluster.device(seat.device).kind.index()].spec.name;
            let is_asked = asked > 0 || (pool == Pool::Cpu && seat_kind == CPU);
            asked_of[pool as usize] += if is_asked { taken.memory_bytes } else { 0 };
            if taken.device != device || !taken.is_of_host() || !is_kept {
                return Err(Breach::WrongShape);
            }
            rest = behind;
        }
        // Nothing was granted: it would sit nowhere.
        if member.is_empty() && rest.len() == behind.len() {
            return Err(Breach::NotWhole);
        }
        if member.is_empty() && !has_features(cluster, shape, seat.device) {
            return Err(Breach::WrongShape);
        }
        mine.extend_from_slice(member);
    }
    Ok((mine.into(), rest))
}

/// One role's part of the grants is what it asked for; returns the grants of the roles behind it.
fn role_is_kept<'g>(
    cluster: &Cluster,
    capabilities: Capabilities,
    role: &ClassRole,
    fill: &Fill,
    grants: &'g [Grant],
    asked_of: &mut [u64; 2],
) -> Result<&'g [Grant], Breach> {
    let shape = role.shapes.get(usize::from(fill.shape)).ok_or(Breach::WrongShape)?;
    let is_in_range = role.count.min <= fill.count && fill.count <= role.count.max;
    let total = u64::from(fill.count) * u64::from(shape.devices);
    if !is_in_range || total > grants.len() as u64 {
        return Err(Breach::NotWhole);
    }
    let (mine, rest) =
        members_are_kept(cluster, capabilities.counts_hosts, shape, fill.count, grants, asked_of)?;
    let mine = &mine[..];
    if shape.share < WHOLE && !capabilities.shares {
        return Err(Breach::CannotShare);
    }
    if shape.within == Some(Level::Island) && capabilities.grain == Grain::Node {
        return Err(Breach::CannotPick);
    }
    let Some(first) = mine.first() else { return Ok(rest) }; // members without devices
    let kind = cluster.device(first.device).kind;
    if mine.iter().any(|grant| !suits(cluster, shape, kind, grant)) {
        return Err(Breach::WrongShape);
    }
    let is_apart = |level, grants: &[Grant]| {
        let first = domain(cluster, level, grants[0].device);
        first.is_none() || grants.iter().any(|grant| domain(cluster, level, grant.device) != first)
    };
    let members_apart = mine.chunks(shape.devices as usize).any(|member| is_apart(Level::Node, member));
    if members_apart || shape.within.is_some_and(|level| is_apart(level, mine)) {
        return Err(Breach::TooFarApart);
    }
    Ok(rest)
}

fn suits(cluster: &Cluster, shape: &ClassShape, kind: KindId, grant: &Grant) -> bool {
    cluster.device(grant.device).kind == kind
        && shape.kind.is_none_or(|wanted| wanted == kind)
        && has_memory(cluster, shape, kind)
        && shape.computes_on(cluster, kind)
        && has_features(cluster, shape, grant.device)
        && grant.share == shape.share
        && grant.memory_bytes == shape.memory_on(cluster, kind)
}

/// A kind whose memory nobody told is good enough for a job that names it, or that needs none.
fn has_memory(cluster: &Cluster, shape: &ClassShape, kind: KindId) -> bool {
    let known = cluster.kinds[kind.index()].spec.memory_bytes;
    let is_unknown = known == 0 && shape.kind == Some(kind);
    shape.memory_bytes <= known || is_unknown
}

/// By the names that the node gave when it joined: what `place` looks at is an index of its own.
fn has_features(cluster: &Cluster, shape: &ClassShape, id: DeviceId) -> bool {
    let said = &cluster.nodes[cluster.device(id).node.index()].spec.features;
    shape.features.iter().all(|wanted| said.iter().any(|name| cluster.feature(name) == Some(*wanted)))
}

/// The domain a device is in at a level; `None` if it is in no such domain.
pub(crate) fn domain(cluster: &Cluster, level: Level, id: DeviceId) -> Option<(u32, u32)> {
    let device = cluster.device(id);
    match level {
        Level::Node => Some((device.node.0, 0)),
        Level::Island => (device.island != NO_ISLAND).then_some((device.node.0, device.island)),
        Level::Domain(level) => {
            cluster.nodes[device.node.index()].domains.get(usize::from(level)).map(|&d| (d, 0))
        }
    }
}

fn stop(
    state: &State,
    capabilities: Capabilities,
    touched: &mut Touched,
    id: AllocationId,
    cause: StopCause,
    now: Time,
) -> Result<(), Breach> {
    let allocation = state.jobs.allocation(id).ok_or(Breach::NotStoppable)?;
    let is_live = matches!(allocation.phase, Phase::Starting | Phase::Running { .. });
    if !is_live || touched.stopped.contains(&id) || touched.resized.contains(&id) {
        return Err(Breach::NotStoppable);
    }
    let spec = &state.jobs.get(id.ask.job).ok_or(Breach::NotStoppable)?.spec;
    match (cause, allocation.phase) {
        (StopCause::TimeLimit, Phase::Running { since }) => {
            if spec.time_limit.is_none_or(|limit| now < since + limit) {
                return Err(Breach::NotDue);
            }
        }
        (StopCause::TimeLimit, _) => return Err(Breach::NotDue),
        (StopCause::Preempted { .. } | StopCause::Yield, _) => {
            if !capabilities.preempts {
                return Err(Breach::CannotPreempt);
            }
            if spec.qos == Qos::Guaranteed {
                return Err(Breach::Guaranteed);
            }
        }
    }
    touched.stopped.insert(id);
    touched.give(id, &state.stoppable(id));
    Ok(())
}

fn fence(state: &State, node: NodeId, now: Time) -> Result<(), Breach> {
    let is_due = state.cluster.suspects.iter().any(|&(at, suspect)| suspect == node && at <= now);
    if is_due { Ok(()) } else { Err(Breach::NotDue) }
}

#[cfg(test)]
mod tests;
