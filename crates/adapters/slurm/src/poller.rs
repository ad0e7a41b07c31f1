//! The one thread that talks to Slurm: submits, polls, cancels.
//!
//! Everything that may wait happens here, one thing after another. Each attempt is advanced by one function that may be
//! called at any time and as often as one likes: it compares what is with what is wanted and does the next thing. Slurm is
//! polled as often as is worth it: what is about to change soon, everything else in one sweep, and never for more than a
//! tenth of the time. Where memory and Slurm could differ, Slurm is believed.
//!
//! | read | for |
//! |---|---|
//! | `look` | polling nodes and jobs, and what their absence from an answer means |
//! | `search` | finding jobs of ours by their tag |
//! | `submit` | making a job, once |
//! | `advance` | the next thing to do about one attempt |

mod advance;
mod look;
mod pace;
mod search;
mod submit;

use crate::attempt::{Attempt, Rows, State};
use crate::board::Board;
use crate::census::{Belief, Census};
use crate::cluster::{self, Found};
use crate::engine::{Engine, Trouble};
use crate::folder::Folder;
use crate::shapes::Job;
use crate::world::Setup;
use consort_agent::launch::{Known, allocation_name};
use consort_agent::news::News;
use consort_agent::progress::Reports;
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
    Left(NodeId),
    /// All nodes that the scheduler knows and all that it desires have been told.
    Introduced,
    Refused(Input),
    /// End what is not among these; the sender is dropped when it is gone.
    Clear(BTreeSet<AllocationId>, Sender<()>),
    /// End everything; the sender is dropped when it is gone.
    Halt(Sender<()>),
    Quit,
}

/// How long Slurm may take to put away a job that has ended.
const LINGERS: Duration = Duration::from_secs(10);
/// Entries of folders that are removed in one turn.
const CLEANED: u32 = 5_000;
/// How often the folder is looked at for signs while something runs.
const SIGNS: Duration = Duration::from_millis(20);

/// The thread's own state.
pub(crate) struct Poller {
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
    /// What attempts had that ended just now, of which Slurm may not know yet.
    just_freed: Vec<(Instant, Vec<Grant>)>,
    /// Jobs whose attempts are over, and which Slurm may still be putting away.
    recent: BTreeMap<u64, Instant>,
    /// Looks at everything.
    sweep: Pace,
    /// Looks at what is about to change.
    glance: Pace,
    signs_at: Instant,
    /// What was last found out about a job: the tasks of one array come one after another.
    known: Option<Known>,
    /// What was last found by its tag.
    listed: Option<search::Listed>,
    /// What the scheduler believes of nodes that have not been introduced yet.
    beliefs: BTreeMap<String, Belief>,
    /// We know what the scheduler knows. Until then every node looks new, and every job like a stray.
    introduced: bool,
    /// How often in a row an ask has lost its workers without a reason.
    unexplained: BTreeMap<AskId, u32>,
    /// Attempts whose folders are to be removed: a job may have left a million files in one.
    trash: BTreeSet<AllocationId>,
    /// Those whose end somebody waits for.
    awaited: Vec<(Vec<AllocationId>, Sender<()>)>,
    reports: Reports,
}

impl Poller {
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
        let mut poller = Self {
            reports: folder.reports(board.faults()),
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
            just_freed: vec![],
            recent: BTreeMap::new(),
            sweep,
            glance,
            signs_at: Instant::now(),
            known: None,
            listed: None,
            beliefs,
            introduced: false,
            unexplained: BTreeMap::new(),
            trash: BTreeSet::new(),
            awaited: vec![],
        };
        let began = Instant::now();
        let nodes = poller.engine.nodes()?;
        poller.nodes = by_name(cluster::find(&nodes, &poller.setup.reading));
        let jobs = poller.engine.jobs()?;
        poller.found = poller.tagged(&jobs);
        poller.sweep.done(began.elapsed(), true);
        poller.board.looked(began.elapsed(), poller.nodes.len());
        Ok(poller)
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
        if !self.trash.is_empty() {
            return Duration::from_millis(1);
        }
        let mut at = self.sweep.at();
        if let Some(span) = self.reports.next() {
            at = at.min(now + span);
        }
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
        let reports = self.reports.due();
        if !reports.is_empty() {
            self.tell(Input::Progress(reports));
        }
        self.clean();
    }

    /// Removes folders that are not needed any more, so many entries at a time.
    fn clean(&mut self) {
        let mut budget = CLEANED;
        while let Some(&id) = self.trash.first()
            && self.folder.remove(id, &mut budget)
        {
            self.trash.remove(&id);
        }
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::Desire(changes) => {
                for Desired { allocation, wanted } in changes {
                    match wanted {
                        Wanted::Run { placement, .. } => self.run_desired(allocation, placement),
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
            Message::Introduced => self.introduced = true,
            Message::Left(node) => self.census.left(node),
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
            let nodes = self.folder.nodes(id);
            self.attempts.insert(id, Attempt { nodes, ..Attempt::new(id, state) });
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
                self.trash.insert(id);
            }
        }
    }

    /// Where an attempt is that nobody has asked about before.
    fn state_of(&mut self, id: AllocationId) -> State {
        let now = Instant::now();
        // The same name for other work: nothing of the old may be left. A journal that lost its end leads to this.
        if self.trash.remove(&id) {
            let mut all = u32::MAX;
            self.folder.remove(id, &mut all);
        }
        let found = self.found.remove(&id);
        let job = self.folder.noted(id).or(found);
        if let Some(job) = job {
            return State::InSlurm { job, since: now, rows: Rows::default(), missing: 0 };
        }
        if self.folder.begun(id) {
            // Slurm has forgotten it, and its number was never noted: what it wrote down is all there is.
            return State::InSlurm { job: 0, since: now, rows: Rows::default(), missing: 1 };
        }
        match self.folder.intent(id) {
            // A submission of somebody who died may still be under way.
            Some(intent) => {
                // Long ago, for most: one list of jobs does for all of these.
                let not_before = (now + self.engine.straggles()).checked_sub(intent.ago).unwrap_or(now);
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
            attempt.nodes = self.folder.nodes(id);
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

    fn tell(&self, input: Input) {
        self.news.push(input);
    }
}

/// The number of the first part of a job of several parts, and of the job itself otherwise.
fn leader(job: &Job) -> u64 {
    if job.whole > 0 { job.whole } else { job.id }
}

fn by_name(found: Vec<Found>) -> BTreeMap<String, Found> {
    found.into_iter().map(|node| (node.spec.name.clone(), node)).collect()
}
