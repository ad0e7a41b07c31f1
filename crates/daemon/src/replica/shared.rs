//! Equal questions that wait at the same time are answered once.
//!
//! Sixty dashboards that ask for the same list cost one pass over the jobs, not sixty, and only when there is a queue of
//! questions at all: nothing is kept from one answer to the next, so no answer is older than its question.

use super::{Look, Replica};
use crate::mail::NotNow;
use consort_sched::Reading;
use consort_types::Time;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

/// By question, who asked it and waits for its turn.
type Asking<K, T> = Arc<Mutex<BTreeMap<K, Vec<oneshot::Sender<T>>>>>;

/// Questions of one kind, told apart by `K` and answered with `T`.
pub struct Shared<K, T>(Asking<K, T>);

impl<K, T> Default for Shared<K, T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

fn locked<V>(mutex: &Mutex<V>) -> MutexGuard<'_, V> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<K: Clone + Ord + Send + 'static, T: Clone + Send + 'static> Shared<K, T> {
    /// Asks, or joins those who asked the same and were not answered yet. Equal keys must mean equal questions.
    pub fn ask(
        &self,
        replica: &Replica,
        key: K,
        look: impl FnOnce(&Reading<'_>, Time) -> T + Send + 'static,
    ) -> Result<oneshot::Receiver<T>, NotNow> {
        let (sender, receiver) = oneshot::channel();
        let mut asking = locked(&self.0);
        let first = match asking.entry(key.clone()) {
            Entry::Occupied(mut others) => {
                others.get_mut().push(sender);
                return Ok(receiver);
            }
            Entry::Vacant(none) => none.insert(vec![sender]),
        };
        debug_assert_eq!(first.len(), 1);
        let all = self.0.clone();
        let (same, closing) = (key.clone(), all.clone());
        let turn = move || -> Look {
            let askers = locked(&closing).remove(&same).unwrap_or_default();
            Box::new(move |reading, now| {
                let answer = look(reading, now);
                for asker in askers {
                    let _ = asker.send(answer.clone()); // may have hung up
                }
            })
        };
        // Asked under the lock: those who join find a question that was taken.
        replica.ask(Box::new(turn)).inspect_err(|_| drop(asking.remove(&key)))?;
        Ok(receiver)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use consort_sched::{Scheduler, stock};
    use consort_types::{Capabilities, Input, KindSpec};
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    use std::sync::mpsc::channel;

    fn scheduler() -> Scheduler {
        Scheduler::new(stock::standard().policy(), Capabilities::default())
    }

    /// Keeps the thread that answers busy until the sender is dropped.
    fn hold(replica: &Replica) -> std::sync::mpsc::Sender<()> {
        let (go, wait) = channel::<()>();
        replica.look(Box::new(move |_, _| assert!(wait.recv().is_err()))).unwrap();
        go
    }

    #[test]
    fn equal_questions_are_answered_once_and_others_for_themselves() {
        let replica = Replica::start(scheduler(), Clock::start(Time::ZERO)).unwrap();
        let (shared, asked) = (Shared::default(), Arc::new(AtomicU32::new(0)));
        let go = hold(&replica);
        let ask = |key: u32| {
            let asked = asked.clone();
            let look = move |_: &Reading<'_>, _| (key, asked.fetch_add(1, Relaxed)).0;
            shared.ask(&replica, key, look).unwrap()
        };
        let answers: Vec<_> = [1, 2, 1, 1, 2].map(ask).into();
        drop(go);
        let answers: Vec<u32> = answers.into_iter().map(|answer| answer.blocking_recv().unwrap()).collect();
        assert_eq!((answers, asked.load(Relaxed)), (vec![1, 2, 1, 1, 2], 2));
        assert_eq!(ask(1).blocking_recv(), Ok(1));
        assert_eq!(asked.load(Relaxed), 3, "nothing is kept");
    }

    #[test]
    fn who_joins_sees_what_was_committed_before() {
        let mut scheduler = scheduler();
        let replica = Replica::start(scheduler.clone(), Clock::start(Time::ZERO)).unwrap();
        let shared = Shared::default();
        let ask = || shared.ask(&replica, (), |reading, _| reading.view().kinds().count()).unwrap();
        for count in 1..20 {
            let go = hold(&replica);
            let early = ask();
            let kind = Input::SetKind(KindSpec::named(format!("kind-{count}")));
            let event = scheduler.accept(Time::ZERO, kind).unwrap();
            scheduler.apply(&event);
            replica.committed(vec![event]);
            let late = ask();
            drop(go);
            assert_eq!((early.blocking_recv(), late.blocking_recv()), (Ok(count), Ok(count)));
        }
    }

    #[test]
    fn a_question_that_panics_is_not_waited_for() {
        let replica = Replica::start(scheduler(), Clock::start(Time::ZERO)).unwrap();
        let shared = Shared::<(), ()>::default();
        let answer = shared.ask(&replica, (), |_, _| panic!("a bug, on purpose")).unwrap();
        assert!(answer.blocking_recv().is_err());
        assert_eq!(shared.ask(&replica, (), |_, _| ()).unwrap().blocking_recv(), Ok(()));
    }
}
