//! The next thing to do about one attempt.
//!
//! For: starts, stops, crashes and news all end in the same few lines.
//! Promises: may be called at any time; does nothing that was done already.
//! Never: reports an ending that another attempt may follow while a worker may still run. A record alone is not believed
//! so far, because the work can write one itself: Slurm has to show that the job is over. Success needs no such proof, as
//! no attempt follows it; what still runs then is ended as a stray.

use super::{LINGERS, Poller, submit};
use crate::attempt::{Leaving, Rows, Sight, State, speaker};
use crate::ended::{LastWord, NO_RECORD, Record, Teller, is_unexplained, judge};
use crate::engine::Trouble;
use crate::folder::Folder;
use crate::shapes::Job;
use consort_agent::words;
use consort_types::{AllocationId, Cause, Input, Outcome};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Slurm may be slow to forget, and quick to answer before it has read its own state.
const MISSING: u32 = 2;
/// How long a reason may stand that will not go away by itself; Slurm's first ones are often premature.
const HOPELESS: Duration = Duration::from_secs(10);
/// So many losses without a reason, one after the other, are a failure.
const LOSSES: u32 = 3;
/// How often Slurm is told again to end what does not end.
const AGAIN: Duration = Duration::from_secs(5);

impl Poller {
    /// Looks at an attempt and does the next thing.
    pub(super) fn advance(&mut self, id: AllocationId) {
        let Some(attempt) = self.attempts.get(&id) else { return };
        if attempt.done {
            return;
        }
        if matches!(attempt.state, State::Wanted { .. }) {
            self.begin(id);
        }
        if let Some(State::InSlurm { .. }) = self.attempts.get(&id).map(|attempt| &attempt.state) {
            self.watch(id);
            self.end(id);
        }
        if let Some(State::Over) = self.attempts.get(&id).map(|attempt| &attempt.state) {
            self.finish(id, None);
        }
    }

    /// It is not in Slurm, as far as we know.
    fn begin(&mut self, id: AllocationId) {
        let Some(attempt) = self.attempts.get_mut(&id) else { return };
        let State::Wanted { not_before, search } = attempt.state else { return };
        if attempt.gone_is_desired && !search {
            attempt.state = State::Over;
            return;
        }
        if Instant::now() < not_before || self.sweep.is_silent() {
            return;
        }
        if attempt.gone_is_desired {
            // It may be there all the same.
            match self.found_since(id, not_before) {
                Ok(job) => {
                    let attempt = self.attempts.get_mut(&id).expect("it was there");
                    attempt.state = match job {
                        Some(job) => {
                            State::InSlurm { job, since: Instant::now(), rows: Rows::default(), missing: 0 }
                        }
                        None => State::Over,
                    };
                }
                Err(trouble) => {
                    self.board.silent(trouble.words());
                    self.later(id, submit::AGAIN);
                }
            }
            return;
        }
        self.submit(id);
    }

    /// What Slurm says of it, and what that means.
    fn watch(&mut self, id: AllocationId) {
        let Some(attempt) = self.attempts.get_mut(&id) else { return };
        let State::InSlurm { job, since, rows, missing } = &attempt.state else { return };
        let (job, since) = (*job, *since);
        match self.folder.record(id) {
            // The script has nothing left to do: whoever gets the devices next may already wait for them in Slurm, which
            // lets nobody in before they are free.
            Some(record) if record.is_success() => {
                self.recent.insert(job, Instant::now());
                return self.finish(id, Some(LastWord { job, state: String::new(), code: 0, restarts: 0 }));
            }
            // Its script ends with this, so that the next look tells.
            Some(_) if attempt.recorded.is_none() => {
                attempt.recorded = Some(Instant::now());
                self.glance.hurry();
            }
            _ => {}
        }
        if *missing >= MISSING {
            let last = LastWord { job, state: String::new(), code: 0, restarts: 0 };
            return self.finish(id, Some(last));
        }
        let (Some(row), Some(now)) = (speaker(rows.all()).cloned(), rows.sight()) else { return };
        self.board.tell(id, Some(shown(job, &row)));
        match now {
            Sight::Over => {
                // Where it went on after its record and was ended by us for that, the record counts.
                let was_ours = attempt.recorded.is_some() && attempt.leaving.is_some();
                let word = row.state.iter().find(|word| *word != "COMPLETING" && !was_ours);
                let state = word.cloned().unwrap_or_default();
                self.finish(id, Some(LastWord { job, state, code: row.code(), restarts: row.restarts }));
            }
            // Slurm began it and put it back into its queue: an attempt of ours runs once.
            _ if row.restarts > 0 => self.take_back(id, None),
            Sight::Pending => {
                let hopeless = hopeless(&row.reason) && since.elapsed() > HOPELESS;
                let attempt = self.attempts.get(&id).expect("it was there");
                let late = !row.is(&["CONFIGURING"]) && since.elapsed() > self.setup.patience;
                if (hopeless || late) && attempt.leaving.is_none() && !attempt.gone_is_desired {
                    let words = format!("Slurm did not start its job {job}: {}", reason(&row.reason));
                    self.take_back(id, Some(words));
                }
            }
            Sight::Up => {
                let goes_on = attempt.recorded.is_some_and(|at| at.elapsed() > LINGERS);
                self.has_started(id);
                if goes_on {
                    tracing::debug!(job, "it reports its end but keeps running: it is cancelled");
                    self.take_back(id, None);
                }
            }
        }
    }

