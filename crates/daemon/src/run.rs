//! The loop: one owner of the scheduler, with a real clock, a real disk and a real world.
//!
//! For: turning letters (requests, the world's news, the passing of time) into events, durably.
//! Promises: nothing is answered, shown or done before it is on disk. What arrives while a batch is being written
//! waits and goes into the next one, so many requests share one wait for the disk. A disk without room stops the
//! accepting, not the process: the batch is kept and tried again until there is room.
//! Never: decides anything, and never waits for a client or for a worker.
//!
//! ```text
//! letters ─▶ accept, apply ─▶ plan ─▶ commit ─▶ answers, feed, desires ─▶ the next letters
//! ```

use crate::clock::Clock;
use crate::crash;
use crate::fault::Fault;
use crate::feed::Feed;
use crate::journal::{Batch, Journal, NotCommitted, Submission, snapshot};
use crate::mail::{Accepted, Answer, Letter, Letters};
use crate::meters::Meters;
use crate::replica::Replica;
use crate::rows;
use consort_api::Moment;
use consort_api::shapes::Rejection;
use consort_sched::{Ended, Held, Rollout, Scheduler, Watch};
use consort_types::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::RecvTimeoutError;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// Letters that go into one batch at most.
const BATCH: usize = 2_000;
/// How often a batch that found no room is tried again.
const AGAIN: Duration = Duration::from_millis(500);

/// The loop and everything it owns.
pub struct Run<W> {
    rollout: Rollout<Held<W>>,
    journal: Journal,
    clock: Clock,
    letters: Letters,
    feed: Arc<Feed>,
    meters: Arc<Meters>,
    replica: Replica,
    world_name: Arc<str>,
    waiting: BTreeMap<JobId, Vec<oneshot::Sender<()>>>,
    snapshots: Snapshots,
}

/// What a loop is made of.
pub struct Parts<W> {
    /// The state, as it was recovered.
    pub scheduler: Scheduler,
    /// The time.
    pub clock: Clock,
    /// What carries out the work.
    pub world: W,
    /// Where events go.
    pub journal: Journal,
    /// Requests.
    pub letters: Letters,
    /// Gets every event that was committed.
    pub feed: Arc<Feed>,
    /// Counts.
    pub meters: Arc<Meters>,
    /// Gets every event that was committed, and answers readers.
    pub replica: Replica,
    /// What the world is called, for the events that it causes.
    pub world_name: Arc<str>,
    /// How many events the last snapshot is behind.
    pub replayed: u64,
}

/// Writes down what happens and who caused it, for the batch.
struct Scribe {
    batch: Batch,
    /// Causes what is accepted without a client.
    world: Arc<str>,
    /// The client whose request is looked at just now.
    client: Option<Actor>,
    planning: Option<Instant>,
    plans: u64,
    plan_time: Duration,
}

impl Scribe {
    fn new(world: Arc<str>) -> Self {
        let (batch, planning, plan_time) = (Batch::default(), None, Duration::ZERO);
        Self { batch, world, client: None, planning, plans: 0, plan_time }
    }
}

impl Watch for Scribe {
    fn event(&mut self, event: &Event, _scheduler: &Scheduler) {
        let actor = match (&event.fact, &self.client) {
            (Fact::Planned(_), _) => Actor::Scheduler,
            (Fact::Accepted(_), Some(client)) => client.clone(),
            (Fact::Accepted(_), None) => Actor::World(self.world.clone()),
        };
        self.batch.events.push(Event { actor: Some(actor), ..event.clone() });
    }
    fn refused(&mut self, _at: Time, _input: &Input, refusal: &Refusal) {
        tracing::debug!(%refusal, "refused");
    }
    fn planning(&mut self) {
        self.planning = Some(Instant::now());
    }
    fn planned(&mut self, _plan: &Plan) {
        self.plans += 1;
        self.plan_time += self.planning.take().map_or(Duration::ZERO, |began| began.elapsed());
    }
    fn ended(&mut self, ended: Ended) {
        self.batch.ended.push(ended);
    }
}

/// How a loop came to its end.
pub struct Stopped<W> {
    /// The world, to be told what becomes of the work.
    pub world: W,
}

impl<W: World> Run<W> {
    /// Puts the parts together.
    pub fn new(parts: Parts<W>) -> Self {
        let Parts { scheduler, clock, world, journal, letters, feed, meters, replica, world_name, replayed } =
            parts;
        let snapshots = Snapshots::new(replayed);
        let rollout = Rollout::new(scheduler, Held::new(world));
        let waiting = BTreeMap::new();
        Run { rollout, journal, clock, letters, feed, meters, replica, world_name, waiting, snapshots }
    }

