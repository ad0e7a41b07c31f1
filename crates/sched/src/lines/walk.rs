//! One pass over everybody who waits: queues of higher priority first; then, if the order goes by shares, the tenant with
//! the least; then by key, then by id.
//!
//! Whose turn it is is decided between *parties*: the tenants, if the order goes by shares, otherwise everybody in queues
//! of one priority together. A party's first ones are looked up when its turn comes, and only in lines that are open, so
//! that a pass costs what can still happen in it. Shares only rise while nothing is taken back: a party whose share has
//! risen since it was put in line is put back, and nobody else need be looked at.

use super::stuck::Shut;
use super::{Claim, Entry, Group, LineId, Lines, Spot};
use crate::class::ClassId;
use crate::draft::Draft;
use crate::policy::order::{Key, Order};
use crate::policy::place::Place;
use crate::state::State;
use crate::state::jobs::AskState;
use consort_types::{AskId, QueueId, TenantId};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::sync::Arc;

/// The pass.
pub(crate) struct Walk {
    /// By priority of their queues, the highest first: the lines that are open.
    levels: Vec<Vec<LineId>>,
    parties: Vec<Party>,
    turns: BinaryHeap<Reverse<Turn>>,
    /// Whose turn it was last; its group moves up only when the next one is asked for.
    last: Option<(Turn, Option<Head>)>,
    blocked: BTreeSet<QueueId>,
    shut: Shut,
    /// Somebody asked about one of these, so they get their turn even when there is no room.
    watched: Option<Group>,
    gone: Vec<(LineId, Spot)>,
}

struct Party {
    level: usize,
    /// One tenant, or everybody.
    tenant: Option<TenantId>,
    /// The first of each group that has not had its turn; none before the party's first turn.
    heads: Option<BinaryHeap<Reverse<Head>>>,
}

/// The queues' priority, the share, and the index of a party; parties are in order of tenant.
type Turn = (Reverse<i32>, u64, usize);

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Head {
    entry: Entry,
    line: LineId,
    claim: Claim,
}

impl Head {
    /// The one behind it in its group.
    fn next(self, lines: &Lines) -> Option<Head> {
        let entry = lines.next(self.line, (self.claim, self.entry))?;
        Some(Head { entry, ..self })
    }
}

impl Walk {
    fn begin(lines: &Lines, state: &State, shares: bool, shut: Shut, watched: Option<Group>) -> Walk {
        let (turns, last, blocked, gone) = (BinaryHeap::new(), None, BTreeSet::new(), vec![]);
        let mut walk = Walk { levels: vec![], parties: vec![], turns, last, blocked, shut, watched, gone };
        let mut levels: BTreeMap<Reverse<i32>, Vec<LineId>> = BTreeMap::new();
        for &line in lines.lines.keys().filter(|line| walk.is_open(state, **line)) {
            levels.entry(Reverse(state.queues.get(line.0).priority)).or_default().push(line);
        }
        for (level, (priority, lines)) in levels.into_iter().enumerate() {
            walk.levels.push(lines);
            let tenants = (0..state.ledger.tenants.len() as u32).map(|tenant| Some(TenantId(tenant)));
            let everybody = std::iter::once(None).filter(|_| !shares);
            for tenant in tenants.filter(|_| shares).chain(everybody) {
                walk.turns.push(Reverse((priority, 0, walk.parties.len())));
                walk.parties.push(Party { level, tenant, heads: None });
            }
        }
        walk
    }

    /// Whether anybody in a line can get a turn. In a strict queue that is so whatever they ask for: somebody without
    /// room holds up the others.
    fn is_open(&self, state: &State, line: LineId) -> bool {
        !self.shut.has(line.1)
            || state.queues.get(line.0).strict
            || self.watched.is_some_and(|watched| watched.line == line)
    }

    fn may_go(&self, state: &State, line: LineId, claim: Claim) -> bool {
        let is_open = !self.shut.has(line.1) || state.queues.get(line.0).strict;
        !self.blocked.contains(&line.0) && (is_open || self.watched == Some(Group { line, claim }))
    }

