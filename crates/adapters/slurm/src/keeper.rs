//! The one thread that talks to Slurm.
//!
//! For: everything that may wait (submissions, looks, cancels) happens here, one thing after another.
//! Promises: each attempt is advanced by one function that may be called at any time and as often as one likes; it looks
//! at what is, compares with what is wanted, and does the next thing. Slurm is asked as often as is worth it: what is
//! about to change is looked at soon, everything else in one sweep, and never for more than a tenth of the time.
//! Never: trusts its memory over Slurm where the two could differ.

mod advance;
mod pace;
mod submit;

use crate::attempt::{Attempt, Rows, Sight, State, sight};
use crate::board::Board;
use crate::census::{Belief, Census};
use crate::cluster::{self, Found};
use crate::engine::{Engine, Trouble};
use crate::folder::Folder;
use crate::shapes::Job;
use crate::world::Setup;
use consort_agent::launch::{Known, allocation_name, allocation_of};
use consort_agent::news::News;
use consort_types::*;
use pace::Pace;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

/// What the world hands over.
pub(crate) enum Message {
    Desire(Vec<Desired>),
    Forget(AllocationId),
    Joined(NodeId, DeviceId, NodeSpec),
    Refused(Input),
    /// End what is not among these; the sender is dropped when it is gone.
    Clear(BTreeSet<AllocationId>, Sender<()>),
    /// End everything; the sender is dropped when it is gone.
    Halt(Sender<()>),
    Quit,
}

/// How long Slurm may take to put away a job that has ended.
const LINGERS: Duration = Duration::from_secs(10);
/// How often the folder is looked at for signs while something runs.
const SIGNS: Duration = Duration::from_millis(20);

/// The thread's own state.
pub(crate) struct Keeper {
    engine: Box<dyn Engine>,
    setup: Setup,
    folder: Folder,
    census: Census,
    inbox: Receiver<Message>,
    news: Arc<News>,
    board: Arc<Board>,
    attempts: BTreeMap<AllocationId, Attempt>,
    /// Jobs that were found under our tag and that nobody has asked about yet.
    found: BTreeMap<AllocationId, u64>,
    /// Nodes as they were last seen, by name.
    nodes: BTreeMap<String, Found>,
    /// Devices of attempts that ended just now, of which Slurm may not know yet.
    just_freed: BTreeMap<DeviceId, Instant>,
    /// Jobs whose attempts are over, and which Slurm may still be putting away.
    recent: BTreeMap<u64, Instant>,
    /// Looks at everything.
    sweep: Pace,
    /// Looks at what is about to change.
    glance: Pace,
    signs_at: Instant,
    /// What was last found out about a job: the tasks of one array come one after another.
    known: Option<Known>,
    /// What was last found by its tag, and when Slurm was asked.
    listed: Option<(Instant, BTreeMap<AllocationId, u64>)>,
    /// What the scheduler believes of nodes that have not been introduced yet.
    beliefs: BTreeMap<String, Belief>,
    /// Those whose end somebody waits for.
    awaited: Vec<(Vec<AllocationId>, Sender<()>)>,
}

impl Keeper {
    pub fn new(
        engine: Box<dyn Engine>,
        mut setup: Setup,
        folder: Folder,
        census: Census,
        inbox: Receiver<Message>,
        news: Arc<News>,
        board: Arc<Board>,
    ) -> Result<Self, Trouble> {
        let sweep = Pace::new(setup.poll, Duration::from_secs(60), 10);
        let glance = Pace::new(Duration::from_millis(150), Duration::from_secs(2), 8);
        setup.shared = folder.shared().to_path_buf();
        let beliefs = std::mem::take(&mut setup.beliefs).into_iter().collect();
        let mut keeper = Self {
            engine,
            setup,
            folder,
            census,
            inbox,
            news,
            board,
            attempts: BTreeMap::new(),
            found: BTreeMap::new(),
            nodes: BTreeMap::new(),
            just_freed: BTreeMap::new(),
            recent: BTreeMap::new(),
            sweep,
            glance,
            signs_at: Instant::now(),
            known: None,
            listed: None,
            beliefs,
            awaited: vec![],
        };
        let began = Instant::now();
        let nodes = keeper.engine.nodes()?;
        keeper.nodes = by_name(cluster::find(&nodes, &keeper.setup.reading));
        let jobs = keeper.engine.jobs()?;
        keeper.found = keeper.tagged(&jobs);
        // The next look is one pause away: until then we are told which nodes the scheduler knows.
        keeper.sweep.done(began.elapsed(), true);
        keeper.board.looked(began.elapsed(), keeper.nodes.len());
        Ok(keeper)
    }

