//! Alibaba's cluster of 2023 in which pods share devices (`openb`): a list of nodes and lists of pods.
//!
//! ```csv
//! name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time
//! openb-pod-0000,12000,16384,1,460,,LS,Running,0,3600,60
//! openb-pod-0001,6000,12288,2,1000,V100M16|V100M32,BE,Succeeded,10,130,10
//! ```
//! A pod is a gang of one member: `num_gpu` devices on one node, `gpu_milli` thousandths of each, of any of the models
//! in `gpu_spec`, and of the node `cpu_milli` thousandths of a processor and `memory_mib` MiB. A pod without a device
//! takes only these. A part of several devices cannot be asked for: it becomes whole, and is counted. The pod arrives
//! at `creation_time` and is as long as the time from `scheduled_time` to `deletion_time`, in seconds as written. `BE`
//! becomes best effort, `Guaranteed` guaranteed, `LS` and `Burstable` standard. How the pod ended is read over. Some of
//! the published lists (`multigpu`) end after `gpu_milli`: their rows can be had from [`parse_pods`], but without times
//! they are no workload, and are refused in one sentence.
//!
//! Left out, and counted: pods that were never scheduled, pods without an end, and pods that ask for nothing at all.
//!
//! The nodes have the columns `sn,cpu_milli,memory_mib,gpu,model`. The model is the kind; a node may have no device.

use super::read_error::{InFile, ReadError};
use super::table::Table;
use super::value::{self, Expected};
use super::{Workload, limits};
use consort_types::{Qos, Time, WHOLE};
use std::collections::BTreeSet;

mod convert;
pub use convert::{to_cluster, to_shapes, to_workload};

const PODS: [&str; 11] = [
    "name",
    "cpu_milli",
    "memory_mib",
    "num_gpu",
    "gpu_milli",
    "gpu_spec",
    "qos",
    "pod_phase",
    "creation_time",
    "deletion_time",
    "scheduled_time",
];
const NODES: [&str; 5] = ["sn", "cpu_milli", "memory_mib", "gpu", "model"];

/// One row of a list of pods.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pod {
    /// Unique in the list.
    pub name: String,
    /// Thousandths of a processor that it asks for.
    pub cpu_milli: u64,
    /// Memory of the node that it asks for, in MiB.
    pub memory_mib: u64,
    /// How many devices.
    pub gpus: u32,
    /// Thousandths of each of them; 0 when there are none.
    pub gpu_milli: u16,
    /// Models that would do; empty when any would.
    pub models: Vec<String>,
    /// How firmly it holds what it has.
    pub qos: Qos,
    /// When it was created, if the list says so.
    pub created: Option<Time>,
    /// When it began to run, if it did.
    pub scheduled: Option<Time>,
    /// When it was gone, if it was.
    pub deleted: Option<Time>,
}

/// One row of a list of nodes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Node {
    /// Unique in the list.
    pub name: String,
    /// Thousandths of a processor that it has.
    pub cpu_milli: u64,
    /// Its memory, in MiB.
    pub memory_mib: u64,
    /// How many devices.
    pub gpus: u32,
    /// What they are; empty when there are none.
    pub model: String,
}

/// Whether a header is that of a list of pods.
pub(super) fn is_pod_list(header: &[String]) -> bool {
    ["cpu_milli", "num_gpu", "gpu_milli"].iter().all(|name| header.iter().any(|column| column == name))
}

/// Whether a header is that of a list of nodes.
pub(super) fn is_node_list(header: &[String]) -> bool {
    ["sn", "gpu", "model"].iter().all(|name| header.iter().any(|column| column == name))
}

/// Reads a list of pods as a workload. `file` is what errors call it.
pub fn parse(file: &str, bytes: &[u8]) -> Result<Workload, ReadError> {
    let needed = [&PODS[8..], &PODS[..5]].concat();
    pods(bytes, &needed).map(|pods| to_workload(&pods)).in_file(file)
}

/// Reads a list of pods, which need not say when they ran. `file` is what errors call it.
pub fn parse_pods(file: &str, bytes: &[u8]) -> Result<Vec<Pod>, ReadError> {
    pods(bytes, &PODS[..5]).in_file(file)
}

