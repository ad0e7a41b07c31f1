//! The clock of the loop. Between two moments of the same boot only the time that really passed counts, also across
//! restarts of the daemon ([why](../../../docs/decisions/0014-time-is-counted-not-read.md)).
//!
//! The wall clock of a machine may be set at any moment, and no time limit may run out or be put off because of that.
//! So it is read at the first start after a boot, and at a start while no attempt runs; from then on the kernel's count since boot
//! is added (CLOCK_BOOTTIME, which goes on while the machine sleeps). A file in the data directory keeps which time
//! belonged to which count.

use crate::fault::Fault;
use crate::folder::write_private;
use consort_types::Time;
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::LazyLock;
use std::time::{SystemTime, UNIX_EPOCH};

/// The name of the file.
const FILE: &str = "clock";

/// Nanoseconds since 1970, never backwards.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    began: Time,
    /// The count at that moment.
    counted: i64,
}

/// What the file says: at this count of this boot it was this time.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    boot: String,
    counted_ns: i64,
    time_ns: i64,
}

/// Nanoseconds since the machine was switched on, asleep or not.
fn counted() -> i64 {
    let since = clock_gettime(ClockId::Boottime);
    since.tv_sec * 1_000_000_000 + since.tv_nsec
}

/// Which boot of which machine, and whose count: a container may have one of its own. None where the kernel does not say.
fn boot() -> Option<String> {
    let boot = Some(consort_agent::process::boot()).filter(|boot| !boot.is_empty())?;
    let count = std::fs::read_link("/proc/self/ns/time").unwrap_or_default();
    Some(format!("{boot} {}", count.display()))
}

/// The wall clock, for what is only told. `CONSORT_TEST_CLOCK_OFFSET` adds so many seconds to it.
pub fn wall() -> Time {
    static OFFSET: LazyLock<i64> = LazyLock::new(|| {
        let seconds =
            std::env::var("CONSORT_TEST_CLOCK_OFFSET").ok().and_then(|text| text.parse::<i64>().ok());
        seconds.unwrap_or(0).saturating_mul(1_000_000_000)
    });
    let since = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as i64);
    Time(since.saturating_add(*OFFSET).max(0))
}

impl Clock {
    /// Starts it now, but not before `last`, without a file.
    pub fn start(last: Time) -> Self {
        Self { began: wall().max(last), counted: counted() }
    }

    /// Goes on where an earlier daemon of this data directory was, `last` being the time of its last event. While no
    /// attempt runs, a wall clock that is ahead is taken over.
    pub fn open(folder: &Path, last: Time, is_busy: bool) -> Result<Self, Fault> {
        let boot = boot();
        let clock = Self::continued(folder, boot.as_deref(), last, is_busy);
        if let Some(boot) = boot {
            let kept = Kept { boot, counted_ns: clock.counted, time_ns: clock.began.0 };
            write_private(&folder.join(FILE), &serde_json::to_string(&kept).expect("plain data"))?;
        }
        Ok(clock)
    }

    fn continued(folder: &Path, boot: Option<&str>, last: Time, is_busy: bool) -> Self {
        let read = Self::start(last);
        let kept = crate::folder::read(&folder.join(FILE)).unwrap_or(None); // only a hint
        let kept: Option<Kept> = kept.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let Some(kept) = kept.filter(|kept| Some(kept.boot.as_str()) == boot) else { return read };
        let passed = read.counted.saturating_sub(kept.counted_ns);
        let began = Time(kept.time_ns.saturating_add(passed));
        // A count that went back, or is behind what the journal saw, is not the one that was kept.
        if passed < 0 || began < last || !is_busy {
            return read;
        }
        Self { began, ..read }
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

#[cfg(test)]
mod tests {
    use super::*;
    use consort_types::Span;

    const DAY: Span = Span::seconds(86_400);

    /// A clock that an earlier daemon kept, `ahead` of the wall clock, and what the next one makes of it.
    fn kept(boot: &str, ahead: Span, is_busy: bool) -> Span {
        let folder = tempfile::TempDir::new().expect("a folder");
        let kept = Kept { boot: boot.into(), counted_ns: counted(), time_ns: (wall() + ahead).0 };
        let text = serde_json::to_string(&kept).expect("plain data");
        write_private(&folder.path().join(FILE), &text).expect("there is room");
        let clock = Clock::continued(folder.path(), Some("this"), Time(1), is_busy);
        clock.now() - wall()
    }

    fn is_about(found: Span, expected: Span) -> bool {
        (found.0 - expected.0).abs() < Span::seconds(5).0
    }

    #[test]
    fn while_work_runs_the_count_decides() {
        assert!(is_about(kept("this", Span(DAY.0 * 3), true), Span(DAY.0 * 3)));
        assert!(is_about(kept("this", Span(-DAY.0 * 3), true), Span(-DAY.0 * 3)));
    }

    #[test]
    fn without_work_or_after_a_boot_the_wall_clock_decides() {
        assert!(is_about(kept("this", Span(-DAY.0 * 3), false), Span(0)));
        assert!(is_about(kept("another", Span(-DAY.0 * 3), true), Span(0)));
    }

    #[test]
    fn it_never_goes_back_behind_the_journal() {
        let folder = tempfile::TempDir::new().expect("a folder");
        let last = wall() + DAY;
        assert!(Clock::open(folder.path(), last, true).expect("there is room").now() >= last);
    }
}
