//! Letters to the loop. Whoever wants something of the scheduler writes one; nobody else touches it.

use consort_types::{Actor, Input, JobId, Refusal, Work};
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// Letters that may lie there unread.
const ROOM: usize = 8_192;

/// What an input became.
pub type Answer = Result<Accepted, Refusal>;

/// An input was accepted and is on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// The job that a submission became.
    pub job: Option<JobId>,
    /// Its position in the journal.
    pub position: u64,
}

/// Something for the loop.
pub enum Letter {
    /// A request. Answered once it is on disk; an answer that never comes means "not now".
    Input {
        /// What is asked.
        input: Input,
        /// What a submission runs.
        work: Option<Box<Work>>,
        /// Who asks.
        actor: Actor,
        /// Where the answer goes.
        answer: oneshot::Sender<Answer>,
    },
    /// Several inputs for one batch: nothing is planned between them. Answered as [`Letter::Input`] is.
    Inputs {
        /// What is asked. No submissions.
        inputs: Vec<Input>,
        /// Who asks.
        actor: Actor,
        /// Where the answers go, in the same order.
        answer: oneshot::Sender<Vec<Answer>>,
    },
    /// Somebody waits for the end of a job.
    Wait {
        /// Which.
        job: JobId,
        /// Told once it has ended.
        answer: oneshot::Sender<()>,
    },
    /// A client asks whether the loop takes turns; answered at the end of one.
    Turn(oneshot::Sender<()>),
    /// The world has something to say.
    News,
    /// Go, after this batch.
    Stop,
}

/// There is no room for another letter, or nobody reads them any more.
#[derive(Debug)]
pub struct NotNow;

/// The one who writes.
#[derive(Clone)]
pub struct Mailbox {
    letters: SyncSender<(Instant, Letter)>,
    /// Whether a letter with news is already there.
    news: Arc<AtomicBool>,
}

/// The one who reads.
pub struct Letters {
    letters: Receiver<(Instant, Letter)>,
    news: Arc<AtomicBool>,
    remembered: Cell<bool>,
    /// How long requests lay there before they were read.
    waits: RefCell<Vec<Duration>>,
}

/// A mailbox and its reader.
pub fn mailbox() -> (Mailbox, Letters) {
    let (sender, receiver) = sync_channel(ROOM);
    let news = Arc::new(AtomicBool::new(false));
    (
        Mailbox { letters: sender, news: news.clone() },
        Letters { letters: receiver, news, remembered: Cell::new(false), waits: RefCell::default() },
    )
}

impl Mailbox {
    /// Puts a letter in.
    pub fn send(&self, letter: Letter) -> Result<(), NotNow> {
        self.letters.try_send((Instant::now(), letter)).map_err(|_| NotNow)
    }

    /// Asks the loop to go, and waits for room in the mailbox if need be.
    pub fn stop(&self) {
        let _ = self.letters.send((Instant::now(), Letter::Stop)); // nobody reads: then it is gone already
    }

    /// The world has something to say. Saying it twice before it was read is saying it once.
    pub fn news(&self) {
        if self.news.swap(true, Ordering::AcqRel) {
            return;
        }
        // The loop wakes up now and then anyway; a full mailbox means that it is awake.
        if let Err(TrySendError::Full(_)) = self.letters.try_send((Instant::now(), Letter::News)) {
            self.news.store(false, Ordering::Release);
        }
    }
}

impl Letters {
    /// The next letter, if one comes in time.
    pub fn next(&self, wait: Duration) -> Result<Letter, RecvTimeoutError> {
        if self.remembered.take() {
            return Ok(Letter::News);
        }
        let (sent, letter) = self.letters.recv_timeout(wait)?;
        self.read(sent, &letter);
        Ok(letter)
    }

    /// What else is there, up to so many.
    pub fn more(&self, most: usize) -> Vec<Letter> {
        let letters = self.letters.try_iter().take(most);
        letters.inspect(|(sent, letter)| self.read(*sent, letter)).map(|(_, letter)| letter).collect()
    }

    /// How long each request lay there that was read since the last call.
    pub fn take_waits(&self) -> Vec<Duration> {
        self.waits.take()
    }

    /// There was news that could not be heard yet.
    pub fn remember_news(&self) {
        self.remembered.set(true);
    }

    fn read(&self, sent: Instant, letter: &Letter) {
        match letter {
            Letter::News => self.news.store(false, Ordering::Release),
            Letter::Input { .. } | Letter::Inputs { .. } => self.waits.borrow_mut().push(sent.elapsed()),
            Letter::Wait { .. } | Letter::Turn(_) | Letter::Stop => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_millis(1);

    #[test]
    fn news_is_said_once_until_it_was_read() {
        let (mailbox, letters) = mailbox();
        mailbox.news();
        mailbox.news();
        assert!(matches!(letters.next(SOON), Ok(Letter::News)));
        assert!(letters.next(SOON).is_err());
        mailbox.news();
        assert!(matches!(letters.more(10)[..], [Letter::News]));
    }

    #[test]
    fn remembered_news_does_not_stand_in_the_way_of_others() {
        let (mailbox, letters) = mailbox();
        letters.remember_news();
        mailbox.stop();
        assert!(matches!(letters.next(SOON), Ok(Letter::News)));
        assert!(matches!(letters.next(SOON), Ok(Letter::Stop)));
    }

    #[test]
    fn a_full_mailbox_says_so() {
        let (mailbox, _letters) = mailbox();
        let sent = (0..ROOM + 1).map(|_| mailbox.send(Letter::News)).filter(Result::is_ok).count();
        assert_eq!(sent, ROOM);
    }
}
