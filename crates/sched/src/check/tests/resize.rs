//! One bad resize for every rule, beside the nearest good one.

use super::*;

/// The same house in a world that resizes like this.
fn resizing(how: Resize) -> Scheduler {
    let mut scheduler = house();
    scheduler.capabilities.resize = how;
    scheduler
}

fn elastic(min: u32, max: u32) -> JobSpec {
    let mut spec = gang(min);
    spec.stages[0].roles[0].count = Count { min, max };
    spec
}

fn resize(ask: AskId, devices: &[u32]) -> Move {
    to(ask, whole(devices), vec![])
}

fn to(ask: AskId, placement: Placement, after: Vec<AllocationId>) -> Move {
    Move::Resize { allocation: first(ask), placement, after, in_place: true }
}

#[test]
fn only_what_runs_can_be_resized_and_only_once() {
    let mut scheduler = resizing(Resize::InPlace);
    let ask = submit(&mut scheduler, elastic(1, 4));
    assert_eq!(verdict(&scheduler, vec![resize(ask, &[0])]), Err((Breach::NotResizable, 0)));
    commit(&mut scheduler, vec![start(ask, whole(&[0]))]);
    let wider = resize(ask, &[0, 1]);
    assert_eq!(verdict(&scheduler, vec![wider.clone()]), Err((Breach::NotResizable, 0)), "it is starting");
    say(&mut scheduler, Input::Started(first(ask)));
    assert_eq!(verdict(&scheduler, vec![wider.clone()]), Ok(()));
    assert_eq!(verdict(&scheduler, vec![wider.clone(), wider.clone()]), Err((Breach::NotResizable, 1)));
    let other = Move::Resize {
        allocation: AllocationId { ask, attempt: 2 },
        placement: whole(&[0, 1]),
        after: vec![],
        in_place: true,
    };
    assert_eq!(verdict(&scheduler, vec![other]), Err((Breach::NotResizable, 0)), "no such attempt");
    let by = submit(&mut scheduler, gang(1));
    assert_eq!(verdict(&scheduler, vec![stop(ask, by), wider.clone()]), Err((Breach::NotResizable, 1)));
    assert_eq!(verdict(&scheduler, vec![wider.clone(), stop(ask, by)]), Err((Breach::NotStoppable, 1)));
    commit(&mut scheduler, vec![wider]);
    assert_eq!(verdict(&scheduler, vec![resize(ask, &[0, 1, 2])]), Err((Breach::NotResizable, 0)));
}

#[test]
fn after_a_refusal_it_is_not_resized_before_a_backoff() {
    let mut scheduler = resizing(Resize::InPlace);
    let ask = running(&mut scheduler, elastic(1, 4), &[0]);
    let wider = resize(ask, &[0, 1]);
    commit(&mut scheduler, vec![wider.clone()]);
    let refused = Input::ResizeRefused { allocation: first(ask), generation: 1, why: "no".into() };
    say(&mut scheduler, refused);
    assert_eq!(verdict(&scheduler, vec![wider.clone()]), Err((Breach::NotResizable, 0)));
    let after = START + Constants::FIRST.refused_backoff;
    assert_eq!(verdict_at(&scheduler, after, vec![wider]), Ok(()));
}

#[test]
fn a_world_is_asked_only_for_what_it_can_do() {
    for able in [Resize::No, Resize::Restart, Resize::InPlace] {
        let mut scheduler = resizing(able);
        let ask = running(&mut scheduler, elastic(1, 4), &[0]);
        for (in_place, how) in [(true, Resize::InPlace), (false, Resize::Restart)] {
            let (allocation, placement) = (first(ask), whole(&[0, 1]));
            let change = Move::Resize { allocation, placement, after: vec![], in_place };
            let right = if able == how { Ok(()) } else { Err((Breach::CannotResize, 0)) };
            assert_eq!(verdict(&scheduler, vec![change]), right);
        }
    }
    let mut scheduler = resizing(Resize::Restart);
    let ask = running(&mut scheduler, elastic(1, 4), &[0]);
    scheduler.capabilities.preempts = false;
    let (allocation, placement) = (first(ask), whole(&[0, 1]));
    let change = Move::Resize { allocation, placement, after: vec![], in_place: false };
    assert_eq!(verdict(&scheduler, vec![change]), Err((Breach::CannotPreempt, 0)));
}

#[test]
fn a_resized_gang_is_what_was_asked_for() {
    let mut scheduler = resizing(Resize::InPlace);
    let ask = running(&mut scheduler, elastic(2, 3), &[0, 1]);
    let with = |placement| verdict(&scheduler, vec![to(ask, placement, vec![])]);
    assert_eq!(with(whole(&[0, 1, 2])), Ok(()));
    assert_eq!(with(whole(&[2, 3])), Ok(()), "moved");
    assert_eq!(with(whole(&[0])), Err((Breach::NotWhole, 0)), "too narrow");
    assert_eq!(with(whole(&[0, 1, 2, 3])), Err((Breach::NotWhole, 0)), "too wide");
    let mut short = whole(&[0, 1, 2]);
    short.grants.pop();
    assert_eq!(with(short), Err((Breach::NotWhole, 0)));
    assert_eq!(with(whole(&[0, 1, 6])), Err((Breach::WrongShape, 0)), "another kind");
    assert_eq!(with(whole(&[0, 1])), Err((Breach::SamePlacement, 0)));
    assert_eq!(with(whole(&[0, 0, 1])), Err((Breach::Overlap, 0)), "one device twice");
}

