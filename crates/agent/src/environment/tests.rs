//! What workers find, word by word.

use super::*;
use crate::discover::{CPU, FoundDevice, Inventory, Mask};
use consort_types::{
    AllocationId, AskId, Command, Count, DeviceId, Fill, Grace, Grant, Host, JobId, JobSpec, Limits, Output,
    Placement, Role, Shape, StageSpec, StageWork, Variant, WHOLE,
};

fn inventory() -> Inventory {
    let card = |index: u32| FoundDevice {
        kind: "h200".into(),
        vendor: "nvidia".into(),
        identity: format!("GPU-{index}"),
        index,
        masks: ["CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"]
            .map(|name| Mask::fixed(name, format!("GPU-{index}")))
            .into(),
        cpus: vec![index / 2 * 4, index / 2 * 4 + 1],
        ..FoundDevice::default()
    };
    let other = |index: u32| FoundDevice {
        kind: "mi300x".into(),
        vendor: "amd".into(),
        identity: format!("pci-{index}"),
        index,
        masks: vec![
            Mask::fixed("ROCR_VISIBLE_DEVICES", index.to_string()),
            Mask::counted("HIP_VISIBLE_DEVICES"),
        ],
        ..FoundDevice::default()
    };
    let cpu = |index: u32| FoundDevice {
        kind: CPU.into(),
        identity: format!("cpu{index}"),
        index,
        cpus: vec![index],
        ..FoundDevice::default()
    };
    // Sorted behind all the others but processors: nothing hides it.
    let bare = |index: u32| FoundDevice {
        kind: "vck5000".into(),
        identity: format!("vck-{index}"),
        index,
        ..FoundDevice::default()
    };
    let found = (0..4).map(card).chain((0..2).map(other)).chain((0..8).map(cpu)).chain((0..2).map(bare));
    Inventory::new("node-a", found.collect(), vec![])
}

fn work() -> Work {
    Work {
        stages: vec![StageWork {
            commands: vec![Command::Program(vec!["x".into()])],
            indices: vec![],
            variants: vec![],
        }],
        workdir: "/data/here".into(),
        image: None,
        env: vec![],
        inherited: vec![],
        grace: Grace::default(),
        limits: Limits::default(),
        output: Output::default(),
    }
}

fn role(name: &str, kind: &str, devices: u32, count: u32) -> Role {
    let shape = Shape { devices, ..Shape::of(kind) };
    Role { name: name.into(), count: Count::exactly(count), shapes: vec![shape] }
}

fn spec(form: Form, roles: Vec<Role>) -> JobSpec {
    let mut spec = JobSpec::gang("train", 1, Shape::any());
    spec.stages = vec![StageSpec::new("main", form, roles)];
    spec.retries = 4;
    spec
}

fn allocation(task: u32, attempt: u32) -> AllocationId {
    AllocationId { ask: AskId { job: JobId(12), stage: 0, task }, attempt }
}

fn placement(counts: &[u32], devices: &[u32]) -> Placement {
    Placement {
        fills: counts.iter().map(|&count| Fill { shape: 0, count }).collect(),
        // The scheduler counts this machine's devices from 100.
        grants: devices
            .iter()
            .map(|device| Grant { device: DeviceId(100 + device), share: WHOLE, memory_bytes: 0 })
            .collect(),
    }
}

struct Seen(Vec<Vec<(String, String)>>);

impl Seen {
    fn of(spec: &JobSpec, work: &Work, id: AllocationId, placement: &Placement) -> Self {
        let inventory = inventory();
        let team = Team::new(id, spec, work, placement, &inventory, 100).unwrap();
        Self((0..team.workers.len()).map(|rank| environment(&team, work, rank as u32)).collect())
    }

