//! How often something is worth doing.
//!
//! For: looks that cost Slurm time. Promises: never more often than `least`, never for more than one part in `share` of
//! the time, and at least once in `most`; rarer while nobody answers, and rarer when nothing comes of it.

use std::time::{Duration, Instant};

pub(crate) struct Pace {
    least: Duration,
    most: Duration,
    share: u32,
    next: Instant,
    /// How often in a row nobody answered.
    silent: u32,
    /// How often in a row it was done without somebody saying that it is urgent.
    idle: u32,
}

impl Pace {
    pub fn new(least: Duration, most: Duration, share: u32) -> Self {
        Self { least, most, share, next: Instant::now(), silent: 0, idle: 0 }
    }

    /// When it is next due.
    pub fn at(&self) -> Instant {
        self.next
    }

    /// Whether the last one was in vain.
    pub fn is_silent(&self) -> bool {
        self.silent > 0
    }

    /// It was done, took so long, and somebody answered or not.
    pub fn done(&mut self, took: Duration, answered: bool) {
        self.silent = if answered { 0 } else { (self.silent + 1).min(6) };
        self.idle = (self.idle + 1).min(100);
        let patience = self.least * (1 + self.idle / 20);
        let wait = patience.max(took * self.share) + Duration::from_millis(500) * self.silent;
        self.next = Instant::now() + wait.clamp(self.least, self.most);
    }

    /// Something is happening: from now on it is worth a look again.
    pub fn hurry(&mut self) {
        self.idle = 0;
        if self.silent == 0 {
            self.next = self.next.min(Instant::now() + self.least);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_costs_much_is_done_rarely() {
        let mut pace = Pace::new(Duration::from_secs(1), Duration::from_secs(60), 10);
        let wait = |pace: &Pace| pace.at().saturating_duration_since(Instant::now()).as_secs_f64().round();
        pace.done(Duration::from_millis(10), true);
        assert_eq!(wait(&pace), 1.0);
        pace.done(Duration::from_secs(2), true);
        assert_eq!(wait(&pace), 20.0);
        pace.done(Duration::from_secs(20), true);
        assert_eq!(wait(&pace), 60.0);
        pace.hurry();
        assert_eq!(wait(&pace), 1.0);
        for _ in 0..10 {
            pace.done(Duration::ZERO, false);
        }
        assert!(pace.is_silent() && wait(&pace) >= 4.0);
    }
}
