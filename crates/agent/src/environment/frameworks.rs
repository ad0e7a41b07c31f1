//! The words that training frameworks look for.
//!
//! For: PyTorch, TensorFlow, JAX, Horovod and programs started by an MPI find each other without a line of glue.
//! Promises: all of them are told the same ranks and sizes.
//! Never: sets a word of a framework that would make it look for a launcher that is not there.

use crate::environment::team::{Team, Worker};
use std::collections::BTreeMap;

pub(super) fn set(all: &mut BTreeMap<String, String>, team: &Team<'_>, worker: &Worker) {
    let mut put = |name: &str, value: String| all.insert(name.to_owned(), value);
    let size = team.workers.len().to_string();
    let rank = worker.rank.to_string();
    let (local, local_size) = (worker.local_rank.to_string(), worker.local_size.to_string());
    // As many groups as there are sets of workers that see the same devices.
    let group = group_of(team, worker);
    let groups = 1 + team.workers.iter().map(|worker| group_of(team, worker)).max().unwrap_or(0);
    let port = team.port.to_string();

    put("RANK", rank.clone());
    put("WORLD_SIZE", size.clone());
    put("LOCAL_RANK", local.clone());
    put("LOCAL_WORLD_SIZE", local_size.clone());
    put("GROUP_RANK", group.to_string());
    put("GROUP_WORLD_SIZE", groups.to_string());
    put("ROLE_NAME", worker.role.clone());
    put("ROLE_RANK", worker.role_rank.to_string());
    put("ROLE_WORLD_SIZE", worker.role_size.to_string());
    put("MASTER_ADDR", team.address.clone());
    put("MASTER_PORT", port.clone());
    put("TORCHELASTIC_RUN_ID", team.allocation.ask.job.0.to_string());
    put("TORCHELASTIC_RESTART_COUNT", team.allocation.attempt.saturating_sub(1).to_string());
    put("TORCHELASTIC_MAX_RESTARTS", team.spec.retries.to_string());

    put("JAX_COORDINATOR_ADDRESS", format!("{}:{port}", team.address));
    put("JAX_NUM_PROCESSES", size.clone());
    put("JAX_PROCESS_ID", rank.clone());

    put("HOROVOD_RANK", rank.clone());
    put("HOROVOD_SIZE", size.clone());
    put("HOROVOD_LOCAL_RANK", local.clone());
    put("HOROVOD_LOCAL_SIZE", local_size.clone());
    put("HOROVOD_CROSS_RANK", group.to_string());
    put("HOROVOD_CROSS_SIZE", groups.to_string());

    put("OMPI_COMM_WORLD_RANK", rank.clone());
    put("OMPI_COMM_WORLD_SIZE", size.clone());
    put("OMPI_COMM_WORLD_LOCAL_RANK", local);
    put("OMPI_COMM_WORLD_LOCAL_SIZE", local_size);
    put("OMPI_COMM_WORLD_NODE_RANK", rank.clone());
    put("PMI_RANK", rank);
    put("PMI_SIZE", size);
    put("TF_CONFIG", tf_config(team, worker));
}

/// Which set of workers that see the same devices this one is in, counted in order of ranks.
fn group_of(team: &Team<'_>, worker: &Worker) -> u32 {
    // Those counted together are one group, at the place of its first member.
    let first = |other: &Worker| other.local_rank == 0 && other.rank <= worker.rank;
    let before = team.workers.iter().filter(|other| first(other)).count() as u32;
    match worker.local_rank {
        0 => before - 1,
        _ => {
            let head = team.workers.iter().find(|other| other.local_size > 1 && other.local_rank == 0);
            head.map_or(before - 1, |head| group_of(team, head))
        }
    }
}

/// TensorFlow wants every member's address, by task type: roles are task types. Each member gets a port of its own.
fn tf_config(team: &Team<'_>, worker: &Worker) -> String {
    let mut cluster = serde_json::Map::new();
    for other in &team.workers {
        let address = format!("{}:{}", team.address, u32::from(team.port) + other.rank);
        let list = cluster.entry(other.role.clone()).or_insert_with(|| serde_json::Value::Array(vec![]));
        list.as_array_mut().expect("just made").push(address.into());
    }
    let task = serde_json::json!({"type": worker.role, "index": worker.role_rank});
    serde_json::json!({"cluster": cluster, "task": task}).to_string()
}
