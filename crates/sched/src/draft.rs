//! A scratch plan. Things can be tried, seen to fail, and taken back; what overlaps is refused on the spot.
//!
//! The draft works on the free-capacity index and puts it back as it was when it is done, so that planning changes
//! nothing. It is kind to policies, not strict with them: `check` is.

use crate::class::Class;
use crate::free::Free;
use crate::lines::{Lines, Walk};
use crate::policy::place::{Consolidated, share};
use crate::policy::{Key, Need, Order, Place};
use crate::state::State;
use crate::state::jobs::{AskState, Phase};
use crate::view::{AskView, View};
use consort_types::*;
use std::collections::{BTreeMap, BTreeSet};

/// What a policy writes into.
pub struct Draft<'a> {
    state: &'a State,
    free: &'a mut Free,
    lines: &'a mut Lines,
    capabilities: Capabilities,
    now: Time,
    moves: Vec<Move>,
    wake_at: Option<Time>,
    slot: Option<Slot>,
    started: BTreeSet<AskId>,
    stopped: Vec<AllocationId>,
    /// Changes to the accounts: committed, leaving.
    accounts: BTreeMap<(TenantId, KindId), (u64, u64)>,
    log: Vec<Undo>,
    watch: Option<AskId>,
    noted: Option<Reason>,
}

/// One thing to take back.
enum Undo {
    Take(Grant),
    Give(Grant),
    Account((TenantId, KindId), (u64, u64)),
    Started(AskId),
    Stopped,
    Move,
}

/// A point to return to.
#[derive(Clone, Copy)]
pub struct Mark(usize);

