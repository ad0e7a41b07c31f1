//! A policy cannot break the cluster: what it writes passes `check`, or nothing of it is done.

use consort_sched::check::Breach;
use consort_sched::{Draft, Policy, Scheduler};
use consort_types::*;
use std::sync::Arc;

/// Starts the first who waits on the first device, whatever it asked for, and asks to be woken.
struct Rogue;

impl Policy for Rogue {
    fn name(&self) -> &str {
        "rogue"
    }

    fn fill(&self, draft: &mut Draft<'_>) {
        let Some(ask) = draft.view().waiting().next() else { return };
        let grants = vec![Grant { device: DeviceId(0), share: WHOLE, memory_bytes: 0 }];
        let fills = vec![Fill { shape: 0, count: 1 }];
        assert_eq!(draft.start(ask, Placement { fills, grants }), Ok(()), "the draft is kind");
        draft.wake_at(Time::seconds(60));
    }
}

fn house(members: u32) -> Scheduler {
    let mut scheduler = Scheduler::new(Arc::new(Rogue), Capabilities::default());
    let devices = vec![DeviceGroup { kind: "h200".into(), count: 4, island: 0 }];
    for input in [
        Input::SetKind(KindSpec::named("h200")),
        Input::SetTenant(TenantSpec { name: "default".into(), quotas: vec![] }),
        Input::SetQueue(QueueSpec { name: "default".into(), priority: 0, strict: false, tenants: vec![] }),
        Input::NodeJoined(NodeSpec { name: "n1".into(), devices, ..NodeSpec::default() }),
        Input::Submit(Arc::new(JobSpec::gang("a", members, Shape::of("h200")))),
    ] {
        let event = scheduler.accept(Time::ZERO, input).expect("a plain house");
        scheduler.apply(&event);
    }
    scheduler
}

#[test]
fn a_plan_that_breaks_a_rule_is_thrown_away_and_noted() {
    let mut scheduler = house(2); // the rogue starts half of the gang
    let before = scheduler.state_hash();
    let plan = scheduler.plan(Time::ZERO);
    assert!(plan.is_empty(), "{plan:?}");
    assert_eq!((plan.wake_at, plan.based_on), (Some(Time::seconds(60)), scheduler.view().seen()));
    let rejections = scheduler.take_rejections();
    assert_eq!(rejections.iter().map(|broken| broken.rule).collect::<Vec<_>>(), [Breach::NotWhole]);
    assert_eq!(scheduler.state_hash(), before);
    assert_eq!(scheduler.audit(), Vec::<String>::new());
    assert!(scheduler.take_rejections().is_empty(), "told once");
}

#[test]
fn the_same_policy_is_heard_where_it_keeps_the_rules() {
    let mut scheduler = house(1);
    let plan = scheduler.plan(Time::ZERO);
    assert!(matches!(plan.moves[..], [Move::Start { .. }]), "{plan:?}");
    assert!(scheduler.take_rejections().is_empty());
}

#[test]
fn only_the_last_rejections_are_kept() {
    let mut scheduler = house(2);
    for second in 0..1_000 {
        assert!(scheduler.plan(Time::seconds(second)).is_empty());
    }
    let rejections = scheduler.take_rejections();
    assert_eq!(rejections.len(), 16);
    assert_eq!(rejections[0].to_string(), "move 1 (job 1): it starts a gang in part");
}
