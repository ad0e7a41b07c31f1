//! What a worker finds in its environment.
//!
//! For: a training script finds the words its framework looks for, whichever framework that is, and sees the devices it
//! was granted and no others.
//! Promises: a pure function of what was submitted and where it was placed. What the submitter had around them loses to
//! what is set here, which loses to what was asked for by name; both win over the search path and what the machine's list of
//! users says of `HOME`, `SHELL`, `USER` and `LOGNAME`, which are there when nothing is inherited; device masks and [`OURS`] lose to nothing. A vendor
//! of which nothing was granted gets an empty mask. In a container, what the submitter had around them describes another
//! machine and is left out: the image says what `PATH` is.
//! Never: touches `NCCL_*`: how the network is used is the site's business.
//!
//! One choice needs a reason. *Local* ranks (`LOCAL_RANK`, `SLURM_LOCALID` and their kin) count the workers that see the
//! same devices. Scripts use them as an index into the devices they see (`set_device(LOCAL_RANK)`), and a worker whose
//! devices are all masked sees its own only; so it is local rank 0 of 1, as it would be in a container of its own. All
//! others see the same: processors, and devices that no variable hides. They are counted together. Whoever wants to count
//! all workers on this node takes `CONSORT_LOCAL_RANK`, and to find its own devices among all, `CONSORT_DEVICES`.

mod frameworks;
mod masks;
mod slurm;
mod team;

pub use team::{Misfit, Team, Worker, port};

use crate::launch::allocation_name;
use consort_types::{Form, Precision, WHOLE, Work};
use std::collections::BTreeMap;

/// Where programs are looked for when nobody says.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Tokens that act for a person elsewhere. What a submitter has around them reaches a job without being named, and these
/// should not; a job that needs one asks for it by name. Our own token is among [`OURS`].
const SECRETS: [&str; 1] = ["SLURM_JWT"];

/// Variables that are Consort's. Inherited from another job or from the daemon's own settings, they would be wrong here;
/// other variables that begin with `CONSORT_` belong to the user.
pub const OURS: [&str; 29] = [
    // What a worker is told of itself.
    "CONSORT_JOB",
    "CONSORT_JOB_NAME",
    "CONSORT_ALLOCATION",
    "CONSORT_ATTEMPT",
    "CONSORT_STAGE",
    "CONSORT_TASK",
    "CONSORT_TASKS",
    "CONSORT_ROLE",
    "CONSORT_RANK",
    "CONSORT_SIZE",
    "CONSORT_LOCAL_RANK",
    "CONSORT_LOCAL_SIZE",
    "CONSORT_DEVICES",
    "CONSORT_SHARE",
    "CONSORT_KIND",
    "CONSORT_VARIANT",
    "CONSORT_PRECISION",
    "CONSORT_PROGRESS",
    "CONSORT_PROGRESS_URL",
    "CONSORT_PROGRESS_TOKEN",
    "CONSORT_SLOT",
    "CONSORT_SHIM",
    // What the daemon and its clients are told.
    "CONSORT_TOKEN",
    "CONSORT_LOG",
    "CONSORT_TEST_CLOCK_OFFSET",
    "CONSORT_CRASH_AT",
    "CONSORT_CRASH_TRACE",
    "CONSORT_SNAPSHOT_EVERY",
    "CONSORT_NVIDIA_LIBRARY",
];

/// What each worker of a team finds, in order of names.
pub fn environment(team: &Team<'_>, work: &Work, rank: u32) -> Vec<(String, String)> {
    let worker = &team.workers[rank as usize];
    let mut all = BTreeMap::new();
    if work.image.is_none() {
        all.insert("PATH".to_owned(), PATH.to_owned());
        all.extend(team.inventory.login.iter().cloned());
        all.extend(work.inherited.iter().filter(|(name, _)| !SECRETS.contains(&&**name)).cloned());
    }
    frameworks::set(&mut all, team, worker);
    slurm::set(&mut all, team, worker, work);
    if worker.processors() > 0 && !work.inherited.iter().any(|(name, _)| name == "OMP_NUM_THREADS") {
        all.insert("OMP_NUM_THREADS".into(), worker.processors().to_string());
    }
    all.extend(work.env.iter().cloned());
    masks::set(&mut all, team, worker, work.image.is_some());
    set_own(&mut all, team, worker);
    // The kernel has no place for such names, and no way to say so.
    all.retain(|name, value| !name.is_empty() && !name.contains(['=', '\0']) && !value.contains('\0'));
    all.into_iter().collect()
}

/// Our own words, and nobody else's under our name.
fn set_own(all: &mut BTreeMap<String, String>, team: &Team<'_>, worker: &Worker) {
    all.retain(|name, _| !OURS.contains(&name.as_str()));
    let ask = team.allocation.ask;
    let stage = &team.spec.stages[usize::from(ask.stage)];
    let own = [
        ("JOB", ask.job.0.to_string()),
        ("JOB_NAME", team.spec.name.clone()),
        ("ALLOCATION", allocation_name(team.allocation)),
        ("ATTEMPT", team.allocation.attempt.to_string()),
        ("STAGE", stage.name.clone()),
        ("TASK", team.task.to_string()),
        ("ROLE", worker.role.clone()),
        ("RANK", worker.rank.to_string()),
        ("SIZE", team.workers.len().to_string()),
        // All workers of an allocation are on one node.
        ("LOCAL_RANK", worker.rank.to_string()),
        ("LOCAL_SIZE", team.workers.len().to_string()),
        ("DEVICES", worker.devices.iter().map(|(at, _)| at.to_string()).collect::<Vec<_>>().join(",")),
    ];
    all.extend(own.map(|(name, value)| (format!("CONSORT_{name}"), value)));
    let share = worker.devices.iter().map(|(_, grant)| grant.share).min();
    if let Some(share) = share.filter(|&share| share < WHOLE) {
        all.insert("CONSORT_SHARE".into(), share.to_string());
    }
    let told = [
        ("CONSORT_KIND", team.devices(worker).next().map(|device| device.kind.clone())),
        ("CONSORT_VARIANT", worker.variant.clone()),
        ("CONSORT_PRECISION", precision(team, worker)),
    ];
    all.extend(told.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
    if let Form::Bag { tasks } | Form::Service { replicas: tasks } = stage.form {
        all.insert("CONSORT_TASKS".into(), tasks.to_string());
    }
}

/// The best number format of those the worker asked for that its devices compute in.
fn precision(team: &Team<'_>, worker: &Worker) -> Option<String> {
    let kind = &team.devices(worker).next()?.kind;
    Precision::best(team.inventory.computes_in(kind), &worker.precisions)
        .map(|precision| precision.to_string())
}

#[cfg(test)]
mod tests;
