//! A virtual world: submissions arrive, work takes its true time, things break. Time jumps.
//!
//! What is true lives here and nowhere else: how long work really takes, which start is refused, which node dies.
//! The scheduler learns of it only through inputs, which may come late, twice, or not at all.
//!
//! Work survives an interruption: what was done stays done, and the job's restart cost is added. An elastic ask that
//! runs at part of its width takes longer in proportion, unless its truth says how fast it really is.

mod act;
mod faults;
mod node;
mod resize;
mod returning;
mod submit;
mod workers;

pub use act::{Act, Attempt, Request};
pub use faults::{Delays, Faults};

use crate::dice::Dice;
use crate::truth::Speed;
use crate::workload::{Cluster, Submission};
use consort_types::*;
use node::Nodes;
use resize::{Effort, Resizing};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::sync::Arc;
use workers::Workers;

/// The world.
pub struct VirtualWorld {
    capabilities: Capabilities,
    delays: Delays,
    faults: Faults,
    dice: Dice,
    /// What somebody will do, in order of time.
    script: VecDeque<(Time, Act)>,
    submissions: Arc<[Submission]>,
    /// By job id: which submission it came from.
    jobs: Vec<u32>,
    withheld: Vec<Refusal>,
    /// Submitted and not yet known to be accepted.
    unanswered: Vec<(Arc<JobSpec>, u32)>,
    /// By submission: what became of it.
    ids: Vec<Option<JobId>>,
    live: BTreeMap<AllocationId, Live>,
    /// What was said about the end of allocations and may not be written down yet.
    unsettled: BTreeMap<AllocationId, Input>,
    /// Work left of asks that were interrupted.
    left: BTreeMap<AskId, Span>,
    /// By submission: how many of its next starts are refused.
    refusals: BTreeMap<u32, u32>,
    /// By submission: how many of its next resizes are refused.
    resize_refusals: BTreeMap<u32, u32>,
    nodes: Nodes,
    workers: Workers,
    effort: Effort,
    /// Starts refused, news late, news twice, resizes refused, resizes never confirmed.
    broken: [u64; 5],
    agenda: BinaryHeap<Reverse<(Time, u64, Happening)>>,
    said: u64,
}

/// What will be true at some time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Happening {
    Up(AllocationId),
    Refuse(AllocationId),
    /// With the generation at whose width it gets there.
    Over(AllocationId, Verdict, u32),
    /// It has the placement of this generation, or refuses it.
    Resized(AllocationId, u32),
    Gone(AllocationId),
    /// It says how far it is.
    Report(AllocationId),
    Heard(u64),
    /// With the number of the silence that it ends.
    Reconnect(NodeId, u32),
    LeaseOut(NodeId, u32),
    Emptied(NodeId, u32),
    /// A node that left says so again.
    Leaves(NodeId),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Verdict {
    Done,
    Broke,
}

/// An allocation as the world knows it.
#[derive(Clone, Debug)]
struct Live {
    /// Where its workers are, or may be.
    nodes: Vec<NodeId>,
    grants: Vec<Grant>,
    /// Set once its workers are up: since when, and at which fraction of its full speed.
    running: Option<(Time, u64, u64)>,
    /// The same fraction, before and after it runs.
    pace: (u64, u64),
    /// Work from when it came up, or from its last resize, to the end that it will come to; at full width.
    ahead: Option<(Span, Verdict)>,
    /// Resizes that were carried out.
    generation: u32,
    /// The last resize that was refused.
    refused: u32,
    resizing: Option<Resizing>,
    /// It was resized, and nobody was told.
    untold: bool,
    /// Its workers are no more; what is left is to say so.
    over: Option<Outcome>,
    leaving: bool,
}

impl VirtualWorld {
    /// A world for a cluster and what is submitted to it. Nothing breaks unless told.
    pub fn new(cluster: &Cluster, submissions: Arc<[Submission]>) -> Self {
        let script = submissions
            .iter()
            .enumerate()
            .map(|(index, submission)| (submission.at, Act::Submit(index as u32)));
        let mut world = VirtualWorld {
            capabilities: Capabilities::default(),
            delays: Delays::default(),
            faults: Faults::default(),
            dice: Dice::new(0),
            script: script.collect(),
            ids: vec![None; submissions.len()],
            submissions,
            jobs: vec![],
            withheld: vec![],
            unanswered: vec![],
            live: BTreeMap::new(),
            unsettled: BTreeMap::new(),
            left: BTreeMap::new(),
            refusals: BTreeMap::new(),
            resize_refusals: BTreeMap::new(),
            nodes: Nodes::new(cluster),
            workers: Workers::default(),
            effort: Effort::default(),
            broken: [0; 5],
            agenda: BinaryHeap::new(),
            said: 0,
        };
        world.script.make_contiguous().sort_by_key(|(at, _)| *at);
        world
    }

