//! The scheduler: a state, what is derived from it, and a policy. The four verbs are in files of their own.

use crate::free::Free;
use crate::holders::Holders;
use crate::lines::Lines;
use crate::policy::Policy;
use crate::state::State;
use crate::state::jobs::{Ending, HostUse, Why};
use crate::view::View;
use consort_types::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Decides who runs where. One owner, no locks, no clock: time is an argument.
///
/// Cloning is cheap enough for forecasts: specs and classes are shared, tables are flat.
#[derive(Clone)]
pub struct Scheduler {
    pub(crate) state: State,
    pub(crate) policy: Arc<dyn Policy>,
    pub(crate) capabilities: Capabilities,
    // Derived from the state; dropping it changes no decision.
    pub(crate) free: Free,
    pub(crate) lines: Lines,
    pub(crate) holders: Holders,
    /// For history alone: what the attempt that ended last held, of living jobs. Decides nothing, and is not saved.
    pub(crate) lasts: BTreeMap<JobId, (AllocationId, Placement)>,
    // Outboxes, emptied by whoever owns the loop.
    pub(crate) changed: Vec<AllocationId>,
    pub(crate) ended: Vec<Ended>,
    /// Whether anything happened since the last plan that could change the answer.
    pub(crate) stirred: bool,
    pub(crate) rejections: Vec<crate::check::Broken>,
}

/// A job that has left the state, for history and reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Which.
    pub job: JobId,
    /// What was submitted.
    pub spec: Arc<JobSpec>,
    /// When it was accepted.
    pub submitted: Time,
    /// When its first worker was up, if that ever happened.
    pub started: Option<Time>,
    /// When its last device was back.
    pub ended: Time,
    /// How it ended.
    pub ending: Ending,
    /// And why.
    pub why: Why,
    /// Time an ask of it could have run and did not, all spells added up; the mean over its asks.
    pub waited: Span,
    /// Time its asks ran, added up.
    pub served: Total,
    /// Time run multiplied by devices: device-thousandths times nanoseconds.
    pub used: u128,
    /// The same with processors and memory of hosts, asked for or only counted.
    pub hosts: HostUse,
    /// Times an ask ran, was interrupted and had to run again, for whatever reason.
    pub restarts: u32,
    /// The part of `restarts` that was a plan's decision.
    pub preemptions: u32,
    /// Times one of its asks was granted devices.
    pub attempts: u32,
    /// What happened to it lately.
    pub story: Story,
    /// The attempt of it that ended last, and what that held; absent where that ended before this scheduler was restored.
    pub last: Option<(AllocationId, Placement)>,
}

impl Scheduler {
    /// An empty state: no nodes, no tenants, no queues.
    pub fn new(policy: Arc<dyn Policy>, capabilities: Capabilities) -> Self {
        Self {
            state: State::default(),
            policy,
            capabilities,
            free: Free::default(),
            lines: Lines::default(),
            holders: Holders::default(),
            lasts: BTreeMap::new(),
            changed: vec![],
            ended: vec![],
            stirred: true,
            rejections: vec![],
        }
    }

    /// Rebuilds a scheduler from its journal: `apply` only, no policy is asked.
    pub fn recover<'a>(
        policy: Arc<dyn Policy>,
        capabilities: Capabilities,
        journal: impl IntoIterator<Item = &'a Event>,
    ) -> Self {
        let mut scheduler = Self::new(policy, capabilities);
        for event in journal {
            scheduler.apply(event);
            scheduler.forget_outboxes();
        }
        scheduler
    }

    /// The read-only face of the state.
    pub fn view(&self) -> View<'_> {
        View::of(&self.state)
    }

    /// A digest of the whole state. Equal journals give equal digests, on any machine.
    pub fn state_hash(&self) -> u64 {
        self.state.digest()
    }

    /// Whether a plan made now could differ from an empty one for a reason other than time.
    pub fn is_stirred(&self) -> bool {
        self.stirred
    }

    /// Plans that `check` threw away since the last call, the last few of them. Each is a bug in a policy.
    pub fn take_rejections(&mut self) -> Vec<crate::check::Broken> {
        std::mem::take(&mut self.rejections)
    }

    /// Forgets everything that is derived, as after a restart. Decisions must not change (a test compares them).
    pub fn drop_caches(&mut self) {
        self.lines = Lines::default();
        self.holders.forget();
        self.free = Free::of(&self.state.cluster);
    }

    /// While a journal is replayed: history has those that ended, and the world is told everything once more.
    pub fn forget_outboxes(&mut self) {
        self.ended.clear();
        self.changed.clear();
    }

    /// Jobs that ended since the last call, in order.
    pub fn take_ended(&mut self) -> Vec<Ended> {
        std::mem::take(&mut self.ended)
    }

    /// Whether the world has anything new to be told.
    pub fn has_desires(&self) -> bool {
        !self.changed.is_empty()
    }

    /// What is newly desired since the last call.
    pub fn take_desires(&mut self) -> Vec<Desired> {
        let changed = std::mem::take(&mut self.changed);
        changed.into_iter().filter_map(|allocation| self.desired(allocation)).collect()
    }

    /// Everything desired, for a world that has lost its memory or is meeting us for the first time.
    pub fn all_desires(&self) -> Vec<Desired> {
        let granted = self.state.jobs.granted.iter();
        let granted = granted
            .map(|&ask| AllocationId { ask, attempt: self.state.jobs.ask(ask).map_or(0, |ask| ask.attempt) });
        // First what must go, so that no later attempt of the same ask meets it.
        let fenced = self.state.tombstones.iter().map(|(attempt, _)| attempt);
        let fenced = fenced.filter(|&attempt| self.state.jobs.allocation(attempt).is_none());
        fenced.chain(granted).filter_map(|allocation| self.desired(allocation)).collect()
    }

    /// Answers news that was refused. A world that says `Started` of an attempt that is over still has it: either the
    /// attempt is to be gone and is told so once more, or nothing is known of it. Returns the attempt if the world must
    /// forget it, which ends it without a report.
    pub(crate) fn answer_stale(&mut self, input: &Input) -> Option<AllocationId> {
        let Input::Started(allocation) = *input else { return None };
        if self.state.jobs.allocation(allocation).is_some() {
            return None; // told twice, or on its way out
        }
        if self.state.tombstones.has(allocation) {
            self.changed.push(allocation);
            return None;
        }
        Some(allocation)
    }

    fn desired(&self, allocation: AllocationId) -> Option<Desired> {
        use crate::state::jobs::Phase;
        let wanted = match self.state.jobs.allocation(allocation) {
            None if self.state.tombstones.has(allocation) => Wanted::Gone,
            None => return None, // over before the world heard of it
            Some(found) => match found.phase {
                Phase::Planned => return None,
                Phase::Starting | Phase::Running { .. } => {
                    let has = (&found.placement, found.width.generation);
                    let (placement, generation) =
                        found.asked().map_or(has, |(resizing, generation)| (&resizing.placement, generation));
                    Wanted::Run { placement: placement.clone(), generation }
                }
                Phase::Releasing { .. } => Wanted::Gone,
            },
        };
        Some(Desired { allocation, wanted })
    }
}
