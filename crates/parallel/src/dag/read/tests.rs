use super::*;
use crate::dag::check::check;
use crate::dag::{Ask, plan};
use crate::dice::Dice;

const OURS: &str = "\
tasks:
  load: {time: 10s, reads: imagenet}
  prep: {time: {cpu: 60s, gpu1: 5s, gpu: 6s}, after: {load: 2GB}, spread: 10%}
  train: {time: {gpu: 100s}, after: [prep, load], memory: 40GiB, held: true, run: python train.py}
  eval: {time: 4s, spread: 2s, after: train}
devices:
  host: {kind: cpu, host: n1, memory: 256GiB}
  gpu: {count: 2, kind: gpu, speed: 4, memory: 80GiB, host: n1}
link: {bandwidth: 1GB/s, latency: 1ms}
links:
  - {between: [gpu, gpu], bandwidth: 400Gbit/s}
data:
  imagenet: {size: 150GB, on: n1}
store: {bandwidth: 2GB/s}
";

const WFCOMMONS: &str = r#"{"name": "x", "schemaVersion": "1.5", "workflow": {
  "specification": {
    "tasks": [
      {"name": "split", "id": "split_1", "parents": [], "children": ["map_1", "map_2"], "inputFiles": ["raw"], "outputFiles": ["a", "b"]},
      {"name": "map", "id": "map_1", "parents": ["split_1"], "children": [], "inputFiles": ["a"], "outputFiles": []},
      {"name": "map", "id": "map_2", "parents": ["split_1"], "children": [], "inputFiles": ["a", "b"], "outputFiles": []}
    ],
    "files": [{"id": "raw", "sizeInBytes": 9}, {"id": "a", "sizeInBytes": 100}, {"id": "b", "sizeInBytes": 20}]
  },
  "execution": {
    "tasks": [
      {"id": "split_1", "runtimeInSeconds": 3.5, "machines": ["m1"], "command": {"program": "split", "arguments": ["-x", "9"]}},
      {"id": "map_1", "runtimeInSeconds": 8, "machines": ["m2"], "memoryInBytes": 77},
      {"id": "map_2", "runtimeInSeconds": 4, "machines": ["m1"]}
    ],
    "machines": [{"nodeName": "m1", "cpu": {"speedInMHz": 2000}}, {"nodeName": "m2", "cpu": {"speedInMHz": 1000}}]
  }
}}"#;

const OLD: &str = r#"{"workflow": {"tasks": [
  {"name": "a", "runtime": 2, "children": ["b"], "files": [{"link": "output", "name": "f", "size": 7}]},
  {"name": "b", "runtimeInSeconds": 3, "parents": ["a"], "files": [{"link": "input", "name": "f", "size": 7}]}
]}}"#;

fn file(text: &str) -> File<'_> {
    File { name: "f", text }
}

fn said(text: &str) -> String {
    read(file(text), None).unwrap_err().to_string()
}

#[test]
fn our_own_form_is_read() {
    let work = read(file(OURS), None).unwrap().work;
    assert_eq!(check(&work), Ok(()));
    let names: Vec<&str> = work.devices.iter().map(|device| &*device.name).collect();
    assert_eq!(names, ["host", "gpu0", "gpu1"]);
    assert_eq!(work.tasks[0].time_s, [Some(10.0), Some(2.5), Some(2.5)]);
    assert_eq!(work.tasks[1].time_s, [Some(60.0), Some(6.0), Some(5.0)]);
    assert_eq!(work.tasks[1].spread_s, [6.0, 0.6000000000000001, 0.5]);
    assert_eq!(work.tasks[2].time_s, [None, Some(100.0), Some(100.0)]);
    assert_eq!(work.tasks[3].spread_s, [2.0, 0.5, 0.5]);
    assert_eq!(
        work.edges.iter().map(|edge| (edge.from, edge.to, edge.bytes)).collect::<Vec<_>>(),
        [(0, 1, 2e9), (1, 2, 0.0), (0, 2, 0.0), (2, 3, 0.0)]
    );
    assert_eq!(work.links[1][2].unwrap().bandwidth, 50e9);
    assert_eq!(work.links[0][1].unwrap().latency_s, 0.001);
    let answer = plan(&work, &Ask::default()).unwrap();
    assert!((answer.objective - (2.5 + 5.0 + 100.0 + 1.0)).abs() < 0.1, "{}", answer.objective);
}

#[test]
fn mistakes_are_named_with_their_line() {
    assert!(said("").contains("is empty"));
    assert!(said(&OURS.replace("after: train", "after: trian")).starts_with("f:5:"));
    assert!(said(&OURS.replace("after: train", "after: trian")).contains("`after` names `trian`"));
    assert!(said(&OURS.replace("time: 4s", "tiem: 4s")).contains("did you mean `time`?"));
    assert!(said(&OURS.replace("{gpu: 100s}", "{tpu: 100s}")).contains("expected a device or a kind"));
    assert!(said(&OURS.replace("reads: imagenet", "reads: x")).contains("expected an entry of `data`"));
    assert!(said(&OURS.replace("[gpu, gpu]", "[gpu, moon]")).contains("`between` names `moon`"));
    assert!(said("tasks: {a: {time: 1s}}").contains("missing field `devices`"));
    assert!(said("{tasks: {a: {time: 1s}}, devices: {x: , y: }}").contains("missing field `link`"));
    let both = read(file(OURS), Some(file("devices: {x: }"))).unwrap_err().to_string();
    assert!(both.contains("expected one place"), "{both}");
}

