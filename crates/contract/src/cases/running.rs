//! Work starts, works and ends by itself.

use super::gang;
use crate::{Part, Play, Stage};
use consort_sched::{Doing, Ending};
use consort_types::{AllocationId, AskId, Cause, Form, Input, Outcome};

/// One worker, one ending, and every step is told.
pub fn a_job_runs_and_succeeds<S: Stage>(play: &mut Play<S>) {
    let job = play.submit(gang("plain", 1), Part::Ends);
    let id = play.allocation(job);
    play.until("it succeeds", |play| play.ending(job) == Some(Ending::Succeeded));
    let told: Vec<&Input> = play.news.iter().map(|news| &news.input).collect();
    assert_eq!(told, [&Input::Started(id), &Input::over(id, Outcome::Succeeded)], "up, then over");
    assert!(play.crew(id).is_none_or(|crew| crew.began == 1));
}

/// A failure is the work's own, and a retry is another attempt with workers of its own.
pub fn a_failure_keeps_its_status_and_is_tried_again<S: Stage>(play: &mut Play<S>) {
    let mut spec = gang("stumbles", 2);
    spec.retries = 2;
    let job = play.submit(spec, Part::Fails(1));
    let first = play.allocation(job);
    play.until("it succeeds", |play| play.ending(job) == Some(Ending::Succeeded));
    let failed = Outcome::Failed { code: S::FAILURE, cause: Cause::Exit };
    assert_eq!(play.outcomes(job), [failed, Outcome::Succeeded]);
    let second = AllocationId { attempt: first.attempt + 1, ..first };
    for id in [first, second] {
        assert!(play.crew(id).is_none_or(|crew| crew.began == 2), "{:?}", play.crew(id));
    }
}

/// When no retries left, the job has failed; nobody starts it again.
pub fn the_last_failure_ends_the_job<S: Stage>(play: &mut Play<S>) {
    let mut spec = gang("falls", 1);
    spec.retries = 1;
    let job = play.submit(spec, Part::Fails(9));
    play.until("it fails", |play| play.ending(job) == Some(Ending::Failed));
    let failed = Outcome::Failed { code: S::FAILURE, cause: Cause::Exit };
    assert_eq!(play.outcomes(job), [failed, failed]);
}

/// Nobody begins before everybody is there, and it is not said before.
pub fn a_gang_starts_whole<S: Stage>(play: &mut Play<S>) {
    let wide = play.devices() as usize;
    let job = play.submit(gang("together", wide as u32), Part::Runs);
    let id = play.allocation(job);
    play.until("it runs", |play| {
        let began = play.crew(id).is_some_and(|crew| crew.began > 0);
        if S::TOGETHER && (began || play.is_running(job)) {
            // Asked again: who began meanwhile did so with everybody there.
            assert!(play.crew(id).is_none_or(|crew| crew.up == wide), "{:?}", play.crew(id));
        }
        play.is_running(job)
    });
    play.until("all begin", |play| play.crew(id).is_none_or(|crew| crew.began == wide));
    assert!(play.crew(id).is_none_or(|crew| crew.up == wide), "{:?}", play.crew(id));
}

/// Every task runs once, and never more at a time than there are devices.
pub fn a_bag_may_be_wider_than_the_cluster<S: Stage>(play: &mut Play<S>) {
    let tasks = 2 * play.devices() + 1;
    let mut spec = gang("many", 1);
    spec.stages[0].form = Form::Bag { tasks };
    let job = play.submit(spec, Part::Ends);
    let id = |task| AllocationId { ask: AskId { job, stage: 0, task }, attempt: 1 };
    play.until("all are done", |play| {
        let up: usize = (0..tasks).filter_map(|task| play.crew(id(task))).map(|crew| crew.up).sum();
        assert!(up <= play.devices() as usize, "{up} at a time");
        play.ending(job) == Some(Ending::Succeeded)
    });
    for task in 0..tasks {
        assert!(play.crew(id(task)).is_none_or(|crew| crew.began == 1));
    }
    assert_eq!(
        play.news.iter().filter(|news| news.outcome() == Some(Outcome::Succeeded)).count() as u32,
        tasks
    );
}

/// A start that cannot be is refused with a reason that a person can read; nothing of it runs.
pub fn what_cannot_start_is_refused_in_words<S: Stage>(play: &mut Play<S>) {
    refused(play, 1);
}

/// The same when some of its workers could have been started: they are taken back.
pub fn a_gang_that_cannot_start_leaves_nobody<S: Stage>(play: &mut Play<S>) {
    refused(play, 3);
}

pub(super) fn refused<S: Stage>(play: &mut Play<S>, wide: u32) {
    let job = play.submit(gang("impossible", wide), Part::CannotStart);
    let id = play.allocation(job);
    let counts = |play: &Play<S>| play.news.iter().any(|news| news.counts() && news.is_ending());
    play.until("it is refused", counts);
    let told: Vec<&Input> = play.news.iter().filter(|news| news.counts()).map(|news| &news.input).collect();
    assert!(
        matches!(told[..], [Input::StartRefused { allocation, why }] if *allocation == id && !why.is_empty()),
        "{told:?}"
    );
    assert!(play.crew(id).is_none_or(|crew| crew.began == 0 && crew.up == 0), "{:?}", play.crew(id));
    // It waits for another try; its devices are free for others.
    assert_eq!(play.doing(job), Some(Doing::Waiting));
    let other = play.submit(gang("possible", play.devices()), Part::Ends);
    play.until("another one runs there", |play| play.ending(other) == Some(Ending::Succeeded));
}

/// Jobs side by side, with different fates: each hears its own.
pub fn many_at_once_are_not_mixed_up<S: Stage>(play: &mut Play<S>) {
    let parts = [Part::Ends, Part::Fails(9), Part::Runs, Part::CannotStart];
    let jobs = parts.map(|part| (part, play.submit(gang("one of many", 1), part)));
    let [_, _, runs, cannot] = jobs.map(|(_, job)| job);
    play.until("all have their fate", |play| {
        let is_so = |&(part, job): &(Part, _)| match part {
            Part::Ends => play.ending(job) == Some(Ending::Succeeded),
            Part::Fails(_) => play.ending(job) == Some(Ending::Failed),
            Part::Runs | Part::Saves => play.is_running(job),
            Part::CannotStart => play.doing(job) == Some(Doing::Waiting),
        };
        jobs.iter().all(is_so)
    });
    assert!(play.outcomes(runs).is_empty() && play.outcomes(cannot).is_empty());
}
