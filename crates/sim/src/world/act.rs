//! What somebody does at a given time: users, administrators, and misfortune.

use super::VirtualWorld;
use consort_types::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Something that somebody does at a given time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// A submission, by position.
    Submit(u32),
    /// Whatever input.
    Say(Input),
    /// An input about the job that a submission became; nothing at all if it was refused.
    Ask(u32, Request),
    /// So many of a submission's next starts are refused.
    RefuseNext(u32, u32),
    /// So many of a submission's next resizes in place are refused.
    RefuseResize(u32, u32),
    /// A node dies: its work is gone, and it stopped responding.
    Die(NodeId),
    /// A node is cut off for a while: its work goes on until its lease runs out, its news waits.
    CutOff(NodeId, Span),
    /// A node without an agent of ours is out of reach for a while, as a node of a cluster manager can be: its work goes
    /// on whatever our lease says. Either the manager gives it up at once, or it is only not heard of.
    Adrift {
        /// The node.
        node: NodeId,
        /// How long it is out of reach.
        span: Span,
        /// Whether the manager gives it up.
        given_up: bool,
    },
    /// A silent node is repaired: it is known to be empty, and joins again. Nothing happens to one that is well.
    Repair(NodeId),
    /// The same, and meanwhile somebody put other devices into it and gave it other features.
    Refit(NodeId, Vec<DeviceGroup>, Vec<String>),
    /// A node is switched off and leaves for good.
    Leave(NodeId),
    /// A new node joins.
    Arrive(NodeSpec),
}

/// Something about one job, whose id is known only once it was accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// End it.
    Cancel,
    /// Hold it.
    Pause,
    /// Let it go on.
    Resume,
    /// Claim that an attempt is up, whether or not that is so.
    Started(Attempt),
    /// Claim that an attempt could not be started.
    Refused(Attempt),
    /// Claim that an attempt is over, and why.
    Ended(Attempt, Outcome, Option<Arc<str>>),
}

/// One attempt at one ask of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// Which stage.
    pub stage: u16,
    /// Which task or replica.
    pub task: u32,
    /// Which attempt, counted from 1.
    pub attempt: u32,
}

impl Attempt {
    fn of(self, job: JobId) -> AllocationId {
        AllocationId { ask: AskId { job, stage: self.stage, task: self.task }, attempt: self.attempt }
    }
}

impl Request {
    fn about(self, job: JobId) -> Input {
        match self {
            Request::Cancel => Input::Cancel(job),
            Request::Pause => Input::Pause(job),
            Request::Resume => Input::Resume(job),
            Request::Started(attempt) => Input::Started(attempt.of(job)),
            Request::Refused(attempt) => {
                Input::StartRefused { allocation: attempt.of(job), why: "the node could not start it".into() }
            }
            Request::Ended(attempt, outcome, why) => {
                Input::Ended { allocation: attempt.of(job), outcome, why }
            }
        }
    }
}

impl VirtualWorld {
    pub(super) fn act(&mut self, now: Time, act: Act, inputs: &mut Vec<Input>) {
        match act {
            Act::Say(input) => inputs.push(input),
            Act::Submit(index) => self.submit(index, inputs),
            Act::Ask(index, request) => {
                inputs.extend(self.job_of(index as usize).map(|job| request.about(job)))
            }
            Act::RefuseNext(index, times) => *self.refusals.entry(index).or_default() += times,
            Act::RefuseResize(index, times) => *self.resize_refusals.entry(index).or_default() += times,
            Act::Die(node) => self.die(now, node, inputs),
            Act::CutOff(node, span) => self.cut_off(now, node, span, inputs),
            Act::Adrift { node, span, given_up } => self.set_adrift(now, node, span, given_up, inputs),
            Act::Repair(node) => self.repair(now, node, None, inputs),
            Act::Leave(node) => self.leave(now, node, inputs),
            Act::Arrive(spec) => self.arrive(spec, inputs),
            Act::Refit(node, devices, features) => self.repair(now, node, Some((devices, features)), inputs),
        }
    }

    /// Whether an act must wait until what was said before has been answered: it names jobs by their ids.
    pub(super) fn depends(&self, act: &Act) -> bool {
        match act {
            Act::Submit(index) => !self.submissions[*index as usize].after.is_empty(),
            Act::Ask(..) => true,
            _ => false,
        }
    }

    /// Whether the next start of a job is to be refused; counts it.
    pub(super) fn is_refused(&mut self, job: JobId) -> bool {
        let index = self.submission_of(job);
        index.is_some_and(|index| counts_down(&mut self.refusals, index))
    }

    /// The same with its next resize.
    pub(super) fn is_resize_refused(&mut self, job: JobId) -> bool {
        let index = self.submission_of(job);
        index.is_some_and(|index| counts_down(&mut self.resize_refusals, index))
    }
}

fn counts_down(times: &mut BTreeMap<u32, u32>, index: usize) -> bool {
    let Some(times) = times.get_mut(&(index as u32)).filter(|times| **times > 0) else { return false };
    *times -= 1;
    true
}
