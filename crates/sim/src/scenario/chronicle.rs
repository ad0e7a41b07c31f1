//! What happened, written down as it happens: the journal for the machine, a short log for people.

use super::tell::{self, devices, exact};
use consort_sched::{Doing, Ended, Ending, Scheduler, Watch};
use consort_types::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A story that goes on for longer than this does not settle.
const ENOUGH: usize = 100_000;

#[derive(Default)]
pub(super) struct Chronicle {
    pub journal: Vec<Event>,
    /// By name, in order of submission: the job it became, or why not.
    pub submitted: Vec<(String, Result<JobId, Refusal>)>,
    pub ended: BTreeMap<JobId, (Ending, Time)>,
    /// Lines that nobody has asked for yet.
    pub log: Vec<String>,
    specs: Vec<Arc<JobSpec>>,
    nodes: Vec<String>,
    /// Waits for devices that others give back.
    promised: Vec<AllocationId>,
    /// Since when the world is to bring it up.
    begun: BTreeMap<AllocationId, Time>,
    /// An attempt succeeded; said only if that does not end its job.
    success: Option<(AllocationId, Time)>,
}

impl Chronicle {
    pub fn spec(&self, job: JobId) -> &JobSpec {
        &self.specs[job.index()]
    }

    /// An ask as the story calls it.
    pub fn ask(&self, ask: AskId) -> String {
        tell::asks(self.spec(ask.job), ask, ask.task)
    }

    fn attempt(&self, id: AllocationId) -> String {
        match self.specs.get(id.ask.job.index()) {
            Some(spec) if usize::from(id.ask.stage) < spec.stages.len() => {
                format!("{}#{}", self.ask(id.ask), id.attempt)
            }
            _ => id.to_string(),
        }
    }

    fn node(&self, node: NodeId) -> &str {
        self.nodes.get(node.index()).map_or("?", String::as_str)
    }

    fn say(&mut self, at: Time, line: String) {
        self.log.push(format!("{:<8} {line}", exact(at)));
    }

    fn plan(&mut self, at: Time, plan: &Plan, scheduler: &Scheduler) {
        let view = scheduler.view();
        for change in &plan.moves {
            match change {
                Move::Start { ask, placement, after } => {
                    let attempt = view.ask(*ask).map_or(0, |ask| ask.attempt());
                    let id = AllocationId { ask: *ask, attempt };
                    let (who, places) = (self.attempt(id), devices(&view, &placement.grants));
                    if after.is_empty() {
                        self.begun.insert(id, at);
                        self.say(at, format!("{who} starts on {places}"));
                    } else {
                        self.promised.push(id);
                        self.say(at, format!("{who} is promised {places}"));
                    }
                }
                Move::Stop { allocation, cause } => {
                    let cause = match cause {
                        StopCause::Preempted { by } => format!("it gives way to {}", self.ask(*by)),
                        StopCause::TimeLimit => "it is over its time limit".into(),
                        StopCause::Yield => "it yields".into(),
                    };
                    self.say(at, format!("{} must stop: {cause}", self.attempt(*allocation)));
                }
                Move::Fence { node } => self.say(at, format!("{} is fenced", self.node(*node))),
            }
        }
    }

    fn input(&mut self, at: Time, input: &Input) {
        match input {
            Input::Submit(spec) => {
                self.specs.push(spec.clone());
                self.submitted.push((spec.name.clone(), Ok(JobId(self.specs.len() as u64))));
            }
            Input::Started(id) if self.begun.remove(id) != Some(at) => {
                self.say(at, format!("{} is up", self.attempt(*id)));
            }
            Input::StartRefused { allocation, why } => {
                self.say(at, format!("{} was refused: {why}", self.attempt(*allocation)));
            }
            Input::Ended { allocation, outcome: Outcome::Succeeded, .. } => {
                self.success = Some((*allocation, at));
            }
            Input::Ended { allocation, outcome, why } => {
                let why = why.as_ref().map_or(String::new(), |why| format!(": {why}"));
                self.say(at, format!("{} {outcome}{why}", self.attempt(*allocation)));
            }
            Input::NodeJoined(spec) => {
                if self.nodes.contains(&spec.name) {
                    self.say(at, format!("{} joins again", spec.name));
                } else {
                    self.nodes.push(spec.name.clone());
                }
            }
            Input::NodeSilent(node) => self.say(at, format!("{} falls silent", self.node(*node))),
            Input::NodeReturned(node) => self.say(at, format!("{} is heard again", self.node(*node))),
            Input::NodeFenced(node) => self.say(at, format!("{} is fenced", self.node(*node))),
            Input::DeviceHealth { node, ill } if ill.is_empty() => {
                self.say(at, format!("all devices of {} are well", self.node(*node)));
            }
            Input::DeviceHealth { node, ill } => {
                for Illness { device, why } in ill {
                    self.say(at, format!("{}[{device}] is ill: {why}", self.node(*node)));
                }
            }
            _ => {}
        }
    }