#[test]
fn members_stay_together_when_they_are_resized() {
    let mut scheduler = resizing(Resize::InPlace);
    let mut spec = elastic(2, 4);
    spec.stages[0].roles[0].shapes[0].within = Some("rack".into());
    let ask = running(&mut scheduler, spec, &[0, 1]);
    assert_eq!(verdict(&scheduler, vec![resize(ask, &[0, 1, 4])]), Err((Breach::TooFarApart, 0)));
    assert_eq!(verdict(&scheduler, vec![resize(ask, &[0, 1, 3])]), Ok(()));
}

#[test]
fn what_is_new_must_be_free_and_on_a_node_that_takes_work() {
    let mut scheduler = resizing(Resize::InPlace);
    let ask = running(&mut scheduler, elastic(1, 4), &[0]);
    let other = running(&mut scheduler, gang(1), &[1]);
    assert_eq!(verdict(&scheduler, vec![resize(ask, &[0, 1])]), Err((Breach::Overlap, 0)));
    let pending = submit(&mut scheduler, gang(1));
    let taken = vec![start(pending, whole(&[2])), resize(ask, &[0, 2])];
    assert_eq!(verdict(&scheduler, taken), Err((Breach::Overlap, 1)));
    let promised = |after| to(ask, whole(&[0, 1]), after);
    assert_eq!(verdict(&scheduler, vec![promised(vec![first(other)])]), Err((Breach::NotGiven, 0)));
    assert_eq!(verdict(&scheduler, vec![promised(vec![first(ask)])]), Err((Breach::NotGiven, 0)));
    assert_eq!(
        verdict(&scheduler, vec![stop(other, pending), promised(vec![first(other)])]),
        Ok(()),
        "what the same plan stops"
    );
    say(&mut scheduler, Input::Drain(NodeId(1)));
    assert_eq!(verdict(&scheduler, vec![resize(ask, &[0, 4])]), Err((Breach::NodeNotUsable, 0)));
    say(&mut scheduler, Input::Drain(NodeId(0)));
    let moved = vec![resize(ask, &[0, 2])];
    assert_eq!(verdict(&scheduler, moved), Err((Breach::NodeNotUsable, 0)), "what it has already may stay");
}

#[test]
fn what_is_given_up_can_be_promised_and_the_rest_cannot() {
    let mut scheduler = resizing(Resize::InPlace);
    let ask = running(&mut scheduler, elastic(1, 4), &[0, 1, 2]);
    let pending = submit(&mut scheduler, gang(1));
    let promised =
        |device| Move::Start { ask: pending, placement: whole(&[device]), after: vec![first(ask)] };
    assert_eq!(verdict(&scheduler, vec![promised(2)]), Err((Breach::NotGiven, 0)));
    assert_eq!(verdict(&scheduler, vec![resize(ask, &[0, 1]), promised(2)]), Ok(()));
    assert_eq!(verdict(&scheduler, vec![resize(ask, &[0, 1]), promised(1)]), Err((Breach::Overlap, 1)));
    let at_once = start(pending, whole(&[2]));
    assert_eq!(verdict(&scheduler, vec![resize(ask, &[0, 1]), at_once]), Err((Breach::Overlap, 1)));
    // Stopped in a later plan, it gives what it has not promised.
    commit(&mut scheduler, vec![resize(ask, &[0, 1]), promised(2)]);
    let other = submit(&mut scheduler, gang(1));
    let after_stop =
        |device| Move::Start { ask: other, placement: whole(&[device]), after: vec![first(ask)] };
    assert_eq!(verdict(&scheduler, vec![stop(ask, other), after_stop(0)]), Ok(()));
    assert_eq!(verdict(&scheduler, vec![stop(ask, other), after_stop(2)]), Err((Breach::Overlap, 1)));
}

#[test]
fn a_resize_keeps_the_ceiling() {
    let mut scheduler = resizing(Resize::InPlace);
    let red = JobSpec { tenant: "red".into(), ..elastic(1, 4) };
    let ask = running(&mut scheduler, red, &[0, 1]);
    assert_eq!(verdict(&scheduler, vec![resize(ask, &[0, 1, 2])]), Ok(()));
    assert_eq!(verdict(&scheduler, vec![resize(ask, &[0, 1, 2, 3])]), Err((Breach::Ceiling, 0)));
    // Until it has left the old ones, it holds both.
    assert_eq!(verdict(&scheduler, vec![resize(ask, &[2, 3])]), Err((Breach::Ceiling, 0)));
}

#[test]
fn guaranteed_work_is_not_made_narrower() {
    let mut scheduler = resizing(Resize::InPlace);
    let spec = JobSpec { qos: Qos::Guaranteed, ..elastic(1, 4) };
    let ask = running(&mut scheduler, spec, &[0, 1]);
    assert_eq!(verdict(&scheduler, vec![resize(ask, &[0])]), Err((Breach::Guaranteed, 0)));
    assert_eq!(verdict(&scheduler, vec![resize(ask, &[0, 1, 2])]), Ok(()));
}
