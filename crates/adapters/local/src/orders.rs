//! From a placement to the orders of its workers.
//!
//! For: one place in which what was submitted, where it was placed and what this machine is like come together.
//! Promises: the orders of one allocation are the same whenever they are made, so that a gang whose daemon died between
//! two of them is still one gang.
//! Never: starts anything.

use crate::world::Setup;
use consort_agent::containers::{Container, Found};
use consort_agent::discover::CPU;
use consort_agent::environment::{Team, Worker, environment};
use consort_agent::launch::{self, Known, LogOrder, Order};
use consort_agent::process;
use consort_types::{AllocationId, Placement};
use std::collections::BTreeSet;
use std::path::Path;

/// The orders of all workers, by rank; in words why there can be none.
pub(crate) fn make(
    setup: &Setup,
    record_dir: &Path,
    soft_files: Option<u64>,
    allocation: AllocationId,
    placement: &Placement,
    known: &Known,
) -> Result<Vec<Order>, String> {
    let Known { job, spec, work } = known;
    assert_eq!(*job, allocation.ask.job, "orders are made from the job's own words");
    let team = Team::new(allocation, spec, work, placement, &setup.inventory, setup.first_device)
        .map_err(|misfit| misfit.to_string())?;
    let kind = team.workers.first().and_then(|worker| Some(team.devices(worker).next()?.kind.as_str()));
    let work = &*work.on(allocation.ask.stage.into(), kind.unwrap_or_default());
    let stage = work.stages.get(usize::from(allocation.ask.stage));
    let stage = stage.ok_or_else(|| format!("job {job} has no stage {}", allocation.ask.stage))?;
    let runtime = work.image.as_ref().map(|_| setup.containers.find()).transpose()?;
    let mut orders = Vec::new();
    for worker in &team.workers {
        let command = stage.commands.get(worker.role_index as usize);
        let command = command.ok_or_else(|| format!("job {job} has no command for role {}", worker.role))?;
        let path = launch::output_path(&setup.log_dir, allocation, spec, work, worker.rank);
        let mut order = Order {
            allocation: launch::allocation_name(allocation),
            rank: worker.rank,
            boot: process::boot().to_owned(),
            command: command.clone(),
            env: environment(&team, work, worker.rank),
            workdir: work.workdir.clone(),
            limits: work.limits.clone(),
            asked: worker.host,
            cpus: team.cpus(worker),
            soft_files,
            grace: work.grace.clone(),
            log: LogOrder {
                within: launch::output_within(work, &path),
                path,
                rotate_bytes: work.output.rotate_bytes,
                keep: work.output.keep,
                named: work.output.path.is_some(),
            },
            record: Some(record_dir.join(launch::record_name(allocation, worker.rank))),
            together: team.workers.len() > 1,
            container: match (&runtime, &work.image) {
                (Some(runtime), Some(image)) => Some(container(runtime, image, &team, worker)?),
                _ => None,
            },
        };
        let file = setup.base().join(setup.progress(allocation, worker.rank, &order));
        order.env.push(("CONSORT_PROGRESS".into(), file.display().to_string()));
        order.env.extend((setup.channel)(allocation));
        order.env.sort_unstable();
        orders.push(order);
    }
    Ok(orders)
}

/// The container of a worker, with the devices it was granted; in words which of them cannot be brought into it.
fn container(runtime: &Found, image: &str, team: &Team<'_>, worker: &Worker) -> Result<Container, String> {
    let (mut nvidia, mut nodes) = (Vec::new(), BTreeSet::new());
    for device in team.devices(worker).filter(|device| device.kind != CPU) {
        match device.vendor.as_str() {
            "nvidia" => nvidia.push(device.identity.clone()),
            _ if device.paths.is_empty() => {
                return Err(format!(
                    "{} has no device node that a container could be given; name it with `paths` in devices.yaml, or \
                     run the job without `image`",
                    device.identity
                ));
            }
            vendor => {
                nodes.extend(device.paths.iter().cloned());
                // All devices of this vendor are reached through one more node.
                nodes.extend((vendor == "amd").then(|| "/dev/kfd".into()));
            }
        }
    }
    Ok(runtime.container(image, nvidia, nodes.into_iter().collect()))
}