    /// The same with other abilities.
    pub fn able(mut self, capabilities: Capabilities) -> Self {
        self.capabilities = capabilities;
        self
    }

    /// The same with delays.
    pub fn delayed(mut self, delays: Delays) -> Self {
        self.delays = delays;
        self
    }

    /// The same with dice that break things.
    pub fn breaking(mut self, faults: Faults, seed: u64) -> Self {
        (self.faults, self.dice) = (faults, Dice::new(seed));
        self
    }

    /// Lets something happen later on, behind what was already planned for that instant.
    pub fn act_at(&mut self, at: Time, act: Act) {
        let place = self.script.partition_point(|(other, _)| *other <= at);
        self.script.insert(place, (at, act));
    }

    /// From now on the dice break nothing.
    pub fn calm(&mut self) {
        self.faults = Faults::default();
    }

    /// Nodes that nobody can hear just now.
    pub fn silent_nodes(&self) -> Vec<NodeId> {
        self.nodes.silent().collect()
    }

    /// What the dice broke so far: starts and resizes refused, news that came late, twice or never.
    pub fn misfortunes(&self) -> [(&'static str, u64); 5] {
        let [refused, late, twice, resize_refused, unconfirmed] = self.broken;
        [
            ("start refused", refused),
            ("late news", late),
            ("news came twice", twice),
            ("resize refused", resize_refused),
            ("resize never confirmed", unconfirmed),
        ]
    }

    /// Every time two live workers met on one device, or two attempts of one ask ran at once. Always empty, unless
    /// the scheduler is wrong.
    pub fn overlaps(&self) -> &[String] {
        self.workers.overlaps()
    }

    /// Every ask whose members did more or less work, all in all, than there was to do. Always empty.
    pub fn miscounts(&self) -> &[String] {
        self.effort.miscounts()
    }

    /// The same with exactly these acts, submissions among them. Acts of one instant happen in the order given.
    pub fn scripted(mut self, acts: impl IntoIterator<Item = (Time, Act)>) -> Self {
        self.script = acts.into_iter().collect();
        self.script.make_contiguous().sort_by_key(|(at, _)| *at);
        self
    }

    /// The job that a submission became, if it was accepted.
    pub fn job_of(&self, submission: usize) -> Option<JobId> {
        self.ids.get(submission).copied().flatten()
    }

    /// The submission that a job came from.
    pub fn submission_of(&self, job: JobId) -> Option<usize> {
        self.jobs.get(job.index()).map(|&index| index as usize)
    }

    fn later(&mut self, at: Time, happening: Happening) {
        self.said += 1;
        self.agenda.push(Reverse((at, self.said, happening)));
    }

    fn truth(&self, ask: AskId) -> Option<&Submission> {
        self.submissions.get(*self.jobs.get(ask.job.index())? as usize)
    }

    /// Work that an ask still has to do, at full width.
    fn work_left(&self, ask: AskId) -> Span {
        let full = self.truth(ask).and_then(|truth| truth.truth.lengths.get(usize::from(ask.stage)).copied());
        self.left.get(&ask).copied().or(full).unwrap_or(Span::ZERO)
    }

    fn restart_cost(&self, ask: AskId) -> Span {
        self.truth(ask).map_or(Span::ZERO, |truth| truth.spec.restart_cost)
    }

    // -- what happens

    fn up(&mut self, now: Time, id: AllocationId, inputs: &mut Vec<Input>) {
        let Some(live) = self.live.get_mut(&id) else { return };
        let is_heard = live.nodes.iter().all(|&node| !self.nodes.is_silent(node));
        if live.over.is_some() || live.leaving || live.running.is_some() || !is_heard {
            return; // brought up again when the node responds again
        }
        let (part, whole) = live.pace;
        live.running = Some((now, part, whole));
        self.come(now, id);
        let left = self.work_left(id.ask);
        let is_service = self.truth(id.ask).is_some_and(|truth| {
            matches!(truth.spec.stages[usize::from(id.ask.stage)].form, Form::Service { .. })
        });
        if !is_service {
            let breaks = id.ask.stage == 0
                && self.truth(id.ask).is_some_and(|truth| id.attempt <= truth.truth.failures);
            let (work, verdict) =
                if breaks { (Span(left.0 / 2), Verdict::Broke) } else { (left, Verdict::Done) };
            self.set_ahead(now, id, (work, verdict));
        }
        self.say(now, Input::Started(id), inputs);
        if !is_service && self.speed(id.ask).is_some_and(|speed| speed.steps.is_some()) {
            self.later(now + Speed::BEAT, Happening::Report(id));
        }
    }

    fn speed(&self, ask: AskId) -> Option<&Speed> {
        self.truth(ask)?.truth.speed.as_deref()
    }

    /// A job that runs says how far it is, and will again. Nobody hears it on a node that is silent.
    fn report(&mut self, now: Time, id: AllocationId, inputs: &mut Vec<Input>) {
        let Some(live) = self.live.get(&id).filter(|live| live.over.is_none()) else { return };
        let Some((since, part, whole)) = live.running else { return };
        let is_heard = live.nodes.iter().all(|&node| !self.nodes.is_silent(node));
        let length =
            self.truth(id.ask).map_or(Span::ZERO, |truth| truth.truth.lengths[usize::from(id.ask.stage)]);
        let left = self.work_left(id.ask) - (now - since).scaled(part, whole);
        let sample = self.speed(id.ask).and_then(|speed| speed.sample(left, length, (part, whole)));
        if let Some(sample) = sample.filter(|_| is_heard) {
            self.say(now, Input::Progress(vec![Report { allocation: id, sample }]), inputs);
        }
        self.later(now + Speed::BEAT, Happening::Report(id));
    }

    fn over(
        &mut self,
        now: Time,
        id: AllocationId,
        (verdict, generation): (Verdict, u32),
        inputs: &mut Vec<Input>,
    ) {
        let Some(live) = self.live.get_mut(&id) else { return };
        if live.over.is_some() || live.running.is_none() || live.generation != generation {
            return;
        }
        let outcome = match verdict {
            Verdict::Done => Outcome::Succeeded,
            Verdict::Broke => Outcome::Failed { code: 1, cause: Cause::Exit },
        };
        live.over = Some(outcome);
        if verdict == Verdict::Done {
            self.note_done(now, id);
        }
        match self.delays.ended {
            Span::ZERO => self.tell_ended(now, id, outcome, inputs),
            delay => self.later(now + delay, Happening::Gone(id)),
        }
    }

    fn tell_ended(&mut self, now: Time, id: AllocationId, outcome: Outcome, inputs: &mut Vec<Input>) {
        let Some(live) = self.live.get(&id) else { return };
        if live.nodes.iter().any(|&node| self.nodes.is_silent(node)) {
            return; // told when the node responds again, or never
        }
        if outcome != Outcome::Succeeded {
            self.note_progress(now, id);
        }
        self.live.remove(&id);
        self.workers.go(id);
        self.say(now, Input::over(id, outcome), inputs);
    }

    /// The workers of an allocation are gone because they were told to go.
    fn gone(&mut self, now: Time, id: AllocationId, inputs: &mut Vec<Input>) {
        let Some(live) = self.live.get_mut(&id) else { return };
        let outcome = *live.over.get_or_insert(Outcome::Stopped);
        self.tell_ended(now, id, outcome, inputs);
    }

    /// Remembers how much an interrupted ask still has to do. Once for each attempt: then it no longer runs.
    fn note_progress(&mut self, now: Time, id: AllocationId) {
        let Some((since, part, whole)) = self.live.get_mut(&id).and_then(|live| live.running.take()) else {
            return;
        };
        let ran = now - since;
        let done = ran.scaled(part, whole.max(1));
        let (left, cost) = (self.work_left(id.ask), self.restart_cost(id.ask));
        self.effort.ran(id.ask, part, ran);
        // The next attempt may be up before the end of this one is heard of: then it does not know how far this one got.
        let later = AllocationId { attempt: id.attempt + 1, ..id }..=AllocationId { attempt: u32::MAX, ..id };
        let is_late = self.live.range(later).next().is_some();
        self.effort.interrupted(id.ask, cost, is_late || done > left);
        self.left.insert(id.ask, (left - done).max(Span::ZERO) + cost);
    }

    /// Says something about allocations now, or late, or twice.
    fn say(&mut self, now: Time, input: Input, inputs: &mut Vec<Input>) {
        if let Some(ended) = input.ended() {
            self.unsettled.insert(ended, input.clone());
        }
        let late = self.faults.late(&mut self.dice);
        if let Some(delay) = self.faults.twice(&mut self.dice) {
            self.broken[2] += 1;
            let number = self.nodes.keep(input.clone());
            self.later(now + late.unwrap_or_default() + delay, Happening::Heard(number));
        }
        match late {
            None => inputs.push(input),
            Some(delay) => {
                self.broken[1] += 1;
                let number = self.nodes.keep(input);
                self.later(now + delay, Happening::Heard(number));
            }
        }
    }
}

impl World for VirtualWorld {
    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    fn desire(&mut self, now: Time, changes: &[Desired]) {
        for desired in changes {
            let id = desired.allocation;
            if self.unsettled.contains_key(&id) {
                continue; // it is over, and that was said
            }
            match &desired.wanted {
                Wanted::Run { placement, generation } if self.live.contains_key(&id) => {
                    self.resize(now, id, placement, *generation);
                }
                Wanted::Run { placement, generation } => self.bring_up(now, id, placement, *generation),
                Wanted::Gone => self.take_down(now, id),
            }
        }
    }

