//! Finding jobs of ours in Slurm by their tag.

use super::{Poller, leader};
use crate::attempt::{Sight, State, sight};
use crate::engine::Trouble;
use crate::shapes::Job;
use crate::tag;
use consort_agent::launch::allocation_name;
use consort_types::AllocationId;
use std::collections::BTreeMap;
use std::time::Instant;

/// Jobs that were found by their tag.
pub(super) struct Listed {
    /// When Slurm was asked.
    at: Instant,
    jobs: BTreeMap<AllocationId, u64>,
    /// Some row could not be read and has our tag in it: what is not listed may be there all the same.
    unread: bool,
}

impl Poller {
    /// The job under the tag of an attempt, if there was one at this time or later. One list answers for all that may
    /// have come about before it was made. Unclear while it may be in a row that cannot be read: to submit it once more
    /// would be to run it twice.
    pub(super) fn found_since(
        &mut self,
        id: AllocationId,
        not_before: Instant,
    ) -> Result<Option<u64>, Trouble> {
        let listed = match self.listed.take().filter(|listed| listed.at >= not_before) {
            Some(listed) => listed,
            None => {
                let at = Instant::now();
                let jobs = self.engine.jobs()?;
                let unread = self.engine.unread().iter().any(|row| row.contains(&self.setup.tag));
                Listed { at, jobs: self.tagged(&jobs), unread }
            }
        };
        let (found, unread) = (listed.jobs.get(&id).copied(), listed.unread);
        self.listed = Some(listed);
        match found {
            None if unread => Err(Trouble::Unclear("cannot parse rows about jobs of this daemon".into())),
            found => Ok(found),
        }
    }

    /// Jobs under our tag: the number of a first part by attempt.
    pub(super) fn tagged(&self, jobs: &[Job]) -> BTreeMap<AllocationId, u64> {
        let mut all = BTreeMap::new();
        for job in jobs {
            let Some((id, secret)) = tag::read(&self.setup.tag, &job.comment) else { continue };
            if self.is_ours(id, secret) {
                // Should there be two after all, the first is the one that began.
                let first = all.entry(id).or_insert(leader(job));
                *first = (*first).min(leader(job));
            }
        }
        all
    }

    /// Whether a tag has the secret that was written down before its job was submitted. Where nothing is written down any
    /// more there is nothing to compare with: then it counts, because running an attempt twice is worse than ending
    /// somebody's job that bears our tag in the name of our own user.
    fn is_ours(&self, id: AllocationId, secret: Option<&str>) -> bool {
        self.folder.intent(id).is_none_or(|intent| intent.secret.as_deref() == secret)
    }

    /// Ends jobs under our tag that belong to nothing we know: they came about after we had given up on them.
    pub(super) fn end_strays(&mut self, jobs: &[Job]) {
        for job in jobs {
            // Most are somebody else's: that is seen first.
            let Some((id, secret)) = tag::read(&self.setup.tag, &job.comment) else { continue };
            if sight(std::slice::from_ref(job)) == Sight::Over {
                continue;
            }
            let leader = leader(job);
            let is_known = match self.attempts.get(&id) {
                Some(attempt) => match attempt.state {
                    State::InSlurm { job, .. } => job == leader,
                    State::Wanted { .. } => true, // found by its tag before it is submitted again
                    State::Over => false,
                },
                None => self.found.contains_key(&id), // nobody has asked about it yet
            };
            if !is_known && !self.recent.contains_key(&leader) && self.is_ours(id, secret) {
                tracing::warn!(
                    job = leader,
                    attempt = allocation_name(id),
                    "ending a job that is not desired"
                );
                let _ = self.engine.cancel(leader);
            }
        }
    }
}