    pub fn run(&mut self) {
        loop {
            let pause = self.pause();
            let first = match self.inbox.recv_timeout(pause) {
                Ok(message) => Some(message),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            let mut messages: Vec<Message> = first.into_iter().collect();
            messages.extend(self.inbox.try_iter());
            for message in messages {
                if matches!(message, Message::Quit) {
                    return;
                }
                self.take(message);
            }
            self.turn();
            let is_over = |id: &AllocationId| self.attempts.get(id).is_none_or(|found| found.done);
            self.awaited.retain(|(all, _)| !all.iter().all(is_over));
        }
    }

    /// Until something is due.
    fn pause(&self) -> Duration {
        let now = Instant::now();
        let mut at = self.sweep.at();
        if self.attempts.values().any(Attempt::is_restless) {
            at = at.min(self.glance.at());
        }
        for attempt in self.attempts.values() {
            match &attempt.state {
                // While nobody answers, nothing is submitted before the next look.
                State::Wanted { not_before, .. } if !self.sweep.is_silent() => at = at.min(*not_before),
                State::Wanted { .. } => {}
                State::InSlurm { .. } => at = at.min(self.signs_at + SIGNS),
                State::Over => {}
            }
        }
        at.saturating_duration_since(now).max(Duration::from_millis(1))
    }

    fn turn(&mut self) {
        let now = Instant::now();
        if now >= self.signs_at + SIGNS && self.attempts.values().any(|one| one.job().is_some()) {
            self.signs_at = now;
            self.read_signs();
        }
        if now >= self.sweep.at() {
            self.sweep();
        } else if now >= self.glance.at() && self.attempts.values().any(Attempt::is_restless) {
            self.glance();
        }
        let unsettled = |attempt: &&Attempt| {
            let is_wanted = matches!(attempt.state, State::Wanted { not_before, .. } if not_before <= now);
            is_wanted || attempt.leaving.is_some()
        };
        let ids: Vec<AllocationId> = self.attempts.values().filter(unsettled).map(|one| one.id).collect();
        for id in ids {
            self.advance(id);
        }
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::Desire(changes) => {
                for Desired { allocation, wanted } in changes {
                    match wanted {
                        Wanted::Run(placement) => self.run_desired(allocation, placement),
                        Wanted::Gone => self.gone_desired(allocation),
                    }
                }
            }
            Message::Forget(id) => self.forget(id),
            Message::Joined(node, first, spec) => {
                self.census.joined(node, first, &spec);
                if let Some(belief) = self.beliefs.remove(&spec.name) {
                    self.census.believe(&spec.name, belief);
                }
            }
            Message::Refused(input) => self.census.refused(&input),
            Message::Clear(desired, gone) => {
                let others = self.clear(&desired);
                self.awaited.push((others, gone));
            }
            Message::Halt(gone) => {
                let all: Vec<AllocationId> = self.attempts.keys().copied().collect();
                all.iter().for_each(|&id| self.gone_desired(id));
                self.awaited.push((all, gone));
            }
            Message::Quit => {}
        }
    }

    fn run_desired(&mut self, id: AllocationId, placement: Placement) {
        if self.attempts.contains_key(&id) {
            return;
        }
        let state = self.state_of(id);
        let mut attempt = Attempt::new(id, state);
        attempt.placement = Some(placement);
        self.attempts.insert(id, attempt);
        self.advance(id);
    }

    fn gone_desired(&mut self, id: AllocationId) {
        if !self.attempts.contains_key(&id) {
            let state = self.state_of(id);
            self.attempts.insert(id, Attempt::new(id, state));
        }
        if let Some(attempt) = self.attempts.get_mut(&id) {
            attempt.gone_is_desired = true;
        }
        self.advance(id);
    }