    fn next_at(&self) -> Option<Time> {
        let acts = self.script.front().map(|(at, _)| *at);
        let happenings = self.agenda.peek().map(|Reverse((at, ..))| *at);
        [acts, happenings].into_iter().flatten().min()
    }

    fn observe(&mut self, now: Time, inputs: &mut Vec<Input>) {
        self.unanswered.clear();
        while let Some(Reverse((at, ..))) = self.agenda.peek() {
            if *at > now {
                break;
            }
            let Some(Reverse((_, _, happening))) = self.agenda.pop() else { break };
            match happening {
                Happening::Up(id) => self.up(now, id, inputs),
                Happening::Refuse(id) => {
                    self.live.remove(&id);
                    self.workers.go(id);
                    self.broken[0] += 1;
                    self.say(
                        now,
                        Input::StartRefused { allocation: id, why: "the node could not start it".into() },
                        inputs,
                    );
                }
                Happening::Over(id, verdict, generation) => self.over(now, id, (verdict, generation), inputs),
                Happening::Resized(id, generation) => self.resized(now, id, generation, inputs),
                Happening::Gone(id) => self.gone(now, id, inputs),
                Happening::Report(id) => self.report(now, id, inputs),
                Happening::Heard(number) => inputs.extend(self.nodes.heard(number)),
                Happening::Reconnect(node, number) => self.reconnect(now, node, number, inputs),
                Happening::LeaseOut(node, number) => self.lease_out(now, node, number),
                Happening::Emptied(node, number) => self.emptied(now, node, number, inputs),
                Happening::Leaves(node) => self.leaves(node, inputs),
            }
        }
        while self
            .script
            .front()
            .is_some_and(|(at, act)| *at <= now && (inputs.is_empty() || !self.depends(act)))
        {
            let Some((_, act)) = self.script.pop_front() else { break };
            self.act(now, act, inputs);
        }
    }