    /// Something happened to it on its nodes, of which Slurm need not be asked.
    pub(super) fn signed(&mut self, id: AllocationId) {
        if self.attempts.get(&id).is_none_or(|attempt| attempt.job().is_none()) {
            return;
        }
        if self.folder.begun(id) {
            self.has_started(id);
        }
        self.advance(id);
    }

    fn has_started(&mut self, id: AllocationId) {
        let Some(attempt) = self.attempts.get_mut(&id) else { return };
        if !attempt.told_started && !attempt.forgotten && attempt.refused.is_none() {
            attempt.told_started = true;
            let fills = attempt.placement.iter().flat_map(|placement| &placement.fills);
            let workers = fills.map(|fill| fill.count).sum();
            self.tell(Input::Started(id));
            self.reports.begin(id, Folder::progress(id, workers));
        }
    }

    /// It is to go although it is desired.
    fn take_back(&mut self, id: AllocationId, refused: Option<String>) {
        let Some(attempt) = self.attempts.get_mut(&id) else { return };
        if attempt.leaving.is_none() {
            let now = Instant::now();
            attempt.refused = refused;
            attempt.leaving = Some(Leaving { since: now, asked: Some(now), cancelled: None });
            attempt.grace.span = consort_types::Span::ZERO;
        }
    }

    /// Asks it to go, and makes it.
    fn end(&mut self, id: AllocationId) {
        let now = Instant::now();
        let Some(attempt) = self.attempts.get_mut(&id) else { return };
        if attempt.gone_is_desired && attempt.leaving.is_none() {
            attempt.leaving = Some(Leaving { since: now, asked: None, cancelled: None });
            let grace = self.grace(id);
            self.attempts.get_mut(&id).expect("it was there").grace = grace;
            self.glance.hurry();
        }
        let Some(attempt) = self.attempts.get_mut(&id) else { return };
        let (Some(leaving), State::InSlurm { job, rows, .. }) = (&mut attempt.leaving, &attempt.state) else {
            return;
        };
        let job = *job;
        if job == 0 || self.sweep.is_silent() {
            return;
        }
        let is_up = attempt.told_started || rows.sight() == Some(Sight::Up) || self.folder.begun(id);
        // Nothing is known of it yet: the next look tells whether there is anybody to ask.
        if !is_up && rows.sight().is_none() && leaving.since.elapsed() < Duration::from_secs(1) {
            return;
        }
        if leaving.asked.is_none() {
            self.folder.stop(id);
            let signal = attempt.grace.signal;
            // One that has gone meanwhile is seen at the next look.
            let asked = match is_up {
                true => self.engine.signal(job, signal),
                false => self.engine.cancel(job),
            };
            // A request that nobody heard is made again; one that was refused is about something that has gone.
            match asked {
                Ok(()) | Err(Trouble::Refused(_)) => leaving.asked = Some(now),
                Err(trouble) => tracing::debug!(job, %trouble, "not asked to go"),
            }
            return;
        }
        let span = Duration::from_nanos(attempt.grace.span.0.max(0) as u64);
        let is_due = leaving.asked.is_some_and(|asked| now >= asked + span);
        let is_again = leaving.cancelled.is_none_or(|at| now >= at + AGAIN);
        if is_due && is_again {
            leaving.cancelled = Some(now);
            if let Err(trouble) = self.engine.cancel(job) {
                tracing::debug!(job, %trouble, "not ended");
            }
            self.glance.hurry();
        }
    }

    /// Nothing of it is left.
    fn finish(&mut self, id: AllocationId, last: Option<LastWord>) {
        let Some(attempt) = self.attempts.get_mut(&id).filter(|attempt| !attempt.done) else { return };
        attempt.done = true;
        attempt.state = State::Over;
        self.just_freed.push((Instant::now(), attempt.grants().to_vec()));
        self.board.tell(id, None);
        let report = self.reports.end(id);
        let attempt = &self.attempts[&id];
        if attempt.forgotten {
            self.attempts.remove(&id);
            self.trash.insert(id);
            return;
        }
        let left_no_record = last.as_ref().is_some_and(|last| last.code == NO_RECORD);
        let (told_started, gone_is_desired) = (attempt.told_started, attempt.gone_is_desired);
        let input = self.ending(id, last);
        tracing::debug!(attempt = consort_agent::launch::allocation_name(id), ?input, "over");
        if let Input::Ended { .. } = input
            && !told_started
            && !gone_is_desired
            && (self.folder.begun(id) || left_no_record)
        {
            self.tell(Input::Started(id));
        }
        if let Some(report) = report {
            self.tell(Input::Progress(vec![report]));
        }
        self.tell(input);
    }

