//! Helios' preemptive shortest-remaining-time-first, which steps one second at a time while anything waits.
//!
//! We jump to the next second at which the walk can come out differently: an event, the second after one that
//! changed anything, or the second in which a running job's remaining time falls below that of a waiting one.

use super::WholeNodes;
use consort_sched::belief::length;
use consort_sched::{Doing, Draft, Policy};
use consort_types::*;

const SECOND: Span = Span::seconds(1);

/// The policy. Its slot holds the second of its last walk that stopped anything: it walks once a second.
pub struct Srtf;

/// Somebody in the walk: what is left, waiting before running, then in the order of joining that list.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    left: Span,
    runs: bool,
    turn: u64,
    id: AskId,
    width: u64,
}

impl Policy for Srtf {
    fn name(&self) -> &str {
        "srtf"
    }

    fn fill(&self, draft: &mut Draft<'_>) {
        let (view, now) = (draft.view(), draft.now());
        if view.waiting_count() == 0 {
            return;
        }
        if draft.memory(1) == Some(&[now.0]) {
            return draft.wake_at(now + SECOND);
        }
        let entries = entries(draft);
        let mut budget = view.usable_devices();
        let (mut preempted, mut chosen) = (false, vec![]);
        for entry in &entries {
            if entry.width <= budget {
                budget -= entry.width;
                if !entry.runs {
                    chosen.push(entry.id);
                }
            } else if entry.runs {
                preempted |= draft.stop(entry.id, StopCause::Yield).is_ok();
            }
        }
        let mut started = false;
        for id in chosen {
            let ask = view.ask(id).expect("it waits");
            if let Some(placement) = draft.find_room(&WholeNodes, &ask, &[ask.class().width() as u32]) {
                started |= draft.start(id, placement).is_ok();
            }
        }
        if preempted {
            draft.remember(1, vec![now.0]);
        }
        if preempted || started {
            draft.wake_at(now + SECOND);
        } else if let Some(at) = next_crossing(now, &entries) {
            draft.wake_at(at);
        }
    }
}

fn entries(draft: &Draft<'_>) -> Vec<Entry> {
    let (view, now) = (draft.view(), draft.now());
    let running = view.granted().filter(|&id| view.ask(id).is_some_and(|ask| ask.doing() == Doing::Running));
    let mut entries: Vec<Entry> = view
        .waiting()
        .chain(running)
        .map(|id| {
            let ask = view.ask(id).expect("it waits or runs");
            let left = length::work_left(&view, id, now).expect("every length is declared");
            let (runs, turn) = (ask.doing() == Doing::Running, ask.turn());
            Entry { left, runs, turn, id, width: ask.class().width() }
        })
        .collect();
    entries.sort_unstable();
    entries
}

/// The second in which a running job first comes before a waiting one that is before it now.
fn next_crossing(now: Time, entries: &[Entry]) -> Option<Time> {
    let mut waiting = None;
    let mut soonest: Option<Span> = None;
    for entry in entries {
        match (entry.runs, waiting) {
            (false, _) => waiting = Some(entry.left),
            (true, Some(before)) => {
                let gap = entry.left - before;
                soonest = Some(soonest.map_or(gap, |already| already.min(gap)));
            }
            (true, None) => {}
        }
    }
    soonest.map(|gap| now + gap + SECOND)
}
