//! A scratch plan. Things can be tried, seen to fail, and taken back; what overlaps is refused on the spot.
//!
//! The draft works on the free-capacity index and puts it back as it was when it is done, so that planning changes
//! nothing. It is kind to policies, not strict with them: `check` is.

mod ceiling;
mod choices;
pub(crate) mod room;
mod spare;
mod width;

pub(crate) use choices::Choice;

use crate::explain::{ceiling, no_room};
use crate::free::Free;
use crate::holders::Holders;
use crate::lines::{Group, Lines};
use crate::state::State;
use crate::state::jobs::{Ask, AskState, Phase, beyond, by_device};
use crate::view::{AskView, Doing, View};
use consort_types::*;
use std::collections::{BTreeMap, BTreeSet};

/// What a policy writes into.
pub struct Draft<'a> {
    pub(crate) state: &'a State,
    pub(crate) free: &'a mut Free,
    pub(crate) lines: &'a mut Lines,
    capabilities: Capabilities,
    pub(crate) now: Time,
    /// Whose draft it is, by name.
    policy: &'a str,
    moves: Vec<Move>,
    wake_at: Option<Time>,
    slot: Option<Slot>,
    started: BTreeSet<AskId>,
    stopped: BTreeMap<AskId, AllocationId>,
    /// What resized allocations give back.
    resized: BTreeMap<AskId, (AllocationId, Vec<Grant>)>,
    /// Changes to the accounts: committed, leaving.
    accounts: BTreeMap<(TenantId, KindId), (u64, u64)>,
    log: Vec<Undo>,
    /// Whether an ask finds room only on kinds of which its tenant was promised what the ask needs.
    pub(crate) within_guarantees: bool,
    pub(crate) watch: Option<AskId>,
    /// Who holds what; given to those who explain.
    pub(crate) holders: Option<&'a mut Holders>,
    noted: Option<Reason>,
}

/// One thing to take back.
enum Undo {
    Take(Grant),
    Give(Grant),
    Account((TenantId, KindId), (u64, u64)),
    Started(AskId),
    Stopped(AskId),
    Resized(AskId),
    Move,
}

/// A point to return to.
#[derive(Clone, Copy)]
pub struct Mark(usize);

/// Why a draft would not write something down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Denied {
    /// It does not wait, backs off, has an earlier attempt left, or was already started in this draft.
    NotWaiting,
    /// It does not run, is leaving already, or may not be interrupted here.
    NotStoppable,
    /// It does not run, is being resized or stopped already, has this placement already, backs off, or may not be resized
    /// here.
    NotResizable,
    /// Somebody else has a part of this device.
    Taken(DeviceId),
    /// Its tenant would hold more than it may.
    Ceiling(KindId),
}

impl<'a> Draft<'a> {
    pub(crate) fn new(
        state: &'a State,
        free: &'a mut Free,
        lines: &'a mut Lines,
        capabilities: Capabilities,
        (policy, now): (&'a str, Time),
        watch: Option<AskId>,
    ) -> Self {
        Draft {
            state,
            free,
            lines,
            capabilities,
            now,
            policy,
            moves: vec![],
            wake_at: None,
            slot: None,
            started: BTreeSet::new(),
            stopped: BTreeMap::new(),
            resized: BTreeMap::new(),
            accounts: BTreeMap::new(),
            log: vec![],
            within_guarantees: false,
            watch,
            holders: None,
            noted: None,
        }
    }

    /// Puts the index back and hands over what was written.
    pub(crate) fn finish(mut self) -> (Plan, Option<Reason>) {
        let moves = std::mem::take(&mut self.moves);
        self.back_to(Mark(0));
        let plan = Plan { moves, wake_at: self.wake_at, based_on: self.state.seen, slot: self.slot };
        (plan, self.noted)
    }

    // -- looking

    /// The state the plan is based on, without what the draft has written so far.
    pub fn view(&self) -> View<'a> {
        View::of(self.state)
    }

    /// The time at which the plan is made.
    pub fn now(&self) -> Time {
        self.now
    }

    /// What the world is able to do.
    pub fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    /// What is free, with what the draft has written so far.
    pub fn free(&self) -> &Free {
        self.free
    }

