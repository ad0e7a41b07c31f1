use super::*;

fn request(devices: u32) -> Request {
    let link = |bandwidth| Link { bandwidth, latency_s: 0.0 };
    Request {
        shape: Shape {
            layers: 32,
            hidden: 4096,
            heads: 32,
            sequence: 4096,
            vocabulary: 32_000,
            inner: 4 * 4096,
            number_bytes: 2,
        },
        batch: 1024,
        devices,
        per_host: 8,
        inside: link(450e9),
        between: link(50e9),
        operations_per_s: 0.4 * 989e12,
        memory_bytes: 80e9,
        microbatches: None,
        most_tensor: 8,
        only_data_parallel: false,
        chunks: (1, 8),
    }
}

#[test]
fn seven_thousand_million_parameters_fit_on_64_devices_and_most_of_the_speed_is_kept() {
    let answer = plan(&request(64)).unwrap();
    let best = answer.plan.best;
    assert_eq!(best.data * best.tensor * best.pipeline, 64);
    assert_eq!(best.data * best.micro_batch * best.microbatches, 1024);
    assert!(best.memory_bytes <= 80e9);
    assert!(answer.bound <= answer.objective && answer.gap() < 0.15, "{:?}", answer.plan);
    assert_eq!(answer.plan.layers.iter().sum::<u32>(), 32);
}

#[test]
fn the_simulation_and_the_arithmetic_agree_where_parts_are_alike() {
    let mut request = request(8);
    request.shape.vocabulary = 1;
    let points = points::all(&request);
    let is_even = |point: &Point| {
        let layers = points::parts(&request, point).unwrap();
        layers.iter().all(|many| *many == layers[0])
    };
    for point in points.iter().filter(|point| point.microbatches <= 64 && is_even(point)) {
        let simulated = points::simulated(&request, point);
        assert!((simulated / point.iteration_s - 1.0).abs() < 0.1, "{point:?}: {simulated}");
    }
}

#[test]
fn no_point_of_the_front_is_faster_and_smaller_than_another() {
    let answer = plan(&request(32)).unwrap();
    let front = &answer.plan.pareto;
    assert!(front.len() > 1);
    assert!(front.windows(2).all(|pair| {
        pair[0].iteration_s <= pair[1].iteration_s && pair[0].memory_bytes > pair[1].memory_bytes
    }));
}

#[test]
fn parts_on_a_stage_are_as_many_as_was_asked_for() {
    for chunks in [(1, 1), (2, 4)] {
        let points = points::all(&Request { chunks, ..request(32) });
        assert!(!points.is_empty());
        let is_right = |point: &Point| match point.pipeline {
            1 => point.chunks == 1,
            _ => (chunks.0..=chunks.1).contains(&point.chunks),
        };
        assert!(points.iter().all(is_right));
    }
}

#[test]
fn layers_are_shared_evenly_with_room_for_the_head() {
    let mut request = request(16);
    request.shape.vocabulary = 128_000;
    let points = points::all(&request);
    let point = points.iter().find(|point| point.pipeline == 4 && point.chunks == 1).unwrap();
    let layers = points::parts(&request, point).unwrap();
    assert_eq!(layers.iter().sum::<u32>(), 32);
    assert!(layers[3] < layers[0], "{layers:?}");
}

#[test]
fn what_cannot_be_planned_is_refused_in_a_sentence() {
    let said = |request: &Request| plan(request).unwrap_err().to_string();
    assert!(said(&Request { memory_bytes: 1e9, ..request(8) }).contains("no plan fits"));
    assert!(said(&Request { devices: 12, ..request(8) }).contains("do not fill hosts"));
    assert!(said(&Request { batch: 0, ..request(8) }).contains("invalid batch 0"));
    let mut heads = request(8);
    heads.shape.heads = 7;
    assert!(said(&heads).contains("7 heads do not divide"));
    let few = Request { batch: 7, ..request(8) };
    assert!(said(&few).contains("a batch of 7 is smaller than the number of devices, 8"));
    let mut narrow = Request { batch: 9, ..request(8) };
    (narrow.shape.layers, narrow.shape.heads) = (1, 1);
    assert!(said(&narrow).contains("a batch of 9 cannot be divided among 8 devices"));
    let alone = Request { only_data_parallel: true, microbatches: Some(5), ..request(8) };
    assert!(said(&alone).contains("into 5 microbatches of whole sequences on each of 8 devices"));
    narrow.microbatches = Some(5);
    assert!(said(&narrow).contains("no factorisation of the devices leaves 5 microbatches"));
}
