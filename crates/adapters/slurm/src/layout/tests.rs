use super::*;
use consort_types::*;

/// Four a100 on n1 and on n2, two mi300 on n3; then eight processors on each.
fn spot(device: DeviceId) -> Option<Spot<'static>> {
    let a100 = Some(("gpu", "a100"));
    Some(match device.0 {
        0..4 => Spot { node: "n1", kind: "a100", precisions: &[], resource: a100 },
        4..8 => Spot { node: "n2", kind: "a100", precisions: &[], resource: a100 },
        8..10 => Spot { node: "n3", kind: "mi300", precisions: &[], resource: Some(("gpu", "mi300")) },
        10..18 => Spot { node: "n1", kind: CPU, precisions: &[], resource: None },
        _ => return None,
    })
}

fn work() -> Work {
    Work {
        stages: vec![],
        workdir: "/".into(),
        image: None,
        env: vec![],
        inherited: vec![],
        grace: Grace::default(),
        limits: Limits::default(),
        output: Output::default(),
    }
}

fn lay(count: u32, each: u32, devices: &[u32], work: &Work, portion: Portion) -> Result<Layout, String> {
    let spec = JobSpec::gang("x", count, Shape { devices: each, ..Shape::any() });
    let grant = |&device: &u32| Grant { device: DeviceId(device), share: WHOLE, memory_bytes: 0 };
    let placement =
        Placement { fills: vec![Fill { shape: 0, count }], grants: devices.iter().map(grant).collect() };
    let id = AllocationId { ask: AskId::whole(JobId(1)), attempt: 1 };
    Layout::new(id, &spec, work, &placement, portion, spot)
}

fn shown(layout: &Layout) -> String {
    let part =
        |part: &Part| format!("{} x{} cpus {} {}", part.nodelist(), part.tasks, part.cpus, part.gres());
    layout.parts.iter().map(part).collect::<Vec<_>>().join(" : ")
}

#[test]
fn like_nodes_are_one_part() {
    let layout = lay(4, 1, &[0, 1, 4, 5], &work(), Portion::default()).unwrap();
    assert_eq!(shown(&layout), "n[1-2] x2 cpus 1 gpu:a100:2");
    let seats: Vec<(u32, usize, u32, u32)> =
        layout.seats.iter().map(|seat| (seat.rank, seat.node, seat.local_rank, seat.first)).collect();
    assert_eq!(seats, [(0, 0, 0, 0), (1, 0, 1, 1), (2, 1, 0, 0), (3, 1, 1, 1)]);
}

#[test]
fn unlike_nodes_are_several() {
    let layout = lay(6, 1, &[0, 1, 2, 4, 8, 9], &work(), Portion::default()).unwrap();
    assert_eq!(
        shown(&layout),
        "n1 x3 cpus 1 gpu:a100:3 : n2 x1 cpus 1 gpu:a100:1 : n3 x2 cpus 1 gpu:mi300:2"
    );
}

#[test]
fn workers_with_several_devices_and_portions() {
    let portion = Portion { memory_mb: Some(1000), cpus: Some(3) };
    let layout = lay(2, 2, &[0, 1, 2, 3], &work(), portion).unwrap();
    assert_eq!(shown(&layout), "n1 x2 cpus 6 gpu:a100:4");
    assert_eq!(layout.parts[0].memory_mb, Some(4000));
    assert_eq!((layout.seats[1].first, layout.seats[1].devices), (2, 2));
    let mut asked = work();
    asked.limits.memory_bytes = Some(3 << 20);
    asked.limits.cpu_thousandths = Some(1500);
    let layout = lay(2, 2, &[0, 1, 2, 3], &asked, portion).unwrap();
    assert_eq!((layout.parts[0].memory_mb, layout.parts[0].cpus), (Some(6), 2));
}

#[test]
fn what_each_worker_asks_for_is_passed_on() {
    let host = Host { cpu_milli: 2_500, memory_bytes: 3 << 30 };
    let spec = JobSpec::gang("x", 2, Shape { host, ..Shape::any() });
    let grant = |device, share, memory_bytes| Grant { device: DeviceId(device), share, memory_bytes };
    let grants = vec![grant(0, WHOLE, 0), grant(98, 0, 2_500), grant(1, WHOLE, 0), grant(98, 0, 2_500)];
    let placement = Placement { fills: vec![Fill { shape: 0, count: 2 }], grants };
    let id = AllocationId { ask: AskId::whole(JobId(1)), attempt: 1 };
    let layout = Layout::new(id, &spec, &work(), &placement, Portion::default(), spot).unwrap();
    assert_eq!(shown(&layout), "n1 x2 cpus 3 gpu:a100:2");
    assert_eq!(layout.parts[0].memory_mb, Some(6 << 10));
}

#[test]
fn processors_are_cpus() {
    let layout = lay(2, 3, &[10, 11, 12, 13, 14, 15], &work(), Portion::default()).unwrap();
    assert_eq!(shown(&layout), "n1 x2 cpus 3 ");
    assert_eq!(layout.seats[0].cpus, 3);
}

#[test]
fn what_does_not_fit_is_told() {
    let told = |devices: &[u32]| lay(2, 2, devices, &work(), Portion::default()).unwrap_err();
    assert_eq!(told(&[0, 1, 2]), "the placement lacks devices");
    assert_eq!(told(&[0, 4, 1, 5]), "a worker spans two nodes");
    assert_eq!(told(&[0, 99, 1, 5]), "unknown device 99");
}
