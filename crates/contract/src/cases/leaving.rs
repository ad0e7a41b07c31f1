//! Work that leaves in good order when it is asked to: it saves its state and exits with 0.

use super::gang;
use crate::{Part, Play, Stage};
use consort_sched::{Doing, Ending};
use consort_types::{Input, Outcome};

/// It was stopped, not done: resumed, it runs again. A lone worker and a gang.
pub fn what_leaves_in_peace_when_asked_is_not_done<S: Stage>(play: &mut Play<S>) {
    for wide in [1, 3] {
        let job = play.submit(gang("saves", wide), Part::Saves);
        play.until("it runs", |play| play.is_running(job));
        let first = play.allocation(job);
        play.until("all have begun", |play| play.crew(first).is_none_or(|crew| crew.began == wide as usize));
        play.say(Input::Pause(job));
        play.until("it is set aside", |play| {
            play.ending(job).is_some() || play.doing(job) == Some(Doing::Blocked)
        });
        assert_eq!(play.outcomes(job), [Outcome::Stopped]);
        play.say(Input::Resume(job));
        play.until("it runs again", |play| play.is_running(job));
        assert_eq!(play.allocation(job).attempt, first.attempt + 1);
        play.say(Input::Cancel(job));
        play.until("it is gone", |play| play.ending(job) == Some(Ending::Cancelled));
    }
}
