//! Third verb: the state becomes a plan.
//!
//! What time alone demands comes first (a suspect node's time is up, an attempt has run too long): such a plan
//! consists of nothing else, and the next one sees its effect. Otherwise the policy fills a draft, and `check`
//! judges it; a plan that breaks a rule is thrown away whole and noted, because a policy must not be able to break
//! the cluster.

use crate::check::{Broken, check};
use crate::draft::Draft;
use crate::scheduler::Scheduler;
use consort_types::*;

/// Rejected plans that are kept until they are read.
const REJECTIONS: usize = 16;

impl Scheduler {
    /// What should change now. Changes nothing itself but caches; the caller applies the plan as an event.
    pub fn plan(&mut self, now: Time) -> Plan {
        let now = now.max(self.state.now);
        self.stirred = false;
        let due = self.due(now);
        if !due.is_empty() {
            self.stirred = true;
            let plan = Plan { moves: due, wake_at: None, based_on: self.state.seen, slot: None };
            let verdict = check(&self.state, self.capabilities, &plan, now);
            assert_eq!(verdict, Ok(()), "what is due is in order");
            return plan;
        }
        let policy = self.policy.clone();
        let mut draft = Draft::new(
            &self.state,
            &mut self.free,
            &mut self.lines,
            self.capabilities,
            (policy.name(), now),
            None,
        );
        policy.fill(&mut draft);
        let (mut plan, _) = draft.finish();
        if let Err(broken) = check(&self.state, self.capabilities, &plan, now) {
            self.reject(broken);
            plan = Plan { wake_at: plan.wake_at, based_on: plan.based_on, ..Plan::default() };
        }
        plan.wake_at = [plan.wake_at, self.wake_at(now)].into_iter().flatten().min();
        plan
    }

    /// Notes a plan that was thrown away; only the last few, since not every owner of a scheduler reads them.
    fn reject(&mut self, broken: Broken) {
        if self.rejections.len() == REJECTIONS {
            self.rejections.remove(0);
        }
        self.rejections.push(broken);
    }

    /// When time alone could change the answer, as far as the state tells. Part of every plan; to be asked again after
    /// something has started, which is no reason to plan but begins time limits and service.
    pub fn wake_at(&self, now: Time) -> Option<Time> {
        let suspect = self.state.cluster.suspects.first().map(|&(at, _)| at);
        let limit = self.state.jobs.limits.first().map(|&(at, _)| at);
        let change = self.policy.next_change(&self.view(), now).filter(|&at| at > now && at != Time::NEVER);
        [suspect, limit, change].into_iter().flatten().min()
    }

    fn due(&self, now: Time) -> Vec<Move> {
        let suspects = self.state.cluster.suspects.iter().take_while(|&&(at, _)| at <= now);
        let limits = self.state.jobs.limits.iter().take_while(|&&(at, _)| at <= now);
        let mut moves: Vec<Move> = suspects.map(|&(_, node)| Move::Fence { node }).collect();
        if moves.is_empty() {
            // One job may have several allocations over their limit; the first ends the job, unless it only ends its task.
            let mut jobs = std::collections::BTreeSet::new();
            let first = limits.filter(|(_, allocation)| {
                self.others_go_on(allocation.ask) || jobs.insert(allocation.ask.job)
            });
            moves
                .extend(first.map(|&(_, allocation)| Move::Stop { allocation, cause: StopCause::TimeLimit }));
        }
        moves
    }
}
