//! What policies remember: each reads its own, in its own layout, and replaces what another left. And what they say in
//! their own words.

use consort_sched::{Draft, Policy, Scheduler};
use consort_types::*;
use std::sync::Arc;

/// Remembers how many plans it remembers to have made, and says why the watched ask waits.
struct Counting {
    name: &'static str,
    version: u32,
}

impl Policy for Counting {
    fn name(&self) -> &str {
        self.name
    }

    fn fill(&self, draft: &mut Draft<'_>) {
        let known = draft.memory(self.version).map_or(0, |words| words[0]);
        draft.remember(self.version, vec![known + 1]);
        if let Some(ask) = draft.watched() {
            let (policy, why) = (self.name.to_owned(), "it counts".to_owned());
            draft.note(ask, Reason::Deferred { policy, why });
        }
    }
}

/// Makes plans under a policy, as a daemon does that was started with it on an old journal. What it counted.
fn plans(journal: &mut Vec<Event>, name: &'static str, version: u32, count: u32) -> Vec<i64> {
    let policy = Arc::new(Counting { name, version });
    let mut scheduler = Scheduler::recover(policy, Capabilities::default(), &*journal);
    let mut counted = vec![];
    for _ in 0..count {
        let plan = scheduler.plan(Time::ZERO);
        counted.extend(plan.slot.iter().map(|slot| slot.words[0]));
        let event = Event::new(Time::ZERO, Fact::Planned(plan));
        scheduler.apply(&event);
        journal.push(event);
    }
    counted
}

#[test]
fn a_policy_reads_what_it_wrote_and_nothing_else() {
    let mut journal = vec![];
    assert_eq!(plans(&mut journal, "one", 1, 3), [1, 2, 3]);
    assert_eq!(plans(&mut journal, "one", 1, 1), [4], "after a restart");
    assert_eq!(plans(&mut journal, "other", 1, 2), [1, 2], "the slot of another policy is not read");
    assert_eq!(plans(&mut journal, "one", 1, 1), [1], "it was replaced by the first plan of the other");
    assert_eq!(plans(&mut journal, "one", 2, 2), [1, 2], "nor is one of another layout");
    let Fact::Planned(plan) = &journal[journal.len() - 1].fact else { panic!("they are plans") };
    let slot = Slot { policy: "one".into(), version: 2, words: vec![2] };
    assert_eq!(plan.slot, Some(slot), "the journal says whose it is");
}

#[test]
fn a_policy_that_remembers_nothing_leaves_the_slot_alone() {
    let mut journal = vec![];
    plans(&mut journal, "one", 1, 2);
    let fifo = consort_sched::stock::find("fifo").expect("a stock policy").policy();
    let mut scheduler = Scheduler::recover(fifo, Capabilities::default(), &journal);
    assert_eq!(scheduler.plan(Time::ZERO).slot, None);
    assert_eq!(scheduler.view().remembering(), Some(("one", 1)));
}

#[test]
fn a_slot_without_a_name_belongs_to_no_policy() {
    let slot = Slot { version: 1, words: vec![7], ..Slot::default() }; // as in journals of 0.1
    let mut journal =
        vec![Event::new(Time::ZERO, Fact::Planned(Plan { slot: Some(slot), ..Plan::default() }))];
    let nameless = Arc::new(Counting { name: "", version: 1 });
    let scheduler = Scheduler::recover(nameless, Capabilities::default(), &journal);
    assert_eq!((scheduler.view().remembering(), scheduler.view().memory_of("", 1)), (None, None));
    assert_eq!(plans(&mut journal, "one", 1, 1), [1]);
}

#[test]
fn a_policy_explains_in_its_own_words() {
    let policy = Arc::new(Counting { name: "one", version: 1 });
    let mut scheduler = Scheduler::new(policy, Capabilities::default());
    let devices = vec![DeviceGroup { kind: "a".into(), count: 1, island: 0 }];
    for input in [
        Input::SetKind(KindSpec::named("a")),
        Input::SetTenant(TenantSpec { name: "default".into(), quotas: vec![] }),
        Input::SetQueue(QueueSpec { name: "default".into(), priority: 0, strict: false, tenants: vec![] }),
        Input::NodeJoined(NodeSpec { name: "n".into(), devices, ..NodeSpec::default() }),
        Input::Submit(Arc::new(JobSpec::gang("j", 1, Shape::of("a")))),
    ] {
        let event = scheduler.accept(Time::ZERO, input).expect("in order");
        scheduler.apply(&event);
    }
    let told = scheduler.explain(Time::ZERO, JobId(1)).expect("it lives");
    assert_eq!(told.asks[0].1.to_string(), "is deferred by one: it counts");
}
