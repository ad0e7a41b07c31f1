//! From pods to jobs and from nodes to a cluster: what is kept, and what is left out and counted.

use super::{Node, Pod};
use crate::workload::assemble::Assembly;
use crate::workload::left_out::LeftOut;
use crate::workload::{Cluster, Submission, Truth, Workload};
use consort_types::{DeviceGroup, Host, JobSpec, KindSpec, NodeSpec, Shape, Span, Time, WHOLE};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What a pod asks for: one shape for each model that would do.
pub fn to_shapes(pod: &Pod) -> Vec<Shape> {
    let share = if pod.gpus == 1 { pod.gpu_milli } else { WHOLE };
    let host = Host { cpu_milli: pod.cpu_milli, memory_bytes: pod.memory_mib << 20 };
    let any = Shape { devices: pod.gpus, share, host, ..Shape::any() };
    match pod.gpus == 0 || pod.models.is_empty() {
        true => vec![any],
        false => pod.models.iter().map(|model| Shape { kind: Some(model.clone()), ..any.clone() }).collect(),
    }
}

/// All pods that ran as a workload, and the notes about those that did not.
pub fn to_workload(pods: &[Pod]) -> Workload {
    let (mut assembly, mut left) = (Assembly::<()>::new(), LeftOut::of("pods"));
    for pod in pods {
        left.see();
        let when = match (pod.created, pod.scheduled, pod.deleted) {
            _ if pod.gpus == 0 && pod.cpu_milli == 0 && pod.memory_mib == 0 => Err("no resources requested"),
            (_, None, _) => Err("never scheduled"),
            (None, ..) | (.., None) => Err("no start or no end"),
            (_, Some(start), Some(end)) if end < start => Err("it ended before it started"),
            (Some(at), Some(start), Some(end)) => Ok((at, end - start)),
        };
        match when {
            Err(reason) => left.leave(reason),
            Ok((at, length)) => {
                if pod.gpus > 1 && pod.gpu_milli < WHOLE {
                    left.lose("the part of several devices, which became whole");
                }
                let added = assembly.add(to_submission(pod, at, length), vec![]);
                assert!(added.is_ok(), "pods have unique names and are few enough");
            }
        }
    }
    Workload { notes: left.notes(), ..assembly.finish().expect("nobody waits for anybody") }
}

fn to_submission(pod: &Pod, at: Time, length: Span) -> Submission {
    let mut spec = JobSpec::gang(pod.name.as_str(), 1, Shape::any());
    spec.qos = pod.qos;
    spec.stages[0].roles[0].shapes = to_shapes(pod);
    let (label, truth) = (pod.name.clone(), Truth::runs(length));
    Submission { label, at, spec: Arc::new(spec), after: vec![], truth }
}

/// All nodes as a cluster.
pub fn to_cluster(nodes: &[Node]) -> Cluster {
    let kinds: BTreeSet<&String> =
        nodes.iter().filter(|node| node.gpus > 0).map(|node| &node.model).collect();
    let group = |node: &Node| DeviceGroup { kind: node.model.clone(), count: node.gpus, island: 0 };
    let node = |node: &Node| NodeSpec {
        name: node.name.clone(),
        domains: vec![],
        devices: if node.gpus > 0 { vec![group(node)] } else { vec![] },
        features: vec![],
        host: Host { cpu_milli: node.cpu_milli, memory_bytes: node.memory_mib << 20 },
    };
    Cluster {
        kinds: kinds.into_iter().map(|name| KindSpec::named(name.as_str())).collect(),
        nodes: nodes.iter().map(node).collect(),
        ..Cluster::default()
    }
}
