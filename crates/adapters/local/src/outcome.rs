//! What comes of an allocation, from what came of its workers.
//!
//! For: one place that decides, and a table of tests beside it.
//! Promises: looks only at how workers ended, whether their going was desired, and whether any was ever let go; so a
//! daemon that comes back decides the same.
//! Never: blames the work for what was asked of it.

use consort_agent::status::Exited;
use consort_types::{Cause, Outcome};

/// The status of work whose end nobody saw: whatever was left of it was killed.
const KILLED: i32 = 128 + 9;

/// How one worker ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Its shim said so.
    Exited(Exited),
    /// It began and its shim left no word of its end: the shim was killed under our eyes, or the record was removed or
    /// spoiled. Counts as a failure, so that work that does this to itself is not tried without end.
    Lost(String),
    /// Its shim died while no daemon was there, or the machine went down: not the work's fault.
    Vanished,
    /// It was never begun.
    Void,
}

/// What comes of it all. Absent when nothing of it ever ran: then it was not started.
pub(crate) fn judge(ends: &[End], gone_is_desired: bool, released: bool) -> Option<Outcome> {
    let exits =
        || ends.iter().filter_map(|end| if let End::Exited(exited) = end { Some(exited) } else { None });
    if !ends.is_empty() && exits().filter(|exited| exited.is_success()).count() == ends.len() {
        return Some(Outcome::Succeeded);
    }
    if gone_is_desired {
        return Some(Outcome::Stopped);
    }
    if !released {
        return None;
    }
    // A worker that ran out of device memory is why its gang failed, even if another worker ended first.
    let rank = |exited: &&Exited| (exited.cause != Cause::DeviceMemory, exited.at_ms);
    let first = exits().filter(|exited| !exited.stopped && exited.code != 0).min_by_key(rank);
    let is_lost = ends.iter().any(|end| matches!(end, End::Lost(_)));
    Some(match first {
        Some(exited) => Outcome::Failed { code: exited.code, cause: exited.cause },
        None if is_lost => Outcome::Failed { code: KILLED, cause: Cause::Signal },
        // Also what was reported as started and yet never began: that is our trouble, not the work's. The keeper is wary
        // from then on, so that the next attempt is refused instead of being tried at once without end.
        None => Outcome::Stopped,
    })
}

/// Why it failed, if that is not told by its status.
pub(crate) fn why(ends: &[End], outcome: Outcome) -> Option<&str> {
    let lost = ends.iter().find_map(|end| if let End::Lost(why) = end { Some(why.as_str()) } else { None });
    lost.filter(|_| outcome == Outcome::Failed { code: KILLED, cause: Cause::Signal })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exit(code: i32, at_ms: u64) -> End {
        End::Exited(Exited { code, cause: Cause::Exit, stopped: false, at_ms })
    }

    fn lost() -> End {
        End::Lost("its record is gone".into())
    }

    fn stopped(code: i32) -> End {
        End::Exited(Exited { code, cause: Cause::Signal, stopped: true, at_ms: 0 })
    }

    #[test]
    fn all_must_succeed() {
        assert_eq!(judge(&[exit(0, 1), exit(0, 2)], false, true), Some(Outcome::Succeeded));
        assert_eq!(judge(&[exit(0, 1), exit(0, 2)], true, true), Some(Outcome::Succeeded));
        assert_eq!(judge(&[exit(0, 1), stopped(143)], true, true), Some(Outcome::Stopped));
    }

    #[test]
    fn the_first_to_fail_gives_the_outcome() {
        let failed = |code| Some(Outcome::Failed { code, cause: Cause::Exit });
        assert_eq!(judge(&[exit(1, 9), exit(3, 5), stopped(143)], false, true), failed(3));
        assert_eq!(judge(&[exit(1, 9), lost()], false, true), failed(1));
        assert_eq!(judge(&[exit(1, 9)], true, true), Some(Outcome::Stopped));
    }

    #[test]
    fn device_memory_is_the_reason_even_if_another_worker_ends_first() {
        let full = Exited { code: 1, cause: Cause::DeviceMemory, stopped: false, at_ms: 9 };
        let outcome = judge(&[exit(7, 2), End::Exited(full)], false, true);
        assert_eq!(outcome, Some(Outcome::Failed { code: 1, cause: Cause::DeviceMemory }));
    }

    #[test]
    fn what_ended_without_a_record_has_failed_unless_it_was_to_go() {
        let outcome = Outcome::Failed { code: 137, cause: Cause::Signal };
        assert_eq!(judge(&[lost(), exit(0, 1), stopped(143)], false, true), Some(outcome));
        assert_eq!(why(&[exit(0, 1), lost()], outcome), Some("its record is gone"));
        assert_eq!(judge(&[lost()], true, true), Some(Outcome::Stopped));
        assert_eq!(why(&[lost()], Outcome::Stopped), None);
    }

    #[test]
    fn what_was_never_let_go_was_not_started() {
        assert_eq!(judge(&[stopped(0), lost()], false, false), None);
        assert_eq!(judge(&[End::Void], false, true), Some(Outcome::Stopped));
        assert_eq!(judge(&[End::Void], true, false), Some(Outcome::Stopped));
        assert_eq!(judge(&[End::Vanished], false, true), Some(Outcome::Stopped));
        assert_eq!(judge(&[], true, false), Some(Outcome::Stopped));
    }
}