    fn get(&self, rank: usize, name: &str) -> Option<&str> {
        self.0[rank].iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    fn all(&self, name: &str) -> Vec<&str> {
        (0..self.0.len()).map(|rank| self.get(rank, name).unwrap_or("-")).collect()
    }
}

/// Three cards: 1, 2 and 3.
fn gang() -> Seen {
    let spec = spec(Form::Gang, vec![role("worker", "h200", 1, 3)]);
    Seen::of(&spec, &work(), allocation(0, 2), &placement(&[3], &[1, 2, 3]))
}

#[test]
fn every_framework_is_told_the_same_ranks() {
    let seen = gang();
    for name in ["RANK", "JAX_PROCESS_ID", "HOROVOD_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"]
    {
        assert_eq!(seen.all(name), ["0", "1", "2"], "{name}");
    }
    for name in ["WORLD_SIZE", "JAX_NUM_PROCESSES", "HOROVOD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE"] {
        assert_eq!(seen.all(name), ["3"; 3], "{name}");
    }
    for name in ["SLURM_NTASKS", "SLURM_NPROCS", "CONSORT_SIZE", "ROLE_WORLD_SIZE"] {
        assert_eq!(seen.all(name), ["3"; 3], "{name}");
    }
    assert_eq!(seen.all("ROLE_RANK"), ["0", "1", "2"]);
    assert_eq!(seen.get(0, "TORCHELASTIC_RUN_ID"), Some("12"));
    assert_eq!(seen.get(0, "TORCHELASTIC_RESTART_COUNT"), Some("1"));
    assert_eq!(seen.get(0, "TORCHELASTIC_MAX_RESTARTS"), Some("4"));
}

#[test]
fn all_meet_at_one_place() {
    let seen = gang();
    let port = seen.get(0, "MASTER_PORT").unwrap();
    assert!((20_000..32_000).contains(&port.parse::<u16>().unwrap()));
    assert_eq!(seen.all("MASTER_PORT"), [port; 3]);
    assert_eq!(seen.all("MASTER_ADDR"), ["127.0.0.1"; 3]);
    assert_eq!(seen.get(2, "JAX_COORDINATOR_ADDRESS").unwrap(), format!("127.0.0.1:{port}"));
}

#[test]
fn a_worker_sees_its_own_devices_and_no_others() {
    let seen = gang();
    for name in ["CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"] {
        assert_eq!(seen.all(name), ["GPU-1", "GPU-2", "GPU-3"], "{name}");
    }
    assert_eq!(seen.all("ROCR_VISIBLE_DEVICES"), [""; 3]);
    assert_eq!(seen.all("HIP_VISIBLE_DEVICES"), ["-1"; 3]);
}

#[test]
fn local_ranks_count_those_who_see_the_same_devices() {
    let seen = gang();
    for name in ["LOCAL_RANK", "SLURM_LOCALID", "HOROVOD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK"] {
        assert_eq!(seen.all(name), ["0"; 3], "{name}");
    }
    assert_eq!(seen.all("LOCAL_WORLD_SIZE"), ["1"; 3]);
    assert_eq!(seen.all("GROUP_RANK"), ["0", "1", "2"]);
    assert_eq!(seen.all("HOROVOD_CROSS_SIZE"), ["3"; 3]);

    assert_eq!(seen.all("SLURM_TASKS_PER_NODE"), ["1"; 3]);
    assert_eq!(seen.all("CONSORT_LOCAL_RANK"), ["0", "1", "2"]);
    assert_eq!(seen.all("CONSORT_LOCAL_SIZE"), ["3"; 3]);

    let plain = spec(Form::Gang, vec![role("worker", "cpu", 2, 3)]);
    let seen = Seen::of(&plain, &work(), allocation(0, 1), &placement(&[3], &[8, 9, 10, 11, 12, 13]));
    assert_eq!(seen.all("SLURM_TASKS_PER_NODE"), ["3"; 3]);
    assert_eq!(seen.all("LOCAL_RANK"), ["0", "1", "2"]);
    assert_eq!(seen.all("LOCAL_WORLD_SIZE"), ["3"; 3]);
    assert_eq!(seen.all("GROUP_RANK"), ["0"; 3]);
    assert_eq!(seen.all("OMP_NUM_THREADS"), ["2"; 3]);
    assert_eq!(seen.all("SLURM_CPUS_PER_TASK"), ["2"; 3]);
    assert_eq!(seen.all("CUDA_VISIBLE_DEVICES"), [""; 3]);
}

#[test]
fn workers_on_devices_that_nothing_hides_are_counted_together() {
    let bare = spec(Form::Gang, vec![role("worker", "vck5000", 1, 2), role("ps", "cpu", 1, 1)]);
    let seen = Seen::of(&bare, &work(), allocation(0, 1), &placement(&[2, 1], &[6, 7, 8]));
    for name in ["LOCAL_RANK", "SLURM_LOCALID", "HOROVOD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK"] {
        assert_eq!(seen.all(name), ["0", "1", "2"], "{name}");
    }
    for name in ["LOCAL_WORLD_SIZE", "SLURM_TASKS_PER_NODE", "HOROVOD_LOCAL_SIZE"] {
        assert_eq!(seen.all(name), ["3"; 3], "{name}");
    }
    assert_eq!(seen.all("GROUP_RANK"), ["0"; 3]);
    assert_eq!(seen.all("CONSORT_DEVICES"), ["6", "7", "8"]);
}

#[test]
fn a_worker_is_told_its_devices_and_its_share() {
    let spec = spec(Form::Gang, vec![role("worker", "h200", 2, 1)]);
    let mut placement = placement(&[1], &[3, 1]);
    let whole = Seen::of(&spec, &work(), allocation(0, 1), &placement);
    assert_eq!((whole.get(0, "CONSORT_DEVICES"), whole.get(0, "CONSORT_SHARE")), (Some("3,1"), None));
    placement.grants.iter_mut().for_each(|grant| grant.share = 250);
    let part = Seen::of(&spec, &work(), allocation(0, 1), &placement);
    assert_eq!((part.get(0, "CONSORT_DEVICES"), part.get(0, "CONSORT_SHARE")), (Some("3,1"), Some("250")));
}

#[test]
fn a_worker_is_told_its_variant_and_the_best_precision() {
    let mut spec = spec(Form::Gang, vec![role("worker", "mi300x", 1, 1)]);
    spec.stages[0].roles[0].shapes[0].precisions = vec![Precision::Fp4, Precision::Bf16];
    let mut work = work();
    let variant = |kind: &str| Variant { kind: kind.into(), command: None, image: None, env: vec![] };
    work.stages[0].variants = vec![variant("MI300X"), variant("h200")];
    let seen = Seen::of(&spec, &work, allocation(0, 1), &placement(&[1], &[4]));
    let told = |name| seen.get(0, name);
    assert_eq!(told("CONSORT_KIND"), Some("mi300x"));
    assert_eq!((told("CONSORT_VARIANT"), told("CONSORT_PRECISION")), (Some("MI300X"), Some("bf16")));
    work.stages[0].variants.clear();
    spec.stages[0].roles[0].shapes[0].precisions.clear();
    let seen = Seen::of(&spec, &work, allocation(0, 1), &placement(&[1], &[4]));
    assert_eq!((seen.get(0, "CONSORT_VARIANT"), seen.get(0, "CONSORT_PRECISION")), (None, None));
    assert_eq!(seen.get(0, "CONSORT_KIND"), Some("mi300x"), "without variants too");
}

#[test]
fn where_nothing_is_inherited_the_list_of_users_says_who_runs_it() {
    let spec = spec(Form::Gang, vec![role("worker", "h200", 1, 1)]);
    let mut inventory = inventory();
    inventory.login = vec![("HOME".into(), "/users/ada".into()), ("USER".into(), "ada".into())];
    let seen = |work: &Work| {
        let placement = placement(&[1], &[1]);
        let team = Team::new(allocation(0, 1), &spec, work, &placement, &inventory, 100).unwrap();
        let all = environment(&team, work, 0);
        ["HOME", "USER"].map(|name| all.iter().find(|(other, _)| other == name).map(|(_, text)| text.clone()))
    };
    let said = |text: &str| Some(text.to_string());
    assert_eq!(seen(&work()), [said("/users/ada"), said("ada")]);
    let inherited = vec![("HOME".into(), "/h".into())];
    assert_eq!(seen(&Work { inherited, ..work() }), [said("/h"), said("ada")]);
    assert_eq!(seen(&Work { image: Some("x".into()), ..work() }), [None, None]);
}

#[test]
fn in_a_container_the_image_says_what_there_is() {
    let spec = spec(Form::Gang, vec![role("worker", "mi300x", 1, 1)]);
    let inherited = vec![("PATH".into(), "/lab/ada/bin".into()), ("LANG".into(), "de".into())];
    let mut work = Work { inherited, env: vec![("A".into(), "b".into())], ..work() };
    let seen = Seen::of(&spec, &work, allocation(0, 1), &placement(&[1], &[5]));
    assert_eq!((seen.get(0, "PATH"), seen.get(0, "LANG")), (Some("/lab/ada/bin"), Some("de")));
    assert!(seen.get(0, "ROCR_VISIBLE_DEVICES").is_some());
    work.image = Some("rocm/pytorch".into());
    let seen = Seen::of(&spec, &work, allocation(0, 1), &placement(&[1], &[5]));
    assert_eq!((seen.get(0, "PATH"), seen.get(0, "LANG"), seen.get(0, "A")), (None, None, Some("b")));
    assert_eq!(seen.get(0, "ROCR_VISIBLE_DEVICES"), None, "it is the only one there");
    assert_eq!(seen.get(0, "CUDA_VISIBLE_DEVICES"), Some(""));
}

#[test]
fn what_was_asked_for_of_the_host_is_told() {
    let mut spec = spec(Form::Gang, vec![role("worker", "h200", 1, 1)]);
    spec.stages[0].roles[0].shapes[0].host = Host { cpu_milli: 2_500, memory_bytes: 3 << 30 };
    let seen = Seen::of(&spec, &work(), allocation(0, 1), &placement(&[1], &[2]));
    assert_eq!((seen.get(0, "OMP_NUM_THREADS"), seen.get(0, "SLURM_CPUS_PER_TASK")), (Some("3"), Some("3")));
    assert_eq!(seen.get(0, "SLURM_MEM_PER_NODE"), Some("3072"));
}

#[test]
fn roles_are_task_types() {
    let spec = spec(Form::Gang, vec![role("worker", "mi300x", 2, 1), role("ps", "cpu", 1, 2)]);
    let seen = Seen::of(&spec, &work(), allocation(0, 1), &placement(&[1, 2], &[4, 5, 8, 9]));
    assert_eq!(seen.all("CONSORT_ROLE"), ["worker", "ps", "ps"]);
    assert_eq!(seen.all("ROLE_RANK"), ["0", "0", "1"]);
    assert_eq!(seen.all("GROUP_RANK"), ["0", "1", "1"]);
    assert_eq!(seen.all("LOCAL_RANK"), ["0", "0", "1"]);
    assert_eq!(
        (seen.get(0, "ROCR_VISIBLE_DEVICES"), seen.get(0, "HIP_VISIBLE_DEVICES")),
        (Some("0,1"), Some("0,1"))
    );
    let config: serde_json::Value = serde_json::from_str(seen.get(2, "TF_CONFIG").unwrap()).unwrap();
    assert_eq!(config["task"], serde_json::json!({"type": "ps", "index": 1}));
    assert_eq!(config["cluster"]["worker"].as_array().unwrap().len(), 1);
    let addresses = config["cluster"]["ps"].as_array().unwrap();
    assert!(addresses.len() == 2 && addresses[0] != addresses[1], "{config}");
}

#[test]
fn slurm_scripts_find_their_words() {
    let seen = gang();
    for (name, value) in [
        ("JOB_ID", "12"),
        ("JOBID", "12"),
        ("JOB_NAME", "train"),
        ("JOB_ACCOUNT", "default"),
        ("JOB_PARTITION", "default"),
        ("JOB_NODELIST", "node-a"),
        ("NODELIST", "node-a"),
        ("JOB_NUM_NODES", "1"),
        ("NNODES", "1"),
        ("NODEID", "0"),
        ("GPUS_ON_NODE", "3"),
        ("JOB_GPUS", "1,2,3"),
        ("SUBMIT_DIR", "/data/here"),
        ("RESTART_COUNT", "1"),
    ] {
        assert_eq!(seen.get(1, &format!("SLURM_{name}")), Some(value), "{name}");
    }
    assert_eq!(seen.get(1, "SLURM_ARRAY_TASK_ID"), None);
}

#[test]
fn tasks_are_counted_as_their_owner_counts() {
    let mut work = work();
    work.stages[0].indices = vec![3, 5, 9];
    let spec = spec(Form::Bag { tasks: 3 }, vec![role("worker", "h200", 1, 1)]);
    let seen = Seen::of(&spec, &work, allocation(1, 1), &placement(&[1], &[0]));
    for (name, value) in [
        ("CONSORT_TASK", "5"),
        ("CONSORT_TASKS", "3"),
        ("CONSORT_ALLOCATION", "12.0.1#1"),
        ("SLURM_ARRAY_JOB_ID", "12"),
        ("SLURM_ARRAY_TASK_ID", "5"),
        ("SLURM_ARRAY_TASK_COUNT", "3"),
        ("SLURM_ARRAY_TASK_MIN", "3"),
        ("SLURM_ARRAY_TASK_MAX", "9"),
    ] {
        assert_eq!(seen.get(0, name), Some(value), "{name}");
    }
}

#[test]
fn tokens_reach_a_job_only_if_it_asks_for_them() {
    let token = |name: &str| (name.to_owned(), "secret".to_owned());
    let spec = spec(Form::Gang, vec![role("worker", "h200", 1, 1)]);
    let mut work = work();
    work.inherited = vec![token("SLURM_JWT"), token("CONSORT_TOKEN"), token("HOME")];
    let seen = Seen::of(&spec, &work, allocation(0, 1), &placement(&[1], &[2]));
    for (name, value) in [("SLURM_JWT", None), ("CONSORT_TOKEN", None), ("HOME", Some("secret"))] {
        assert_eq!(seen.get(0, name), value, "{name}");
    }
    work.env = vec![token("SLURM_JWT")];
    let seen = Seen::of(&spec, &work, allocation(0, 1), &placement(&[1], &[2]));
    assert_eq!(seen.get(0, "SLURM_JWT"), Some("secret"));
}

#[test]
fn what_was_asked_for_wins_except_over_masks_and_our_own() {
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let mut work = work();
    work.inherited = vec![
        pair("RANK", "99"),
        pair("HOME", "/h"),
        pair("CONSORT_ATTEMPT_OF_MINE", "1"),
        pair("CONSORT_SHARE", "7"),
        pair("CONSORT_LOG", "debug"),
        pair("NCCL_DEBUG", "INFO"),
        pair("", "x"),
        pair("A=B", "x"),
    ];
    work.env = vec![
        pair("MASTER_PORT", "1234"),
        pair("CUDA_VISIBLE_DEVICES", "0,1,2,3"),
        pair("CONSORT_RANK", "7"),
        pair("NCCL_SOCKET_IFNAME", "eth0"),
    ];
    let spec = spec(Form::Gang, vec![role("worker", "h200", 1, 1)]);
    let seen = Seen::of(&spec, &work, allocation(0, 1), &placement(&[1], &[2]));
    for (name, value) in [
        ("RANK", Some("0")),
        ("HOME", Some("/h")),
        ("CONSORT_ATTEMPT_OF_MINE", Some("1")),
        ("CONSORT_SHARE", None),
        ("CONSORT_LOG", None),
        ("MASTER_PORT", Some("1234")),
        ("CUDA_VISIBLE_DEVICES", Some("GPU-2")),
        ("CONSORT_RANK", Some("0")),
        ("NCCL_DEBUG", Some("INFO")),
        ("NCCL_SOCKET_IFNAME", Some("eth0")),
        ("", None),
        ("A=B", None),
    ] {
        assert_eq!(seen.get(0, name), value, "{name}");
    }
    assert!(seen.get(0, "PATH").unwrap().contains("/bin"));
    assert!(seen.0[0].iter().filter(|(name, _)| name.starts_with("NCCL_")).count() == 2);
}

#[test]
fn every_word_of_ours_is_listed_as_ours() {
    let bag = spec(Form::Bag { tasks: 3 }, vec![role("worker", "h200", 1, 1)]);
    let mut placement = placement(&[1], &[1]);
    placement.grants[0].share = WHOLE / 2;
    let seen = Seen::of(&bag, &work(), allocation(2, 1), &placement);
    let ours = seen.0[0].iter().map(|(name, _)| name.as_str()).filter(|name| name.starts_with("CONSORT_"));
    let missing: Vec<&str> = ours.filter(|name| !OURS.contains(name)).collect();
    assert!(missing.is_empty(), "{missing:?} would reach a job submitted from within a job");
    assert_eq!((seen.get(0, "CONSORT_TASKS"), seen.get(0, "CONSORT_SHARE").is_some()), (Some("3"), true));
}

#[test]
fn threads_that_somebody_counted_are_left_alone() {
    let mut work = work();
    work.inherited = vec![("OMP_NUM_THREADS".into(), "7".into())];
    let spec = spec(Form::Gang, vec![role("worker", "cpu", 2, 1)]);
    let seen = Seen::of(&spec, &work, allocation(0, 1), &placement(&[1], &[8, 9]));
    assert_eq!(seen.get(0, "OMP_NUM_THREADS"), Some("7"));
}

#[test]
fn workers_keep_to_the_processors_near_their_devices() {
    let (inventory, work) = (inventory(), work());
    let spec = spec(Form::Gang, vec![role("worker", "h200", 2, 1), role("ps", "cpu", 2, 1)]);
    let placement = placement(&[1, 1], &[1, 2, 11, 9]);
    let team = Team::new(allocation(0, 1), &spec, &work, &placement, &inventory, 100).unwrap();
    assert_eq!(team.cpus(&team.workers[0]), [0, 1, 4, 5]);
    assert_eq!(team.cpus(&team.workers[1]), [1, 3]);
}

#[test]
fn a_placement_that_does_not_fit_is_told() {
    let (inventory, work) = (inventory(), work());
    let spec = spec(Form::Gang, vec![role("worker", "h200", 1, 2)]);
    let misfit = |placement: &Placement, first| {
        Team::new(allocation(0, 1), &spec, &work, placement, &inventory, first).unwrap_err().to_string()
    };
    assert!(misfit(&placement(&[2], &[0]), 100).contains("lacks devices"));
    assert!(misfit(&placement(&[2], &[0, 77]), 100).contains("no device 177"));
    assert!(misfit(&placement(&[1], &[0]), 101).contains("no device 100"));
    assert!(misfit(&placement(&[], &[]), 100).contains("1 roles, the placement 0"));
}
