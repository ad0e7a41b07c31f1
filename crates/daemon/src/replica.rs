//! A second scheduler for readers, so that reading never delays deciding.
//!
//! The loop sends every committed batch of events here. A thread of its own applies them, which gives an equal scheduler
//! because `apply` is deterministic, and answers all questions about the state: lists, explanations, figures.
//!
//! A client that was answered sees what it changed: the loop sends a batch before it answers, and every question is
//! answered from what was sent before its turn came. While the disk is full, readers see the last state that is on disk.
//!
//! A question that panics is logged and gets no answer. The caches it may have left halfway are dropped; the state cannot
//! be touched by a question.

mod shared;

pub use shared::Shared;

use crate::clock::Clock;
use crate::mail::NotNow;
use consort_sched::{Reading, Scheduler};
use consort_types::{Event, JobSpec, Time};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::*};
use std::sync::mpsc::{Receiver, Sender, channel};

/// Questions that may wait for an answer; more are refused.
const MOST: usize = 8_192;

/// A question about the state.
pub type Look = Box<dyn FnOnce(&Reading<'_>, Time) + Send>;

/// Called when the turn of a question has come: from then on nobody joins it.
type Turn = Box<dyn FnOnce() -> Look + Send>;

enum Message {
    Committed(Vec<Event>),
    Question(Turn),
}

/// The way to the thread that answers.
#[derive(Clone)]
pub struct Replica {
    messages: Sender<Message>,
    /// Questions that were not answered yet.
    open: Arc<AtomicUsize>,
    /// Batches that were sent.
    sent: Arc<AtomicU64>,
}

impl Replica {
    /// Starts the thread. It ends when the last `Replica` is dropped.
    pub fn start(scheduler: Scheduler, clock: Clock) -> std::io::Result<Self> {
        let (messages, inbox) = channel();
        let open = Arc::new(AtomicUsize::new(0));
        let sent = Arc::new(AtomicU64::new(0));
        let reader = Reader {
            scheduler,
            clock,
            inbox,
            open: open.clone(),
            sent: sent.clone(),
            applied: 0,
            freed: 0,
            turns: VecDeque::new(),
        };
        std::thread::Builder::new().name("reads".into()).spawn(move || reader.run())?;
        Ok(Self { messages, open, sent })
    }

    /// These events are on disk.
    pub fn committed(&self, events: Vec<Event>) {
        if !events.is_empty() {
            let _ = self.messages.send(Message::Committed(events)); // nobody reads any more: the daemon is going
            self.sent.fetch_add(1, Release);
        }
    }

    /// Asks a question.
    pub fn look(&self, look: Look) -> Result<(), NotNow> {
        self.ask(Box::new(move || look))
    }

    fn ask(&self, turn: Turn) -> Result<(), NotNow> {
        if self.open.fetch_add(1, Relaxed) >= MOST {
            self.open.fetch_sub(1, Relaxed);
            return Err(NotNow);
        }
        self.messages.send(Message::Question(turn)).map_err(|_| NotNow)
    }
}

/// Nice of the thread: where processors are short, deciding and answering submissions go first. On Linux this is set for
/// each thread by itself.
const NICE: i32 = 10;

/// Asks of jobs that ended since memory was last given back, so many that they held tens of megabytes. The allocator would
/// keep what they held for other jobs of their size, of which there may never be another.
const WORTH_GIVING_BACK: u64 = 100_000;

fn asks(spec: &JobSpec) -> u64 {
    spec.stages.iter().map(|stage| u64::from(stage.form.asks())).sum()
}

/// What the thread works with.
struct Reader {
    scheduler: Scheduler,
    clock: Clock,
    inbox: Receiver<Message>,
    open: Arc<AtomicUsize>,
    sent: Arc<AtomicU64>,
    /// Batches that were applied.
    applied: u64,
    /// Asks of jobs that ended since memory was last given back.
    freed: u64,
    /// Questions that were met on the way to a batch.
    turns: VecDeque<Turn>,
}

impl Reader {
    fn run(mut self) {
        let _ = rustix::process::setpriority_process(None, NICE); // without it reading is only less polite
        loop {
            if let Some(turn) = self.turns.pop_front() {
                let look = turn();
                // Up to what was sent before anybody who shares this turn could have joined, and no further: commits
                // that never pause must not keep a question waiting.
                let goal = self.sent.load(Acquire);
                while self.applied < goal
                    && let Ok(message) = self.inbox.try_recv()
                {
                    self.take(message);
                }
                self.answer(look);
            } else if let Ok(message) = self.inbox.recv() {
                self.take(message);
            } else {
                return;
            }
        }
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::Committed(events) => self.apply(&events),
            Message::Question(turn) => self.turns.push_back(turn),
        }
    }

    fn apply(&mut self, events: &[Event]) {
        self.applied += 1;
        for event in events {
            self.scheduler.apply(event);
            self.freed += self.scheduler.take_ended().iter().map(|ended| asks(&ended.spec)).sum::<u64>();
            self.scheduler.forget_outboxes();
        }
        // The loop has dropped the same jobs by now. Here nobody waits for a decision.
        if self.freed >= WORTH_GIVING_BACK {
            self.freed = 0;
            consort_agent::heap::give_back();
        }
    }

    fn answer(&mut self, look: Look) {
        let reading = self.scheduler.reading();
        let asked = catch_unwind(AssertUnwindSafe(|| look(&reading, self.clock.now())));
        self.open.fetch_sub(1, Relaxed);
        if asked.is_err() {
            tracing::error!("a query panicked and was dropped: this is a bug");
            self.scheduler.drop_caches();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use consort_sched::stock;
    use consort_types::{Capabilities, Input, KindSpec};

    fn kinds(replica: &Replica) -> usize {
        let (sender, receiver) = channel();
        let look = move |reading: &Reading<'_>, _: Time| sender.send(reading.view().kinds().count()).unwrap();
        replica.look(Box::new(look)).unwrap();
        receiver.recv().unwrap()
    }

    #[test]
    fn what_was_committed_before_a_question_is_seen_by_it() {
        let mut scheduler = Scheduler::new(stock::standard().policy(), Capabilities::default());
        let replica = Replica::start(scheduler.clone(), Clock::start(Time::ZERO)).unwrap();
        for count in 1..50 {
            let kind = Input::SetKind(KindSpec::named(format!("kind-{count}")));
            let event = scheduler.accept(Time::ZERO, kind).unwrap();
            scheduler.apply(&event);
            replica.committed(vec![event]);
            assert_eq!(kinds(&replica), count);
        }
    }

    #[test]
    fn a_question_that_panics_harms_no_other() {
        let scheduler = Scheduler::new(stock::standard().policy(), Capabilities::default());
        let replica = Replica::start(scheduler, Clock::start(Time::ZERO)).unwrap();
        replica.look(Box::new(|_, _| panic!("a bug, on purpose"))).unwrap();
        assert_eq!(kinds(&replica), 0);
    }

    #[test]
    fn too_many_questions_are_refused() {
        let scheduler = Scheduler::new(stock::standard().policy(), Capabilities::default());
        let replica = Replica::start(scheduler, Clock::start(Time::ZERO)).unwrap();
        let (go, wait) = channel::<()>();
        replica.look(Box::new(move |_, _| assert!(wait.recv().is_err()))).unwrap();
        let taken = (0..MOST + 5).filter(|_| replica.look(Box::new(|_, _| {})).is_ok()).count();
        assert_eq!(taken, MOST - 1);
        drop(go);
        // All of them are answered before another one is asked: one place that is free is taken at once by the next.
        while replica.open.load(Relaxed) > 0 {
            std::thread::yield_now();
        }
        assert_eq!(kinds(&replica), 0);
    }
}
