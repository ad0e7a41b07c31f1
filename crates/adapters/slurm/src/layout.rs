//! From a placement to seats: who sits where, and what Slurm is asked for.
//!
//! For: a placement counts grants; Slurm wants nodes, tasks and counts of resources.
//! Promises: ranks follow the order of the placement. Nodes that need the same form one part; a job of one part is the
//! rule, several are a heterogeneous job, which Slurm starts together or not at all.
//! Never: guesses: a placement that does not fit the spec or the nodes is told, not bent.

use crate::gres::Gres;
use crate::submission::Part;
use consort_types::{AllocationId, CPU, DeviceId, JobSpec, Limits, Placement, Precision, Work};
use std::collections::BTreeMap;

/// What a job gets of a node beside its devices, when it does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Portion {
    /// Main memory for each device.
    pub memory_mb: Option<u64>,
    /// Processors for each device.
    pub cpus: Option<u32>,
}

/// One worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seat {
    /// Among all.
    pub rank: u32,
    /// Which of the stage's roles.
    pub role: usize,
    /// Among those of its role.
    pub role_rank: u32,
    /// How many have its role.
    pub role_size: u32,
    /// Which of the nodes.
    pub node: usize,
    /// Among those on its node.
    pub local_rank: u32,
    /// Its first device among those that the job has on its node, processors not counted.
    pub first: u32,
    /// How many it has.
    pub devices: u32,
    /// Processors that were granted as devices.
    pub cpus: u32,
    /// The kind of its devices.
    pub kind: String,
    /// The best number format of those it asked for that its devices compute in.
    pub precision: Option<Precision>,
}

/// Everybody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// In the order in which ranks first sit there.
    pub nodes: Vec<String>,
    /// In order of ranks.
    pub seats: Vec<Seat>,
    /// What Slurm is asked for.
    pub parts: Vec<Part>,
}

/// A node and the kind of a device in it, and what Slurm calls that kind.
pub struct Spot<'a> {
    /// The node.
    pub node: &'a str,
    /// The kind of the device.
    pub kind: &'a str,
    /// Number formats that it computes in.
    pub precisions: &'a [Precision],
    /// Name and type of the generic resource; absent for processors.
    pub resource: Option<(&'a str, &'a str)>,
}

impl Layout {
    /// Seats everybody; in words why not.
    pub fn new<'a>(
        allocation: AllocationId,
        spec: &JobSpec,
        work: &Work,
        placement: &Placement,
        portion: Portion,
        locate: impl Fn(DeviceId) -> Option<Spot<'a>>,
    ) -> Result<Self, String> {
        let ask = allocation.ask;
        let stage = spec.stages.get(usize::from(ask.stage));
        let stage = stage.ok_or_else(|| format!("job {} has no stage {}", ask.job, ask.stage))?;
        if stage.roles.len() != placement.fills.len() {
            let (roles, fills) = (stage.roles.len(), placement.fills.len());
            return Err(format!("the stage has {roles} roles, the placement {fills}"));
        }
        let (mut nodes, mut seats): (Vec<String>, Vec<Seat>) = (vec![], vec![]);
        let mut needs: Vec<Need> = vec![];
        let mut grants = placement.devices();
        for (index, (role, fill)) in stage.roles.iter().zip(&placement.fills).enumerate() {
            let shape = role.shapes.get(usize::from(fill.shape));
            let shape = shape.ok_or_else(|| format!("role {} has no shape {}", role.name, fill.shape))?;
            for member in 0..fill.count {
                let (mut at, mut cpus, mut gres, mut kind) = (None, 0, BTreeMap::new(), String::new());
                let mut known: &[Precision] = &[];
                for _ in 0..shape.devices {
                    let grant = grants.next().ok_or("the placement lacks devices")?;
                    let spot = locate(grant.device).ok_or_else(|| format!("unknown {}", grant.device))?;
                    if *at.get_or_insert(spot.node) != spot.node {
                        return Err("a worker spans two nodes".into());
                    }
                    spot.kind.clone_into(&mut kind);
                    known = spot.precisions;
                    match spot.resource {
                        Some((name, kind)) => {
                            *gres.entry((name.to_owned(), kind.to_owned())).or_insert(0) += 1;
                        }
                        None if spot.kind == CPU => cpus += 1,
                        None => return Err(format!("Slurm has no {} on {}", spot.kind, spot.node)),
                    }
                }
                let name = at.ok_or("a worker without devices cannot be pinned to a node")?;
                let node = nodes.iter().position(|known| known == name).unwrap_or_else(|| {
                    nodes.push(name.to_owned());
                    needs.push(Need::default());
                    nodes.len() - 1
                });
                let devices: u32 = gres.values().sum();
                let need = &mut needs[node];
                seats.push(Seat {
                    rank: seats.len() as u32,
                    role: index,
                    role_rank: member,
                    role_size: fill.count,
                    node,
                    local_rank: need.tasks,
                    first: need.devices,
                    devices,
                    cpus,
                    precision: Precision::best(known, &shape.precisions),
                    kind,
                });
                need.take(devices, cpus, gres, &work.limits.or_asked(&shape.host), portion);
            }
        }
        Ok(Self { parts: parts(&nodes, &needs), nodes, seats })
    }

    /// Workers on one node.
    pub fn local_size(&self, node: usize) -> u32 {
        self.seats.iter().filter(|seat| seat.node == node).count() as u32
    }
}

/// What is needed on one node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Need {
    tasks: u32,
    devices: u32,
    /// For the worker that needs most.
    cpus: u32,
    /// For all workers that say or are said to need some.
    memory_mb: Option<u64>,
    gres: BTreeMap<(String, String), u32>,
}

impl Need {
    fn take(
        &mut self,
        devices: u32,
        cpus: u32,
        gres: BTreeMap<(String, String), u32>,
        limits: &Limits,
        portion: Portion,
    ) {
        self.tasks += 1;
        self.devices += devices;
        let usual = portion.memory_mb.map(|each| each * u64::from(devices.max(1)));
        if let Some(more) = limits.memory_bytes.map(|bytes| bytes.div_ceil(1 << 20)).or(usual) {
            self.memory_mb = Some(self.memory_mb.unwrap_or(0) + more);
        }
        let asked = limits.cpu_thousandths.map(|thousandths| thousandths.div_ceil(1000));
        let usual = portion.cpus.map_or(1, |each| each * devices.max(1));
        self.cpus = self.cpus.max(asked.unwrap_or(if cpus > 0 { cpus } else { usual })).max(cpus).max(1);
        for (resource, count) in gres {
            *self.gres.entry(resource).or_default() += count;
        }
    }
}

fn parts(nodes: &[String], needs: &[Need]) -> Vec<Part> {
    let mut groups: Vec<(&Need, Vec<String>)> = vec![];
    for (node, need) in nodes.iter().zip(needs) {
        match groups.iter_mut().find(|(known, _)| *known == need) {
            Some((_, names)) => names.push(node.clone()),
            None => groups.push((need, vec![node.clone()])),
        }
    }
    let part = |(need, nodes): (&Need, Vec<String>)| {
        let gres = need.gres.iter();
        let gres = gres.map(|((name, kind), &count)| Gres { name: name.clone(), kind: kind.clone(), count });
        Part { nodes, tasks: need.tasks, cpus: need.cpus, memory_mb: need.memory_mb, gres: gres.collect() }
    };
    groups.into_iter().map(part).collect()
}

#[cfg(test)]
mod tests;