#[test]
fn wfcommons_is_read_in_its_new_and_its_old_form() {
    let found = read(file(WFCOMMONS), None).unwrap();
    let work = found.work;
    assert_eq!(check(&work), Ok(()));
    // m2 is half as fast: what took 8 s there takes 4 s on m1.
    assert_eq!(work.tasks[1].time_s, [Some(4.0), Some(8.0)]);
    assert_eq!(work.tasks[0].time_s, [Some(3.5), Some(7.0)]);
    assert_eq!(work.edges.iter().map(|edge| edge.bytes).collect::<Vec<_>>(), [100.0, 120.0]);
    assert_eq!((work.tasks[1].memory_bytes, &*work.tasks[0].run), (77, "split -x 9"));
    assert!(found.assumed.iter().any(|sentence| sentence.contains("files that no task makes")));
    let site = "{devices: {d: {count: 2, speed: 2}}, link: {bandwidth: 1GB/s}, store: {bandwidth: 3B/s}}";
    let work = read(file(WFCOMMONS), Some(file(site))).unwrap().work;
    assert_eq!(work.tasks[0].time_s, [Some(1.75); 2]);
    assert_eq!(work.tasks[0].reads[0].bytes, 9.0);
    let work = read(file(OLD), Some(file("devices: {d: }"))).unwrap().work;
    assert_eq!((work.edges.len(), work.edges[0].bytes), (1, 7.0));
    assert_eq!(plan(&work, &Ask::default()).unwrap().objective, 5.0);
    assert!(said(OLD).contains("has 0 machines"));
    assert!(
        said(&WFCOMMONS.replace("3.5", "null")).contains("missing `runtimeInSeconds` of the task `split_1`")
    );
    assert!(said(&WFCOMMONS.replace("[\"map_1\", \"map_2\"]", "[\"map_9\"]")).contains("names `map_9`"));
}

#[test]
fn speeds_and_times_are_read_as_everywhere() {
    let text = OURS.replace("400Gbit/s", "400Gb/s").replace("bandwidth: 1GB/s", "bandwidth: 200Gbps");
    let work = read(file(&text.replace("time: 4s", "time: 4.724814926717392s")), None).unwrap().work;
    assert_eq!(work.links[1][2].unwrap().bandwidth, 50e9);
    assert_eq!(work.links[0][1].unwrap().bandwidth, 25e9);
    assert_eq!(work.tasks[3].time_s[0], Some(4.724814926717392));
    assert!(said(&OURS.replace("time: 4s", "time: -4s")).contains("expected a time from 0s to 100 years"));
}

#[test]
fn mistakes_in_wfcommons_are_told_as_what_they_are() {
    assert!(said(&WFCOMMONS.replace("3.5", "-3.5")).contains("the task `split_1` ran for -3.5 s, expected"));
    let twice = said(&WFCOMMONS.replace("\"id\": \"map_2\"", "\"id\": \"map_1\""));
    assert!(twice.contains("duplicate task id `map_1`"), "{twice}");
    let comma = said(&WFCOMMONS.replace("\"name\": \"x\",", "\"name\": \"x\",,"));
    assert!(comma.starts_with("f:1:14: is not JSON: "), "{comma}");
    for text in ["{", "{\"", &WFCOMMONS[..WFCOMMONS.len() - 1], &WFCOMMONS.replace("}\n}}", "},\n}}")] {
        assert!(said(text).contains("is not JSON: "), "{}", said(text));
    }
    // Our own form may have braces and quotes.
    let ours = "{\"tasks\": {a: {time: 1s}}, devices: {d: }}";
    assert!(read(file(ours), None).is_ok());
    assert!(!said(&ours.replace("1s", "1x")).contains("JSON"));
}

#[test]
fn no_text_brings_it_down() {
    let mut dice = Dice::new(5);
    let words = [
        "{", "}", "[", "]", ":", ",", "\"", "'", "\n", "  ", "-", "&a", "*a", "1e999", "-1", "é", "\0",
        "tasks", "time",
    ];
    for round in 0..3000 {
        let mut text = [OURS, WFCOMMONS, OLD][round % 3].to_string();
        for _ in 0..1 + dice.below(4) {
            let mut at = dice.below(text.len());
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            let mut end = (at + dice.below(30)).min(text.len());
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            text.replace_range(at..end.max(at), words[dice.below(words.len())]);
        }
        if let Ok(found) = read(file(&text), (round % 2 == 0).then_some(file("devices: {d: }"))) {
            let _ = plan(&found.work, &Ask { patience: 0.001, ..Ask::default() });
        }
    }
}
