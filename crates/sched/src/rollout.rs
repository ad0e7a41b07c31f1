//! A small event engine: a scheduler and a world, run forward together.
//!
//! This is the loop, written once. The simulator runs it with a virtual world; forecasts run it on a clone of the
//! scheduler; the daemon's loop is the same with a real clock and a disk in the middle. At one instant: everything
//! the world has to say is accepted and applied, then one plan is made, then the world is told what is newly
//! desired; and again, until nothing stirs. Then time jumps to the next instant at which anything can happen.

use crate::scheduler::{Ended, Scheduler};
use consort_types::*;

/// Sees everything that happens, and may not interfere.
pub trait Watch {
    /// An event was applied.
    fn event(&mut self, _event: &Event, _scheduler: &Scheduler) {}
    /// An input was refused.
    fn refused(&mut self, _at: Time, _input: &Input, _refusal: &Refusal) {}
    /// A plan is about to be made.
    fn planning(&mut self) {}
    /// A plan was made; it may be empty.
    fn planned(&mut self, _plan: &Plan) {}
    /// A job left the state.
    fn ended(&mut self, _ended: Ended) {}
}

/// Plans in one instant that take something back. Rules that disagree could go round in circles; after so many, the next
/// event decides.
const TAKES: u32 = 1_000;

/// For those who do not care.
impl Watch for () {}

/// A scheduler and a world.
pub struct Rollout<W> {
    /// Decides.
    pub scheduler: Scheduler,
    /// Carries out and reports.
    pub world: W,
    /// When time alone could change the plan.
    pub wake_at: Option<Time>,
    /// Plans made so far.
    pub plan_calls: u64,
    /// Inputs accepted, refused, and plans committed so far.
    pub events: u64,
    inputs: Vec<Input>,
    /// Whether something started since the last plan.
    started: bool,
}

impl<W: World> Rollout<W> {
    /// Puts the two together and tells the world everything desired.
    pub fn new(scheduler: Scheduler, mut world: W) -> Self {
        let now = scheduler.view().now();
        for node in scheduler.view().nodes() {
            world.joined(node.id, node.first, node.spec);
        }
        let desires = scheduler.all_desires();
        if !desires.is_empty() {
            world.desire(now, &desires);
        }
        let wake_at = scheduler.is_stirred().then_some(now); // whoever starts makes a plan
        Rollout { scheduler, world, wake_at, plan_calls: 0, events: 0, inputs: vec![], started: false }
    }

    /// The next instant at which anything can happen.
    pub fn next_at(&self) -> Option<Time> {
        [self.world.next_at(), self.wake_at].into_iter().flatten().min()
    }

    /// Runs until nothing can happen any more, or `until` has passed.
    pub fn run(&mut self, until: Time, watch: &mut impl Watch) {
        while self.next_at().is_some_and(|at| at <= until) {
            self.step(watch);
        }
    }

    /// Plays one instant. Returns it, or `None` when nothing can happen any more.
    pub fn step(&mut self, watch: &mut impl Watch) -> Option<Time> {
        let now = self.next_at()?;
        self.settle(now, watch);
        Some(now)
    }

    /// Everything that is to happen at this instant, until nothing stirs.
    pub fn settle(&mut self, now: Time, watch: &mut impl Watch) {
        if self.wake_at.is_some_and(|at| at <= now) {
            self.wake_at = None;
            self.scheduler.stirred = true;
        }
        let mut takes = 0;
        loop {
            let mut inputs = std::mem::take(&mut self.inputs);
            if self.world.next_at().is_some_and(|at| at <= now) {
                self.world.observe(now, &mut inputs);
            }
            for input in inputs.drain(..) {
                self.input(now, input, watch);
            }
            self.inputs = inputs;
            self.tell(now);
            if self.scheduler.is_stirred() && takes < TAKES {
                takes += u32::from(self.plan(now, watch));
            } else if self.world.next_at().is_none_or(|at| at > now) {
                if std::mem::take(&mut self.started) {
                    self.wake_at = [self.wake_at, self.scheduler.wake_at(now)].into_iter().flatten().min();
                }
                return;
            }
        }
    }

    /// One input, through `accept` and `apply`. Returns why not, if it was refused.
    pub fn input(&mut self, now: Time, input: Input, watch: &mut impl Watch) -> Option<Refusal> {
        self.events += 1;
        self.started |= matches!(input, Input::Started(_));
        let ended = input.ended();
        let refusal = match self.scheduler.accept(now, input.clone()) {
            Err(refusal) => {
                self.world.refused(now, &input, &refusal);
                if let Some(unknown) = self.scheduler.answer_stale(&input) {
                    self.world.settled(&[unknown]);
                }
                watch.refused(now, &input, &refusal);
                Some(refusal)
            }
            Ok(event) => {
                self.commit(event, watch);
                None
            }
        };
        if let Some(ended) = ended {
            // Refused or not, it is known here. Whoever has a disk in the middle settles once it is there.
            self.world.settled(&[ended]);
        }
        refusal
    }

    /// Makes a plan and commits it. Whether it takes something back.
    fn plan(&mut self, now: Time, watch: &mut impl Watch) -> bool {
        watch.planning();
        let plan = self.scheduler.plan(now);
        self.plan_calls += 1;
        watch.planned(&plan);
        (self.wake_at, self.started) = (plan.wake_at, false);
        let is_stop = |change: &Move| matches!(change, Move::Stop { .. });
        let takes_back = plan.moves.iter().any(is_stop);
        if !plan.is_empty() {
            self.events += 1;
            let at = now.max(self.scheduler.view().now());
            self.commit(Event::new(at, Fact::Planned(plan)), watch);
            self.tell(now);
        }
        takes_back
    }

    fn commit(&mut self, event: Event, watch: &mut impl Watch) {
        self.scheduler.apply(&event);
        if let Fact::Accepted(Input::NodeJoined(spec)) = &event.fact
            && let Some(node) = self.scheduler.view().node(&spec.name)
        {
            let first = self.scheduler.state.cluster.nodes[node.index()].first;
            self.world.joined(node, DeviceId(first), spec);
        }
        if let Fact::Accepted(Input::NodeLeft(node)) = event.fact {
            self.world.left(node);
        }
        watch.event(&event, &self.scheduler);
        if !self.scheduler.ended.is_empty() {
            self.scheduler.take_ended().into_iter().for_each(|ended| watch.ended(ended));
        }
    }

    fn tell(&mut self, now: Time) {
        if self.scheduler.has_desires() {
            let desires = self.scheduler.take_desires();
            self.world.desire(now, &desires);
        }
    }
}
