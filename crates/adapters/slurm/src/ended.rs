//! What comes of an attempt, from how Slurm says its job ended.
//!
//! For: one place that decides, and a table of tests beside it.
//! Promises: looks only at Slurm's last word, at what the job itself wrote down, and at whether its going was desired; so
//! a daemon that comes back decides the same. Whatever was not the work's own doing is told in words.
//!
//! Work that exits with 0 has succeeded if it did so by itself. If its script says that it was asked to go before it ended,
//! it was stopped, whoever asked: a trainer that saves and leaves is not done. The script can tell, we cannot: the request
//! and the end may cross on the way. Where the script says nothing, what was to go was stopped.
//! Never: blames the work for what Slurm, an administrator or we did to it.

use consort_types::{Cause, Outcome};

/// How Slurm says that a job ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastWord {
    /// Its number.
    pub job: u64,
    /// `COMPLETED`, `FAILED`, `TIMEOUT`; empty when Slurm does not know it any more.
    pub state: String,
    /// The exit status as a shell would tell it.
    pub code: i32,
    /// How often Slurm began it anew.
    pub restarts: u64,
}

/// What the job wrote down at its end, in its own folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The status of the first worker that failed, or 0.
    pub code: i32,
    /// What kind of failure it was, as far as it could tell.
    pub cause: Cause,
    /// Who says so.
    pub teller: Teller,
    /// A worker had been asked to go when it ended: it had seen the marker or the signal.
    pub asked: bool,
}

impl Record {
    /// It ended by itself and well.
    pub fn is_success(&self) -> bool {
        self.code == 0 && !self.asked
    }
}

/// Who says how it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Teller {
    /// The first worker that failed, or all of them.
    Worker,
    /// `srun`, before any worker began.
    Srun,
    /// `srun`, after workers had begun of which none said anything: they were lost.
    Nobody,
}

/// The status of a script that found that it had begun before.
pub const BEGUN_BEFORE: i32 = 75;
/// The status of a script that could not see its folder.
pub const NO_FOLDER: i32 = 72;

/// The status of a script whose record of the end could not be written: the job has removed or replaced its own folder.
pub const NO_RECORD: i32 = 77;

/// The status of a script whose `srun` came back before all workers had said that they were done.
pub const LOST: i32 = 76;

