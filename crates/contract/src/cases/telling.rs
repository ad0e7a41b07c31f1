//! Desires are what is wanted, not commands: telling them again changes nothing.

use super::gang;
use crate::play::Telling;
use crate::{Part, Play, Stage};
use consort_sched::Ending;
use consort_types::{Input, Outcome};

/// Every desire comes twice, at once and in two calls.
pub fn desires_told_twice_change_nothing<S: Stage>(play: &mut Play<S>) {
    play.telling = Telling::Twice;
    story(play);
}

/// In every turn the world is told everything that is desired, as if we had just met.
pub fn all_desires_told_again_change_nothing<S: Stage>(play: &mut Play<S>) {
    play.telling = Telling::All;
    story(play);
}

/// Something of everything: how often workers began is looked at in every turn.
fn story<S: Stage>(play: &mut Play<S>) {
    let ends = play.submit(gang("ends", 2), Part::Ends);
    let mut spec = gang("stumbles", 1);
    spec.retries = 1;
    let stumbles = play.submit(spec, Part::Fails(1));
    let runs = play.submit(gang("runs", 1), Part::Runs);
    play.until("they end", |play| {
        let is_over = |job| play.ending(job) == Some(Ending::Succeeded);
        is_over(ends) && is_over(stumbles) && play.is_running(runs)
    });
    play.say(Input::Cancel(runs));
    play.until("the last one ends", |play| play.ending(runs) == Some(Ending::Cancelled));
    assert_eq!(play.outcomes(runs), [Outcome::Stopped]);
    assert_eq!(play.outcomes(ends), [Outcome::Succeeded]);
    assert_eq!(play.outcomes(stumbles).len(), 2);
}
