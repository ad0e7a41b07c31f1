//! The flags that `submit` and `run` share. Each of them wins over what a file says.

use super::sources::Source;
use super::wording::now;
use crate::failure::{Failure, note};
use clap::ValueEnum;
use consort_types::file::job::{JobFile, array, deadline, image, signal};
use consort_types::file::{limits, value};
use consort_types::{Count, Dependency, Form, Grace, JobId, OnFailure, Qos, Role, Span, Time};
use std::path::{Path, PathBuf};

/// What the job is to be like.
#[derive(clap::Args)]
#[command(next_help_heading = "Job")]
pub struct Flags {
    /// Job name [default: the program or the file]
    #[arg(long, value_parser = parser(value::name))]
    name: Option<String>,
    /// Accelerators for the one worker; processors count only on machines without accelerators
    #[arg(long, visible_alias = "gpus", value_name = "N", value_parser = parser(value::width), conflicts_with_all = ["workers", "devices_per_worker"])]
    devices: Option<u32>,
    /// Number of workers, or a range such as 2-8
    #[arg(long, value_name = "W", value_parser = parser(value::range))]
    workers: Option<Count>,
    /// Devices per worker
    #[arg(long, value_name = "D", value_parser = parser(value::width))]
    devices_per_worker: Option<u32>,
    /// Kind of device, upper or lower case; several acceptable kinds separated by commas, the preferred first
    #[arg(long, value_name = "K", value_delimiter = ',', value_parser = parser(value::name))]
    kind: Vec<String>,
    /// Features that the nodes must have, separated by commas
    #[arg(long, value_name = "F", value_delimiter = ',', value_parser = parser(value::name))]
    feature: Vec<String>,
    /// Part of each device, such as 0.5
    #[arg(long, value_parser = parser(value::share))]
    share: Option<u16>,
    /// Memory needed on each device, such as 40GiB
    #[arg(long, value_name = "SIZE", value_parser = parser(value::memory))]
    memory: Option<u64>,
    /// Processors per worker, such as 8 or 2.5
    #[arg(long, value_name = "N", value_parser = parser(value::processors))]
    cpus: Option<u64>,
    /// Main memory per worker, such as 64GiB
    #[arg(long, value_name = "SIZE", value_parser = parser(value::memory))]
    mem: Option<u64>,
    /// Queue to submit to
    #[arg(long, value_parser = parser(value::name))]
    queue: Option<String>,
    /// Tenant that owns the job
    #[arg(long, value_parser = parser(value::name))]
    tenant: Option<String>,
    /// Priority; higher goes first, may be negative
    #[arg(long, value_name = "N", value_parser = parser(value::priority), allow_hyphen_values = true)]
    priority: Option<i32>,
    /// Quality of service, from the first to be preempted: best-effort, standard or guaranteed
    #[arg(long, value_name = "CLASS", value_parser = parser(value::qos))]
    qos: Option<Qos>,
    /// Time limit of one attempt, such as 2h
    #[arg(long, value_name = "TIME", value_parser = parser(time))]
    time: Option<Span>,
    /// Deadline for ordering, never enforced: +6h from now, or an instant such as 2026-03-09T14:05:00Z
    #[arg(long, value_name = "TIME", value_parser = parser(|text| deadline(text, now())))]
    deadline: Option<Time>,
    /// Estimated run time, such as 90m; some policies start short jobs first
    #[arg(long, value_name = "TIME", value_parser = parser(value::span))]
    estimate: Option<Span>,
    /// Run as an array: one task per index, such as 0-9,12 or 0-100:10
    #[arg(long, value_name = "INDICES", value_parser = parser(array))]
    array: Option<(u32, Vec<u32>)>,
    /// When a task of an array has failed for good: continue with the others, or stop them [default: continue]
    #[arg(long, value_name = "WHAT", value_parser = parser(value::on_failure))]
    on_failure: Option<OnFailure>,
    /// How many failed attempts are retried
    #[arg(long, value_name = "N", value_parser = parser(value::retries))]
    retries: Option<u32>,
    /// Jobs that must have succeeded first; 17:ended or 17:failed for another outcome
    #[arg(long, value_name = "JOB", value_delimiter = ',', value_parser = parser(after))]
    after: Vec<Dependency>,
    /// Environment variable; a name alone copies the value from this environment
    #[arg(long, value_name = "K=V", value_parser = parser(variable))]
    env: Vec<(String, String)>,
    /// Pass on the environment of this command [default: all, unless a script says otherwise]
    #[arg(long, value_enum, value_name = "WHAT")]
    export: Option<Export>,
    /// Working directory [default: the current one]
    #[arg(long, value_name = "DIR")]
    workdir: Option<PathBuf>,
    /// Container image to run in, such as pytorch/pytorch:2.6.0; gets the variables of --env, not this environment
    #[arg(long, value_name = "IMAGE", value_parser = parser(image))]
    image: Option<String>,
    /// Grace period before a stopped worker is killed, such as 30s, or with a signal such as USR1@2m
    #[arg(long, value_name = "TIME", value_parser = parser(grace))]
    grace: Option<Grace>,
}

