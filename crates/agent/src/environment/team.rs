//! Who works together, on what.
//!
//! For: a placement counts grants; a worker wants to know its role, its rank and its devices.
//! Promises: ranks follow the order of the placement: role by role, member by member.
//! Never: guesses: a placement that does not fit the spec is told, not bent.

use crate::discover::{CPU, FoundDevice, Inventory};
use consort_types::{AllocationId, Digest, Form, Grant, Host, JobSpec, Placement, Precision, Work};
use std::fmt;

/// All workers of one allocation on this machine.
#[derive(Clone, Debug)]
pub struct Team<'a> {
    /// Which allocation.
    pub allocation: AllocationId,
    /// What was submitted.
    pub spec: &'a JobSpec,
    /// The index of its task, as its owner counts.
    pub task: u32,
    /// The indices of all tasks of the bag, as their owner counts; empty when they are counted from 0.
    pub indices: &'a [u32],
    /// What this machine has.
    pub inventory: &'a Inventory,
    /// In order of ranks.
    pub workers: Vec<Worker>,
    /// Where the first worker can be reached.
    pub address: String,
    /// The port on which it is expected to listen.
    pub port: u16,
}

/// One worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worker {
    /// Among all.
    pub rank: u32,
    /// What it is.
    pub role: String,
    /// Which of the stage's roles.
    pub role_index: u32,
    /// Among those of its role.
    pub role_rank: u32,
    /// How many have its role.
    pub role_size: u32,
    /// Among those who see the same devices.
    pub local_rank: u32,
    /// How many see the same devices.
    pub local_size: u32,
    /// Its devices, by position in the inventory, and how much of each.
    pub devices: Vec<(u32, Grant)>,
    /// How many of them are processors.
    pub cpus: u32,
    /// What it asked for of its host.
    pub host: Host,
    /// Number formats it asked for, the preferred first.
    pub precisions: Vec<Precision>,
    /// The kind for which its job says something different, if it is one of these.
    pub variant: Option<String>,
}

impl Worker {
    /// Whole processors that it has: those it asked for, or those it was granted as devices.
    pub fn processors(&self) -> u64 {
        self.host.cpu_milli.div_ceil(1000).max(self.cpus.into())
    }
}

/// A placement that does not fit what was submitted or what is here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit(String);

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Misfit {}

impl<'a> Team<'a> {
    /// The team of a placement. `first_device` is the cluster's number of this machine's first device.
    pub fn new(
        allocation: AllocationId,
        spec: &'a JobSpec,
        work: &'a Work,
        placement: &Placement,
        inventory: &'a Inventory,
        first_device: u32,
    ) -> Result<Self, Misfit> {
        let ask = allocation.ask;
        let stage = spec.stages.get(usize::from(ask.stage));
        let stage = stage.ok_or_else(|| Misfit(format!("job {} has no stage {}", ask.job, ask.stage)))?;
        if stage.roles.len() != placement.fills.len() {
            let (roles, fills) = (stage.roles.len(), placement.fills.len());
            return Err(Misfit(format!("the stage has {roles} roles, the placement {fills}")));
        }
        let stage_work = work.stages.get(usize::from(ask.stage));
        let mut workers = Vec::new();
        let mut grants = placement.devices();
        for (index, (role, fill)) in stage.roles.iter().zip(&placement.fills).enumerate() {
            let shape = role.shapes.get(usize::from(fill.shape));
            let shape =
                shape.ok_or_else(|| Misfit(format!("role {} has no shape {}", role.name, fill.shape)))?;
            for member in 0..fill.count {
                let mut devices = Vec::new();
                for _ in 0..shape.devices {
                    let grant = grants.next().ok_or_else(|| Misfit("the placement lacks devices".into()))?;
                    devices.push(find(inventory, first_device, grant)?);
                }
                let kind = |position: u32| inventory.devices()[position as usize].kind.as_str();
                workers.push(Worker {
                    rank: workers.len() as u32,
                    role: role.name.clone(),
                    role_index: index as u32,
                    role_rank: member,
                    role_size: fill.count,
                    local_rank: 0,
                    local_size: 1,
                    cpus: devices.iter().filter(|(position, _)| kind(*position) == CPU).count() as u32,
                    variant: devices
                        .first()
                        .and_then(|(position, _)| stage_work?.variant(kind(*position)))
                        .map(|variant| variant.kind.clone()),
                    devices,
                    host: shape.host,
                    precisions: shape.precisions.clone(),
                });
            }
        }
        count_together(&mut workers, inventory);
        let indices = stage_work.map_or(&[][..], |stage| &stage.indices);
        let task = match stage.form {
            Form::Gang => 0,
            Form::Bag { .. } | Form::Service { .. } => {
                indices.get(ask.task as usize).copied().unwrap_or(ask.task)
            }
        };
        let port = port(allocation);
        Ok(Self { allocation, spec, task, indices, inventory, workers, address: "127.0.0.1".into(), port })
    }

    /// The devices of a worker.
    pub fn devices(&self, worker: &Worker) -> impl Iterator<Item = &'a FoundDevice> {
        let devices = self.inventory.devices();
        worker.devices.clone().into_iter().map(move |(position, _)| &devices[position as usize])
    }

    /// The processors a worker should keep to: its own, or those near its devices; all of them when empty.
    pub fn cpus(&self, worker: &Worker) -> Vec<u32> {
        let mut cpus: Vec<u32> = self.devices(worker).flat_map(|device| device.cpus.clone()).collect();
        cpus.sort_unstable();
        cpus.dedup();
        cpus
    }
}

fn find(inventory: &Inventory, first_device: u32, grant: &Grant) -> Result<(u32, Grant), Misfit> {
    let position = grant.device.0.checked_sub(first_device);
    position
        .filter(|&position| (position as usize) < inventory.devices().len())
        .map(|position| (position, *grant))
        .ok_or_else(|| Misfit(format!("this machine has no {}; was a device removed?", grant.device)))
}

/// A worker is on its own only if every one of its devices is hidden from the others; all others see the same.
fn count_together(workers: &mut [Worker], inventory: &Inventory) {
    let masked = |position: u32| !inventory.devices()[position as usize].masks.is_empty();
    let hidden = |worker: &Worker| {
        !worker.devices.is_empty() && worker.devices.iter().all(|(position, _)| masked(*position))
    };
    let size = workers.iter().filter(|worker| !hidden(worker)).count() as u32;
    for (rank, worker) in workers.iter_mut().filter(|worker| !hidden(worker)).enumerate() {
        (worker.local_rank, worker.local_size) = (rank as u32, size);
    }
}

/// Where the first worker of an allocation is expected to listen: below the ports that systems hand out themselves. Two gangs at a time rarely meet, and a restart gets another one.
pub fn port(allocation: AllocationId) -> u16 {
    20_000 + (Digest::of(&allocation) % 12_000) as u16
}
