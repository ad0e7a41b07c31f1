use super::*;
use consort_types::Digest;
use std::collections::BTreeMap;

#[test]
fn the_same_seed_gives_the_same_workload_on_every_machine() {
    let cluster = demo_cluster();
    let workload = generate(&Recipe::default(), &cluster);
    assert_eq!(workload, generate(&Recipe::default(), &cluster));
    assert_ne!(workload, generate(&Recipe { seed: 2, ..Recipe::default() }, &cluster));
    // A change of this number means that reports of older versions can no longer be compared.
    assert_eq!(format!("{:016x}", Digest::of(&workload)), "ea49b3da44568dd8");
}

#[test]
fn the_demonstration_is_mixed_and_contended() {
    let cluster = demo_cluster();
    assert_eq!((cluster.nodes.len(), cluster.kinds.len(), cluster.devices()), (24, 3, 192));
    let workload = generate(&Recipe::default(), &cluster);
    assert_eq!(workload.submissions.len(), 1_000);
    let hours = workload.submissions[999].at.as_seconds() / 3600.0;
    assert!((36.0..60.0).contains(&hours), "{hours} hours of arrivals");
    let mut work = BTreeMap::<String, f64>::new();
    for job in &workload.submissions {
        let (stage, role) = (&job.spec.stages[0], &job.spec.stages[0].roles[0]);
        let width = f64::from(stage.form.asks() * role.count.max * u32::from(role.shapes[0].share)) / 1000.0;
        *work.entry(role.shapes[0].kind.clone().unwrap()).or_default() +=
            width * job.truth.lengths[0].as_seconds() / 3600.0;
    }
    for (kind, work) in work {
        let load = work / hours / cluster.devices_of(&kind) as f64;
        println!("{kind}: load {load:.2}");
        assert!((0.6..1.6).contains(&load), "{kind}: {load}");
    }
    let share = |has: fn(&Submission) -> bool| {
        workload.submissions.iter().filter(|job| has(job)).count() as f64 / workload.submissions.len() as f64
    };
    assert!((0.08..0.2).contains(&share(
        |job| job.spec.stages[0].roles[0].count.min < job.spec.stages[0].roles[0].count.max
    )));
    assert!((0.06..0.14).contains(&share(|job| matches!(job.spec.stages[0].form, Form::Bag { .. }))));
    assert!((0.15..0.25).contains(&share(|job| job.spec.deadline.is_some())));
    assert!((0.15..0.25).contains(&share(|job| job.spec.qos == Qos::BestEffort)));
}

#[test]
fn afternoons_are_busier_than_nights() {
    let recipe = Recipe { jobs: 20_000, rate_per_hour: 100.0, ..Recipe::default() };
    let mut hours = [0; 24];
    for job in generate(&recipe, &demo_cluster()).submissions {
        hours[(job.at.as_seconds() / 3600.0) as usize % 24] += 1;
    }
    assert!(hours[15] > 5 * hours[3], "{hours:?}");
}

#[test]
fn odd_recipes_and_clusters_do_no_harm() {
    let recipe = Recipe {
        jobs: 100,
        rate_per_hour: f64::NAN,
        kinds: vec![("nothing".into(), f64::NAN)],
        widths: vec![(0, 1.0), (u32::MAX, 1.0)],
        sigma: 1e9,
        tail: 0.5,
        tail_exponent: -1.0,
        tenants: vec![],
        estimates: Estimates::Off { sigma: f64::INFINITY },
        ..Recipe::default()
    };
    let cluster = Cluster::uniform("x", 2, 4);
    let workload = generate(&recipe, &cluster);
    assert_eq!(workload.submissions.len(), 100);
    assert!(workload.submissions.iter().all(|job| job.at == Time::ZERO));
    assert!(workload.submissions.iter().all(|job| job.spec.stages[0].roles[0].count.max <= 8));
    assert!(generate(&recipe, &Cluster::default()).submissions.is_empty());
}