/// What of the environment travels along.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Export {
    /// All of it.
    All,
    /// Nothing of it.
    None,
}

impl Flags {
    /// Puts the flags over what the file says, and the environment under it; a script has its own already.
    pub fn apply(&self, job: &mut JobFile, source: Source) -> Result<(), Failure> {
        let spec = &mut job.spec;
        macro_rules! win {
            ($($field:ident)*) => {$(
                if let Some(value) = &self.$field {
                    spec.$field.clone_from(value);
                }
            )*};
        }
        win!(name queue tenant priority qos retries);
        spec.time_limit = self.time.or(spec.time_limit);
        spec.deadline = self.deadline.or(spec.deadline);
        spec.estimate = self.estimate.or(spec.estimate);
        if let Some((tasks, indices)) = &self.array {
            let [stage] = &mut spec.stages[..] else {
                return Err(stays_in_the_file("stages"));
            };
            if !matches!(stage.form, Form::Bag { .. }) {
                stage.on_failure = OnFailure::Continue;
            }
            stage.form = Form::Bag { tasks: *tasks };
            stage.indices.clone_from(indices);
            job.work.stages[0].indices.clone_from(indices);
        }
        if let Some(on_failure) = self.on_failure {
            let mut bags: Vec<_> =
                spec.stages.iter_mut().filter(|stage| matches!(stage.form, Form::Bag { .. })).collect();
            if bags.is_empty() {
                return Err(Failure::request(
                    "`--on-failure` is about the tasks of an array; this job has none",
                    "leave it out, or add `--array`",
                ));
            }
            bags.iter_mut().for_each(|stage| stage.on_failure = on_failure);
        }
        if !self.after.is_empty() {
            spec.after = self.after.clone();
        }
        if self.has_hardware() {
            let [stage] = &mut spec.stages[..] else {
                return Err(stays_in_the_file("stages"));
            };
            let [role] = &mut stage.roles[..] else { return Err(stays_in_the_file("roles")) };
            if source == (Source::Script { is_plain: true }) && self.has_devices() {
                // Its processors were a default; devices are accelerators, whoever asks for them.
                role.shapes.iter_mut().for_each(|shape| shape.kind = None);
            }
            self.hardware(role)?;
            // Of the variants those are left that fit the kinds named here; where none does, that is a mistake.
            let fits = |kind: &str| self.kind.iter().any(|wanted| wanted.eq_ignore_ascii_case(kind));
            for stage in &mut job.work.stages {
                if stage.variants.iter().any(|variant| fits(&variant.kind)) {
                    stage.variants.retain(|variant| fits(&variant.kind));
                }
            }
            // What is asked for is the limit, unless the file sets another one; that was meant for what it asked for.
            let limits = &mut job.work.limits;
            limits.cpu_thousandths = limits.cpu_thousandths.filter(|_| self.cpus.is_none());
            limits.memory_bytes = limits.memory_bytes.filter(|_| self.mem.is_none());
        }
        for (name, text) in &self.env {
            job.work.env.retain(|(known, _)| known != name);
            job.work.env.push((name.clone(), text.clone()));
        }
        job.work.env.sort();
        if let Some(grace) = &self.grace {
            job.work.grace = grace.clone();
        }
        if let Some(image) = &self.image {
            job.work.image = Some(image.clone());
            let variants = job.work.stages.iter_mut().flat_map(|stage| &mut stage.variants);
            variants.filter_map(|variant| variant.image.as_mut()).for_each(|other| other.clone_from(image));
        }
        if let Some(folder) = &self.workdir {
            job.work.workdir = absolute(folder)?;
        }
        match self.export {
            Some(Export::All) => job.work.inherited = environment(|_| true),
            Some(Export::None) => job.work.inherited.clear(),
            // A file that brings an environment along means that one.
            None if source == Source::File && job.work.inherited.is_empty() => {
                job.work.inherited = environment(|_| true);
            }
            None => {}
        }
        Ok(())
    }

    fn has_hardware(&self) -> bool {
        let named = !self.kind.is_empty() || !self.feature.is_empty();
        let hosted = self.cpus.is_some() || self.mem.is_some();
        self.has_devices() || self.workers.is_some() || named || hosted
    }

    /// Whether some flag is about devices and not only about how many workers there are.
    fn has_devices(&self) -> bool {
        let counted = self.devices.is_some() || self.devices_per_worker.is_some();
        counted || self.share.is_some() || self.memory.is_some()
    }