/// Reads a list of nodes. `file` is what errors call it.
pub fn parse_nodes(file: &str, bytes: &[u8]) -> Result<Vec<Node>, ReadError> {
    nodes(bytes).in_file(file)
}

fn pods(bytes: &[u8], needed: &[&str]) -> Result<Vec<Pod>, ReadError> {
    let mut table = Table::open(bytes, &PODS, needed)?;
    let [name, cpu, memory, gpus, milli, spec, qos, _, created, deleted, scheduled] =
        PODS.map(|name| table.column(name));
    let (mut pods, mut seen) = (vec![], BTreeSet::new());
    while table.next()? {
        let pod = Pod {
            name: table.need(name, value::name)?,
            cpu_milli: table.need(cpu, processors)?,
            memory_mib: table.need(memory, mebibytes)?,
            gpus: table.need(gpus, |text| value::count(text, 0, limits::WIDTH))?,
            gpu_milli: table.need(milli, thousandths)?,
            models: table.read(spec, models)?.unwrap_or_default(),
            qos: table.read(qos, class)?.unwrap_or(Qos::Standard),
            created: table.read(created, value::instant)?,
            scheduled: table.read(scheduled, value::instant)?,
            deleted: table.read(deleted, value::instant)?,
        };
        if pod.gpus > 0 && pod.gpu_milli == 0 {
            return Err(table.complain(milli, "a whole number from 1 to 1,000, since `num_gpu` is not 0"));
        }
        if !seen.insert(pod.name.clone()) {
            return Err(table.complain(name, "a name that no earlier pod has"));
        }
        if pods.len() == limits::JOBS {
            return Err(table.place_of(name).fail("is beyond the limit of 5,000,000 pods"));
        }
        pods.push(pod);
    }
    Ok(pods)
}

fn nodes(bytes: &[u8]) -> Result<Vec<Node>, ReadError> {
    let mut table = Table::open(bytes, &NODES, &NODES)?;
    let [name, cpu, memory, gpus, model] = NODES.map(|name| table.column(name));
    let (mut nodes, mut seen, mut devices) = (vec![], BTreeSet::new(), 0);
    while table.next()? {
        let count = table.need(gpus, |text| value::count(text, 0, limits::WIDTH))?;
        let node = Node {
            name: table.need(name, value::name)?,
            cpu_milli: table.need(cpu, processors)?,
            memory_mib: table.need(memory, mebibytes)?,
            gpus: count,
            model: if count > 0 { table.need(model, value::name)? } else { String::new() },
        };
        if !seen.insert(node.name.clone()) {
            return Err(table.complain(name, "a name that no earlier node has"));
        }
        devices += u64::from(count);
        if devices > limits::DEVICES || nodes.len() as u64 == limits::DEVICES {
            let message = "the nodes or devices up to here are more than 1,000,000";
            return Err(table.place_of(gpus).fail(message));
        }
        nodes.push(node);
    }
    Ok(nodes)
}

/// Thousandths of a processor, at most a million processors.
fn processors(text: &str) -> Result<u64, Expected> {
    value::count(text, 0, 1_000_000_000).map(u64::from)
}

/// Mebibytes, at most a pebibyte of them.
fn mebibytes(text: &str) -> Result<u64, Expected> {
    value::count(text, 0, (limits::MEMORY_BYTES >> 20) as u32).map(u64::from)
}

fn thousandths(text: &str) -> Result<u16, Expected> {
    value::count(text, 0, u32::from(WHOLE)).map(|number| number as u16)
}

/// Models with a stroke between them. The published lists name some of them twice in one cell: once is enough.
fn models(text: &str) -> Result<Vec<String>, Expected> {
    let mut models: Vec<String> = vec![];
    for part in text.split('|') {
        let model = value::name(part.trim())?;
        if !models.contains(&model) {
            models.push(model);
        }
        if models.len() > limits::LISTED {
            return Err("at most 1,000 models".into());
        }
    }
    Ok(models)
}

fn class(text: &str) -> Result<Qos, Expected> {
    match text {
        "BE" => Ok(Qos::BestEffort),
        "LS" | "Burstable" => Ok(Qos::Standard),
        "Guaranteed" => Ok(Qos::Guaranteed),
        _ => Err("BE, LS, Burstable or Guaranteed".into()),
    }
}

#[cfg(test)]
mod tests;
