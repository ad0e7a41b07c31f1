//! What has happened in a world and was not yet taken.
//!
//! For: worlds whose work is done by a thread of their own, while the loop that owns the scheduler must not wait.
//! Promises: what is said waits in order until it is taken; whoever owns the loop is woken whenever something new waits.
//! Never: loses anything because somebody panicked beside it.

use consort_types::{Input, Time};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Inputs that wait for the loop.
pub struct News {
    inputs: Mutex<Vec<Input>>,
    wake: Arc<dyn Fn() + Send + Sync>,
}

impl News {
    /// Nothing yet. `wake` is called, from the thread that says something, when there is something to take.
    pub fn new(wake: Arc<dyn Fn() + Send + Sync>) -> Self {
        Self { inputs: Mutex::default(), wake }
    }

    /// Something happened.
    pub fn push(&self, input: Input) {
        locked(&self.inputs).push(input);
        (self.wake)();
    }

    /// At once, if anything waits.
    pub fn next_at(&self) -> Option<Time> {
        (!locked(&self.inputs).is_empty()).then_some(Time(i64::MIN))
    }

    /// Hands over everything that waits.
    pub fn take(&self, inputs: &mut Vec<Input>) {
        inputs.append(&mut locked(&self.inputs));
    }
}

/// What is behind a lock, whatever became of whoever held it.
pub fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