    fn forget(&mut self, id: AllocationId) {
        match self.attempts.get_mut(&id) {
            Some(attempt) if !attempt.done => {
                (attempt.forgotten, attempt.gone_is_desired) = (true, true);
                self.advance(id);
            }
            _ => {
                tracing::debug!(attempt = allocation_name(id), "forgotten");
                self.attempts.remove(&id);
                self.folder.remove(id);
            }
        }
    }

    /// Where an attempt is that nobody has asked about before.
    fn state_of(&mut self, id: AllocationId) -> State {
        let now = Instant::now();
        let found = self.found.remove(&id);
        let job = self.folder.noted(id).or(found);
        if let Some(job) = job {
            return State::InSlurm { job, since: now, rows: Rows::default(), missing: 0 };
        }
        if self.folder.begun(id) {
            // Slurm has forgotten it, and its number was never noted: what it wrote down is all there is.
            return State::InSlurm { job: 0, since: now, rows: Rows::default(), missing: 1 };
        }
        match self.folder.intended(id) {
            // A submission of somebody who died may still be under way.
            Some(ago) => {
                // Long ago, for most: one list of jobs does for all of these.
                let not_before = (now + self.engine.straggles()).checked_sub(ago).unwrap_or(now);
                State::Wanted { not_before, search: true }
            }
            None => State::Wanted { not_before: now, search: false },
        }
    }

    /// Whoever is there and is not desired is nobody's.
    fn clear(&mut self, desired: &BTreeSet<AllocationId>) -> Vec<AllocationId> {
        let there: BTreeSet<AllocationId> = self.found.keys().copied().chain(self.folder.all()).collect();
        let is_other = |id: &&AllocationId| !desired.contains(id) && !self.attempts.contains_key(id);
        let others: Vec<AllocationId> = there.iter().filter(is_other).copied().collect();
        for &id in &others {
            let state = self.state_of(id);
            let mut attempt = Attempt::new(id, state);
            (attempt.gone_is_desired, attempt.forgotten) = (true, true);
            self.attempts.insert(id, attempt);
            self.advance(id);
        }
        others
    }

    fn read_signs(&mut self) {
        for id in self.folder.signs() {
            self.signed(id);
        }
    }

    /// Looks at all nodes and all jobs.
    fn sweep(&mut self) {
        let (began, was_silent) = (Instant::now(), self.sweep.is_silent());
        self.board.asks();
        let seen = self.engine.nodes().and_then(|nodes| Ok((nodes, self.engine.jobs()?)));
        self.sweep.done(began.elapsed(), seen.is_ok());
        let (nodes, jobs) = match seen {
            Ok(seen) => seen,
            Err(trouble) => return self.board.silent(trouble.words()),
        };
        // In Slurm's order, so that ids are given in an order that people recognise.
        let found = cluster::find(&nodes, &self.setup.reading);
        if found.is_empty() && !self.nodes.is_empty() {
            return self.board.silent("it tells of no node in the partition");
        }
        self.board.answered();
        let mut ours: BTreeSet<DeviceId> =
            self.attempts.values().filter(|one| !one.done).flat_map(Attempt::devices).collect();
        ours.extend(self.just_freed.keys());
        self.just_freed.retain(|_, at| at.elapsed() < LINGERS);
        self.recent.retain(|_, at| at.elapsed() < 6 * LINGERS);
        for input in self.census.compare(&found, &ours) {
            self.news.push(input);
        }
        self.nodes = by_name(found);
        self.end_strays(&jobs);
        if was_silent {
            // What could not be seen was no waiting of Slurm's.
            for attempt in self.attempts.values_mut() {
                attempt.waits_anew();
            }
        }
        let ids: Vec<u64> = self.attempts.values().filter_map(Attempt::job).collect();
        self.absorb(&ids, &jobs);
        self.board.looked(began.elapsed(), self.nodes.len());
        self.glance.done(began.elapsed(), true);
    }

    /// Looks at jobs that are about to change.
    fn glance(&mut self) {
        let restless = self.attempts.values().filter(|one| one.is_restless());
        let ids: Vec<u64> = restless.filter_map(Attempt::job).collect();
        self.look_at(&ids);
    }

