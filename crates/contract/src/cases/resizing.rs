//! Running gangs get other widths, in worlds that say they can do that; others have nothing to keep here.

use super::gang;
use crate::{Part, Play, Stage};
use consort_sched::Ending;
use consort_types::{AllocationId, AskId, Count, Input, JobId, JobSpec, Outcome, Resize, Span};

/// A gang that accepts every width up to this one, and has much left to do.
fn elastic(name: &str, most: u32) -> JobSpec {
    let (estimate, restart_cost) = (Some(Span::seconds(86_400)), Span::seconds(1));
    let mut spec = JobSpec { estimate, restart_cost, ..gang(name, 1) };
    spec.stages[0].roles[0].count = Count { min: 1, max: most };
    spec
}

fn width<S: Stage>(play: &Play<S>, job: JobId) -> u32 {
    let view = play.scheduler().view();
    view.ask(AskId::whole(job)).map_or(0, |ask| ask.fills().iter().map(|fill| fill.count).sum())
}

fn up<S: Stage>(play: &Play<S>, id: AllocationId) -> Option<usize> {
    play.crew(id).map(|crew| crew.up)
}

/// The attempt that is on after a resize of this one, and how those before it ended.
fn resized<S: Stage>(first: AllocationId) -> (AllocationId, &'static [Outcome]) {
    match S::CAPABILITIES.resize {
        Resize::Restart => (AllocationId { attempt: first.attempt + 1, ..first }, &[Outcome::Stopped]),
        _ => (first, &[]),
    }
}

/// It is narrower from then on, and what it gave up goes to the other one only when nobody of it is left there. That its
/// workers leave in peace when they are asked does not make the work done.
pub fn a_wide_gang_gives_way<S: Stage>(play: &mut Play<S>) {
    if S::CAPABILITIES.resize == Resize::No {
        return;
    }
    let all = play.devices();
    let wide = play.submit(elastic("wide", all), Part::Saves);
    let first = play.allocation(wide);
    play.until("it runs", |play| {
        play.is_running(wide) && play.crew(first).is_none_or(|crew| crew.began == all as usize)
    });
    assert_eq!(width(play, wide), all);
    let other = play.submit(JobSpec { priority: 10, ..gang("other", 1) }, Part::Ends);
    let (next, outcomes) = resized::<S>(first);
    play.until("both had their turn", |play| {
        let other_up =
            play.scheduler().view().ask(AskId::whole(other)).and_then(|ask| up(play, ask.allocation()));
        let (before, after) = (up(play, first).unwrap_or(0), up(play, next).unwrap_or(0));
        let in_all = if next == first { before } else { before + after } + other_up.unwrap_or(0);
        assert!(in_all <= all as usize, "{before}, {after} and {other_up:?} on {all} devices");
        play.ending(other) == Some(Ending::Succeeded) && play.is_running(wide)
    });
    assert_eq!(play.allocation(wide), next);
    assert_eq!(play.outcomes(wide), outcomes);
}

/// What others leave behind it gets, without having been in a queue in between.
pub fn a_gang_grows_into_what_is_free<S: Stage>(play: &mut Play<S>) {
    if S::CAPABILITIES.resize == Resize::No {
        return;
    }
    let all = play.devices();
    let filler = play.submit(gang("filler", all - 1), Part::Runs);
    let narrow = play.submit(elastic("narrow", all), Part::Saves);
    let first = play.allocation(narrow);
    play.until("both run", |play| {
        let is_ready = play.crew(first).is_none_or(|crew| crew.began == 1);
        play.is_running(filler) && play.is_running(narrow) && is_ready
    });
    assert_eq!(width(play, narrow), 1);
    play.say(Input::Cancel(filler));
    let (next, outcomes) = resized::<S>(first);
    play.until("it has grown", |play| {
        let waits = play.scheduler().view().waiting_count();
        assert_eq!(waits, 0, "it does not go back to its queue");
        let is_whole = up(play, next).is_none_or(|up| up == all as usize);
        play.is_running(narrow) && width(play, narrow) == all && is_whole
    });
    assert_eq!(play.allocation(narrow), next);
    assert_eq!(play.outcomes(narrow), outcomes);
}

/// Whatever the world has done of it by then.
pub fn what_is_being_resized_can_be_cancelled<S: Stage>(play: &mut Play<S>) {
    if S::CAPABILITIES.resize == Resize::No {
        return;
    }
    let all = play.devices();
    let wide = play.submit(elastic("wide", all), Part::Runs);
    play.until("it runs", |play| play.is_running(wide));
    let other = play.submit(JobSpec { priority: 10, ..gang("other", 2) }, Part::Ends);
    play.say(Input::Cancel(wide));
    play.until("only the other one has its turn", |play| {
        play.ending(other) == Some(Ending::Succeeded) && play.ending(wide) == Some(Ending::Cancelled)
    });
}

/// It comes back, and goes on with it.
pub fn a_crash_in_the_middle_of_a_resize<S: Stage>(play: &mut Play<S>) {
    if S::CAPABILITIES.resize == Resize::No {
        return;
    }
    let all = play.devices();
    let wide = play.submit(elastic("wide", all), Part::Runs);
    let first = play.allocation(wide);
    play.until("it runs", |play| play.is_running(wide));
    let other = play.submit(JobSpec { priority: 10, ..gang("other", 1) }, Part::Ends);
    play.crash();
    play.until("both had their turn", |play| {
        play.ending(other) == Some(Ending::Succeeded) && play.is_running(wide)
    });
    assert_eq!(play.allocation(wide), resized::<S>(first).0);
}
