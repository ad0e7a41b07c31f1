//! `consort plan`: every command on a small input, every form it can print, and requests that cannot be planned.

use super::*;
use serde_json::Value;

const FABRIC: &str = "\
levels:
  - {name: spine, bandwidth: 100Gb/s, latency: 5us}
  - {name: leaf, bandwidth: 400Gb/s, latency: 2us}
node: {bandwidth: 64GB/s, latency: 1us}
island: {bandwidth: 450GB/s, latency: 1us, devices: 8}
hosts:
  - {name: 'node{}', count: 12, devices: 8, domains: {leaf: {name: 'l{}', every: 4}}}
";
const WORK: &str = "\
tasks:
  load: {time: 30s}
  prep: {time: {cpu: 60s, gpu: 6s}, after: {load: 2GB}}
  train: {time: {gpu: 10m}, after: [prep], memory: 40GiB}
devices:
  host: {kind: cpu, host: n1}
  gpu: {count: 2, kind: gpu, speed: 4, memory: 80GiB, host: n1}
link: {bandwidth: 25GB/s, latency: 5us}
";

/// Four layers, the second with most of the work and the last with most of the parameters.
fn profile() -> String {
    let layer = |id: u32, forward: f64, parameters: f64| {
        format!(
            "node{id} -- Layer{id} -- forward_compute_time={forward}, backward_compute_time={}, \
             activation_size=1000000, parameter_size={parameters}\n",
            2.0 * forward
        )
    };
    let layers = [layer(1, 4.0, 1e5), layer(2, 9.0, 1e5), layer(3, 5.0, 1e6), layer(4, 2.0, 4e8)].concat();
    layers + "\tnode1 -- node2\n\tnode2 -- node3\n\tnode3 -- node4\n"
}

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("fabric.yaml", FABRIC);
    folder.write("work.yaml", WORK);
    folder.write("net.txt", &profile());
    folder
}

/// A request that each command can answer.
const ASKED: [&str; 7] = [
    "plan dag work.yaml",
    "plan pipeline net.txt --devices 4xa100,2xv100 --kind v100:speed=0.4 --bandwidth 10Gb/s",
    "plan pipeline --layers 8 --hidden 1024 --heads 16 --sequence 1024 --batch 64 --devices 8xh100",
    "plan ranks --topology fabric.yaml --tensor 8",
    "plan collective --topology fabric.yaml --bytes 100MB",
    "plan split --batch 256 --device a100:fixed=6.8ms,sample=0.49ms --device t4:sample=2.1ms,count=2",
    "plan sync --workers 16 --compute 120ms --gradients 400MB --bandwidth 10Gb/s",
];

#[test]
fn every_answer_has_a_plan_a_bound_and_what_was_assumed() {
    let folder = folder();
    for line in ASKED {
        let first = folder.run(&format!("{line} --json")).done().out;
        let told: Value = serde_json::from_str(&first).unwrap();
        assert_eq!(told["planner"], line.split(' ').nth(1).unwrap(), "{line}");
        let figure = |name: &str| told[name].as_f64().unwrap_or_else(|| panic!("{line}: {name} in {told}"));
        let (objective, bound) = (figure("objective"), figure("bound"));
        assert!(objective > 0.0 && bound > 0.0 && figure("gap_pct") >= 0.0, "{line}: {told}");
        let (better, worse) = if line.contains("ranks") { (bound, objective) } else { (objective, bound) };
        assert!(better >= worse * (1.0 - 1e-9), "{line}: {objective} beats {bound}");
        assert!(!told["assumed"].as_array().unwrap().is_empty(), "{line}");
        assert!(!told["bound_by"].as_str().unwrap().is_empty() && told["plan"].is_object(), "{line}");
        assert_eq!(folder.run(&format!("{line} --json")).done().out, first, "{line}: not the same bytes");
    }
}

#[test]
fn every_plan_is_shown_and_drawn() {
    let folder = folder();
    for line in ASKED {
        let shown = folder.run(&format!("{line} --picture plan.svg")).done().out;
        assert!(shown.contains("assumed") && shown.contains("plan.svg"), "{line}: {shown}");
        let drawn = folder.read("plan.svg");
        assert!(drawn.starts_with("<svg xmlns") && drawn.ends_with("</svg>\n"), "{line}");
        assert!(drawn.matches("<title>").count() > 2, "{line}");
        folder.run(&format!("{line} --picture nowhere/plan.svg")).refused(2, &["nowhere", "create it first"]);
    }
}

