//! The seam: desires in, inputs out.
//!
//! For: the loop that owns the scheduler, which must not wait for Slurm.
//! Promises: `desire` hands over and returns; what has happened waits in order until `observe` takes it; `wake` is called
//! whenever something new waits. The first `observe` says that the world has been introduced: whoever owns the loop tells
//! it of all nodes and of everything desired before. Until then no node is reported and no stray job is ended.
//! Never: ends a job because this value is dropped: jobs outlive the daemon, and the next world finds them.

use crate::board::Board;
use crate::census::{Belief, Census, OnDrain};
use crate::cluster::Reading;
use crate::engine::{Engine, Trouble};
use crate::folder::Folder;
use crate::layout::Portion;
use crate::poller::{Message, Poller};
use consort_agent::news::News;
use consort_types::*;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// What a Slurm world needs to know.
pub struct Setup {
    /// A folder that all nodes see under this path. Belongs to this world alone.
    pub shared: PathBuf,
    /// Begins the tag of every job of ours: `consort:1f3a`. No other daemon on this Slurm uses it.
    pub tag: String,
    /// How Slurm's answers are read.
    pub reading: Reading,
    /// What becomes of work on a node that is drained.
    pub on_drain: OnDrain,
    /// What every job says to Slurm.
    pub terms: Terms,
    /// What jobs get of a node beside their devices, when they do not say.
    pub portion: Portion,
    /// How often all nodes and jobs are looked at, at most.
    pub poll: Duration,
    /// How long Slurm may take to start a job on devices that are free.
    pub patience: Duration,
    /// Whoever knows what jobs run.
    pub works: Arc<dyn Works>,
    /// Called, from another thread, when there is something to observe.
    pub wake: Arc<dyn Fn() + Send + Sync>,
    /// What the scheduler believes of nodes it knows.
    pub beliefs: Vec<(String, Belief)>,
}

/// What every job says to Slurm.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    /// Whom Slurm charges.
    pub account: Option<String>,
    /// Slurm's quality of service.
    pub qos: Option<String>,
    /// Slurm's reservation.
    pub reservation: Option<String>,
}

/// What this world is able to do.
pub const CAPABILITIES: Capabilities = Capabilities {
    preempts: true,
    shares: false,
    grain: Grain::Node,
    resize: Resize::Restart,
    counts_hosts: true,
};

/// A Slurm cluster.
pub struct SlurmWorld {
    messages: Sender<Message>,
    news: Arc<News>,
    thread: Option<JoinHandle<()>>,
    board: Arc<Board>,
    /// Nodes and desires have been told.
    introduced: bool,
}

impl SlurmWorld {
    /// Opens the shared folder and looks at all nodes and jobs. Nothing is started, ended or reported before something
    /// is desired.
    pub fn open(engine: Box<dyn Engine>, setup: Setup) -> Result<Self, Trouble> {
        let folder = Folder::open(&setup.shared, engine.about().uid);
        let folder = folder.map_err(|error| Trouble::Refused(error.to_string()))?;
        let wake = setup.wake.clone();
        let news = Arc::new(News::new(wake.clone()));
        let board = Arc::new(Board::new(engine.about().clone()));
        let census = Census::new(setup.on_drain);
        let (messages, inbox) = channel();
        let mut poller = Poller::new(engine, setup, folder, census, inbox, news.clone(), board.clone())?;
        let spawned = std::thread::Builder::new().name("slurm-world".into()).spawn(move || poller.run());
        let thread = spawned.map_err(|error| Trouble::Away(format!("no thread: {error}")))?;
        wake(); // to be observed for the first time, although there is nothing to tell
        Ok(Self { messages, news, thread: Some(thread), board, introduced: false })
    }

    /// Whatever Slurm or the shared folder has under our tag and is not among these is nobody's. It is ended and removed
    /// without a report; returns once nothing of it is left, because its devices look free.
    pub fn clear_all_but(&mut self, desired: impl IntoIterator<Item = AllocationId>) {
        let (gone, all_gone) = channel::<()>();
        self.send(Message::Clear(desired.into_iter().collect(), gone));
        // Nobody sends: the other end is dropped when it is done. What Slurm cannot put away for so long is its own trouble;
        // its devices show as foreign use.
        let _ = all_gone.recv_timeout(Duration::from_secs(60));
    }

    /// Ends all work and waits until it is gone. Nothing is forgotten: a world that is opened later, and told that it is
    /// still desired, reports that it was stopped.
    pub fn halt(&mut self) {
        let (gone, all_gone) = channel::<()>();
        self.send(Message::Halt(gone));
        let _ = all_gone.recv();
    }

    /// What those who look can read without asking us.
    pub fn board(&self) -> Arc<Board> {
        self.board.clone()
    }

    fn send(&self, message: Message) {
        let alive = self.messages.send(message).is_ok();
        // Everything would hang without a word if this went unnoticed; the journal brings us back.
        assert!(alive, "the thread of the Slurm world is gone");
    }
}

impl World for SlurmWorld {
    fn capabilities(&self) -> Capabilities {
        CAPABILITIES
    }

    fn desire(&mut self, _now: Time, changes: &[Desired]) {
        if !changes.is_empty() {
            self.send(Message::Desire(changes.to_vec()));
        }
    }

    fn joined(&mut self, node: NodeId, first: DeviceId, spec: &NodeSpec) {
        self.send(Message::Joined(node, first, spec.clone()));
    }

    fn left(&mut self, node: NodeId) {
        self.send(Message::Left(node));
    }

    fn settled(&mut self, ended: &[AllocationId]) {
        for &allocation in ended {
            self.send(Message::Forget(allocation));
        }
    }

    fn refused(&mut self, _now: Time, input: &Input, _refusal: &Refusal) {
        self.send(Message::Refused(input.clone()));
    }

    fn next_at(&self) -> Option<Time> {
        if self.introduced { self.news.next_at() } else { Some(Time(i64::MIN)) }
    }

    fn observe(&mut self, _now: Time, inputs: &mut Vec<Input>) {
        // Not at the first desire, because there may be none; and not at the last node that joined, because the attempts
        // that keep a fenced node out are told after it. No loop observes before it has handed over both.
        if !self.introduced {
            self.introduced = true;
            self.send(Message::Introduced);
        }
        self.news.take(inputs);
        let alive = self.thread.as_ref().is_some_and(|thread| !thread.is_finished());
        assert!(alive, "the thread of the Slurm world is gone");
    }
}

impl Drop for SlurmWorld {
    fn drop(&mut self) {
        let _ = self.messages.send(Message::Quit);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
