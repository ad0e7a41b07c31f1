//! What comes of an allocation, from what came of its workers.
//!
//! For: one place that decides, and a table of tests beside it.
//! Promises: looks only at how workers ended, whether their going was desired, and whether any was ever let go; so a
//! daemon that comes back decides the same.
//! Never: blames the work for what was asked of it.

use consort_agent::status::Exited;
use consort_types::Outcome;

/// How one worker ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Its shim said so.
    Exited(Exited),
    /// Its shim died; what was left of it is gone.
    Lost,
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
    let first =
        exits().filter(|exited| !exited.stopped && exited.code != 0).min_by_key(|exited| exited.at_ms);
    Some(match first {
        Some(exited) => Outcome::Failed { code: exited.code, cause: exited.cause },
        // Also what was reported as started and yet never began: that is our trouble, not the work's. The keeper is wary
        // from then on, so that the next attempt is refused instead of being tried at once without end.
        None => Outcome::Stopped,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use consort_types::Cause;

    fn exit(code: i32, at_ms: u64) -> End {
        End::Exited(Exited { code, cause: Cause::Exit, stopped: false, at_ms })
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
        assert_eq!(judge(&[exit(1, 9), End::Lost], false, true), failed(1));
        assert_eq!(judge(&[exit(1, 9)], true, true), Some(Outcome::Stopped));
    }

    #[test]
    fn what_was_never_let_go_was_not_started() {
        assert_eq!(judge(&[stopped(0), End::Lost], false, false), None);
        assert_eq!(judge(&[End::Void], false, true), Some(Outcome::Stopped));
        assert_eq!(judge(&[End::Void], true, false), Some(Outcome::Stopped));
        assert_eq!(judge(&[End::Lost], false, true), Some(Outcome::Stopped));
        assert_eq!(judge(&[], true, false), Some(Outcome::Stopped));
    }
}