    /// Asks that can be started now, in order of arrival. Of those that back off, the first to be through asks for another
    /// plan.
    pub fn ready(&mut self) -> Vec<AskView<'a>> {
        let view = self.view();
        let (resting, able): (Vec<_>, Vec<_>) =
            view.waiting().filter_map(|id| view.ask(id)).partition(|ask| ask.not_before() > self.now);
        if let Some(at) = resting.iter().map(AskView::not_before).min() {
            self.wake_at(at);
        }
        able.into_iter().filter(|ask| ask.earlier_attempt().is_none() && !self.starts(ask.id())).collect()
    }

    /// What is written so far.
    pub(crate) fn moves(&self) -> &[Move] {
        &self.moves
    }

    /// Whether nothing is written yet.
    pub(crate) fn is_blank(&self) -> bool {
        self.log.is_empty()
    }

    /// The kinds of what nodes account for of their hosts, if some do.
    pub(crate) fn pool_kinds(&self) -> impl Iterator<Item = KindId> + use<> {
        self.state.cluster.pool_kinds()
    }

    /// Whether the draft starts it.
    pub fn starts(&self, ask: AskId) -> bool {
        self.started.contains(&ask)
    }

    /// Whether the draft stops its current attempt.
    pub fn stops(&self, ask: AskId) -> bool {
        self.stopped.contains_key(&ask)
    }

    /// Thousandths of a device, or an amount of a pool, that a tenant has and keeps, as things stand in the draft.
    pub fn standing(&self, tenant: TenantId, kind: KindId) -> u64 {
        let account = self.state.ledger.account(tenant, kind);
        let (committed, leaving) = self.accounts.get(&(tenant, kind)).copied().unwrap_or_default();
        account.committed + committed - account.leaving - leaving
    }

    /// Whether some role of an ask could use a device, were it free.
    pub(crate) fn could_use(&self, ask: &AskView<'_>, device: DeviceId) -> bool {
        ask.class().shapes().any(|shape| shape.could_use(&self.state.cluster, device))
    }

    /// The same, to be asked of very many devices.
    pub(crate) fn usable_by(&self, ask: &AskView<'a>) -> impl Fn(DeviceId) -> bool + use<'a> {
        let (cluster, class) = (&self.state.cluster, ask.class());
        let (kinds, is_picky) = (self.usable_kinds(ask), self.is_picky(ask));
        move |id| {
            kinds[cluster.device(id).kind.index()]
                && (!is_picky || class.shapes().any(|shape| shape.could_use(cluster, id)))
        }
    }

    /// Whether it depends on more than its kind whether an ask could use a device.
    pub(crate) fn is_picky(&self, ask: &AskView<'_>) -> bool {
        ask.class().is_featured() || ask.class().shapes().any(|shape| shape.devices == 0)
    }

    /// By kind: whether an ask could use devices of it.
    pub(crate) fn usable_kinds(&self, ask: &AskView<'_>) -> Vec<bool> {
        let (cluster, class) = (&self.state.cluster, ask.class());
        let has_kind = |kind| {
            let is_pool = cluster.pool_of(kind).is_some();
            class.shapes().any(|shape| {
                let is_seat = shape.devices == 0 && is_pool; // it may want of this pool or of the other
                shape.suits(cluster, kind) && (is_seat || shape.kinds(cluster).any(|k| k == kind))
            })
        };
        cluster.kind_ids().map(has_kind).collect()
    }

    /// Whether enough whole devices are free on nodes that would do, were they in the right place: for each role, on some
    /// shape and kind, beside what the `others` take of that kind because they accept no other.
    pub(crate) fn has_enough(&self, ask: &AskView<'_>, others: impl Fn(usize, KindId) -> u64) -> bool {
        let cluster = &self.state.cluster;
        ask.class().roles.iter().enumerate().all(|(index, role)| {
            role.shapes.iter().any(|shape| {
                let needs = u64::from(role.count.min) * u64::from(shape.devices) * u64::from(shape.share);
                if needs == 0 {
                    return false; // counting devices says nothing about seats
                }
                let only = self.free.nodes_having(&shape.features);
                let is_enough = |kind: KindId| {
                    let free = self.free.total_on(kind, only.as_ref());
                    needs + others(index, kind) <= u64::from(free) * u64::from(WHOLE)
                };
                shape.kinds(cluster).any(|kind| shape.suits(cluster, kind) && is_enough(kind))
            })
        })
    }

    /// Wholly free devices of a kind that some role of an ask could use.
    pub(crate) fn free_for(&self, ask: &AskView<'_>, kind: KindId) -> u32 {
        if !ask.class().is_featured() {
            return self.free.total(kind);
        }
        let cluster = &self.state.cluster;
        let accepts = |node: NodeId| {
            let mut shapes = ask.class().shapes();
            shapes.any(|shape| {
                shape.kinds(cluster).any(|other| other == kind) && cluster.has_features(node, &shape.features)
            })
        };
        let nodes = (0..cluster.nodes.len() as u32).map(NodeId).filter(|&node| accepts(node));
        nodes.map(|node| self.free.on_node(node, kind)).sum()
    }

    /// Devices that an ask could use, that nobody of ours holds and that still cannot be granted: those on nodes that
    /// take no new work, those in foreign hands, and those that are ill.
    pub(crate) fn out_of_reach(&self, ask: &AskView<'a>) -> (u32, u32, u32) {
        let (cluster, could_use) = (&self.state.cluster, self.usable_by(ask));
        let (mut closed, mut foreign, mut ill) = (0, 0, 0);
        for node in &cluster.nodes {
            let devices = node.devices().map(|id| (DeviceId(id), &cluster.devices[id as usize]));
            for (_, device) in devices.filter(|(id, device)| device.held == 0 && could_use(*id)) {
                closed += u32::from(!node.usable());
                ill += u32::from(node.usable() && device.ill.is_some());
                foreign += u32::from(node.usable() && device.ill.is_none() && device.foreign > 0);
            }
        }
        (closed, foreign, ill)
    }

    // -- trying

    /// Remembers where we are.
    pub fn mark(&self) -> Mark {
        Mark(self.log.len())
    }

    /// Whether nothing has been written since the mark.
    pub fn is_at(&self, mark: Mark) -> bool {
        self.log.len() == mark.0
    }

    /// Takes back everything written since the mark.
    pub fn back_to(&mut self, mark: Mark) {
        while self.log.len() > mark.0 {
            match self.log.pop().expect("longer than the mark") {
                Undo::Take(grant) => self.free.give(&self.state.cluster, &grant),
                Undo::Give(grant) => self.free.ungive(&self.state.cluster, &grant),
                Undo::Account(key, was) => {
                    self.accounts.insert(key, was);
                }
                Undo::Started(ask) => {
                    self.started.remove(&ask);
                }
                Undo::Stopped(ask) => {
                    self.stopped.remove(&ask);
                }
                Undo::Resized(ask) => {
                    self.resized.remove(&ask);
                }
                Undo::Move => {
                    self.moves.pop();
                }
            }
        }
    }

    fn try_take(&mut self, grant: &Grant) -> bool {
        let fits = self.free.take(&self.state.cluster, grant);
        if fits {
            self.log.push(Undo::Take(*grant));
        }
        fits
    }

    fn move_account(&mut self, key: (TenantId, KindId), committed: u64, leaving: u64) {
        let entry = self.accounts.entry(key).or_default();
        self.log.push(Undo::Account(key, *entry));
        *entry = (entry.0 + committed, entry.1 + leaving);
    }

    // -- writing

    /// Starts an ask. If some of the devices are held by allocations that this draft stops, it begins once they
    /// have given them back.
    pub fn start(&mut self, id: AskId, placement: Placement) -> Result<(), Denied> {
        let ask = self.view().ask(id).ok_or(Denied::NotWaiting)?;
        let is_waiting = self.state.jobs.ask(id).is_some_and(|ask| matches!(ask.state, AskState::Waiting));
        let is_held_up = ask.not_before() > self.now || ask.earlier_attempt().is_some();
        if !is_waiting || is_held_up || self.started.contains(&id) {
            return Err(Denied::NotWaiting);
        }
        let after = self.givers(&placement);
        self.take_all(&ask, &placement, &after)?;
        self.started.insert(id);
        self.log.push(Undo::Started(id));
        self.moves.push(Move::Start { ask: id, placement, after });
        self.log.push(Undo::Move);
        Ok(())
    }

    /// Takes all grants of a placement on the account of an ask's tenant, or none.
    fn take_all(
        &mut self,
        ask: &AskView<'_>,
        placement: &Placement,
        after: &[AllocationId],
    ) -> Result<(), Denied> {
        let (mark, tenant) = (self.mark(), ask.tenant());
        let mut needs: Vec<(KindId, u64)> = Vec::with_capacity(1);
        for grant in &placement.grants {
            if !self.try_take(grant) {
                self.back_to(mark);
                return Err(Denied::Taken(grant.device));
            }
            let (kind, amount) = self.state.cluster.amount(grant);
            match needs.iter_mut().find(|need| need.0 == kind) {
                Some(need) => need.1 += amount,
                None => needs.push((kind, amount)),
            }
        }
        for (kind, amount) in needs {
            if !self.may_hold(ask, (kind, amount), placement, after) {
                self.back_to(mark);
                return Err(Denied::Ceiling(kind));
            }
            self.move_account((tenant, kind), amount, 0);
        }
        Ok(())
    }

    /// Allocations stopped or resized in this draft that give back a device of the placement.
    fn givers(&self, placement: &Placement) -> Vec<AllocationId> {
        let wants = |held: &Grant| placement.grants.iter().any(|grant| grant.device == held.device);
        let holds = |giver: &&AllocationId| match self.state.jobs.allocation(**giver) {
            Some(giver) if giver.width.resizing.is_none() => giver.placement.grants.iter().any(wants),
            _ => self.state.stoppable(**giver).iter().any(wants),
        };
        let stopped = self.stopped.values().filter(holds).copied();
        let resized = self.resized.values().filter(|(_, given)| given.iter().any(wants));
        stopped.chain(resized.map(|(giver, _)| *giver)).collect()
    }

    /// Ends an allocation; what it holds can be given to others in this draft.
    pub fn stop(&mut self, id: AskId, cause: StopCause) -> Result<(), Denied> {
        let ask = self.state.jobs.ask(id).ok_or(Denied::NotStoppable)?;
        let job = self.state.jobs.get(id.job).ok_or(Denied::NotStoppable)?;
        let allocation = ask.allocation().ok_or(Denied::NotStoppable)?;
        let is_live = matches!(allocation.phase, Phase::Starting | Phase::Running { .. });
        let is_allowed = self.capabilities.preempts && job.spec.qos != Qos::Guaranteed;
        if !is_live || !is_allowed || self.stops(id) || self.resizes(id) {
            return Err(Denied::NotStoppable);
        }
        let allocation_id = AllocationId { ask: id, attempt: ask.attempt };
        match &allocation.width.resizing {
            None => self.give(job.tenant, &allocation.placement.grants),
            Some(resizing) => {
                // It stands for what it was going to keep; the rest of what it holds is leaving already.
                self.free_up(&self.state.stoppable(allocation_id));
                self.leave(job.tenant, &resizing.placement.grants);
            }
        }
        self.stopped.insert(id, allocation_id);
        self.log.push(Undo::Stopped(id));
        self.moves.push(Move::Stop { allocation: allocation_id, cause });
        self.log.push(Undo::Move);
        Ok(())
    }

    /// Gives a running allocation another placement, in the way that this world resizes. What it gives up can be given to
    /// others in this draft; what it gets may be held by allocations that this draft stops or resizes.
    pub fn resize(&mut self, id: AskId, placement: Placement) -> Result<(), Denied> {
        let ask = self.view().ask(id).ok_or(Denied::NotResizable)?;
        let has = self.state.jobs.ask(id).and_then(Ask::allocation).ok_or(Denied::NotResizable)?;
        let before = &has.placement;
        let is_narrower = placement.fills.iter().zip(&before.fills).any(|(new, old)| new.count < old.count);
        let is_kept = !(is_narrower && ask.spec().qos == Qos::Guaranteed);
        if !self.may_resize(&ask) || placement == *before || !is_kept {
            return Err(Denied::NotResizable);
        }
        let (has, wants) = (by_device(&before.grants), by_device(&placement.grants));
        let more = Placement { grants: beyond(&wants, &has), fills: added(&placement.fills, &before.fills) };
        let less = beyond(&has, &wants);
        let after = self.givers(&more);
        self.take_all(&ask, &more, &after)?;
        self.give(ask.tenant(), &less);
        let (allocation, in_place) = (ask.allocation(), self.capabilities.resize == Resize::InPlace);
        self.resized.insert(id, (allocation, less));
        self.log.push(Undo::Resized(id));
        self.moves.push(Move::Resize { allocation, placement, after, in_place });
        self.log.push(Undo::Move);
        Ok(())
    }

    /// Whether what an ask runs on may be changed in this draft, as far as that does not depend on the placement.
    pub fn may_resize(&self, ask: &AskView<'_>) -> bool {
        let is_able = match self.capabilities.resize {
            Resize::No => false,
            Resize::Restart => self.capabilities.preempts,
            Resize::InPlace => true,
        };
        let is_steady = ask.doing() == Doing::Running && ask.resizing().is_none();
        let is_touched = self.stops(ask.id()) || self.resizes(ask.id());
        is_able && is_steady && ask.resize_after() <= self.now && !is_touched
    }

    /// Whether the draft resizes its current attempt.
    pub fn resizes(&self, ask: AskId) -> bool {
        self.resized.contains_key(&ask)
    }

    /// What an allocation gives back can be taken.
    fn give(&mut self, tenant: TenantId, grants: &[Grant]) {
        self.free_up(grants);
        self.leave(tenant, grants);
    }

    fn free_up(&mut self, grants: &[Grant]) {
        for grant in grants {
            self.free.give(&self.state.cluster, grant);
            self.log.push(Undo::Give(*grant));
        }
    }

    /// A tenant is going to have so much less.
    fn leave(&mut self, tenant: TenantId, grants: &[Grant]) {
        for grant in grants {
            let (kind, amount) = self.state.cluster.amount(grant);
            self.move_account((tenant, kind), 0, amount);
        }
    }

    /// Asks for another plan at that time, whatever happens; the earliest wish counts. Times not after now are
    /// ignored: only an event can change the answer before time moves on.
    pub fn wake_at(&mut self, at: Time) {
        if at > self.now && at != Time::NEVER {
            self.wake_at = Some(self.wake_at.map_or(at, |already| already.min(at)));
        }
    }

    /// What this policy remembered last, if it did so in this version of its layout. What another policy remembers is never
    /// read.
    pub fn memory(&self, version: u32) -> Option<&'a [i64]> {
        self.view().memory_of(self.policy, version)
    }

    /// Replaces what the policy remembers. The words go into the plan, and with it into the journal, under the name of the
    /// policy; what another policy remembered before is gone.
    pub fn remember(&mut self, version: u32, words: Vec<i64>) {
        let slot = Slot { policy: self.policy.into(), version, words };
        self.slot = (slot != self.state.slot).then_some(slot);
    }

    // -- explaining

    /// Whether somebody asked for the reason why this one waits. Making a reason costs more than deciding.
    pub fn is_watched(&self, ask: AskId) -> bool {
        self.watch == Some(ask)
    }

    /// The ask that somebody asked about.
    pub fn watched(&self) -> Option<AskId> {
        self.watch
    }

    /// Whether it is already written down why the watched ask waits.
    pub fn has_reason(&self) -> bool {
        self.noted.is_some()
    }

    /// Whatever was noted before no longer counts.
    pub(crate) fn forget_reason(&mut self) {
        self.noted = None;
    }

    /// The watched ask, if it is this one or has the same claim to the same thing and comes after it: what is found out
    /// about the first of them holds for all.
    pub(crate) fn watched_in_place_of(&self, ask: &AskView<'a>) -> Option<AskView<'a>> {
        let watched = self.view().ask(self.watch?)?;
        if watched.id() == ask.id() {
            return Some(watched);
        }
        let waits = matches!(watched.doing(), Doing::Waiting)
            && watched.not_before() <= self.now
            && watched.earlier_attempt().is_none();
        let is_alike = Group::of(&watched) == Group::of(ask) && !self.starts(watched.id());
        (waits && is_alike && !self.has_reason()).then_some(watched)
    }

    /// Why an ask cannot start as things stand in the draft: the ceiling of its tenant, or what there is no room for and who
    /// has it. For [`Draft::note`]; costs more than deciding. Of one that could start but for the policy, the policy knows
    /// better: [`Reason::Deferred`].
    pub fn why_waits(&mut self, ask: &AskView<'a>) -> Reason {
        ceiling(self, ask).unwrap_or_else(|| no_room(self, ask))
    }

    /// Writes down why a watched ask waits.
    pub fn note(&mut self, ask: AskId, reason: Reason) {
        if self.is_watched(ask) {
            self.noted = Some(reason);
        }
    }
}

/// Members by which one width goes beyond another, role by role.
fn added(new: &[Fill], old: &[Fill]) -> Vec<Fill> {
    let count = |index: usize| old.get(index).map_or(0, |fill| fill.count);
    let added =
        |(index, fill): (usize, &Fill)| Fill { count: fill.count.saturating_sub(count(index)), ..*fill };
    new.iter().enumerate().map(added).collect()
}
