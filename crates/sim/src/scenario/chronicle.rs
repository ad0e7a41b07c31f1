//! What happened, written down as it happens: the journal for the machine, a short log for people.

use super::tell::{self, exact};
use consort_sched::{Doing, Ended, Ending, Scheduler, Watch};
use consort_types::narrate::{self, Names};
use consort_types::*;
use std::collections::BTreeMap;

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
    directory: Directory,
    /// Waits for devices that others give back.
    promised: Vec<AllocationId>,
    /// Ends so that its next attempt can start with another placement.
    restarting: Vec<AllocationId>,
    /// Since when the world is to bring it up.
    begun: BTreeMap<AllocationId, Time>,
}

/// Names as the story uses them: a job, a node and a task by its name alone.
pub(super) struct Cast<'a>(&'a Directory);

impl Names for Cast<'_> {
    fn spec(&self, job: JobId) -> Option<&JobSpec> {
        self.0.spec(job)
    }

    fn node_name(&self, node: NodeId) -> Option<&str> {
        self.0.node_name(node)
    }

    fn locate(&self, device: DeviceId) -> Option<(NodeId, u32)> {
        self.0.locate(device)
    }

    fn job(&self, job: JobId) -> String {
        self.spec(job).map_or_else(|| format!("job {job}"), |spec| spec.name.clone())
    }

    fn ask(&self, ask: AskId) -> String {
        match self.spec(ask.job) {
            Some(spec) if usize::from(ask.stage) < spec.stages.len() => tell::asks(spec, ask, ask.task),
            _ => ask.to_string(),
        }
    }

    fn claimant(&self, ask: AskId) -> String {
        self.ask(ask)
    }

    fn attempt(&self, id: AllocationId) -> String {
        format!("{}#{}", self.ask(id.ask), id.attempt)
    }

    fn node_called(&self, name: &str) -> String {
        name.into()
    }
}

impl Chronicle {
    pub fn spec(&self, job: JobId) -> &JobSpec {
        self.directory.spec(job).expect("the story has seen it")
    }

    pub fn cast(&self) -> Cast<'_> {
        Cast(&self.directory)
    }

    fn say(&mut self, at: Time, line: String) {
        self.log.push(format!("{:<8} {line}", exact(at)));
    }

    fn plan(&mut self, at: Time, plan: &Plan, scheduler: &Scheduler) {
        for change in &plan.moves {
            let mut attempt = None;
            if let Move::Start { ask, after, .. } = change {
                let id = scheduler.view().ask(*ask).map(|ask| ask.allocation());
                attempt = id.map(|id| id.attempt);
                match after.is_empty() {
                    true => self.begun.extend(id.map(|id| (id, at))),
                    false => self.promised.extend(id),
                }
            }
            if let Move::Resize { allocation, in_place: false, .. } = change {
                self.restarting.push(*allocation);
            }
            let text = narrate::change(change, attempt, &self.cast()).text;
            self.say(at, text);
        }
    }

    /// Whether an input is worth a line: not what the story itself says, and not a start at once.
    fn is_told(&mut self, at: Time, input: &Input) -> bool {
        match input {
            Input::Started(id) => self.begun.remove(id) != Some(at),
            Input::NodeJoined(spec) => at > Time::ZERO || self.directory.nodes().has(&spec.name),
            Input::StartRefused { .. }
            | Input::Ended { .. }
            | Input::Resized { .. }
            | Input::ResizeRefused { .. }
            | Input::NodeSilent(_)
            | Input::NodeReturned(_)
            | Input::NodeFenced(_)
            | Input::NodeLeft(_)
            | Input::DeviceHealth { .. } => true,
            _ => false,
        }
    }

    fn input(&mut self, input: &Input) {
        if let Input::Submit(spec) = input {
            self.submitted.push((spec.name.clone(), Ok(self.directory.last_job())));
        }
    }

    /// Attempts that have made room for the next one, or will not.
    fn follow_restarts(&mut self, at: Time, scheduler: &Scheduler) {
        for id in std::mem::take(&mut self.restarting) {
            let next = AllocationId { attempt: id.attempt + 1, ..id };
            let ask = scheduler.view().ask(id.ask);
            match ask.map(|ask| (ask.attempt() == next.attempt, ask.doing(), ask.resizing())) {
                Some((false, Doing::Releasing, Some(_))) => self.restarting.push(id),
                Some((true, Doing::Planned | Doing::Starting, _)) => self.promised.push(next),
                Some((false, _, _)) => {
                    self.say(at, format!("nothing is kept for {} any more", self.cast().attempt(next)));
                }
                _ => {}
            }
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
                    self.say(at, format!("{} starts", self.cast().attempt(id)));
                }
                _ => self.say(at, format!("{} is no longer promised anything", self.cast().attempt(id))),
            }
        }
    }

    /// What was asked, in the words of the story.
    fn request(&self, input: &Input) -> String {
        let cast = self.cast();
        match input {
            Input::Cancel(id) => format!("to cancel {}", cast.job(*id)),
            Input::Pause(id) => format!("to pause {}", cast.job(*id)),
            Input::Resume(id) => format!("to resume {}", cast.job(*id)),
            Input::Started(id) => format!("report that {} is up", cast.attempt(*id)),
            Input::StartRefused { allocation, .. } => {
                format!("report that {} could not start", cast.attempt(*allocation))
            }
            Input::Ended { allocation, .. } => format!("report that {} ended", cast.attempt(*allocation)),
            Input::Resized { allocation, .. } => {
                format!("report that {} was resized", cast.attempt(*allocation))
            }
            Input::ResizeRefused { allocation, .. } => {
                format!("report that {} could not be resized", cast.attempt(*allocation))
            }
            Input::OutputLost { allocation, .. } => {
                format!("report that output of {} was lost", cast.attempt(*allocation))
            }
            Input::Progress(_) => "report of progress".into(),
            Input::NodeSilent(node) => format!("report that {} is silent", cast.node(*node)),
            Input::NodeReturned(node) => format!("report that {} returned", cast.node(*node)),
            Input::NodeFenced(node) => format!("report that {} was fenced", cast.node(*node)),
            Input::NodeLeft(node) => format!("report that {} left for good", cast.node(*node)),
            Input::NodeJoined(spec) => format!("report that {} joined", spec.name),
            Input::Drain(node) => format!("to drain {}", cast.node(*node)),
            Input::Undrain(node) => format!("to undrain {}", cast.node(*node)),
            Input::ForeignUse { node, .. } => format!("report of others on {}", cast.node(*node)),
            Input::DeviceHealth { node, .. } => format!("report of the devices of {}", cast.node(*node)),
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
        let is_told = matches!(&event.fact, Fact::Accepted(input) if self.is_told(event.at, input));
        self.directory.learn(event);
        match &event.fact {
            Fact::Planned(plan) => self.plan(event.at, plan, scheduler),
            Fact::Accepted(input) => self.input(input),
        }
        if is_told && !is_last_success(event, scheduler) {
            let text = narrate::event(event, None, &self.cast()).text;
            self.say(event.at, text);
        }
        self.follow_restarts(event.at, scheduler);
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

/// Whether an attempt succeeded and its job ended with it, which is told as the end of the job.
fn is_last_success(event: &Event, scheduler: &Scheduler) -> bool {
    let Fact::Accepted(Input::Ended { allocation, outcome: Outcome::Succeeded, .. }) = &event.fact else {
        return false;
    };
    scheduler.view().ending(allocation.ask.job).is_some()
}
