use super::*;
use crate::fabric::{Host, Level, Link};
use crate::pipeline::layers::Layer;

/// Hosts of so many devices of a kind, each one island, with these speeds inside and between.
pub(super) fn fabric(hosts: &[(u32, &str)], inside: f64, between: f64) -> Fabric {
    let link = |bandwidth| Link { bandwidth, latency_s: 0.0 };
    let host = |(index, (devices, kind)): (usize, &(u32, &str))| Host {
        name: format!("h{index}"),
        domains: vec![],
        devices: *devices,
        island: *devices,
        kind: kind.to_string(),
    };
    Fabric {
        levels: vec![Level { name: "all".into(), link: link(between), uplink: None }],
        node: link(inside),
        island: link(inside),
        hosts: hosts.iter().enumerate().map(host).collect(),
        measured: None,
    }
}

pub(super) fn kind(name: &str, speed: f64, memory_bytes: f64) -> Kind {
    Kind { name: name.into(), speed, factors: vec![], memory_bytes }
}

/// A chain of forward times, bytes handed on and bytes learned.
pub(super) fn chain(layers: &[(f64, f64, f64)]) -> Layers {
    let layer = |(index, &(time, activation_bytes, parameter_bytes)): (usize, &(f64, f64, f64))| Layer {
        id: format!("l{index}"),
        name: String::new(),
        forward_s: time,
        backward_s: 2.0 * time,
        activation_bytes,
        parameter_bytes,
    };
    Layers {
        layers: layers.iter().enumerate().map(layer).collect(),
        edges: (1..layers.len()).map(|index| (index - 1, index)).collect(),
    }
}

#[test]
fn without_much_to_learn_data_parallel_is_best_and_said_to_be() {
    let layers = chain(&[(1.0, 100.0, 0.0), (2.0, 100.0, 1.0), (1.0, 10.0, 1.0)]);
    let request = Request::new(layers, fabric(&[(4, "a")], 1000.0, 1.0), vec![kind("a", 1.0, 1e9)]);
    let answer = plan(&request).unwrap();
    assert!(answer.plan.is_data_parallel);
    assert_eq!(answer.plan.advice, "just use data parallel");
    assert!((answer.objective - 3.0).abs() < 0.01);
}

#[test]
fn much_to_learn_on_narrow_links_makes_a_pipeline() {
    let layers = chain(&[(1.0, 1.0, 1000.0); 8]);
    let request = Request::new(layers, fabric(&[(4, "a")], 100.0, 1.0), vec![kind("a", 1.0, 1e9)]);
    let answer = plan(&request).unwrap();
    assert_eq!(answer.plan.stages.len(), 4);
    assert!(answer.objective < answer.plan.data_parallel_s.unwrap() / 2.0);
    assert!(answer.bound <= answer.objective && answer.bound >= 6.0);
}

#[test]
fn unlike_devices_get_shares_and_stages_by_their_speed() {
    let kinds = vec![kind("a", 3.0, 1e9), kind("b", 1.0, 1e9)];
    // Little to learn: all devices, the fast ones with three times the samples.
    let request = Request {
        most_tensor: 1,
        ..Request::new(chain(&[(1.0, 1e6, 1.0); 4]), fabric(&[(2, "a"), (2, "b")], 1e6, 1e6), kinds.clone())
    };
    let answer = plan(&request).unwrap();
    assert!(answer.plan.is_data_parallel);
    assert_eq!(answer.plan.stages[0].shares, [0.375, 0.375, 0.125, 0.125]);
    assert!((answer.objective - 12.0 / 8.0).abs() < 1e-3);
    // Much to learn: a pipeline in which the fast device has three of four layers.
    let request = Request::new(chain(&[(1.0, 1.0, 1e6); 4]), fabric(&[(1, "a"), (1, "b")], 1e3, 1e3), kinds);
    let answer = plan(&request).unwrap();
    let layers: Vec<usize> =
        answer.plan.stages.iter().map(|it| it.parts.iter().map(|part| part.layers.len()).sum()).collect();
    let fast = answer.plan.stages.iter().position(|stage| stage.kinds == ["a"]).unwrap();
    assert_eq!((layers.len(), layers[fast]), (2, 3), "{:?}", answer.plan);
}