    fn joined(&mut self, node: NodeId, first: DeviceId, spec: &NodeSpec) {
        self.nodes.joined(node, first, spec);
    }

    fn left(&mut self, node: NodeId) {
        self.nodes.left(node);
    }

    fn settled(&mut self, ended: &[AllocationId]) {
        for &id in ended {
            self.unsettled.remove(&id);
            if self.live.contains_key(&id) {
                self.dismiss(id);
            }
        }
    }

    fn refused(&mut self, now: Time, input: &Input, _refusal: &Refusal) {
        let spec = match input {
            Input::Submit(spec) => spec,
            Input::NodeReturned(node) => return self.return_refused(now, *node),
            Input::NodeLeft(node) => return self.leaving_refused(now, *node),
            _ => return,
        };
        // Everything after it in this batch moves up by one.
        let same = |entry: &&(Arc<JobSpec>, u32)| Arc::ptr_eq(&entry.0, spec);
        let Some(&(_, index)) = self.unanswered.iter().find(same) else { return };
        let position = self.jobs.iter().rposition(|&job| job == index).expect("we submitted it");
        self.jobs.remove(position);
        self.ids[index as usize] = None;
        for (job, &index) in self.jobs.iter().enumerate().skip(position) {
            self.ids[index as usize] = Some(JobId(job as u64 + 1));
        }
    }
}
