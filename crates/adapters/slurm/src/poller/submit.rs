//! An attempt becomes a job of Slurm's, once.
//!
//! For: the crash between any two lines. Promises: the intent lies on disk before Slurm is asked; whoever finds an intent
//! without a number looks for the tag before asking again, and not before a submission that was under way has arrived.
//! Never: submits what it cannot describe.

use super::Poller;
use crate::attempt::{Rows, State};
use crate::engine::Trouble;
use crate::layout::{Layout, Spot};
use crate::script::Making;
use crate::submission::{self, Submission};
use crate::tag;
use consort_agent::crash;
use consort_agent::launch::{Known, allocation_name};
use consort_types::*;
use std::time::{Duration, Instant};

/// How soon a submission is tried again that nobody answered.
pub(super) const AGAIN: Duration = Duration::from_secs(1);
/// How long one may still be under way of which nobody knows whether it arrived.
const UNCLEAR: Duration = Duration::from_secs(12);
/// What Slurm's own time limit is longer than the job's, so that ours is the one that counts.
const LATER: u64 = 120;

impl Poller {
    /// Makes the job, or finds it.
    pub(super) fn submit(&mut self, id: AllocationId) {
        let Some(&State::Wanted { search, not_before }) = self.attempts.get(&id).map(|one| &one.state) else {
            return;
        };
        if search && !self.search(id, not_before) {
            return;
        }
        let submission = match self.prepare(id) {
            Ok(submission) => submission,
            Err(words) => return self.refuse(id, words),
        };
        crash::point("before-submit");
        self.board.asks();
        let answer = self.engine.submit(&submission);
        crash::point("after-submit");
        if let Ok(_) | Err(Trouble::Refused(_)) = answer {
            self.board.answered();
        }
        match answer {
            Ok(job) => {
                tracing::debug!(attempt = allocation_name(id), job, "submitted");
                self.is_in_slurm(id, job);
            }
            Err(Trouble::Refused(words)) => self.refuse(id, words),
            Err(trouble) => {
                let straggles = match trouble {
                    Trouble::Unclear(_) => self.engine.straggles().max(UNCLEAR),
                    _ => Duration::ZERO,
                };
                tracing::warn!(attempt = allocation_name(id), %trouble, "not submitted");
                self.board.silent(trouble.words());
                self.later(id, AGAIN.max(straggles));
            }
        }
    }

    /// Looks for the tag. True if there is none, so that it may be submitted.
    fn search(&mut self, id: AllocationId, not_before: Instant) -> bool {
        match self.found_since(id, not_before) {
            Ok(Some(job)) => {
                self.is_in_slurm(id, job);
                false
            }
            Ok(None) => true,
            Err(trouble) => {
                self.board.silent(trouble.words());
                self.later(id, AGAIN);
                false
            }
        }
    }

    /// It may be there already, which cannot be told now.
    pub(super) fn later(&mut self, id: AllocationId, wait: Duration) {
        if let Some(attempt) = self.attempts.get_mut(&id) {
            attempt.state = State::Wanted { not_before: Instant::now() + wait, search: true };
        }
    }

    fn is_in_slurm(&mut self, id: AllocationId, job: u64) {
        self.folder.note(id, job);
        crash::point("after-note");
        self.board.tell(id, Some(format!("Slurm job {job}")));
        if let Some(attempt) = self.attempts.get_mut(&id) {
            attempt.state = State::InSlurm { job, since: Instant::now(), rows: Rows::default(), missing: 0 };
        }
        self.glance.hurry();
    }

    /// Slurm will not have it, or we cannot say what it is.
    fn refuse(&mut self, id: AllocationId, words: String) {
        if let Some(attempt) = self.attempts.get_mut(&id) {
            (attempt.refused, attempt.state) = (Some(words), State::Over);
        }
    }

    /// Writes everything that nodes need, and the intent.
    fn prepare(&mut self, id: AllocationId) -> Result<Submission, String> {
        let known = Known::or_find(&mut self.known, &*self.setup.works, id.ask.job)?;
        let attempt = self.attempts.get_mut(&id).expect("it is being submitted");
        attempt.grace = known.work.grace.clone();
        let placement = attempt.placement.as_ref().ok_or("its placement is unknown")?;
        let spot = |device: DeviceId| {
            let (node, kind) = self.census.locate(device)?;
            let found = self.nodes.get(node)?.resources.get(kind);
            let precisions = self.setup.reading.computes_in(kind);
            let resource = found.map(|(name, kind)| (name.as_str(), kind.as_str()));
            Some(Spot { node, kind, precisions, resource })
        };
        let layout = Layout::new(id, &known.spec, &known.work, placement, self.setup.portion, spot)?;
        let kind = layout.seats.first().map_or("", |seat| seat.kind.as_str());
        let work = known.work.on(id.ask.stage.into(), kind);
        let address =
            |node: &String| self.nodes.get(node).map_or_else(|| node.clone(), |found| found.address.clone());
        let addresses: Vec<String> = layout.nodes.iter().map(address).collect();
        let making = Making {
            allocation: id,
            spec: &known.spec,
            work: &work,
            layout: &layout,
            addresses: &addresses,
            shared: &self.setup.shared,
        };
        let written = self.folder.write(&making);
        let text = written.map_err(|error| format!("cannot write the files of the job: {error}"))?;
        let intended = self.folder.intend(id);
        let secret = intended.map_err(|error| format!("cannot write the intent: {error}"))?;
        let limit = known.spec.time_limit.map(|limit| limit.0.max(0) as u64 / 1_000_000_000);
        let grace = known.work.grace.span.0.max(0) as u64 / 1_000_000_000;
        Ok(Submission {
            name: submission::name(&known.spec.name),
            tag: tag::write(&self.setup.tag, id, &secret),
            partition: self.setup.reading.partition.clone(),
            account: self.setup.terms.account.clone(),
            qos: self.setup.terms.qos.clone(),
            reservation: self.setup.terms.reservation.clone(),
            script: self.folder.script(id),
            text,
            output: self.folder.log(id),
            minutes: limit.map(|limit| (limit + grace + LATER).div_ceil(60)),
            parts: layout.parts,
        })
    }

    /// How its workers are asked to go. Not kept: of what is left of an earlier life, the same number may soon be given to
    /// another job.
    pub(super) fn grace(&self, id: AllocationId) -> Grace {
        let known = Known::find(&*self.setup.works, id.ask.job);
        known.map_or_else(|_| Grace::default(), |known| known.work.grace.clone())
    }
}