#[test]
fn memory_is_never_exceeded_and_recomputation_helps_where_it_is_short() {
    let mut recomputed = 0;
    for memory in [1e9, 6e3, 4.5e3, 3.5e3, 3e3] {
        let request = Request {
            microbatches: Microbatches::Exactly(8),
            most_tensor: 1,
            ..Request::new(
                chain(&[(1.0, 2000.0, 200.0); 6]),
                fabric(&[(3, "a")], 1e4, 1e4),
                vec![kind("a", 1.0, memory)],
            )
        };
        let answer = plan(&request).unwrap();
        for stage in &answer.plan.stages {
            assert!(stage.memory_bytes <= memory && stage.memory_of_bytes == Some(memory));
            recomputed += usize::from(stage.recompute);
        }
    }
    assert!(recomputed > 0);
}

#[test]
fn the_same_request_gives_the_same_bytes() {
    let kinds = vec![kind("a", 2.0, 5e3), kind("b", 1.0, 9e3)];
    let layers = chain(&[(1.0, 500.0, 300.0), (2.0, 900.0, 100.0), (1.5, 100.0, 700.0), (0.5, 50.0, 50.0)]);
    let request = Request::new(layers, fabric(&[(2, "a"), (2, "b")], 1e4, 1e3), kinds);
    let told = || serde_json::to_string(&plan(&request).unwrap()).unwrap();
    assert_eq!(told(), told());
}

#[test]
fn stages_of_others_are_judged_by_the_same_rules_and_never_beat_the_answer() {
    let layers = chain(&[(1.0, 10.0, 300.0); 6]);
    let request = Request::new(layers, fabric(&[(3, "a")], 100.0, 1.0), vec![kind("a", 1.0, 1e9)]);
    let given = Given { stage: vec![0, 0, 1, 1, 2, 2], devices: vec![vec![0], vec![1], vec![2]] };
    let theirs = judge(&request, &given).unwrap().unwrap();
    let ours = plan(&Request { given: vec![given.clone()], ..request.clone() }).unwrap().objective;
    assert!(ours <= theirs);
    assert!(ours <= judge_data_parallel(&request).unwrap().unwrap());
    let backward = Given { stage: vec![2, 2, 1, 1, 0, 0], ..given };
    assert_eq!(judge(&request, &backward), Ok(None));
}

#[test]
fn what_cannot_be_planned_is_refused_in_a_sentence() {
    let good = Request::new(
        chain(&[(1.0, 10.0, 300.0); 3]),
        fabric(&[(4, "a")], 100.0, 1.0),
        vec![kind("a", 1.0, 1e4)],
    );
    let said = |change: &dyn Fn(&mut Request)| {
        let mut request = good.clone();
        change(&mut request);
        plan(&request).unwrap_err().to_string()
    };
    let says = |change: &dyn Fn(&mut Request), words: &str| {
        let said = said(change);
        assert!(said.contains(words), "{said}");
    };
    says(&|request| request.layers = Layers::default(), "no layers");
    says(&|request| request.layers.layers[1].forward_s = -1.0, "forward time of layer `l1`");
    says(&|request| request.layers.edges.push((2, 0)), "form a cycle");
    says(&|request| request.layers.edges.push((2, 7)), "edge 3 names an unknown layer");
    says(&|request| request.fabric.hosts.clear(), "no device");
    says(&|request| request.fabric.hosts[0].island = 3, "do not divide");
    says(&|request| request.kinds[0].speed = 0.0, "no speed");
    says(&|request| request.kinds[0].factors = vec![1.0], "1 factors for 3 layers");
    says(&|request| request.kinds[0].memory_bytes = 100.0, "layer `l0` fits on no device");
    says(&|request| request.minibatches = 0.0, "batch is not above 0");
    says(&|request| request.schedules.clear(), "no schedule");
    says(&|request| request.microbatches = Microbatches::Exactly(0), "ask for 1 to");
    let few = |request: &mut Request| {
        (request.samples, request.only_data_parallel) = (Some(3), true);
    };
    says(&few, "a batch of 3 is smaller than the number of devices, 4");
    let much = |request: &mut Request| {
        request.layers.layers.iter_mut().for_each(|layer| layer.parameter_bytes = 9e3);
        request.most_tensor = 8;
    };
    says(&much, "no plan was found that fits");
}

mod exhaustive;
