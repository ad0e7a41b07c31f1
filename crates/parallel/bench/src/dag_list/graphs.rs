//! The graphs as the data has them: two printed in papers, and one in each line of a packed file.

use crate::data;
use consort_parallel::dag::{Device, Edge, Task, Work};
use consort_parallel::fabric::Link;
use consort_types::file::ReadError;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// All of them.
pub struct Graphs {
    /// In the order of the data.
    pub works: Vec<(String, Work)>,
    /// What is known about them.
    pub expected: BTreeMap<String, Expected>,
    /// What is odd about the data, in words.
    pub complaints: Vec<String>,
}

/// What is known about one graph.
#[derive(Deserialize)]
pub struct Expected {
    name: String,
    /// Length of HEFT's schedule.
    pub heft: Option<f64>,
    /// Length of PEFT's schedule.
    pub peft: Option<f64>,
    /// The best device alone.
    pub best_single_proc: Option<f64>,
    /// What a solver found.
    pub cpsat: Option<Proof>,
}

/// What a solver found.
#[derive(Deserialize)]
pub struct Proof {
    /// `OPTIMAL` where it is proven.
    pub status: String,
    /// The best length found.
    pub makespan: Option<f64>,
}

impl Graphs {
    /// Reads everything.
    pub fn read(data: &Path) -> Result<Self, ReadError> {
        let folder = data.join("algorithms/dag_list_scheduling");
        let mut works = canonical(&folder.join("canonical.json"))?;
        works.extend(packed(&folder.join("dagbench.jsonl.gz"))?);
        let known: Vec<Expected> = data::json(&folder.join("expected.json"))?;
        let lost = known.iter().filter(|known| !works.iter().any(|(name, _)| *name == known.name));
        let complaints =
            lost.map(|known| format!("{} has an answer and is no graph of the data", known.name)).collect();
        let expected = known.into_iter().map(|known| (known.name.clone(), known)).collect();
        Ok(Self { works, expected, complaints })
    }

    /// One of them.
    pub fn work(&self, name: &str) -> Result<&Work, ReadError> {
        let found = self.works.iter().find(|(known, _)| known == name);
        found.map(|(_, work)| work).ok_or_else(|| ReadError::whole(name, "is no graph of the data"))
    }
}

#[derive(Deserialize)]
struct Printed {
    exec_time: Vec<Vec<f64>>,
    edges: Vec<(usize, usize, f64)>,
}

/// The graphs of the papers: times are given for every device, and an edge is the time of its transfer.
fn canonical(path: &Path) -> Result<Vec<(String, Work)>, ReadError> {
    let printed: serde_json::Map<String, serde_json::Value> = data::json(path)?;
    let file = path.display().to_string();
    let work = |(name, value): (String, serde_json::Value)| {
        let printed: Printed = serde_json::from_value(value)
            .map_err(|error| ReadError::whole(&file, format!("{name}: {error}")))?;
        let devices = printed.exec_time.first().map_or(0, Vec::len);
        let task = |(index, times): (usize, &Vec<f64>)| Task {
            name: format!("T{index}"),
            time_s: times.iter().map(|&time| Some(time)).collect(),
            ..Task::default()
        };
        let edge = |&(from, to, bytes): &(usize, usize, f64)| Edge { from, to, bytes };
        let work = Work {
            tasks: printed.exec_time.iter().enumerate().map(task).collect(),
            edges: printed.edges.iter().map(edge).collect(),
            devices: (0..devices).map(|index| device(format!("P{index}"))).collect(),
            links: Work::joined(devices, Link { bandwidth: 1.0, latency_s: 0.0 }),
            store: None,
        };
        Ok((name, work))
    };
    printed.into_iter().map(work).collect()
}

#[derive(Deserialize)]
struct Line {
    name: String,
    task_graph: TaskGraph,
    network: Network,
}

#[derive(Deserialize)]
struct TaskGraph {
    tasks: Vec<Cost>,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Cost {
    name: String,
    cost: f64,
}

#[derive(Deserialize)]
struct Dependency {
    source: String,
    target: String,
    size: f64,
}

#[derive(Deserialize)]
struct Network {
    nodes: Vec<Speed>,
    edges: Vec<Joint>,
}

#[derive(Deserialize)]
struct Speed {
    name: String,
    speed: f64,
}

#[derive(Deserialize)]
struct Joint {
    source: String,
    target: String,
    speed: f64,
}

fn packed(path: &Path) -> Result<Vec<(String, Work)>, ReadError> {
    let file = path.display().to_string();
    let mut works = vec![];
    for (number, line) in data::text(path)?.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let fail =
            |message: String| ReadError { file: file.clone(), line: number as u64 + 1, column: 0, message };
        let line: Line = serde_json::from_str(line).map_err(|error| fail(error.to_string()))?;
        let name = line.name.clone();
        let work = work(line).map_err(|lost| {
            fail(format!("{name}: `{lost}` is the end of an edge, expected a name of the graph"))
        })?;
        works.push((name, work));
    }
    Ok(works)
}

/// Costs over speeds; a link that is given in one direction holds in both. The error is a name that nobody bears.
fn work(line: Line) -> Result<Work, String> {
    let nodes = &line.network.nodes;
    let task = |task: &Cost| Task {
        name: task.name.clone(),
        time_s: nodes.iter().map(|node| Some(task.cost / node.speed)).collect(),
        ..Task::default()
    };
    let tasks: Vec<Task> = line.task_graph.tasks.iter().map(task).collect();
    let task_index: BTreeMap<&str, usize> =
        line.task_graph.tasks.iter().enumerate().map(|(index, task)| (&*task.name, index)).collect();
    let node_index: BTreeMap<&str, usize> =
        nodes.iter().enumerate().map(|(index, node)| (&*node.name, index)).collect();
    let find = |index: &BTreeMap<&str, usize>, name: &String| index.get(&**name).copied().ok_or(name.clone());
    let mut links = vec![vec![None; nodes.len()]; nodes.len()];
    for joint in &line.network.edges {
        let (one, other) = (find(&node_index, &joint.source)?, find(&node_index, &joint.target)?);
        if one != other {
            let link = Link { bandwidth: joint.speed, latency_s: 0.0 };
            links[one][other] = Some(link);
            links[other][one].get_or_insert(link);
        }
    }
    let mut edges = vec![];
    for dependency in &line.task_graph.dependencies {
        let (from, to) = (find(&task_index, &dependency.source)?, find(&task_index, &dependency.target)?);
        edges.push(Edge { from, to, bytes: dependency.size });
    }
    let devices = nodes.iter().map(|node| device(node.name.clone())).collect();
    Ok(Work { tasks, edges, devices, links, store: None })
}

fn device(name: String) -> Device {
    Device { name, ..Device::default() }
}
