//! A node is given up while its work may still be there: it ends, and only then does anything of it begin again.
//!
//! That no ask ever has two attempts alive is looked at in every turn.

use super::gang;
use crate::stage::WHILE;
use crate::{Part, Play, Stage};
use consort_sched::Ending;
use consort_types::{AllocationId, Input, JobId, NodeId, NodeSpec};

/// Gives up the node of a job, as when its lease runs out; the world was not asked. Returns what it takes to join again.
fn fence<S: Stage>(play: &mut Play<S>, job: JobId) -> NodeSpec {
    let view = play.scheduler().view();
    let device = view.ask(consort_types::AskId::whole(job)).expect("the job lives").grants()[0].device;
    let node: NodeId = view.locate(device).0;
    let spec = view.node_by_id(node).expect("it has joined").spec.clone();
    play.say(Input::NodeFenced(node));
    spec
}

/// Waits until the world has reported the end of a fenced attempt; then the node joins again.
fn is_ended_and_joins<S: Stage>(play: &mut Play<S>, fenced: AllocationId, spec: NodeSpec) {
    play.until("its end is reported", |play| play.scheduler().view().fenced_attempts().next().is_none());
    assert!(play.crew(fenced).is_none_or(|crew| crew.up == 0), "it is left: {:?}", play.crew(fenced));
    play.say(Input::NodeJoined(spec));
}

/// The attempt is ended, and the next one begins.
pub fn what_was_running_on_it<S: Stage>(play: &mut Play<S>) {
    let job = play.submit(gang("running", 1), Part::Runs);
    play.until("it runs", |play| play.is_running(job));
    let first = play.allocation(job);
    let spec = fence(play, job);
    is_ended_and_joins(play, first, spec);
    play.until("it runs again", |play| play.is_running(job));
    assert_eq!(play.allocation(job).attempt, first.attempt + 1);
}

/// The attempt ends, also if it comes up late, and the next one begins.
pub fn what_was_starting_on_it<S: Stage>(play: &mut Play<S>) {
    let job = play.submit(gang("starting", 1), Part::Runs);
    let first = play.allocation(job);
    let spec = fence(play, job);
    is_ended_and_joins(play, first, spec);
    play.until("it runs", |play| play.is_running(job));
    play.go_on(WHILE);
    assert_eq!(play.allocation(job).attempt, first.attempt + 1);
    assert!(play.crew(first).is_none_or(|crew| crew.up == 0), "it came up late: {:?}", play.crew(first));
}

/// The loop dies right after: it tells the world once more.
pub fn what_was_running_on_it_before_a_crash<S: Stage>(play: &mut Play<S>) {
    let job = play.submit(gang("running", 1), Part::Runs);
    play.until("it runs", |play| play.is_running(job));
    let first = play.allocation(job);
    let spec = fence(play, job);
    play.crash();
    play.open();
    is_ended_and_joins(play, first, spec);
    play.until("it runs again", |play| play.is_running(job));
}

/// It is cancelled: the job ends at once, and its work a little later.
pub fn what_is_cancelled_meanwhile<S: Stage>(play: &mut Play<S>) {
    let job = play.submit(gang("running", 1), Part::Runs);
    play.until("it runs", |play| play.is_running(job));
    let first = play.allocation(job);
    let spec = fence(play, job);
    play.say(Input::Cancel(job));
    assert_eq!(play.ending(job), Some(Ending::Cancelled));
    is_ended_and_joins(play, first, spec);
}
