//! The machines of PAI: which kind of device they have, and how many.
//!
//! A row is a node, with `cap_cpu` processors and `cap_mem` GiB of memory beside its devices.

use crate::workload::read_error::{InFile, ReadError};
use crate::workload::table::Table;
use crate::workload::{Cluster, limits, value};
use consort_types::{DeviceGroup, Host, KindSpec, NodeSpec};
use std::collections::BTreeSet;

pub(super) const COLUMNS: [&str; 5] = ["machine", "gpu_type", "cap_cpu", "cap_mem", "cap_gpu"];

/// Reads the table of machines. `file` is what errors call it.
pub fn parse_cluster(file: &str, bytes: &[u8]) -> Result<Cluster, ReadError> {
    machines(bytes).in_file(file)
}

fn machines(bytes: &[u8]) -> Result<Cluster, ReadError> {
    let mut table = Table::open_named(bytes, &COLUMNS)?;
    let [machine, kind, cpus, memory, gpus] = COLUMNS.map(|name| table.column(name));
    let (mut nodes, mut kinds, mut seen, mut total) = (vec![], BTreeSet::new(), BTreeSet::new(), 0);
    while table.next()? {
        let name = table.need(machine, value::name)?;
        let count = table.need(gpus, super::count)?;
        if !seen.insert(name.clone()) {
            return Err(table.complain(machine, "a name that no earlier machine has"));
        }
        total += u64::from(count);
        if total > limits::DEVICES {
            let message = "the devices up to here are more than 1,000,000";
            return Err(table.place_of(gpus).fail(message));
        }
        let mut devices = vec![];
        if count > 0 {
            let kind = table.need(kind, value::name)?;
            kinds.insert(kind.clone());
            devices.push(DeviceGroup { kind, count, island: 0 });
        }
        let host = Host {
            cpu_milli: u64::from(table.need(cpus, super::count)?) * 1_000,
            memory_bytes: u64::from(table.need(memory, super::count)?) << 30,
        };
        nodes.push(NodeSpec { name, domains: vec![], devices, features: vec![], host });
    }
    Ok(Cluster { kinds: kinds.into_iter().map(KindSpec::named).collect(), nodes, ..Cluster::default() })
}