#[test]
fn plans_are_told_in_the_words_of_others() {
    let folder = folder();
    let said = |line: &str| folder.run(line).done().out;
    let hosts = said("plan ranks --topology fabric.yaml --as hostfile");
    assert_eq!(hosts.lines().filter(|line| line.ends_with("slots=8")).count(), 12, "{hosts}");
    assert_eq!(said("plan ranks --topology fabric.yaml --as slurm").lines().count(), 96);
    assert!(said("plan ranks --topology fabric.yaml --as rankfile").contains("rank 95=node"));
    assert!(said("plan ranks --topology fabric.yaml --as torchrun").contains("node12"));
    assert!(said("plan collective --topology fabric.yaml --as nccl-tuner").contains("allreduce,"));
    let sizes =
        "plan pipeline --layers 8 --hidden 1024 --heads 16 --sequence 1024 --batch 64 --devices 8xh100";
    assert!(said(&format!("{sizes} --as megatron")).contains("--tensor-model-parallel-size"));
    assert!(said(&format!("{sizes} --as mesh")).contains("init_device_mesh"));
    let weights: Value =
        serde_json::from_str(&said("plan split --batch 8 --device a:sample=1ms,count=3 --as weights"))
            .unwrap();
    assert!(weights.is_object() || weights.is_array());
    // What is advised can be planned, and what is printed for a framework says so.
    let sizes =
        "plan pipeline --layers 32 --hidden 4096 --heads 32 --sequence 4096 --batch 1024 --devices 64xh100";
    let ran = folder.run(&format!("{sizes} --as megatron")).done();
    assert!(ran.err.contains("`--data-parallel` plans it"), "{ran:?}");
    assert!(said(&format!("{sizes} --data-parallel")).contains("data parallel on 64 devices"));
    folder
        .run(&format!("{sizes} --data-parallel --microbatches 64"))
        .refused(2, &["a batch of 1024 cannot be divided into 64 microbatches"]);
    folder.write("job.yaml", &said("plan dag work.yaml --as job"));
    assert!(folder.read("job.yaml").contains("name: \"train\""));
}

#[test]
fn what_cannot_be_planned_is_refused_in_a_sentence() {
    let folder = folder();
    let work = |from: &str, to: &str| folder.write("bad.yaml", &WORK.replace(from, to));
    work("load: {time: 30s}", "load: {time: 30s, after: [train]}");
    folder.run("plan dag bad.yaml").refused(2, &["load", "prep", "train", "cycle"]);
    work("time: 30s", "time: -30s");
    folder.run("plan dag bad.yaml").refused(2, &["-30s"]);
    work("time: {gpu: 10m}", "time: {tpu: 10m}");
    folder.run("plan dag bad.yaml").refused(2, &["tpu"]);
    work("40GiB", "400GiB");
    folder.run("plan dag bad.yaml").refused(2, &["train", "400"]);

    let net = |from: &str, to: &str| folder.write("bad.txt", &profile().replace(from, to));
    let devices = "--devices 4xa100 --bandwidth 10Gb/s";
    net("\tnode3 -- node4\n", "\tnode3 -- node4\n\tnode4 -- node1\n");
    folder.run(&format!("plan pipeline bad.txt {devices}")).refused(2, &["node1"]);
    net("forward_compute_time=9", "forward_compute_time=-9");
    folder.run(&format!("plan pipeline bad.txt {devices}")).refused(2, &["bad.txt:2", "`-9`"]);
    folder
        .run(&format!("plan pipeline net.txt {devices} --memory 100MiB"))
        .refused(2, &["node4", "at least 0.38 GiB"]);

    folder.write("bad.yaml", &FABRIC.replace("100Gb/s", "0Gb/s"));
    folder.run("plan ranks --topology bad.yaml").refused(2, &["bad.yaml"]);
    folder.run("plan ranks --topology fabric.yaml --tensor 3").refused(2, &["3"]);
    folder.run("plan ranks --topology fabric.yaml --pipeline 5").refused(2, &["5"]);
    folder
        .run("plan collective --ranks 1 --bandwidth 1GB/s --latency 1us")
        .refused(2, &["a single rank has nothing to exchange"]);
    folder.run("plan split --batch 2 --device a:sample=1ms,count=3 --idle never").refused(2, &["2", "3"]);
    folder.run("plan split --batch 9 --device a:sample=1ms,max=4").refused(2, &["9"]);
    folder.run("plan split --batch 9 --device a:sample=-1ms").refused(2, &["-1ms"]);
    folder
        .run("plan sync --workers 16 --compute 0ms --gradients 1MB --bandwidth 1GB/s")
        .refused(2, &["the compute time is 0"]);
    for command in ["dag", "pipeline", "ranks --topology", "collective --topology", "split"] {
        folder.write("empty", "");
        folder
            .run(&format!("plan {command} empty {}", if command == "pipeline" { devices } else { "" }))
            .refused(2, &[]);
        folder
            .run(&format!("plan {command} none {}", if command == "pipeline" { devices } else { "" }))
            .refused(2, &["none"]);
    }
}
