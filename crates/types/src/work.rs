//! What a job runs, as opposed to what it runs on.
//!
//! The scheduler never looks inside: a [`Work`] is stored beside the job's submission and handed to the world that
//! starts it. Everything is text exactly as submitted; a world resolves it when it launches.

use crate::cluster::Host;
use crate::id::JobId;
use crate::job::JobSpec;
use crate::time::Span;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::Arc;

/// What to start, and how to treat it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Work {
    /// One for each stage of the job, in order.
    pub stages: Vec<StageWork>,
    /// Where workers are started; an absolute path.
    pub workdir: String,
    /// The container image that workers run in; on the machine itself when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// Asked for by name. Wins over everything but the device masks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<(String, String)>,
    /// What the submitter had around them. Loses to what the worker is given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inherited: Vec<(String, String)>,
    /// How workers are asked to go, before they are made to.
    #[serde(default)]
    pub grace: Grace,
    /// What one worker may use of the machine.
    #[serde(default)]
    pub limits: Limits,
    /// Where the output goes.
    #[serde(default)]
    pub output: Output,
}

/// What one stage runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StageWork {
    /// One for each role of the stage, in order.
    pub commands: Vec<Command>,
    /// The index of each task of a bag, as its owner counts; by position when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub indices: Vec<u32>,
    /// What differs by kind of device; only where the stage has one role.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<Variant>,
}

impl StageWork {
    /// The variant for devices of this kind, if there is one. Names of kinds may be written in any case.
    pub fn variant(&self, kind: &str) -> Option<&Variant> {
        self.variants.iter().find(|variant| variant.kind.eq_ignore_ascii_case(kind))
    }
}

/// What is different on one kind of device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// The kind.
    pub kind: String,
    /// What is run there; what the stage runs when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Command>,
    /// The container image it runs in; the job's own when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// Asked for by name; wins over the job's own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<(String, String)>,
}

impl Work {
    /// One stage of one role that runs this; everything else as if nobody had said anything.
    pub fn of(command: Command, workdir: impl Into<String>) -> Self {
        Work {
            stages: vec![StageWork { commands: vec![command], indices: vec![], variants: vec![] }],
            workdir: workdir.into(),
            image: None,
            env: vec![],
            inherited: vec![],
            grace: Grace::default(),
            limits: Limits::default(),
            output: Output::default(),
        }
    }

    /// Every container image that it may run in, in no particular order.
    pub fn images(&self) -> impl Iterator<Item = &str> {
        let variants = self.stages.iter().flat_map(|stage| &stage.variants);
        self.image.iter().chain(variants.filter_map(|variant| variant.image.as_ref())).map(String::as_str)
    }

    /// What a stage runs on devices of this kind: the same, with its variant for that kind put in place.
    pub fn on(&self, stage: usize, kind: &str) -> Cow<'_, Work> {
        let Some(variant) = self.stages.get(stage).and_then(|stage| stage.variant(kind)) else {
            return Cow::Borrowed(self);
        };
        let mut work = self.clone();
        if let (Some(command), Some(place)) = (&variant.command, work.stages[stage].commands.first_mut()) {
            place.clone_from(command);
        }
        work.image = variant.image.clone().or(work.image);
        work.env.retain(|(name, _)| !variant.env.iter().any(|(known, _)| known == name));
        work.env.extend(variant.env.iter().cloned());
        work.env.sort();
        Cow::Owned(work)
    }
}

/// What one worker runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Command {
    /// A program and its arguments, found on the worker's own PATH.
    Program(Vec<String>),
    /// A script. Its first line may name the interpreter; otherwise it is bash, or sh where there is none.
    Script {
        /// Its text.
        text: String,
        /// What it is called with.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        arguments: Vec<String>,
    },
}

/// How workers are asked to go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grace {
    /// The number of the signal; 15 is SIGTERM.
    pub signal: i32,
    /// How long they have before they are killed.
    pub span: Span,
}

impl Default for Grace {
    fn default() -> Self {
        Self { signal: 15, span: Span::seconds(10) }
    }
}

/// What one worker may use of the machine, beside its devices. Absent means no limit of ours.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Main memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Processors' worth of time, in thousandths.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_thousandths: Option<u32>,
    /// Processes and threads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processes: Option<u32>,
    /// Open files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_files: Option<u32>,
}

impl Limits {
    /// These limits; where they say nothing, what the worker asked for of its host is the limit.
    pub fn or_asked(&self, host: &Host) -> Limits {
        let cpus = u32::try_from(host.cpu_milli).ok().filter(|&milli| milli > 0);
        let memory = Some(host.memory_bytes).filter(|&bytes| bytes > 0);
        Limits {
            memory_bytes: self.memory_bytes.or(memory),
            cpu_thousandths: self.cpu_thousandths.or(cpus),
            ..self.clone()
        }
    }
}

/// Where the output of workers goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Output {
    /// A path, absolute or below the working directory, in which `%j` is the job, `%x` its name, `%a` the task's index
    /// and `%t` the worker's rank; under the data directory when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// A log file that reaches this size is put aside and a new one begun.
    pub rotate_bytes: u64,
    /// How many that were put aside are kept.
    pub keep: u32,
}

impl Default for Output {
    fn default() -> Self {
        Self { path: None, rotate_bytes: 64 << 20, keep: 3 }
    }
}

/// Whoever keeps what was submitted, for worlds that have to start it.
pub trait Works: Send + Sync {
    /// The spec and the work of a job; an error in words if it cannot be read.
    fn find(&self, job: JobId) -> Result<(Arc<JobSpec>, Arc<Work>), String>;
}