    /// The outcome of an attempt. Losses that Slurm does not explain are nobody's fault, but not without end: a job that
    /// kills the script around its worker would otherwise run again and again.
    fn outcome(
        &mut self,
        id: AllocationId,
        last: &LastWord,
        record: Option<&Record>,
        was_told: bool,
    ) -> (Outcome, Option<String>) {
        let (outcome, why) = judge(last, record, was_told);
        if was_told || !is_unexplained(last, record) {
            self.unexplained.remove(&id.ask);
            return (outcome, why);
        }
        let times = self.unexplained.entry(id.ask).or_default();
        *times += 1;
        if *times < LOSSES {
            return (outcome, why);
        }
        self.unexplained.remove(&id.ask);
        let code = record.map_or(last.code, |record| record.code).max(1);
        let why = why.unwrap_or_default();
        (Outcome::Failed { code, cause: Cause::Exit }, Some(format!("{why}, {LOSSES} times in a row")))
    }

    fn ending(&mut self, id: AllocationId, last: Option<LastWord>) -> Input {
        let attempt = &self.attempts[&id];
        let mut record = self.folder.record(id);
        if record.is_none() {
            self.folder.look_closely(id);
            record = self.folder.record(id);
        }
        // Told to go by us or by a daemon before us.
        let was_told = attempt.gone_is_desired || self.folder.stopped(id);
        let done = record.as_ref().is_some_and(Record::is_success);
        let refused = attempt.refused.as_ref().filter(|_| !attempt.told_started && !done);
        if let Some(words) = refused
            && !attempt.gone_is_desired
        {
            return Input::StartRefused { allocation: id, why: printable(words) };
        }
        let Some(last) = last else { return Input::over(id, Outcome::Stopped) };
        let told_started = attempt.told_started;
        let (outcome, why) = self.outcome(id, &last, record.as_ref(), was_told);
        let said = || self.folder.said(id).map_or(String::new(), |line| format!(" ({line})"));
        let by_srun = record.as_ref().is_some_and(|record| record.teller == Teller::Srun && record.code != 0);
        let not_run = matches!(outcome, Outcome::Failed { cause: Cause::NotRun, .. });
        let why = why.map(|why| if not_run || by_srun { format!("{why}{}", said()) } else { why });
        let not_run = not_run || (by_srun && outcome == Outcome::Stopped);
        // Slurm keeps a record of what it would not have, under our tag: that is no ending of anything.
        if let Some(why) = why.as_ref().filter(|_| not_run && !told_started && !self.folder.begun(id)) {
            return Input::StartRefused { allocation: id, why: printable(why) };
        }
        Input::Ended { allocation: id, outcome, why: why.map(|why| Arc::from(printable(&why))) }
    }
}

fn printable(text: &str) -> String {
    match words::printable(text) {
        text if text.is_empty() => "Slurm gave no reason".into(),
        text => text,
    }
}

/// What Slurm says of a job, for people.
fn shown(job: u64, row: &Job) -> String {
    let state = row.state.join("+").to_lowercase().replace('_', " ");
    match row.is(&["PENDING"]) {
        true => format!("Slurm job {job} is pending: {}", reason(&row.reason)),
        false => format!("Slurm job {job} is {state}"),
    }
}

/// Slurm's word for it, and ours where its own says little.
fn reason(word: &str) -> String {
    let told = match word {
        "" | "None" => return "no reason given".into(),
        "Resources" => "its nodes have no free resources",
        "Priority" => "jobs with higher priority go first",
        "ReqNodeNotAvail" => "a node is not available",
        "PartitionTimeLimit" => "its time limit is longer than the partition's",
        "PartitionDown" | "PartitionInactive" => "the partition is down or drained",
        "JobHeldAdmin" => "an administrator holds it",
        "JobHeldUser" => "its user holds it",
        "BeginTime" => "its begin time has not come",
        word if word.starts_with("ReqNodeNotAvail") => "a node is not available",
        word if word.starts_with("Assoc") || word.starts_with("QOS") => "a limit of the account or QOS",
        _ => return word.to_owned(),
    };
    format!("{told} ({word})")
}

/// Reasons that time does not mend.
fn hopeless(word: &str) -> bool {
    let words = [
        "PartitionTimeLimit",
        "PartitionNodeLimit",
        "PartitionDown",
        "PartitionInactive",
        "BadConstraints",
        "JobHeldAdmin",
        "JobHeldUser",
        "InvalidAccount",
        "InvalidQOS",
        "AccountNotAllowed",
        "QOSNotAllowed",
        "ReservationDeleted",
        "JobLaunchFailure",
        "launch_failed_requeued_held",
    ];
    words.contains(&word)
        || (word.starts_with("ReqNodeNotAvail") && (word.contains("Unavail") || word.contains("maintenance")))
        || word.starts_with("Assoc")
        || word.starts_with("QOSMax")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_in_words() {
        assert_eq!(reason("Resources"), "its nodes have no free resources (Resources)");
        assert!(reason("ReqNodeNotAvail, UnavailableNodes:n3").starts_with("a node is not available"));
        assert_eq!(reason("Licenses"), "Licenses");
        assert!(hopeless("AssocGrpGRES") && !hopeless("Resources") && !hopeless("Priority"));
    }
}
