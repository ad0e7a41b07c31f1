//! The job file: what a person writes, or a program sends, to have something run.
//!
//! ```yaml
//! name: train
//! tenant: red
//! queue: urgent
//! priority: 5
//! after: [17, {job: 18, when: ended}]
//! deadline: +6h
//! time_limit: 2h
//! retries: 3
//! # One worker with 8 devices; `workers` and `devices_per_worker` for more than one.
//! devices: 8
//! kind: [h200, mi300x]
//! cpus: 8
//! mem: 48GiB
//! workdir: /data/train
//! image: pytorch/pytorch:2.6.0
//! setup: source venv/bin/activate
//! run: |
//!   python train.py --resume
//! env: {NCCL_DEBUG: INFO}
//! grace: {signal: USR1, span: 2m}
//! limits: {memory: 64GiB, cpus: 8}
//! output: {path: logs/%j.txt, rotate: 64MiB, keep: 3}
//! ```
//! Only `run` must be there. Text is a script, a list is a program with its arguments. Stages, roles, bags and services
//! are written as in a job list, each with its own `run`. What coincides with a SkyPilot task may be called as there:
//! `envs`, `num_nodes`, `resources`.
//!
//! The same is read from JSON. [`JobFile::to_json`] writes it back in full: what is read from that is equal, whatever
//! clock and folder are around it then.

use super::body::{self, Dialect};
use super::fields;
use super::read_error::{InFile, ReadError};
use super::stages::{self, Stage};
use super::value;
use super::yaml::{self, Fields, Node};
use super::{json, limits};
use crate::job::{Form, JobSpec, OnFailure, Shape, StageSpec};
use crate::time::Time;
use crate::work::{StageWork, Work};

pub(super) mod command;
pub(super) mod environment;
pub(super) mod indices;
mod resources;
pub(super) mod settings;
mod variants;
mod write;

pub use indices::parse as array;
pub use settings::{SIGNALS, deadline, image, signal};

/// What the tenant and the queue of whoever names none are called.
pub const DEFAULT: &str = "default";

/// Where and when a job file is read.
#[derive(Clone, Copy, Debug)]
pub struct Around<'a> {
    /// The instant of submission: deadlines with a plus sign count from here.
    pub now: Time,
    /// An absolute path: where workers are started unless the file says otherwise. Empty where there is no such folder, as
    /// for a request: then they are started in `/`, and a relative path is refused.
    pub workdir: &'a str,
}

/// What a job file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobFile {
    /// What it runs on.
    pub spec: JobSpec,
    /// What it runs.
    pub work: Work,
    /// What was read and is not followed, a sentence each.
    pub notes: Vec<String>,
}

/// Fields of a job that are not about what it runs on.
const JOB: [&str; fields::count(fields::JOB, fields::FILE)] = fields::names(fields::JOB, fields::FILE);

/// Fields of a stage, or of a job that has only one.
const BODY: [&str; fields::count(fields::BODY, fields::FILE)] = fields::names(fields::BODY, fields::FILE);

/// Reads a job file in YAML. `file` is what errors call it, and names a job that has no name.
pub fn read(file: &str, text: &str, around: &Around<'_>) -> Result<JobFile, ReadError> {
    yaml::parse(text, "a job").and_then(|node| job(file, node, around)).in_file(file)
}

/// Reads a job file in JSON.
pub fn read_json(file: &str, text: &[u8], around: &Around<'_>) -> Result<JobFile, ReadError> {
    json::parse(text).and_then(|node| job(file, node, around)).in_file(file)
}

/// Reads a job file from a tree.
pub fn read_node(file: &str, node: Node, around: &Around<'_>) -> Result<JobFile, ReadError> {
    job(file, node, around).in_file(file)
}