    fn hardware(&self, role: &mut Role) -> Result<(), Failure> {
        if self.devices.is_some() {
            role.count = Count::exactly(1);
        }
        role.count = self.workers.unwrap_or(role.count);
        let devices = self.devices.or(self.devices_per_worker);
        if !self.kind.is_empty() {
            let like = role.shapes[0].clone();
            let of = |kind: &String| consort_types::Shape { kind: Some(kind.clone()), ..like.clone() };
            role.shapes = self.kind.iter().map(of).collect();
        }
        for shape in &mut role.shapes {
            shape.devices = devices.unwrap_or(shape.devices);
            shape.share = self.share.unwrap_or(shape.share);
            shape.memory_bytes = self.memory.unwrap_or(shape.memory_bytes);
            shape.host.cpu_milli = self.cpus.unwrap_or(shape.host.cpu_milli);
            shape.host.memory_bytes = self.mem.unwrap_or(shape.host.memory_bytes);
            if !self.feature.is_empty() {
                shape.features = value::sorted(self.feature.clone());
            }
        }
        let widest = role.shapes.iter().map(|shape| u64::from(shape.devices)).max().unwrap_or(0);
        match widest * u64::from(role.count.max) > u64::from(limits::WIDTH) {
            true => Err(Failure::request("the job asks for more than 1,000,000 devices", "ask for fewer")),
            false => Ok(()),
        }
    }
}

fn stays_in_the_file(what: &str) -> Failure {
    Failure::request(
        format_args!("flags about devices cannot be used with a file that has several {what}"),
        "change the file instead",
    )
}

/// This folder, as a text that can be sent.
pub fn here() -> Result<String, Failure> {
    absolute(Path::new("."))
}

fn absolute(folder: &Path) -> Result<String, Failure> {
    let whole = std::fs::canonicalize(folder).map_err(|error| Failure::file(folder, "entered", &error))?;
    whole.to_str().map(String::from).ok_or_else(|| {
        Failure::request(
            format_args!("{}: the path is not UTF-8", whole.display()),
            "start from another folder",
        )
    })
}

/// The variables around this command that can travel, in the order of their names. Our own token never does.
pub fn environment(wanted: impl Fn(&str) -> bool) -> Vec<(String, String)> {
    let odd = |name: &str| name.is_empty() || name.contains('=') || name.chars().any(value::is_hidden);
    let mut kept: Vec<(String, String)> = std::env::vars_os()
        .filter_map(|(name, text)| Some((name.into_string().ok()?, text.into_string().ok()?)))
        .filter(|(name, text)| !odd(name) && name.len() + text.len() < limits::VARIABLE_BYTES)
        .filter(|(name, _)| name.len() <= 1_024 && name != "CONSORT_TOKEN" && wanted(name))
        .collect();
    kept.sort();
    kept.dedup_by(|one, other| one.0 == other.0);
    let (mut bytes, all) = (0, kept.len());
    let fits = |(name, text): &&(String, String)| {
        bytes += name.len() + text.len() + 2;
        bytes <= limits::ENVIRONMENT_BYTES
    };
    let fitting = kept.iter().take(limits::VARIABLES).take_while(fits).count();
    kept.truncate(fitting);
    if fitting < all {
        note(
            "consort: the environment is larger than 1 MiB and was passed on only in part; --export none passes on nothing",
        );
    }
    kept
}

/// A reader of values as a parser of arguments: the same words in files and on the command line.
fn parser<T>(
    read: impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static {
    move |text| read(text).map_err(|expected| format!("expected {expected}"))
}

fn time(text: &str) -> Result<Span, String> {
    match value::span(text)? {
        Span::ZERO => Err("a time longer than 0s".into()),
        span => Ok(span),
    }
}

fn after(text: &str) -> Result<Dependency, String> {
    let (job, when) = text.split_once(':').unwrap_or((text, "succeeded"));
    let digits = job.bytes().all(|byte| byte.is_ascii_digit());
    let job = job.parse().ok().filter(|_| digits).ok_or("the id of a job like 17, or 17:ended")?;
    Ok(Dependency { job: JobId(job), when: value::condition(when)? })
}

fn variable(text: &str) -> Result<(String, String), String> {
    let (name, text) = match text.split_once('=') {
        Some((name, text)) => (name.to_string(), text.to_string()),
        None => {
            let value = std::env::var(text).map_err(|_| "K=V, or the name of a variable that is set here")?;
            (text.to_string(), value)
        }
    };
    match name.is_empty() || name.chars().any(value::is_hidden) {
        true => Err("K=V".into()),
        false => Ok((name, text)),
    }
}

fn grace(text: &str) -> Result<Grace, String> {
    let (name, span) = match text.split_once('@') {
        Some((name, span)) => (Some(name), span),
        None => (None, text),
    };
    let plain = Grace::default();
    Ok(Grace { signal: name.map(signal).transpose()?.unwrap_or(plain.signal), span: value::span(span)? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Args;
    use consort_types::file::fields::{FIELDS, FILE};

    /// Flags that are called otherwise than the field they set.
    const OTHERWISE: [(&str, &str); 2] = [("feature", "features"), ("export", "inherit")];

    #[test]
    fn every_flag_sets_a_field_of_job_files() {
        let command = Flags::augment_args(clap::Command::new("job"));
        for flag in command.get_arguments().map(|flag| flag.get_id().as_str()) {
            let name = OTHERWISE.iter().find(|(other, _)| *other == flag).map_or(flag, |(_, name)| name);
            assert!(
                FIELDS.iter().any(|field| field.name == name && field.formats & FILE != 0),
                "{flag} is no field"
            );
        }
    }
}