/// What comes of it, and what there is to say about that.
pub fn judge(last: &LastWord, record: Option<&Record>, gone_is_desired: bool) -> (Outcome, Option<String>) {
    let job = last.job;
    let done = match record {
        Some(record) => record.is_success(),
        None => last.state == "COMPLETED" && !gone_is_desired,
    };
    if done {
        return (Outcome::Succeeded, None);
    }
    if gone_is_desired {
        return (Outcome::Stopped, None);
    }
    let said = |words: String| Some(words);
    let failed = |code, cause| Outcome::Failed { code, cause };
    match last.state.as_str() {
        _ if last.restarts > 0 => (Outcome::Stopped, said(format!("Slurm requeued its job {job}"))),
        "OUT_OF_MEMORY" => out_of_memory(job),
        "TIMEOUT" | "DEADLINE" => (
            failed(143, Cause::TimeLimit),
            said(format!("Slurm's own time limit for job {job} was reached; check MaxTime of the partition")),
        ),
        "CANCELLED" => {
            (failed(143, Cause::Cancelled), said(format!("job {job} was cancelled in Slurm")))
        }
        "PREEMPTED" => (Outcome::Stopped, said(format!("Slurm preempted job {job} for another job"))),
        "NODE_FAIL" => (Outcome::Stopped, said(format!("Slurm lost a node of job {job}"))),
        "BOOT_FAIL" => (Outcome::Stopped, said(format!("a node of job {job} did not boot"))),
        "REVOKED" => (Outcome::Stopped, said(format!("Slurm revoked job {job}"))),
        "" if record.is_none() => {
            (Outcome::Stopped, said(format!("Slurm no longer knows job {job}, and it left no record")))
        }
        _ => match record {
            Some(Record { cause: Cause::OutOfMemory, .. }) => out_of_memory(job),
            Some(Record { teller: Teller::Nobody, .. }) => {
                (Outcome::Stopped, said(format!("Slurm job {job} lost its workers")))
            }
            // No work was done: the node may have died under srun, of which Slurm need not have heard yet.
            Some(Record { teller: Teller::Srun, code, .. }) if *code != 0 => (
                Outcome::Stopped,
                said(format!("srun of Slurm job {job} ended with status {code} before any worker started")),
            ),
            Some(Record { code: 0, .. }) => {
                (Outcome::Stopped, said(format!("Slurm job {job} was signalled to end, not by Consort")))
            }
            Some(Record { cause: cause @ (Cause::NotRun | Cause::DeviceMemory), code, .. }) => {
                (failed(*code, *cause), None)
            }
            // Signals that a worker died of look like this to a shell.
            Some(Record { code: code @ 129..=192, .. }) => (failed(*code, Cause::Signal), None),
            Some(Record { code, .. }) => (failed(*code, Cause::Exit), None),
            None if last.code == BEGUN_BEFORE => {
                (Outcome::Stopped, said(format!("Slurm started job {job} a second time; it was not run twice")))
            }
            None if last.code == LOST => {
                (Outcome::Stopped, said(format!("Slurm job {job} lost workers before they finished")))
            }
            // Counted as a failure, so that retries bound it.
            None if last.code == NO_RECORD => (
                failed(NO_RECORD, Cause::Exit),
                said(format!("Slurm job {job} ended without a record: it removed or replaced its own folder")),
            ),
            None if last.code == NO_FOLDER => (
                failed(NO_FOLDER, Cause::NotRun),
                said("the shared folder cannot be written on the node: is it on a file system that all nodes have?".into()),
            ),
            // Trying it again at once would end the same way, without end: that is what retries are counted for.
            None => (
                failed(last.code.max(1), Cause::NotRun),
                said(format!("Slurm job {job} failed with status {} before its workers started", last.code)),
            ),
        },
    }
}

/// Whether workers never began, were lost without a word, or left early, without a reason that Slurm knows of. That happens when a node
/// dies before Slurm has noticed, when somebody sends a signal to the workers, and when a job does such a thing to itself.
pub fn is_unexplained(last: &LastWord, record: Option<&Record>) -> bool {
    let slurm_knows_why = !["", "FAILED", "COMPLETED"].contains(&last.state.as_str()) || last.restarts > 0;
    let is_loss = |record: &Record| record.teller != Teller::Worker || (record.asked && record.code == 0);
    !slurm_knows_why && record.map_or(last.code == LOST, is_loss)
}