fn job(file: &str, node: Node, around: &Around<'_>) -> Result<JobFile, ReadError> {
    node.refuse_nul()?;
    let known: Vec<&str> = JOB.into_iter().chain(BODY).collect();
    let mut fields = node.fields("a job", &known)?;
    fields.alias("time", "time_limit")?;
    fields.alias("envs", "env")?;
    fields.alias("num_nodes", "workers")?;
    // Everything that is not given keeps the plainest setting.
    let mut spec = JobSpec::gang("", 1, Shape::any());
    let name = fields.read("name", value::name)?;
    settings::spec(&mut fields, &mut spec, around)?;
    let mut work = settings::work(&mut fields, around)?;
    let accelerators = resources::take(&mut fields, &mut work.limits)?;
    let setup = fields.take("setup").map(command::setup).transpose()?;
    let mut bodies = match fields.take("stages") {
        Some(node) => {
            fields.refuse_beside("stages", &BODY)?;
            stages::read(node, &BODY, |fields| body(fields, setup.as_deref()))?
        }
        None => {
            let body = body(&mut fields, setup.as_deref())?;
            vec![Stage { name: "main".into(), after: vec![], body }]
        }
    };
    if let Some(shapes) = accelerators {
        resources::apply(shapes, &mut bodies[0].body.0.roles[0]);
    }
    spec.stages.clear();
    for Stage { name, after, body: (stage, runs) } in bodies {
        spec.stages.push(StageSpec { name, after, ..stage });
        work.stages.push(runs);
    }
    spec.name = name.unwrap_or_else(|| command::name(file, &work.stages[0].commands[0]));
    Ok(JobFile { spec, work, notes: vec![] })
}

/// Takes [`BODY`] from a job or a stage. The stage has neither name nor place in the graph yet.
fn body(fields: &mut Fields, setup: Option<&str>) -> Result<(StageSpec, StageWork), ReadError> {
    let place = fields.place;
    fields.alias("gpus", "devices")?;
    let (form, indices) = match fields.take("array") {
        Some(node) => {
            fields.refuse_beside("array", &["tasks", "replicas"])?;
            let (tasks, indices) = indices::read(node)?;
            (Form::Bag { tasks }, indices)
        }
        None => (body::form(fields)?, vec![]),
    };
    let is_bag = matches!(form, Form::Bag { .. });
    let on_failure = match fields.take("on_failure") {
        Some(node) if !is_bag => {
            return Err(node
                .place
                .fail("`on_failure` is about the tasks of an array: it needs `array` or `tasks`"));
        }
        Some(node) => node.read("on_failure", value::on_failure)?,
        None if is_bag => OnFailure::Continue,
        None => OnFailure::Stop,
    };
    let given = fields.given("run");
    let shared = fields.take("run").map(|node| command::read(node, setup)).transpose()?;
    let variants = variants::take(fields, setup)?;
    let (mut roles, mut commands, mut spare) = (vec![], vec![], given);
    for member in body::members(fields, Dialect::File)? {
        commands.push(match (member.run, &shared) {
            (Some(node), _) => command::read(node, setup)?,
            (None, Some(shared)) => {
                spare = None;
                shared.clone()
            }
            (None, None) if variants::cover(&variants, &member.role) => {
                variants[0].1.command.clone().expect("every variant has one")
            }
            (None, None) => {
                return Err(
                    place.fail("missing field `run`, expected a script, or a program and its arguments")
                );
            }
        });
        roles.push(member.role);
    }
    if let Some(place) = spare {
        return Err(place.fail("`run` cannot be used when every role has its own"));
    }
    let variants = variants::accepted(variants, &roles)?;
    let all = commands.iter().chain(variants.iter().filter_map(|variant| variant.command.as_ref()));
    let bytes: usize = all.map(command::bytes).sum();
    if bytes > limits::COMMAND_BYTES {
        return Err(place.fail("the commands are larger than 1 MiB in total; put them into files"));
    }
    let mut stage = StageSpec::new("", form, roles);
    stage.on_failure = on_failure;
    stage.indices.clone_from(&indices);
    Ok((stage, StageWork { commands, indices, variants }))
}

#[cfg(test)]
mod tests;