/// Why a draft would not write something down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Denied {
    /// It does not wait, backs off, or was already started in this draft.
    NotWaiting,
    /// It does not run, is leaving already, or may not be interrupted here.
    NotStoppable,
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
        now: Time,
        watch: Option<AskId>,
    ) -> Self {
        Draft {
            state,
            free,
            lines,
            capabilities,
            now,
            moves: vec![],
            wake_at: None,
            slot: None,
            started: BTreeSet::new(),
            stopped: vec![],
            accounts: BTreeMap::new(),
            log: vec![],
            watch,
            noted: None,
        }
    }

    /// Puts the index back and hands over what was written.
    pub(crate) fn finish(mut self) -> (Plan, Option<Reason>) {
        let moves = std::mem::take(&mut self.moves);
        for undo in std::mem::take(&mut self.log).into_iter().rev() {
            match undo {
                Undo::Take(grant) => self.free.give(&self.state.cluster, &grant),
                Undo::Give(grant) => self.free.ungive(&self.state.cluster, &grant),
                Undo::Account(..) | Undo::Started(_) | Undo::Stopped | Undo::Move => {}
            }
        }
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

    /// Whether the draft starts it.
    pub fn starts(&self, ask: AskId) -> bool {
        self.started.contains(&ask)
    }

    /// Whether the draft stops its current attempt.
    pub fn stops(&self, ask: AskId) -> bool {
        self.stopped.iter().any(|stopped| stopped.ask == ask)
    }

    /// Thousandths of a device that a tenant has and keeps, as things stand in the draft.
    pub fn standing(&self, tenant: TenantId, kind: KindId) -> u64 {
        let account = self.state.ledger.account(tenant, kind);
        let (committed, leaving) = self.accounts.get(&(tenant, kind)).copied().unwrap_or_default();
        account.committed + committed - account.leaving - leaving
    }

    /// Whether a tenant keeps at least its guarantee without this one, in every kind it holds.
    pub fn stands_without(&self, victim: &AskView<'_>) -> bool {
        let mut held: BTreeMap<KindId, u64> = BTreeMap::new();
        for grant in victim.grants() {
            *held.entry(self.state.cluster.device(grant.device).kind).or_default() += u64::from(grant.share);
        }
        held.into_iter().all(|(kind, share)| {
            let promised = self.state.ledger.account(victim.tenant(), kind).guarantee;
            self.standing(victim.tenant(), kind) >= promised + share
        })
    }

    /// The least an ask could take of each kind it accepts, in thousandths of a device.
    pub fn least_needs(&self, ask: &AskView<'_>) -> Vec<(KindId, u64)> {
        self.least_needs_of_roles(ask).flatten().collect()
    }

    /// The same, role by role.
    pub(crate) fn least_needs_of_roles(
        &self,
        ask: &AskView<'a>,
    ) -> impl Iterator<Item = Vec<(KindId, u64)>> + use<'a> {
        let cluster = &self.state.cluster;
        ask.class().roles.iter().map(move |role| {
            let mut needs = vec![];
            for shape in &role.shapes {
                let share = u64::from(role.count.min) * u64::from(shape.devices) * u64::from(shape.share);
                needs.extend(shape.kinds(cluster).map(|kind| (kind, share)));
            }
            needs
        })
    }

    // -- the waiting line

    /// Begins a pass over everybody who waits, in this order.
    pub(crate) fn walk(&mut self, order: &dyn Order) -> Walk {
        Walk::begin(self.lines, self.state, order, self.now)
    }

    /// The next in the pass.
    pub(crate) fn next(&mut self, walk: &mut Walk) -> Option<(Key, AskId)> {
        walk.next(self.lines, self.state)
    }

    // -- trying

    /// Remembers where we are.
    pub fn mark(&self) -> Mark {
        Mark(self.log.len())
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
                Undo::Stopped => {
                    self.stopped.pop();
                }
                Undo::Move => {
                    self.moves.pop();
                }
            }
        }
    }

    /// Looks for room: every role at the given width, first shape and kind that has it. Writes nothing.
    pub fn find_room(&mut self, place: &dyn Place, ask: &AskView<'_>, counts: &[u32]) -> Option<Placement> {
        self.room_for(place, ask.class(), counts, Some(ask.tenant()))
    }

    /// The same for anything, on nobody's account.
    ///
    /// Several roles are placed one after the other, so an opinion can place the first ones in the way of the last.
    /// Then the consolidated one, by which `accept` judged that the job could ever run, has the second word: else an
    /// accepted job might wait for ever in an empty cluster.
    pub(crate) fn room_for(
        &mut self,
        place: &dyn Place,
        class: &Class,
        counts: &[u32],
        tenant: Option<TenantId>,
    ) -> Option<Placement> {
        let found = self.room_for_roles(place, class, counts, tenant);
        if found.is_some() || class.roles.len() == 1 {
            return found;
        }
        self.room_for_roles(&Consolidated, class, counts, tenant)
    }

    fn room_for_roles(
        &mut self,
        place: &dyn Place,
        class: &Class,
        counts: &[u32],
        tenant: Option<TenantId>,
    ) -> Option<Placement> {
        let mark = self.mark();
        let mut placement = Placement::default();
        // What the roles before this one take, kind by kind: together they must stay below the ceiling.
        let mut taken: BTreeMap<KindId, u64> = BTreeMap::new();
        for (index, (role, &count)) in class.roles.iter().zip(counts).enumerate() {
            let Some((shape, grants)) = self.room_for_role(place, class, index, count, tenant, &taken) else {
                self.back_to(mark);
                return None;
            };
            if class.roles.len() > 1 {
                for grant in &grants {
                    let kind = self.state.cluster.device(grant.device).kind;
                    *taken.entry(kind).or_default() += u64::from(grant.share);
                }
            }
            placement.fills.push(Fill { shape, count });
            if class.roles.len() > 1 {
                let is_free = grants.iter().all(|grant| self.try_take(grant));
                assert!(is_free, "place opinions choose from what is free");
            }
            if placement.grants.is_empty() {
                placement.grants = grants
            } else {
                placement.grants.extend(grants)
            }
            debug_assert!(count >= role.count.min);
        }
        self.back_to(mark);
        Some(placement)
    }

    fn room_for_role(
        &self,
        place: &dyn Place,
        class: &Class,
        role: usize,
        count: u32,
        tenant: Option<TenantId>,
        taken: &BTreeMap<KindId, u64>,
    ) -> Option<(u8, Vec<Grant>)> {
        let cluster = &self.state.cluster;
        for (index, shape) in class.roles[role].shapes.iter().enumerate() {
            for kind in shape.kinds(cluster).filter(|&kind| shape.suits(cluster, kind)) {
                let (devices, within) = (shape.devices, shape.within);
                let before = taken.get(&kind).copied().unwrap_or(0);
                let share = before + u64::from(count) * u64::from(devices) * u64::from(shape.share);
                let leaving = |tenant| self.accounts.get(&(tenant, kind)).map_or(0, |change| change.1);
                if tenant.is_some_and(|tenant| !self.below_ceiling(tenant, kind, share, leaving(tenant))) {
                    continue;
                }
                let need = Need { cluster, free: self.free, kind, count, devices, within };
                let grants = match shape.share {
                    WHOLE => place.place(&need),
                    part => share::pack(&need, part, shape.memory_on(cluster, kind)),
                };
                if let Some(grants) = grants {
                    return Some((index as u8, grants));
                }
            }
        }
        None
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

    /// Whether a tenant may hold so much more; `returned` of its own comes back to it in the same move.
    fn below_ceiling(&self, tenant: TenantId, kind: KindId, share: u64, returned: u64) -> bool {
        let account = self.state.ledger.account(tenant, kind);
        let Some(ceiling) = account.ceiling else { return true };
        let committed = self.accounts.get(&(tenant, kind)).map_or(0, |change| change.0);
        account.committed + committed + share <= ceiling + returned
    }

    // -- writing

    /// Starts an ask. If some of the devices are held by allocations that this draft stops, it begins once they
    /// have given them back.
    pub fn start(&mut self, id: AskId, placement: Placement) -> Result<(), Denied> {
        let ask = self.view().ask(id).ok_or(Denied::NotWaiting)?;
        let is_waiting = self.state.jobs.ask(id).is_some_and(|ask| matches!(ask.state, AskState::Waiting));
        if !is_waiting || ask.not_before() > self.now || self.started.contains(&id) {
            return Err(Denied::NotWaiting);
        }
        let mark = self.mark();
        let after = self.givers(&placement);
        let tenant = ask.tenant();
        let mut needs: Vec<(KindId, u64)> = Vec::with_capacity(1);
        for grant in &placement.grants {
            if !self.try_take(grant) {
                self.back_to(mark);
                return Err(Denied::Taken(grant.device));
            }
            let kind = self.state.cluster.device(grant.device).kind;
            match needs.iter_mut().find(|need| need.0 == kind) {
                Some(need) => need.1 += u64::from(grant.share),
                None => needs.push((kind, u64::from(grant.share))),
            }
        }
        for (kind, share) in needs {
            let returned = self.returned(&after, &placement, tenant, kind);
            if !self.below_ceiling(tenant, kind, share, returned) {
                self.back_to(mark);
                return Err(Denied::Ceiling(kind));
            }
            self.move_account((tenant, kind), share, 0);
        }
        self.started.insert(id);
        self.log.push(Undo::Started(id));
        self.moves.push(Move::Start { ask: id, placement, after });
        self.log.push(Undo::Move);
        Ok(())
    }

    /// Allocations stopped in this draft that hold a device of the placement.
    fn givers(&self, placement: &Placement) -> Vec<AllocationId> {
        let holds = |giver: &&AllocationId| {
            let grants = self.state.jobs.allocation(**giver).map_or(&[][..], |giver| &giver.placement.grants);
            grants.iter().any(|held| placement.grants.iter().any(|grant| grant.device == held.device))
        };
        self.stopped.iter().filter(holds).copied().collect()
    }

    /// What the tenant certainly gives back to itself through these givers: the part of the placement that is not
    /// free now, on devices where nobody but the tenant gives and nothing else was promised in this draft.
    fn returned(&self, after: &[AllocationId], placement: &Placement, tenant: TenantId, kind: KindId) -> u64 {
        let mut wants: BTreeMap<DeviceId, i32> = BTreeMap::new();
        for grant in &placement.grants {
            if self.state.cluster.device(grant.device).kind == kind {
                *wants.entry(grant.device).or_default() += i32::from(grant.share);
            }
        }
        let promised = |device: DeviceId| {
            self.moves.iter().any(|change| match change {
                Move::Start { placement, .. } => placement.grants.iter().any(|grant| grant.device == device),
                _ => false,
            })
        };
        let mut returned = 0;
        for (device, want) in wants {
            let (mut own, mut others) = (0, false);
            for giver in after {
                let allocation = self.state.jobs.allocation(*giver).expect("it was stopped here");
                let held = allocation.placement.grants.iter().filter(|grant| grant.device == device);
                let held: i32 = held.map(|grant| i32::from(grant.share)).sum();
                let is_own = self.state.jobs.get(giver.ask.job).is_some_and(|job| job.tenant == tenant);
                own += if is_own { held } else { 0 };
                others |= !is_own && held > 0;
            }
            if own > 0 && !others && !promised(device) {
                let missing = want - self.state.cluster.unheld(device).0.max(0);
                returned += missing.clamp(0, own) as u64;
            }
        }
        returned
    }

    /// Ends an allocation; what it holds can be given to others in this draft.
    pub fn stop(&mut self, id: AskId, cause: StopCause) -> Result<(), Denied> {
        let ask = self.state.jobs.ask(id).ok_or(Denied::NotStoppable)?;
        let job = self.state.jobs.get(id.job).ok_or(Denied::NotStoppable)?;
        let allocation = ask.allocation().ok_or(Denied::NotStoppable)?;
        let is_live = matches!(allocation.phase, Phase::Starting | Phase::Running { .. });
        let is_allowed = self.capabilities.preempts && job.spec.qos != Qos::Guaranteed;
        if !is_live || !is_allowed || self.stops(id) {
            return Err(Denied::NotStoppable);
        }
        let allocation_id = AllocationId { ask: id, attempt: ask.attempt };
        for grant in &allocation.placement.grants {
            self.free.give(&self.state.cluster, grant);
            self.log.push(Undo::Give(*grant));
            let kind = self.state.cluster.device(grant.device).kind;
            self.move_account((job.tenant, kind), 0, u64::from(grant.share));
        }
        self.stopped.push(allocation_id);
        self.log.push(Undo::Stopped);
        self.moves.push(Move::Stop { allocation: allocation_id, cause });
        self.log.push(Undo::Move);
        Ok(())
    }

    /// Asks for another plan at that time, whatever happens; the earliest wish counts. Times not after now are
    /// ignored: only an event can change the answer before time moves on.
    pub fn wake_at(&mut self, at: Time) {
        if at > self.now && at != Time::NEVER {
            self.wake_at = Some(self.wake_at.map_or(at, |already| already.min(at)));
        }
    }

    /// Replaces what the policy remembers.
    pub fn remember(&mut self, slot: Slot) {
        if slot != self.state.slot {
            self.slot = Some(slot);
        }
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

    /// Writes down why a watched ask waits.
    pub fn note(&mut self, ask: AskId, reason: Reason) {
        if self.is_watched(ask) {
            self.noted = Some(reason);
        }
    }
}