    /// Promises that were kept, or came to nothing.
    fn follow_promises(&mut self, at: Time, scheduler: &Scheduler) {
        for id in std::mem::take(&mut self.promised) {
            let ask = scheduler.view().ask(id.ask).filter(|ask| ask.attempt() == id.attempt);
            match ask.map(|ask| ask.doing()) {
                Some(Doing::Planned) => self.promised.push(id),
                Some(Doing::Starting | Doing::Running) => {
                    self.begun.insert(id, at);
                    self.say(at, format!("{} starts", self.attempt(id)));
                }
                _ => self.say(at, format!("{} is no longer promised anything", self.attempt(id))),
            }
        }
    }

    /// What was asked, in the words of the story.
    fn request(&self, input: &Input) -> String {
        let job = |id: &JobId| match self.specs.get(id.index()) {
            Some(spec) => spec.name.clone(),
            None => format!("job {id}"),
        };
        match input {
            Input::Cancel(id) => format!("to cancel {}", job(id)),
            Input::Pause(id) => format!("to pause {}", job(id)),
            Input::Resume(id) => format!("to resume {}", job(id)),
            Input::Started(id) => format!("news that {} is up", self.attempt(*id)),
            Input::StartRefused { allocation, .. } => {
                format!("news that {} could not start", self.attempt(*allocation))
            }
            Input::Ended { allocation, .. } => format!("news that {} ended", self.attempt(*allocation)),
            Input::OutputLost { allocation, .. } => {
                format!("news that output of {} was lost", self.attempt(*allocation))
            }
            Input::NodeSilent(node) => format!("news that {} is silent", self.node(*node)),
            Input::NodeReturned(node) => format!("news that {} returned", self.node(*node)),
            Input::NodeFenced(node) => format!("news that {} was fenced", self.node(*node)),
            Input::NodeJoined(spec) => format!("news that {} joined", spec.name),
            Input::Drain(node) => format!("to drain {}", self.node(*node)),
            Input::Undrain(node) => format!("to undrain {}", self.node(*node)),
            Input::ForeignUse { node, .. } => format!("news of others on {}", self.node(*node)),
            Input::DeviceHealth { node, .. } => format!("news of the devices of {}", self.node(*node)),
            Input::SetTenant(tenant) => format!("to change tenant {}", tenant.name),
            Input::SetQueue(queue) => format!("to change queue {}", queue.name),
            Input::Submit(spec) => format!("to submit {}", spec.name),
            Input::Configure(_) | Input::SetKind(_) => "to change the cluster".into(),
        }
    }
}

impl Watch for Chronicle {
    fn event(&mut self, event: &Event, scheduler: &Scheduler) {
        self.journal.push(event.clone());
        assert!(self.journal.len() < ENOUGH, "the story does not settle");
        match &event.fact {
            Fact::Planned(plan) => self.plan(event.at, plan, scheduler),
            Fact::Accepted(input) => self.input(event.at, input),
        }
        if let Some((id, at)) = self.success.take()
            && scheduler.view().ending(id.ask.job).is_none()
        {
            self.say(at, format!("{} succeeded", self.attempt(id)));
        }
        self.follow_promises(event.at, scheduler);
    }

    fn refused(&mut self, at: Time, input: &Input, refusal: &Refusal) {
        if let Input::Submit(spec) = input {
            self.submitted.push((spec.name.clone(), Err(refusal.clone())));
        }
        self.say(at, format!("refused {}: {refusal}", self.request(input)));
    }

    fn ended(&mut self, ended: Ended) {
        self.ended.insert(ended.job, (ended.ending, ended.ended));
        self.say(ended.ended, format!("{} ended: {}", ended.spec.name, tell::ending(ended.ending)));
    }
}
