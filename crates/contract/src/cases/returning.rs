//! The loop dies and comes back: nothing is lost, nothing runs twice, every ending is told.
//!
//! How many workers there are, and how many ever began, is looked at in every turn.

use super::gang;
use crate::stage::WHILE;
use crate::{Part, Play, Stage};
use consort_sched::{Doing, Ending};
use consort_types::{Cause, Input, Outcome, Span};

/// It comes up once.
pub fn what_was_starting<S: Stage>(play: &mut Play<S>) {
    for wide in [1, 3] {
        let job = play.submit(gang("starting", wide), Part::Ends);
        let id = play.allocation(job);
        play.crash();
        play.until("it succeeds", |play| play.ending(job) == Some(Ending::Succeeded));
        assert_eq!(play.outcomes(job), [Outcome::Succeeded]);
        assert!(play.crew(id).is_none_or(|crew| crew.began == wide as usize));
    }
}

/// It runs on, in the same attempt, and can be stopped as ever.
pub fn what_was_running<S: Stage>(play: &mut Play<S>) {
    let job = play.submit(gang("running", 3), Part::Runs);
    play.until("it runs", |play| play.is_running(job));
    let id = play.allocation(job);
    play.until("all are there", |play| play.crew(id).is_none_or(|crew| crew.began == 3));
    play.stay_away(WHILE);
    assert!(play.crew(id).is_none_or(|crew| crew.up == 3), "workers outlive us: {:?}", play.crew(id));
    play.go_on(WHILE);
    assert_eq!((play.doing(job), play.allocation(job)), (Some(Doing::Running), id));
    assert!(play.crew(id).is_none_or(|crew| crew.up == 3 && crew.began == 3));
    play.say(Input::Cancel(job));
    play.until("it is gone", |play| play.ending(job) == Some(Ending::Cancelled));
    assert_eq!(play.outcomes(job), [Outcome::Stopped]);
}

/// It goes all the same, and whoever waits for its devices gets them then.
pub fn what_was_stopping<S: Stage>(play: &mut Play<S>) {
    let all = play.devices();
    let job = play.submit(gang("stopping", all), Part::Runs);
    play.until("it runs", |play| play.is_running(job));
    let next = play.submit(gang("next", all), Part::Ends);
    play.say(Input::Cancel(job));
    play.crash();
    play.until("the next one ends", |play| play.ending(next) == Some(Ending::Succeeded));
    assert_eq!(play.ending(job), Some(Ending::Cancelled));
    assert_eq!(play.outcomes(job), [Outcome::Stopped]);
}

/// Its end is told when somebody is there to hear it.
pub fn what_ended_meanwhile<S: Stage>(play: &mut Play<S>) {
    let job = play.submit(gang("ending", 2), Part::Ends);
    play.stay_away(Span(4 * WHILE.0));
    play.until("it succeeds", |play| play.ending(job) == Some(Ending::Succeeded));
    assert_eq!(play.outcomes(job), [Outcome::Succeeded]);
}

/// With its status.
pub fn what_failed_meanwhile<S: Stage>(play: &mut Play<S>) {
    let job = play.submit(gang("failing", 1), Part::Fails(9));
    play.stay_away(Span(4 * WHILE.0));
    play.until("it fails", |play| play.ending(job) == Some(Ending::Failed));
    assert_eq!(play.outcomes(job), [Outcome::Failed { code: S::FAILURE, cause: Cause::Exit }]);
}

/// Dying while coming back is no different; neither is doing so with nothing done in between.
pub fn twice_in_a_row<S: Stage>(play: &mut Play<S>) {
    let runs = play.submit(gang("running", 2), Part::Runs);
    play.until("it runs", |play| play.is_running(runs));
    let ends = play.submit(gang("ending", 1), Part::Ends);
    let goes = play.submit(gang("going", 1), Part::Runs);
    play.say(Input::Cancel(goes));
    for _ in 0..3 {
        play.crash();
        play.open();
    }
    play.until("they end", |play| {
        play.ending(ends) == Some(Ending::Succeeded) && play.ending(goes) == Some(Ending::Cancelled)
    });
    assert!(play.is_running(runs));
    assert_eq!(play.allocation(runs).attempt, 1);
}

/// A journal that lost its end gives the same names to other work: by then nothing of the old is left.
pub fn what_nobody_desires_is_gone<S: Stage>(play: &mut Play<S>) {
    let keeps = play.submit(gang("keeps", 1), Part::Runs);
    play.until("it runs", |play| play.is_running(keeps));
    let kept = play.allocation(keeps);
    let (runs, done) =
        (play.submit(gang("lost", 2), Part::Runs), play.submit(gang("lost too", 1), Part::Ends));
    play.until("one runs, one is done", |play| {
        play.is_running(runs) && play.ending(done) == Some(Ending::Succeeded)
    });
    let id = play.allocation(runs);
    play.lose_everything_since(runs);
    play.open();
    assert!(play.crew(id).is_none_or(|crew| crew.up == 0), "{:?} is left", play.crew(id));
    let other = play.submit(gang("other", 2), Part::Fails(9));
    assert_eq!((other, play.allocation(other)), (runs, id), "the same names");
    play.until("the other one fails", |play| play.ending(other) == Some(Ending::Failed));
    assert_eq!(play.outcomes(other), [Outcome::Failed { code: S::FAILURE, cause: Cause::Exit }]);
    assert!(play.is_running(keeps) && play.allocation(keeps) == kept);
}
