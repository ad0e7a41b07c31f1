//! The words that scripts written for Slurm look for.
//!
//! For: a script that was written for `sbatch` runs unchanged.
//! Promises: the words mean here what they mean there, for a job on one node.
//! Never: sets `SLURM_CONF` or anything else that would make a Slurm command talk to a controller.

use crate::discover::CPU;
use crate::environment::team::{Team, Worker};
use consort_types::{Form, Work};
use std::collections::BTreeMap;

pub(super) fn set(all: &mut BTreeMap<String, String>, team: &Team<'_>, worker: &Worker, work: &Work) {
    let ask = team.allocation.ask;
    let (job, host) = (ask.job.0.to_string(), team.inventory.hostname.clone());
    let size = team.workers.len().to_string();
    let mut put = |name: &str, value: String| all.insert(format!("SLURM_{name}"), value);
    for name in ["JOB_ID", "JOBID"] {
        put(name, job.clone());
    }
    put("JOB_NAME", team.spec.name.clone());
    put("JOB_ACCOUNT", team.spec.tenant.clone());
    put("JOB_PARTITION", team.spec.queue.clone());
    for name in ["JOB_NODELIST", "NODELIST"] {
        put(name, host.clone());
    }
    for name in ["JOB_NUM_NODES", "NNODES"] {
        put(name, "1".into());
    }
    for name in ["NTASKS", "NPROCS"] {
        put(name, size.clone());
    }
    // Goes with LOCALID: how many are counted together.
    put("TASKS_PER_NODE", worker.local_size.to_string());
    put("NODEID", "0".into());
    put("PROCID", worker.rank.to_string());
    put("LOCALID", worker.local_rank.to_string());
    put("SUBMIT_DIR", work.workdir.clone());
    put("RESTART_COUNT", team.allocation.attempt.saturating_sub(1).to_string());
    if worker.processors() > 0 {
        put("CPUS_PER_TASK", worker.processors().to_string());
    }
    if worker.host.memory_bytes > 0 {
        put("MEM_PER_NODE", (worker.host.memory_bytes >> 20).to_string());
    }
    let mut gpus: Vec<u32> = team
        .workers
        .iter()
        .flat_map(|worker| team.devices(worker))
        .filter(|device| device.kind != CPU)
        .map(|device| device.index)
        .collect();
    gpus.sort_unstable();
    gpus.dedup();
    if !gpus.is_empty() {
        put("GPUS_ON_NODE", gpus.len().to_string());
        put("JOB_GPUS", gpus.iter().map(u32::to_string).collect::<Vec<_>>().join(","));
    }
    if let Form::Bag { tasks } = team.spec.stages[usize::from(ask.stage)].form {
        put("ARRAY_JOB_ID", job);
        put("ARRAY_TASK_ID", team.task.to_string());
        put("ARRAY_TASK_COUNT", tasks.to_string());
        put("ARRAY_TASK_MIN", team.indices.iter().min().copied().unwrap_or(0).to_string());
        let last = tasks.saturating_sub(1);
        put("ARRAY_TASK_MAX", team.indices.iter().max().copied().unwrap_or(last).to_string());
    }
}
