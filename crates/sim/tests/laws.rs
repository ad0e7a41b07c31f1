//! Every placement and every size keeps its contract, and one that breaks it is found out.

use consort_sched::policy::{Need, Place, Size, size};
use consort_sched::{AskView, Draft, stock};
use consort_sim::peers::helios::WholeNodes;
use consort_sim::peers::openb::BestFit;
use consort_sim::swarm::laws::{self, Case};
use consort_sim::workload::{Cluster, Submission, Truth};
use consort_types::*;
use std::sync::Arc;

const CASES: u64 = 300;

/// Compares answers over all cases; the first that breaks the contract.
fn over<T>(cases: impl Iterator<Item = T>, law: impl Fn(T) -> Result<u64, String>) -> Result<u64, String> {
    cases.map(law).sum()
}

fn random() -> impl Iterator<Item = Case> {
    (0..CASES).map(Case::random)
}

#[test]
fn stock_placements_are_monotone() {
    for placing in stock::PLACES {
        let place = placing.place(3);
        let compared = over(random(), |case| laws::place(&place, &case));
        let compared = compared.unwrap_or_else(|wrong| panic!("{}: {wrong}", placing.name));
        assert!(compared > 20_000, "{}: only {compared} answers were compared", placing.name);
    }
}

/// Their nodes have eight devices each, of one kind, without topology.
#[test]
fn the_placement_of_helios_is_monotone() {
    let place: Arc<dyn Place> = Arc::new(WholeNodes);
    let case = |seed: u64| {
        let submissions = (0..20).map(|number| {
            let count = 1 + ((seed + 7 * number) * 5 % 24) as u32;
            let spec = JobSpec::gang(format!("j{number}"), count, Shape::of("gpu"));
            let (label, truth) = (spec.name.clone(), Truth::runs(Span::seconds(60)));
            Submission { label, at: Time::ZERO, spec: Arc::new(spec), after: vec![], truth }
        });
        let mut cluster = Cluster::uniform("gpu", 1 + (seed % 7) as u32, 8);
        cluster.tenants.push(TenantSpec { name: "default".into(), quotas: vec![] });
        let queue = QueueSpec { name: "default".into(), priority: 0, strict: false, tenants: vec![] };
        cluster.queues.push(queue);
        Case { cluster, submissions: submissions.collect(), seed }
    };
    let compared = over((0..CASES).map(case), |case| laws::place(&place, &case));
    assert!(compared.as_ref().is_ok_and(|&compared| compared > 20_000), "{compared:?}");
}

/// Theirs places pods one by one, wherever there is room.
#[test]
fn the_placement_of_openb_is_monotone() {
    let place: Arc<dyn Place> = Arc::new(BestFit);
    let is_pod = |job: &Submission| {
        let mut roles = job.spec.stages.iter().flat_map(|stage| &stage.roles);
        roles.all(|role| role.count.max == 1 && role.shapes.iter().all(|shape| shape.within.is_none()))
    };
    let case = |mut case: Case| {
        case.submissions.retain(is_pod);
        laws::place(&place, &case)
    };
    let compared = over(random(), case);
    assert!(compared.as_ref().is_ok_and(|&compared| compared > 2_000), "{compared:?}");
}

#[test]
fn the_stock_size_narrows_down_to_the_least() {
    let widest: Arc<dyn Size> = Arc::new(size::Widest);
    let compared = over(random(), |case| laws::size(&widest, &case));
    assert!(compared.as_ref().is_ok_and(|&compared| compared > 10_000), "{compared:?}");
}

/// Waits until the cluster is half full.
struct Shy;

impl Place for Shy {
    fn place(&self, need: &Need<'_>) -> Option<Vec<Grant>> {
        let all: usize = need.nodes().count() * 2;
        if need.free() as usize > all { None } else { stock::PLACES[0].place(1).place(need) }
    }
}

/// Lets only jobs with an even id in.
struct Picky;

impl Place for Picky {
    fn place(&self, need: &Need<'_>) -> Option<Vec<Grant>> {
        let is_odd = need.ask().is_some_and(|ask| ask.id().job.0 % 2 == 1);
        if is_odd { None } else { stock::PLACES[0].place(1).place(need) }
    }
}

/// Never narrows.
struct Proud;

impl Size for Proud {
    fn steps(&self, _draft: &Draft<'_>, _ask: &AskView<'_>) -> u32 {
        1
    }
    fn counts(&self, _draft: &Draft<'_>, ask: &AskView<'_>, _step: u32) -> Vec<u32> {
        ask.class().most()
    }
}

#[test]
fn opinions_that_break_the_contract_are_found_out() {
    let shy: Arc<dyn Place> = Arc::new(Shy);
    let wrong = over(random(), |case| laws::place(&shy, &case)).expect_err("it is not monotone");
    assert!(wrong.contains("did not when more was free"), "{wrong}");
    let picky: Arc<dyn Place> = Arc::new(Picky);
    let wrong = over(random(), |case| laws::place(&picky, &case)).expect_err("it looks at the ask");
    assert!(wrong.contains("depends on the ask"), "{wrong}");
    let proud: Arc<dyn Size> = Arc::new(Proud);
    let wrong = over(random(), |case| laws::size(&proud, &case)).expect_err("it never narrows");
    assert!(wrong.contains("not the least width"), "{wrong}");
}
