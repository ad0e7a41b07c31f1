//! Work is told to go: by its owner, or by a plan.

use super::gang;
use crate::stage::WHILE;
use crate::{Part, Play, Stage};
use consort_sched::{Doing, Ending};
use consort_types::{Input, Outcome, Span};

/// However far it has come, it is over soon, and it was not its fault.
pub fn what_is_starting_can_be_stopped<S: Stage>(play: &mut Play<S>) {
    for wide in [1, 3] {
        let job = play.submit(gang("hardly begun", wide), Part::Runs);
        let id = play.allocation(job);
        assert_eq!(play.doing(job), Some(Doing::Starting));
        play.say(Input::Pause(job));
        play.until("it is over", |play| play.doing(job) == Some(Doing::Blocked));
        assert!(play.outcomes(job).iter().all(|outcome| *outcome == Outcome::Stopped));
        assert!(play.crew(id).is_none_or(|crew| crew.up == 0));
        // Nothing comes up afterwards.
        play.go_on(WHILE);
        play.say(Input::Cancel(job));
        assert_eq!(play.ending(job), Some(Ending::Cancelled));
    }
}

/// The next one starts on the same devices only when nobody of the last one is left.
pub fn devices_are_reused_only_when_they_are_free<S: Stage>(play: &mut Play<S>) {
    let all = play.devices();
    let first = play.submit(gang("first", all), Part::Runs);
    let id = play.allocation(first);
    play.until("the first one runs", |play| play.is_running(first));
    let next = play.submit(gang("next", all), Part::Runs);
    assert_eq!(play.doing(next), Some(Doing::Waiting));
    play.say(Input::Cancel(first));
    play.until("the next one runs", |play| {
        let is_there = matches!(play.doing(next), Some(Doing::Starting | Doing::Running));
        let left = play.crew(id).is_some_and(|crew| crew.up > 0);
        assert!(!(is_there && left), "two at a time");
        play.is_running(next)
    });
    assert_eq!(play.outcomes(first), [Outcome::Stopped]);
}

/// Whoever is first, the other one comes too late, and there is one ending.
pub fn a_stop_that_meets_the_end_gives_one_ending<S: Stage>(play: &mut Play<S>) {
    for percent in [0, 50, 90, 100, 110, 130] {
        let job = play.submit(gang("nearly done", 2), Part::Ends);
        play.go_on(Span(WHILE.0 * percent / 100));
        if play.ending(job).is_none() {
            play.say(Input::Cancel(job));
        }
        play.until("it ends", |play| play.ending(job).is_some());
        let outcomes = play.outcomes(job);
        assert!(matches!(outcomes[..], [Outcome::Succeeded | Outcome::Stopped]), "{outcomes:?}");
        play.go_on(WHILE);
    }
}

/// A plan takes devices back for somebody with a better claim: they never meet, and the first one comes back.
pub fn a_successor_never_overlaps<S: Stage>(play: &mut Play<S>) {
    let all = play.devices();
    let victim = play.submit(gang("victim", all), Part::Runs);
    play.until("it runs", |play| play.is_running(victim));
    let first = play.allocation(victim);
    let mut spec = gang("urgent", all);
    spec.priority = 10;
    let successor = play.submit(spec, Part::Ends);
    assert_eq!(play.doing(victim), Some(Doing::Releasing));
    assert_eq!(play.doing(successor), Some(Doing::Planned));
    let id = play.allocation(successor);
    play.until("it has given way", |play| {
        let up = |id| play.crew(id).map_or(0, |crew| crew.up);
        // In this order: the first one may go in between, and nobody of it comes again.
        let (next, before) = (up(id), up(first));
        assert!(next == 0 || before == 0, "{before} and {next} at a time");
        play.ending(successor) == Some(Ending::Succeeded) && play.is_running(victim)
    });
    assert_eq!(play.outcomes(victim), [Outcome::Stopped]);
    assert_eq!(play.allocation(victim).attempt, first.attempt + 1);
}

/// What is paused holds nothing; resumed, it runs as another attempt.
pub fn what_is_paused_can_be_resumed<S: Stage>(play: &mut Play<S>) {
    let all = play.devices();
    let job = play.submit(gang("patient", all), Part::Runs);
    play.until("it runs", |play| play.is_running(job));
    let first = play.allocation(job);
    play.say(Input::Pause(job));
    play.until("it is set aside", |play| play.doing(job) == Some(Doing::Blocked));
    assert_eq!(play.outcomes(job), [Outcome::Stopped]);
    let other = play.submit(gang("meanwhile", all), Part::Ends);
    play.until("another one runs meanwhile", |play| play.ending(other) == Some(Ending::Succeeded));
    play.say(Input::Resume(job));
    play.until("it runs again", |play| play.is_running(job));
    assert_eq!(play.allocation(job).attempt, first.attempt + 1);
    assert!(play.crew(first).is_none_or(|crew| crew.up == 0));
}

/// Running, starting or waiting: once it is cancelled, nothing of it is left.
pub fn what_is_cancelled_is_gone<S: Stage>(play: &mut Play<S>) {
    let all = play.devices();
    let runs = play.submit(gang("runs", all - 1), Part::Runs);
    play.until("it runs", |play| play.is_running(runs));
    let starts = play.submit(gang("starts", 1), Part::Runs);
    let waits = play.submit(gang("waits", all), Part::Runs);
    for job in [waits, starts, runs] {
        play.say(Input::Cancel(job));
    }
    play.until("they are gone", |play| {
        [runs, starts, waits].iter().all(|&job| play.ending(job) == Some(Ending::Cancelled))
    });
    assert_eq!(play.outcomes(runs), [Outcome::Stopped]);
    assert!(play.outcomes(waits).is_empty());
}
