//! Tries several orders of the waiting asks and keeps the one that has most devices in use. A joint policy: it sees all
//! asks at once, and fills the draft as a whole.
//!
//! Idea: list scheduling with several priority lists, the best list wins. Simplified: queues, priorities and shares are not
//! looked at, and nothing is preempted. Does badly when a wide job waits among many narrow ones: it is passed as long as
//! they fill the cluster better.

use consort_sched::policy::Entry;
use consort_sched::policy::place::Consolidated;
use consort_sched::{AskView, Draft, Policy};

/// An order: what has less goes first, ties in order of arrival.
type Rank = fn(&AskView<'_>) -> i64;

const ORDERS: [Rank; 4] = [
    |_| 0,
    |ask| -(ask.class().width() as i64),
    |ask| ask.class().width() as i64,
    |ask| ask.spec().estimate.map_or(i64::MAX, |span| span.0),
];
/// Asks that are looked at in one plan. Counted, never timed: the same state must give the same plan.
const STEPS: usize = 20_000;
/// Of what is remembered: the position of the order that won last. It is tried first, so it wins ties.
const LAYOUT: u32 = 1;

/// The best of several orders.
pub struct BestOrder;

impl Policy for BestOrder {
    fn name(&self) -> &str {
        "best-order"
    }

    fn fill(&self, draft: &mut Draft<'_>) {
        let (blank, asks) = (draft.mark(), draft.ready());
        let last = draft.memory(LAYOUT).and_then(|words| words.first()).map_or(0, |&word| word as usize);
        let tries = (STEPS / asks.len().max(1)).clamp(1, ORDERS.len());
        let mut best = (0, last % ORDERS.len());
        for order in (last..last + tries).map(|turn| turn % ORDERS.len()) {
            let used = start(draft, &asks, ORDERS[order]);
            draft.back_to(blank);
            best = if used > best.0 { (used, order) } else { best };
        }
        start(draft, &asks, ORDERS[best.1]);
        if best.0 > 0 {
            draft.remember(LAYOUT, vec![best.1 as i64]);
        }
        if let Some(ask) =
            draft.watched().and_then(|id| draft.view().ask(id)).filter(|ask| !draft.starts(ask.id()))
        {
            let reason = draft.why_waits(&ask);
            draft.note(ask.id(), reason);
        }
    }
}

/// Starts what fits in this order, as wide as it can be or else at its least width. Returns thousandths of devices.
fn start(draft: &mut Draft<'_>, asks: &[AskView<'_>], rank: Rank) -> u64 {
    let mut asks = asks.to_vec();
    asks.sort_by_key(rank);
    let mut used = 0;
    for ask in asks {
        let widths = [ask.class().most(), ask.class().least()];
        let room = widths.iter().find_map(|counts| draft.find_room(&Consolidated, &ask, counts));
        if let Some(room) = room {
            let devices = room.devices().map(|grant| u64::from(grant.share)).sum::<u64>();
            used += draft.start(ask.id(), room).map_or(0, |()| devices);
        }
    }
    used
}

/// For a registry: `Registry::stock().with(joint_policy::entry())`.
pub fn entry() -> Entry {
    Entry::new("the best of several orders of all that waits: the one with most devices in use", |_seed| {
        BestOrder
    })
}
