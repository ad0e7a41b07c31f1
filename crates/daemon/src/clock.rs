//! The clock of the loop: wall time when it starts, and from then on only what really passed.
//!
//! Somebody may set the machine's clock at any moment. Nothing here may run out or be put off because of that, so the
//! wall clock is read once. Time spent asleep counts as passed. A start with a clock that is behind the journal goes on from the journal's last event.

use consort_types::Time;
use rustix::time::{ClockId, clock_gettime};
use std::time::{SystemTime, UNIX_EPOCH};

/// Nanoseconds since 1970, never backwards.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    began: Time,
    /// What the machine's own count since it was switched on said then.
    counted: i64,
}

/// Nanoseconds since the machine was switched on, asleep or not.
fn counted() -> i64 {
    let since = clock_gettime(ClockId::Boottime);
    since.tv_sec * 1_000_000_000 + since.tv_nsec
}

/// The wall clock, for what is only told.
pub fn wall() -> Time {
    Time(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as i64))
}

impl Clock {
    /// Starts it now, but not before `last`.
    pub fn start(last: Time) -> Self {
        Self { began: wall().max(last), counted: counted() }
    }

    /// The time.
    pub fn now(&self) -> Time {
        Time(self.began.0.saturating_add(counted() - self.counted))
    }

    /// How long until then; nothing when it has passed.
    pub fn until(&self, at: Time) -> std::time::Duration {
        std::time::Duration::from_nanos((at - self.now()).0.max(0) as u64)
    }
}