fn out_of_memory(job: u64) -> (Outcome, Option<String>) {
    let words = format!("Slurm job {job} ran out of memory");
    (Outcome::Failed { code: 137, cause: Cause::OutOfMemory }, Some(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(state: &str, code: i32) -> LastWord {
        LastWord { job: 7, state: state.into(), code, restarts: 0 }
    }

    fn record(code: i32) -> Option<Record> {
        Some(Record { code, cause: Cause::Exit, teller: Teller::Worker, asked: false })
    }

    fn outcome(state: &str, code: i32, record: Option<Record>, gone: bool) -> Outcome {
        judge(&word(state, code), record.as_ref(), gone).0
    }

    #[test]
    fn done_is_done_however_late_somebody_wanted_it_gone() {
        assert_eq!(outcome("COMPLETED", 0, record(0), false), Outcome::Succeeded);
        assert_eq!(outcome("COMPLETED", 0, record(0), true), Outcome::Succeeded);
        assert_eq!(outcome("COMPLETED", 0, None, false), Outcome::Succeeded);
        assert_eq!(outcome("", 0, record(0), false), Outcome::Succeeded, "Slurm forgot it, it did not");
    }

    #[test]
    fn work_that_exits_with_0_when_asked_to_go_was_stopped() {
        let left = |code| Some(Record { asked: true, ..record(code).unwrap() });
        assert_eq!(outcome("", 0, left(0), true), Outcome::Stopped);
        assert_eq!(outcome("COMPLETED", 0, left(0), true), Outcome::Stopped);
        assert_eq!(outcome("", 0, record(0), true), Outcome::Succeeded, "it was done before it was asked");
        assert_eq!(
            outcome("COMPLETED", 0, None, true),
            Outcome::Stopped,
            "nobody says that it was done before"
        );
        for state in ["", "COMPLETED", "FAILED", "PREEMPTED"] {
            assert_eq!(outcome(state, 0, left(0), false), Outcome::Stopped, "{state}: whoever asked");
        }
        assert!(is_unexplained(&word("FAILED", 143), left(0).as_ref()), "bounded");
        assert!(!is_unexplained(&word("PREEMPTED", 0), left(0).as_ref()), "Slurm knows why");
        let failed = Outcome::Failed { code: 143, cause: Cause::Signal };
        assert_eq!(outcome("", 0, left(143), false), failed);
    }

    #[test]
    fn what_was_desired_is_nobodys_fault() {
        for state in ["CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY", ""] {
            assert_eq!(outcome(state, 1, record(143), true), Outcome::Stopped, "{state}");
        }
    }

    #[test]
    fn the_work_is_to_blame_for_what_it_did() {
        let failed = |code, cause| Outcome::Failed { code, cause };
        assert_eq!(outcome("FAILED", 3, record(3), false), failed(3, Cause::Exit));
        assert_eq!(outcome("FAILED", 137, record(137), false), failed(137, Cause::Signal));
        let not_run = Some(Record { code: 127, cause: Cause::NotRun, teller: Teller::Worker, asked: false });
        assert_eq!(outcome("FAILED", 127, not_run, false), failed(127, Cause::NotRun));
        assert_eq!(outcome("OUT_OF_MEMORY", 0, record(137), false), failed(137, Cause::OutOfMemory));
        assert_eq!(outcome("", 0, record(4), false), failed(4, Cause::Exit));
        let lost = Some(Record { code: 233, cause: Cause::Exit, teller: Teller::Nobody, asked: false });
        assert_eq!(outcome("FAILED", 233, lost, false), Outcome::Stopped);
        let hungry =
            Some(Record { code: 137, cause: Cause::OutOfMemory, teller: Teller::Worker, asked: false });
        assert_eq!(outcome("FAILED", 137, hungry, false), failed(137, Cause::OutOfMemory));
    }

    #[test]
    fn losses_without_a_reason_are_told_apart() {
        let lost = Record { teller: Teller::Nobody, ..record(137).unwrap() };
        assert!(
            is_unexplained(&word("FAILED", 137), Some(&lost)) && is_unexplained(&word("", 0), Some(&lost))
        );
        assert!(is_unexplained(&word("FAILED", LOST), None));
        let unbegun = Record { teller: Teller::Srun, ..record(233).unwrap() };
        assert!(is_unexplained(&word("FAILED", 233), Some(&unbegun)));
        assert_eq!(outcome("FAILED", 233, Some(unbegun), false), Outcome::Stopped);
        assert!(!is_unexplained(&word("NODE_FAIL", 0), Some(&lost)), "Slurm knows why");
        assert!(!is_unexplained(&word("FAILED", 3), record(3).as_ref()));
    }

    #[test]
    fn what_slurm_or_others_did_is_told() {
        for (state, code, words) in [
            ("TIMEOUT", 0, "Slurm's own time limit for job 7"),
            ("CANCELLED", 15, "job 7 was cancelled in Slurm"),
            ("NODE_FAIL", 0, "lost a node of job 7"),
            ("PREEMPTED", 0, "preempted job 7"),
            ("", 0, "no longer knows job 7"),
            ("FAILED", 75, "second time"),
            ("FAILED", 72, "shared folder"),
            ("FAILED", 77, "ended without a record"),
            ("FAILED", 1, "failed with status 1 before"),
        ] {
            let (outcome, why) = judge(&word(state, code), None, false);
            assert!(why.as_ref().is_some_and(|why| why.contains(words)), "{state}: {why:?}");
            assert_ne!(outcome, Outcome::Succeeded);
        }
        let requeued = LastWord { restarts: 1, ..word("CANCELLED", 0) };
        let (outcome, why) = judge(&requeued, None, false);
        assert_eq!((outcome, why.as_deref()), (Outcome::Stopped, Some("Slurm requeued its job 7")));
    }
}