    fn next(&mut self, lines: &Lines, state: &State, share: impl Fn(TenantId) -> u64) -> Option<Entry> {
        if let Some((turn, head)) = self.last.take() {
            let heads = self.parties[turn.2].heads.get_or_insert_default();
            heads.extend(head.and_then(|head| head.next(lines)).map(Reverse));
            self.turns.push(Reverse(turn));
        }
        while let Some(Reverse(turn)) = self.turns.pop() {
            let party = &self.parties[turn.2];
            if self.levels[party.level].is_empty() {
                continue;
            }
            let now = party.tenant.map_or(0, &share);
            if now > turn.1 {
                self.turns.push(Reverse((turn.0, now, turn.2)));
            } else if let Some(head) = self.first(lines, state, turn.2) {
                self.last = Some((turn, Some(head)));
                return Some(head.entry);
            }
        }
        None
    }

    /// The first of a party who still waits and may go.
    fn first(&mut self, lines: &Lines, state: &State, party: usize) -> Option<Head> {
        let mut heads = match self.parties[party].heads.take() {
            Some(heads) => heads,
            None => self.heads(lines, state, party),
        };
        let first = loop {
            let Some(Reverse(head)) = heads.pop() else { break None };
            if !self.may_go(state, head.line, head.claim) {
                continue;
            }
            let ask = state.jobs.ask(head.entry.1);
            if ask.is_some_and(|ask| matches!(ask.state, AskState::Waiting)) {
                break Some(head);
            }
            self.gone.push((head.line, (head.claim, head.entry)));
            heads.extend(head.next(lines).map(Reverse));
        };
        self.parties[party].heads = Some(heads);
        first
    }

    /// The first of each group of a party. Whether they still wait is seen when they are met: most never are.
    fn heads(&self, lines: &Lines, state: &State, party: usize) -> BinaryHeap<Reverse<Head>> {
        let Party { level, tenant, .. } = self.parties[party];
        let mut heads = vec![];
        for &line in &self.levels[level] {
            let firsts = lines.firsts(line, tenant).filter(|spot| self.may_go(state, line, spot.0));
            heads.extend(firsts.map(|(claim, entry)| Reverse(Head { entry, line, claim })));
        }
        heads.into()
    }

    /// Nobody else of the group whose turn it was gets one in this pass.
    pub fn skip_group(&mut self) {
        if let Some((_, head)) = &mut self.last {
            *head = None;
        }
    }

    /// Nobody else of this queue gets a turn in this pass.
    pub fn block(&mut self, queue: QueueId) {
        self.blocked.insert(queue);
        self.levels.iter_mut().for_each(|lines| lines.retain(|line| line.0 != queue));
    }

    /// Whether it is known that there is no room for a class.
    pub fn is_shut(&self, class: ClassId) -> bool {
        self.shut.has(class)
    }

    /// There is no room for a class, whoever asks: nobody else of it gets a turn in this pass.
    pub fn shut(&mut self, draft: &Draft<'_>, class: ClassId) {
        self.shut.insert(class);
        let mut levels = std::mem::take(&mut self.levels);
        for lines in &mut levels {
            lines.retain(|&line| line.1 != class || self.is_open(draft.state, line));
        }
        self.levels = levels;
    }
}

impl Draft<'_> {
    /// Begins a pass over everybody who waits, in this order, but for those who are shut out. The lines are in step.
    pub(crate) fn walk(&mut self, order: &dyn Order, shut: Shut) -> Walk {
        let watched = self.watch.and_then(|watched| self.view().ask(watched));
        let watched = watched.map(|watched| Group::of(&watched));
        Walk::begin(self.lines, self.state, order.shares(), shut, watched)
    }

    /// Brings the waiting lines in step with the state.
    pub(crate) fn sync_lines(&mut self, order: &Arc<dyn Order>, place: &Arc<dyn Place>) {
        self.lines.sync(self.state, order, place, self.now);
    }

    /// The next in the pass.
    pub(crate) fn next(&self, walk: &mut Walk, order: &dyn Order) -> Option<(Key, AskId)> {
        walk.next(self.lines, self.state, |tenant| order.share(self, tenant))
    }

    /// Ends a pass. Whoever only asks for a reason works on a copy and leaves it as it is.
    pub(crate) fn end(&mut self, walk: Walk) {
        if self.watch.is_none() {
            self.lines.sweep(walk.gone);
        }
    }
}