    /// Runs until somebody says stop, or the disk breaks.
    pub fn run(mut self) -> Result<Stopped<W>, Fault> {
        self.tell_world();
        loop {
            let mut letters = vec![];
            let wait = self.rollout.wake_at.map_or(Duration::from_secs(60), |at| self.clock.until(at));
            match self.letters.next(wait.min(Duration::from_secs(60))) {
                Ok(letter) => letters.push(letter),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(self.stop()),
            }
            letters.extend(self.letters.more(BATCH));
            if self.turn(letters)? {
                return Ok(self.stop());
            }
        }
    }

    /// One batch. Whether somebody said stop.
    fn turn(&mut self, letters: Vec<Letter>) -> Result<bool, Fault> {
        let now = self.clock.now();
        let mut scribe = Scribe::new(self.world_name.clone());
        self.journal.require_files()?;
        let has_room = self.look_for_room();
        let (mut answers, mut lists, mut waits, mut turns, mut stop) =
            (vec![], vec![], vec![], vec![], false);
        for letter in letters {
            match letter {
                // What only adds to the disk is refused, which a dropped answer says; what may free some is not.
                Letter::Input {
                    input: Input::Submit(_) | Input::SetTenant(_) | Input::SetQueue(_),
                    answer,
                    ..
                } if !has_room => {
                    drop(answer);
                }
                Letter::Input { input, work, actor, answer } => {
                    scribe.client = Some(actor);
                    answers.push((answer, self.input(now, input, work, &mut scribe)));
                    scribe.client = None;
                }
                Letter::Inputs { inputs, actor, answer } => {
                    scribe.client = Some(actor);
                    let each = |input| self.input(now, input, None, &mut scribe);
                    lists.push((answer, inputs.into_iter().map(each).collect()));
                    scribe.client = None;
                }
                Letter::Wait { job, answer } => waits.push((job, answer)),
                Letter::Turn(answer) => turns.push(answer),
                Letter::News => {}
                Letter::Stop => stop = true,
            }
        }
        self.rollout.world.asked = false;
        self.rollout.settle(now, &mut scribe);
        self.meters.waits(&self.letters.take_waits());
        self.meters.plans(scribe.plans, scribe.plan_time);
        self.report_rejections(now);
        let view = self.rollout.scheduler.view();
        let ran_on =
            scribe.batch.ended.iter().filter_map(|ended| Some((ended.job, rows::ran_on(&view, ended)?)));
        scribe.batch.ran_on = ran_on.collect();
        self.commit(&scribe.batch)?;
        self.snapshots.committed(&scribe.batch.events);
        self.replica.committed(std::mem::take(&mut scribe.batch.events));
        for (answer, result) in answers {
            let _ = answer.send(result); // a client that is gone needs no answer
        }
        for (answer, results) in lists {
            let _: Result<(), Vec<Answer>> = answer.send(results);
        }
        crash::point("after-answer");
        self.tell_world();
        self.rollout.world.settle();
        for ended in &scribe.batch.ended {
            for waiter in self.waiting.remove(&ended.job).unwrap_or_default() {
                let _ = waiter.send(());
            }
        }
        // Not before the commit: the job may have ended in this very batch.
        for (job, answer) in waits {
            self.wait(job, answer);
        }
        for turn in turns {
            let _ = turn.send(());
        }
        self.snapshots.perhaps(&self.rollout.scheduler, &self.journal);
        Ok(stop)
    }

    /// Tells about plans that broke a rule. They are not carried out; the next event asks the policy again.
    fn report_rejections(&mut self, at: Time) {
        for broken in self.rollout.scheduler.take_rejections() {
            let rule = format!("{:?}", broken.rule);
            tracing::error!(rule, "plan rejected, this is a bug in the policy: {broken}");
            self.meters.rejected(Rejection { at: Moment(at), rule, why: broken.to_string() });
        }
    }

    fn input(&mut self, now: Time, input: Input, work: Option<Box<Work>>, scribe: &mut Scribe) -> Answer {
        let job = self.rollout.scheduler.view().next_job();
        let is_submission = matches!(input, Input::Submit(_));
        if let Some(refusal) = self.rollout.input(now, input, scribe) {
            self.meters.refused();
            return Err(refusal);
        }
        let position = self.rollout.scheduler.view().seen();
        if let Some(work) = work.filter(|_| is_submission) {
            scribe.batch.works.push((job, Submission { position, work: *work }));
        }
        Ok(Accepted { job: is_submission.then_some(job), position })
    }

    fn wait(&mut self, job: JobId, answer: oneshot::Sender<()>) {
        match self.rollout.scheduler.view().job(job) {
            Some(_) => {
                let waiting = self.waiting.entry(job).or_default();
                waiting.retain(|other| !other.is_closed());
                waiting.push(answer);
            }
            None => drop(answer.send(())), // ended, or never there: the one who asked looks for itself
        }
    }

