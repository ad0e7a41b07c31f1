//! Reads a network of operators from JSON, in the form of the public dnn-partitioning inputs.
//!
//! `maxSizePerFPGA` (bytes), `maxFPGAs`, `maxCPUs`, `nodes` with `id`, `supportedOnFpga`, `cpuLatency`, `fpgaLatency`,
//! `isBackwardNode`, and if known `size` and `colorClass`, `edges` with `sourceId`, `destId` and `cost`. "FPGA" stands
//! for any accelerator. Times are taken as milliseconds, as profilers write them. Flags may be `true` or `1`. Both
//! forms of the inputs are read, those for throughput and those for latency: they differ in figures and in fields that
//! are not needed here.

use super::network::{Edge, Network, Operator};
use consort_types::file::ReadError;
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Deserialize)]
struct WrittenNetwork {
    #[serde(rename = "maxSizePerFPGA")]
    memory_bytes: f64,
    #[serde(rename = "maxFPGAs")]
    accelerators: u32,
    #[serde(rename = "maxCPUs")]
    processors: u32,
    nodes: Vec<WrittenNode>,
    edges: Vec<WrittenEdge>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WrittenNode {
    id: i64,
    supported_on_fpga: Flag,
    cpu_latency: f64,
    fpga_latency: f64,
    #[serde(default)]
    is_backward_node: Flag,
    #[serde(default)]
    size: f64,
    color_class: Option<i64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WrittenEdge {
    source_id: i64,
    dest_id: i64,
    cost: f64,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(untagged)]
enum Flag {
    Word(bool),
    Number(i64),
}

impl Default for Flag {
    fn default() -> Self {
        Flag::Word(false)
    }
}

impl Flag {
    fn is_set(self) -> bool {
        match self {
            Flag::Word(is_set) => is_set,
            Flag::Number(number) => number != 0,
        }
    }
}

/// Reads one network. Figures are judged later, by [`Network::check`].
pub fn read(text: &str) -> Result<Network, ReadError> {
    let written: WrittenNetwork = serde_json::from_str(text).map_err(|error| ReadError {
        file: String::new(),
        line: error.line() as u64,
        column: error.column() as u64,
        message: format!("{}, expected a network with its nodes and edges", plain(&error)),
    })?;
    let mut index = BTreeMap::new();
    for (at, node) in written.nodes.iter().enumerate() {
        if index.insert(node.id, at).is_some() {
            return Err(ReadError::whole("", format!("duplicate node {}, expected a unique id", node.id)));
        }
    }
    let find = |id: i64, end: &str| {
        let message = || format!("unknown {end} {id} of an edge, expected the id of a node");
        index.get(&id).copied().ok_or_else(|| ReadError::whole("", message()))
    };
    let edges = written.edges.iter().map(|edge| {
        let (from, to) = (find(edge.source_id, "sourceId")?, find(edge.dest_id, "destId")?);
        Ok(Edge { from, to, cost_s: edge.cost / 1000.0 })
    });
    Ok(Network {
        accelerators: written.accelerators as usize,
        processors: written.processors as usize,
        memory_bytes: written.memory_bytes,
        edges: edges.collect::<Result<_, ReadError>>()?,
        operators: written.nodes.iter().map(operator).collect(),
    })
}

fn operator(node: &WrittenNode) -> Operator {
    Operator {
        id: node.id,
        accelerator_s: node.supported_on_fpga.is_set().then_some(node.fpga_latency / 1000.0),
        processor_s: node.cpu_latency / 1000.0,
        memory_bytes: node.size,
        is_backward: node.is_backward_node.is_set(),
        colour: node.color_class,
    }
}

/// The complaint without the place, which is said elsewhere.
fn plain(error: &serde_json::Error) -> String {
    let said = error.to_string();
    said.split(" at line ").next().unwrap_or_default().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &str = r#"{"maxSizePerFPGA": 16.0, "maxFPGAs": 2, "maxCPUs": 1, "nodes": [
        {"id": 4, "supportedOnFpga": 1, "cpuLatency": 20.0, "fpgaLatency": 2.0, "isBackwardNode": 0, "colorClass": 9, "size": 8.0},
        {"id": 7, "supportedOnFpga": false, "cpuLatency": 5.0, "fpgaLatency": 0.5, "isBackwardNode": true, "layerId": 3}],
        "edges": [{"sourceId": 4, "destId": 7, "cost": 0.25, "size": 100.0}]}"#;

    #[test]
    fn both_forms_of_flags_are_read_and_times_become_seconds() {
        let network = read(TWO).unwrap();
        assert_eq!((network.accelerators, network.processors, network.memory_bytes), (2, 1, 16.0));
        assert_eq!(network.edges, [Edge { from: 0, to: 1, cost_s: 0.00025 }]);
        assert_eq!(network.operators[0].accelerator_s, Some(0.002));
        assert_eq!(network.operators[1].accelerator_s, None);
        assert!(network.operators[1].is_backward && network.operators[1].colour.is_none());
    }

    #[test]
    fn what_is_wrong_is_said_calmly() {
        let said = |from: &str, to: &str| read(&TWO.replace(from, to)).unwrap_err().to_string();
        assert!(said("\"destId\": 7", "\"destId\": 8").contains("unknown destId 8 of an edge"));
        assert!(said("\"id\": 7", "\"id\": 4").contains("duplicate node 4"));
        assert!(said("\"maxFPGAs\": 2", "\"maxFPGAs\": -2").contains("expected"));
        assert!(said("\"edges\"", "\"ends\"").contains("edges"));
        assert!(said("8.0}", "8.0").contains("expected"));
        assert!(read("").unwrap_err().to_string().contains("expected a network"));
    }
}