    fn look_at(&mut self, ids: &[u64]) {
        if ids.is_empty() {
            return;
        }
        let began = Instant::now();
        self.board.asks();
        match self.engine.look(ids) {
            Ok(jobs) => {
                self.board.answered();
                self.glance.done(began.elapsed(), true);
                self.absorb(ids, &jobs);
            }
            Err(trouble) => {
                self.board.silent(trouble.words());
                self.glance.done(began.elapsed(), false);
            }
        }
    }

    /// What Slurm says of these jobs. Those it does not mention it does not know.
    fn absorb(&mut self, asked: &[u64], jobs: &[Job]) {
        let asked: BTreeSet<u64> = asked.iter().copied().collect();
        let mut rows: BTreeMap<u64, Vec<&Job>> = BTreeMap::new();
        for job in jobs {
            let leader = if job.whole > 0 { job.whole } else { job.id };
            if asked.contains(&leader) {
                rows.entry(leader).or_default().push(job);
            }
        }
        let mut changed = vec![];
        for attempt in self.attempts.values_mut() {
            let State::InSlurm { job, rows: known, missing, .. } = &mut attempt.state else { continue };
            if !asked.contains(job) {
                continue;
            }
            let is_new = match rows.get(job) {
                Some(now) => {
                    *missing = 0;
                    known.update(now)
                }
                None => {
                    *missing += 1;
                    true
                }
            };
            if is_new || !attempt.is_settled() {
                changed.push(attempt.id);
            }
        }
        for id in changed {
            self.advance(id);
        }
    }

    /// The job under the tag of an attempt, if there was one at this time or later. One list answers for all that may
    /// have come about before it was made.
    fn found_since(&mut self, id: AllocationId, not_before: Instant) -> Result<Option<u64>, Trouble> {
        if self.listed.as_ref().is_none_or(|(at, _)| *at < not_before) {
            let at = Instant::now();
            let jobs = self.engine.jobs()?;
            self.listed = Some((at, self.tagged(&jobs)));
        }
        Ok(self.listed.as_ref().and_then(|(_, tagged)| tagged.get(&id).copied()))
    }

    /// Jobs under our tag that nobody desires: the number of a first part by attempt.
    fn tagged(&self, jobs: &[Job]) -> BTreeMap<AllocationId, u64> {
        let prefix = format!("{}:", self.setup.tag);
        let tagged = |job: &Job| {
            let id = allocation_of(job.comment.strip_prefix(&prefix)?)?;
            Some((id, if job.whole > 0 { job.whole } else { job.id }))
        };
        let mut all = BTreeMap::new();
        for (id, job) in jobs.iter().filter_map(tagged) {
            // Should there be two after all, the first is the one that began.
            let first = all.entry(id).or_insert(job);
            *first = (*first).min(job);
        }
        all
    }

    /// Ends jobs under our tag that belong to nothing we know: they came about after we had given up on them.
    fn end_strays(&mut self, jobs: &[Job]) {
        let prefix = format!("{}:", self.setup.tag);
        for job in jobs {
            // Most are somebody else's: that is seen first.
            let Some(name) = job.comment.strip_prefix(&prefix) else { continue };
            if sight(std::slice::from_ref(job)) == Sight::Over {
                continue;
            }
            let Some(id) = allocation_of(name) else { continue };
            let leader = if job.whole > 0 { job.whole } else { job.id };
            let is_ours = match self.attempts.get(&id) {
                Some(attempt) => match attempt.state {
                    State::InSlurm { job, .. } => job == leader,
                    State::Wanted { .. } => true, // found by its tag before it is submitted again
                    State::Over => false,
                },
                None => self.found.contains_key(&id), // nobody has asked about it yet
            };
            if !is_ours && !self.recent.contains_key(&leader) {
                tracing::warn!(
                    job = leader,
                    attempt = allocation_name(id),
                    "a job that nobody desires is ended"
                );
                let _ = self.engine.cancel(leader);
            }
        }
    }

    fn tell(&self, input: Input) {
        self.news.push(input);
    }
}

fn by_name(found: Vec<Found>) -> BTreeMap<String, Found> {
    found.into_iter().map(|node| (node.spec.name.clone(), node)).collect()
}
