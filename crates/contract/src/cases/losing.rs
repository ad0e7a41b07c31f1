//! The loop dies in the middle of a turn: what it had heard or was about to say is lost, and made good.

use super::{gang, running};
use crate::play::{Crashes, Moment};
use crate::stage::WHILE;
use crate::{Part, Play, Stage};
use consort_sched::Ending;
use consort_types::{Cause, Input, Outcome, Rule};

fn is_ending(input: &Input) -> bool {
    matches!(input, Input::Ended { .. })
}

fn is_start(input: &Input) -> bool {
    matches!(input, Input::Started(_))
}

/// It is told again, and believed.
pub fn an_ending_that_was_not_written_down<S: Stage>(play: &mut Play<S>) {
    play.crashes = Crashes::Once(Moment::BeforeCommit, is_ending);
    let job = play.submit(gang("done", 2), Part::Ends);
    let id = play.allocation(job);
    play.until("it succeeds", |play| play.ending(job) == Some(Ending::Succeeded));
    assert_eq!(play.outcomes(job), [Outcome::Succeeded]);
    let told = play.news.iter().filter(|news| news.outcome() == Some(Outcome::Succeeded)).count();
    assert_eq!(told, 2, "once in vain");
    assert!(play.crew(id).is_none_or(|crew| crew.began == 2));
}

/// The same with its status: the retry is the second attempt, not the first once more.
pub fn a_failure_that_was_not_written_down<S: Stage>(play: &mut Play<S>) {
    play.crashes = Crashes::Once(Moment::BeforeCommit, is_ending);
    let mut spec = gang("stumbles", 1);
    spec.retries = 1;
    let job = play.submit(spec, Part::Fails(1));
    play.until("it succeeds", |play| play.ending(job) == Some(Ending::Succeeded));
    let failed = Outcome::Failed { code: S::FAILURE, cause: Cause::Exit };
    assert_eq!(play.outcomes(job), [failed, Outcome::Succeeded]);
}

/// The same of what was told to go.
pub fn a_stop_that_was_not_written_down<S: Stage>(play: &mut Play<S>) {
    let all = play.devices();
    let job = play.submit(gang("goes", all), Part::Runs);
    play.until("it runs", |play| play.is_running(job));
    play.crashes = Crashes::Once(Moment::BeforeCommit, is_ending);
    play.say(Input::Pause(job));
    let next = play.submit(gang("next", all), Part::Ends);
    play.until("the next one ends", |play| play.ending(next) == Some(Ending::Succeeded));
    assert_eq!(play.outcomes(job), [Outcome::Stopped]);
}

/// It is told again, so that nobody waits for ever for what runs.
pub fn a_start_that_was_not_written_down<S: Stage>(play: &mut Play<S>) {
    for wide in [1, 3] {
        play.crashes = Crashes::Once(Moment::BeforeCommit, is_start);
        let job = play.submit(gang("up", wide), Part::Runs);
        play.until("it is known to run", |play| play.is_running(job));
        let id = play.allocation(job);
        assert_eq!(id.attempt, 1);
        assert_eq!(play.news.iter().filter(|news| news.input == Input::Started(id)).count(), 2);
        play.say(Input::Cancel(job));
        play.until("it is gone", |play| play.ending(job) == Some(Ending::Cancelled));
    }
}

/// It is refused again.
pub fn a_refusal_that_was_not_written_down<S: Stage>(play: &mut Play<S>) {
    play.crashes = Crashes::Once(Moment::BeforeCommit, |input| matches!(input, Input::StartRefused { .. }));
    running::refused(play, 2);
}

/// What was planned and written down is told after the return: the retry of what failed.
pub fn desires_that_were_not_told<S: Stage>(play: &mut Play<S>) {
    play.crashes = Crashes::Once(Moment::BeforeDesires, is_ending);
    let mut spec = gang("stumbles", 2);
    spec.retries = 1;
    let job = play.submit(spec, Part::Fails(1));
    play.until("it succeeds", |play| play.ending(job) == Some(Ending::Succeeded));
    assert_eq!(play.outcomes(job).len(), 2);
}

/// It is known already: whether or not it is told again, nothing comes of it.
pub fn an_ending_that_was_not_settled<S: Stage>(play: &mut Play<S>) {
    play.crashes = Crashes::Once(Moment::BeforeSettled, is_ending);
    let job = play.submit(gang("done", 2), Part::Ends);
    let runs = play.submit(gang("runs", 1), Part::Runs);
    play.until("it succeeds", |play| play.ending(job) == Some(Ending::Succeeded) && play.is_running(runs));
    let state = play.scheduler().state_hash();
    play.go_on(WHILE);
    assert_eq!(play.outcomes(job), [Outcome::Succeeded]);
    assert_eq!(play.scheduler().state_hash(), state, "nothing happened since");
}

/// A world that is asked about what is over says so once more; that is stale, and then it is settled.
pub fn old_news_does_no_harm<S: Stage>(play: &mut Play<S>) {
    play.crashes = Crashes::Once(Moment::BeforeSettled, is_ending);
    let job = play.submit(gang("done", 1), Part::Ends);
    let id = play.allocation(job);
    // A crash that was ordered comes in the turn that hears of the end.
    play.until_crash();
    play.open_and_dismiss(id);
    let state = play.scheduler().state_hash();
    let is_old = |play: &Play<S>| {
        let last = play.news.last().and_then(|news| news.refusal.as_ref().filter(|_| news.is_ending()));
        last.is_some_and(|refusal| refusal.rule == Rule::Stale)
    };
    play.until("it is told again", is_old);
    assert_eq!(play.scheduler().state_hash(), state, "nothing comes of it");
    assert_eq!(play.outcomes(job), [Outcome::Succeeded]);
}

/// Nobody gets far in one life, and yet all comes to its end, once.
pub fn something_in_every_turn<S: Stage>(play: &mut Play<S>) {
    play.crashes = Crashes::Always(0);
    let all = play.devices();
    let mut spec = gang("stumbles", all);
    spec.retries = 1;
    let first = play.submit(spec, Part::Fails(1));
    let runs = play.submit(gang("runs", 2), Part::Runs);
    let ends = play.submit(gang("ends", all), Part::Ends);
    play.until("it runs", |play| play.is_running(runs));
    play.say(Input::Cancel(runs));
    play.until("they end", |play| {
        let is_over = |job| play.ending(job) == Some(Ending::Succeeded);
        is_over(first) && is_over(ends) && play.ending(runs) == Some(Ending::Cancelled)
    });
    let failed = Outcome::Failed { code: S::FAILURE, cause: Cause::Exit };
    assert_eq!(play.outcomes(first), [failed, Outcome::Succeeded]);
    assert_eq!(play.outcomes(runs), [Outcome::Stopped]);
    assert_eq!(play.outcomes(ends), [Outcome::Succeeded]);
}
