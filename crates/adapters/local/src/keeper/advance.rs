//! The next thing to do about one allocation.
//!
//! For: starts, stops, crashes and news all end in the same few lines.
//! Promises: may be called at any time; does nothing that was done already.
//! Never: reports an ending while anything of the allocation may be left.

use super::Keeper;
use crate::allocation::{Allocation, State};
use crate::{outcome, records};
use consort_agent::launch::allocation_name;
use consort_agent::{crash, untrusted, words};
use consort_types::{AllocationId, Input, Outcome, Time};
use std::io;
use std::path::Path;

impl Keeper {
    /// Looks at an allocation and does the next thing.
    pub(super) fn advance(&mut self, id: AllocationId) {
        // Taken out for the time, so that its members can be worked on with the rest of the keeper at hand.
        let Some(mut allocation) = self.allocations.remove(&id) else { return };
        let again = !allocation.done && self.work_on(&mut allocation);
        if allocation.done && allocation.forgotten {
            self.restless.remove(&id);
            let ranks = allocation
                .members
                .iter()
                .filter_map(|member| records::rank_of(member.slot.folder().file_name()?));
            self.trash.push((id, ranks.collect()));
            return;
        }
        self.allocations.insert(id, allocation);
        self.look_again(id, again);
    }

    /// True if it has to be looked at again although nobody gives a sign.
    fn work_on(&mut self, allocation: &mut Allocation) -> bool {
        let mut again = self.settle_all(allocation);
        self.release(allocation);
        if allocation.is_winding() {
            // What was open a moment ago is now to be closed.
            again = self.settle_all(allocation);
            self.ask_to_stop(allocation);
        }
        if let Some(ends) = allocation.ends() {
            self.finish(allocation, &ends);
            return false;
        }
        again || (!allocation.released && (allocation.is_gang() || self.wary))
    }

    fn settle_all(&mut self, allocation: &mut Allocation) -> bool {
        let mut again = false;
        for rank in 0..allocation.members.len() {
            again |= self.settle(allocation, rank);
        }
        again
    }

    /// Lets workers run once all of them are there.
    fn release(&mut self, allocation: &mut Allocation) {
        if !allocation.released && allocation.refused.is_none() {
            let begun = allocation.members.iter().filter(|member| member.has_begun()).count();
            let started =
                allocation.members.iter().filter(|member| matches!(member.state, State::Watched(_)));
            if begun > 0 {
                self.wary = false;
            }
            if !allocation.is_gang() {
                allocation.released = begun > 0 || (!self.wary && started.count() > 0);
            } else if self.is_let_go(allocation.id) {
                allocation.released = true;
            } else if begun == allocation.members.len() && !allocation.is_winding() {
                crash::point("before-go");
                match self.let_go(allocation.id) {
                    Ok(()) => allocation.released = true,
                    Err(error) => allocation.refused = Some(format!("cannot start the gang: {error}")),
                }
            } else if !allocation.gone_is_desired && allocation.is_winding() {
                allocation.refused = Some("a worker ended before the gang was complete".into());
            }
        }
        if allocation.released && !allocation.told_started && !allocation.forgotten {
            allocation.told_started = true;
            self.tell(Input::Started(allocation.id));
            self.expect_reports(allocation);
        }
    }

    /// From now on its workers may report progress. One whose order could not be made again reports no more.
    fn expect_reports(&mut self, allocation: &Allocation) {
        let file = |(rank, order)| self.setup.progress(allocation.id, rank, order);
        let files: Vec<_> = (0..).zip(&allocation.orders).map(file).collect();
        self.reports.begin(allocation.id, files);
    }

    /// Whether the gang was given the word.
    fn is_let_go(&self, id: AllocationId) -> bool {
        untrusted::exists(&self.setup.run_dir, &Path::new(&allocation_name(id)).join("go"))
    }

    fn let_go(&self, id: AllocationId) -> io::Result<()> {
        untrusted::write(&self.setup.run_dir, &Path::new(&allocation_name(id)).join("go"), b"")
    }

    fn finish(&mut self, allocation: &mut Allocation, ends: &[outcome::End]) {
        allocation.done = true;
        allocation.orders = Vec::new();
        let report = self.reports.end(allocation.id);
        if allocation.forgotten {
            return;
        }
        if let Some(report) = report {
            self.tell(Input::Progress(vec![report]));
        }
        let id = allocation.id;
        let lost = allocation.members.iter().filter_map(|member| member.lost);
        if let Some(since_ms) = lost.clone().map(|lost| lost.since_ms).min() {
            let bytes = lost.map(|lost| lost.bytes).fold(0, u64::saturating_add);
            let since = Time(i64::try_from(since_ms).unwrap_or(0).saturating_mul(1_000_000));
            self.tell(Input::OutputLost { allocation: id, bytes, since });
        }
        self.tell(match outcome::judge(ends, allocation.gone_is_desired, allocation.released) {
            Some(outcome) => {
                let why = outcome::why(ends, outcome).map(|why| words::printable(why).into());
                Input::Ended { allocation: id, outcome, why }
            }
            None if allocation.told_started => Input::over(id, Outcome::Stopped),
            None => Input::StartRefused { allocation: id, why: why(allocation) },
        });
    }
}

fn why(allocation: &Allocation) -> String {
    let left = || allocation.members.iter().find_map(|member| Some(member.left.as_ref()?.why.clone()));
    let why = allocation.refused.clone().or_else(left).unwrap_or_default();
    match words::printable(&why) {
        why if why.is_empty() => "it did not start".into(),
        why => why,
    }
}