    /// Whether there is room for more than what is already under way. What clients ask for is refused before the disk is
    /// full, so that what happens to running work can still be written down.
    fn look_for_room(&mut self) -> bool {
        let has_room = self.journal.has_room();
        self.set_full(!has_room);
        has_room
    }

    fn set_full(&self, full: bool) {
        match (self.meters.set_full(full), full) {
            (false, true) => {
                tracing::error!("the disk of the journal is full: no new submissions until there is space")
            }
            (true, false) => tracing::info!("the journal can be written again"),
            _ => {}
        }
    }

    /// Puts a batch on disk, however long there is no room for it.
    fn commit(&mut self, batch: &Batch) -> Result<(), Fault> {
        let began = Instant::now();
        self.once_there_is_room(|journal| journal.commit(batch))?;
        if !batch.events.is_empty() {
            crash::point("after-commit");
            self.meters.committed(batch, began.elapsed());
            self.once_there_is_room(Journal::acknowledge)?;
            self.feed.publish(self.journal.last() + 1 - batch.events.len() as u64, batch);
        }
        Ok(())
    }

    fn once_there_is_room(
        &mut self,
        mut write: impl FnMut(&mut Journal) -> Result<(), NotCommitted>,
    ) -> Result<(), Fault> {
        loop {
            match write(&mut self.journal) {
                Ok(()) => return Ok(()),
                Err(NotCommitted::Broken(fault)) => return Err(fault),
                Err(NotCommitted::Full) => {
                    self.set_full(true);
                    self.while_full()?;
                }
            }
        }
    }

    /// Waits for room. Whoever asks meanwhile is told "not now": what is in memory is ahead of the disk.
    fn while_full(&mut self) -> Result<(), Fault> {
        let until = Instant::now() + AGAIN;
        let mut news = false;
        while let Some(left) = until.checked_duration_since(Instant::now()) {
            match self.letters.next(left) {
                Ok(Letter::Wait { .. } | Letter::Turn(_) | Letter::Input { .. } | Letter::Inputs { .. })
                | Err(RecvTimeoutError::Timeout) => {}
                Ok(Letter::News) => news = true,
                Ok(Letter::Stop) | Err(RecvTimeoutError::Disconnected) => {
                    let what = "the disk of the journal is full, and the last batch was not written";
                    return Err(Fault::new(
                        what,
                        "free some space and start again; everything acknowledged is safe",
                    ));
                }
            }
        }
        if news {
            self.letters.remember_news();
        }
        Ok(())
    }

    fn tell_world(&mut self) {
        if !self.rollout.world.desires.is_empty() {
            crash::point("before-desire");
            self.rollout.world.hand_over(self.clock.now());
        }
    }

    fn stop(mut self) -> Stopped<W> {
        self.snapshots.finish(&self.rollout.scheduler, &self.journal);
        if let Err(fault) = self.journal.close() {
            tracing::warn!(%fault, "the write-ahead log was not merged into the journal; the next start does it");
        }
        Stopped { world: self.rollout.world.world }
    }
}

/// Writes snapshots beside the loop, one at a time.
struct Snapshots {
    every: u64,
    /// What replaying everything since the last one would cost, in events.
    behind: u64,
    writing: Option<JoinHandle<()>>,
}

/// Events after which a snapshot is worth its while, unless `CONSORT_SNAPSHOT_EVERY` says otherwise.
const EVERY: u64 = 50_000;

impl Snapshots {
    fn new(behind: u64) -> Self {
        let every =
            std::env::var("CONSORT_SNAPSHOT_EVERY").ok().and_then(|text| text.parse().ok()).unwrap_or(EVERY);
        Self { every, behind, writing: None }
    }

    fn committed(&mut self, events: &[Event]) {
        self.behind += events.iter().map(snapshot::weight).sum::<u64>();
    }

    fn perhaps(&mut self, scheduler: &Scheduler, journal: &Journal) {
        if self.behind < self.every || self.writing.as_ref().is_some_and(|writing| !writing.is_finished()) {
            return;
        }
        self.behind = 0;
        let (saved, folder, identity) =
            (scheduler.save(), journal.folder().to_path_buf(), journal.identity());
        self.writing = Some(std::thread::spawn(move || match snapshot::write(&folder, &saved, identity) {
            Ok(bytes) => tracing::info!(position = saved.seen(), bytes, "snapshot written"),
            Err(fault) => tracing::warn!(%fault, "cannot write a snapshot"),
        }));
    }

    fn finish(&mut self, scheduler: &Scheduler, journal: &Journal) {
        if let Some(writing) = self.writing.take() {
            let _ = writing.join();
        }
        if let Err(fault) = journal.write_snapshot(&scheduler.save()) {
            tracing::warn!(%fault, "cannot write a snapshot");
        }
    }
}
