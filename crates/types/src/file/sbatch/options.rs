//! The options of `sbatch`: which there are, what they take, and what becomes of them.

use super::{Hardware, meaning};
use crate::cluster::{CPU, Host};
use crate::file::job::{environment, indices, settings};
use crate::file::limits;
use crate::file::nearest::nearest;
use crate::file::value::{self, Expected, quoted};
use crate::job::{Count, Dependency, Qos, Shape};
use crate::time::Span;
use crate::work::Grace;

/// What of the submitter's environment travels along.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Export {
    /// All of it.
    All,
    /// Only these.
    Only(Vec<String>),
}

/// What options said, each the last time it was given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    pub(super) name: Option<String>,
    pub(super) queue: Option<String>,
    pub(super) tenant: Option<String>,
    pub(super) qos: Option<Qos>,
    pub(super) priority: Option<i32>,
    pub(super) after: Option<Vec<Dependency>>,
    pub(super) array: Option<(u32, Vec<u32>)>,
    pub(super) time_limit: Option<Option<Span>>,
    pub(super) memory: Option<Memory>,
    pub(super) workdir: Option<String>,
    pub(super) output: Option<String>,
    pub(super) grace: Option<Grace>,
    pub(super) export: Option<Export>,
    pub(super) env: Vec<(String, String)>,
    pub(super) cpus_per_task: Option<u32>,
    pub(super) cpus_per_gpu: Option<u32>,
    pub(super) notes: Vec<String>,
    /// Tasks on one node, once that is known.
    pub(super) tasks_here: u32,
    nodes: Option<Count>,
    tasks: Option<u32>,
    tasks_per_node: Option<u32>,
    features: Option<Vec<String>>,
    gpus: Option<(Option<String>, u32)>,
    gpus_per_node: Option<(Option<String>, u32)>,
    gpus_per_task: Option<(Option<String>, u32)>,
    /// A command in the place of a script.
    pub wrap: Option<String>,
    /// Whoever submits waits for the end.
    pub wait: bool,
    /// The answer is the id alone.
    pub parsable: bool,
}

/// Memory, and of what it is meant; nothing when all there is will do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Memory {
    OfNode(Option<u64>),
    EachCpu(Option<u64>),
    EachGpu(Option<u64>),
}

/// Whether an option has a value.
#[derive(Clone, Copy, PartialEq)]
enum Takes {
    Value,
    Nothing,
    /// Only behind an equals sign.
    Maybe,
}

/// Long name, short name, value.
const KNOWN: [(&str, char, Takes); 47] = [
    ("job-name", 'J', Takes::Value),
    ("ntasks", 'n', Takes::Value),
    ("nodes", 'N', Takes::Value),
    ("cpus-per-task", 'c', Takes::Value),
    ("gpus", 'G', Takes::Value),
    ("gpus-per-node", ' ', Takes::Value),
    ("gpus-per-task", ' ', Takes::Value),
    ("gres", ' ', Takes::Value),
    ("ntasks-per-node", ' ', Takes::Value),
    ("constraint", 'C', Takes::Value),
    ("mem", ' ', Takes::Value),
    ("mem-per-cpu", ' ', Takes::Value),
    ("mem-per-gpu", ' ', Takes::Value),
    ("cpus-per-gpu", ' ', Takes::Value),
    ("time", 't', Takes::Value),
    ("partition", 'p', Takes::Value),
    ("account", 'A', Takes::Value),
    ("qos", 'q', Takes::Value),
    ("dependency", 'd', Takes::Value),
    ("array", 'a', Takes::Value),
    ("output", 'o', Takes::Value),
    ("error", 'e', Takes::Value),
    ("chdir", 'D', Takes::Value),
    ("export", ' ', Takes::Value),
    ("requeue", ' ', Takes::Nothing),
    ("no-requeue", ' ', Takes::Nothing),
    ("signal", ' ', Takes::Value),
    ("nice", ' ', Takes::Maybe),
    ("priority", ' ', Takes::Value),
    ("wrap", ' ', Takes::Value),
    ("wait", 'W', Takes::Nothing),
    ("parsable", ' ', Takes::Nothing),
    // What follows changes nothing about the work.
    ("mail-type", ' ', Takes::Value),
    ("mail-user", ' ', Takes::Value),
    ("comment", ' ', Takes::Value),
    ("open-mode", ' ', Takes::Value),
    ("hint", ' ', Takes::Value),
    ("cpu-bind", ' ', Takes::Value),
    ("gpu-bind", ' ', Takes::Value),
    ("distribution", 'm', Takes::Value),
    ("threads-per-core", ' ', Takes::Value),
    ("wckey", ' ', Takes::Value),
    ("get-user-env", ' ', Takes::Maybe),
    ("verbose", 'v', Takes::Nothing),
    ("quiet", 'Q', Takes::Nothing),
    ("no-kill", 'k', Takes::Maybe),
    ("overcommit", 'O', Takes::Nothing),
];

impl Options {
    /// Takes options up to the first word that is none, and returns the rest. What is wrong is said in words.
    pub fn take<'a>(&mut self, words: &'a [String]) -> Result<&'a [String], String> {
        let mut rest = words;
        while let [word, after @ ..] = rest {
            let (shown, known, inline) = match word.strip_prefix("--") {
                Some("") => return Ok(after),
                Some(long) => {
                    let (name, value) = match long.split_once('=') {
                        Some((name, value)) => (name, Some(value)),
                        None => (long, None),
                    };
                    let known = KNOWN.iter().find(|(known, ..)| *known == name);
                    (format!("--{name}"), known.ok_or_else(|| unknown(name))?, value)
                }
                None => match word.strip_prefix('-').and_then(|short| short.chars().next()) {
                    Some(letter) => {
                        let known = KNOWN.iter().find(|(_, known, _)| *known == letter);
                        let value = Some(&word[1 + letter.len_utf8()..]).filter(|value| !value.is_empty());
                        let shown = format!("-{letter}");
                        let known = known.filter(|_| letter != ' ');
                        (shown.clone(), known.ok_or_else(|| refused(&shown))?, value)
                    }
                    None => return Ok(rest),
                },
            };
            let (name, _, takes) = *known;
            rest = after;
            let value = match (takes, inline) {
                (Takes::Nothing, Some(_)) => return Err(format!("`{shown}` has a value, expected none")),
                (Takes::Value, None) => {
                    let [value, after @ ..] = rest else {
                        return Err(format!("`{shown}` needs a value"));
                    };
                    rest = after;
                    value
                }
                (_, inline) => inline.unwrap_or_default(),
            };
            if value.contains('\0') {
                return Err(format!("`{shown}` contains a NUL character"));
            }
            self.set(name, value).map_err(|expected| value::complaint(&shown, value, &expected))?;
        }
        Ok(rest)
    }

    fn set(&mut self, name: &str, text: &str) -> Result<(), Expected> {
        match name {
            "job-name" => self.name = Some(value::name(text)?),
            "partition" => self.queue = Some(one_name(text)?),
            "account" => self.tenant = Some(value::name(text)?),
            "qos" => self.qos = Some(meaning::qos(text)?),
            "nodes" => self.nodes = Some(meaning::nodes(text)?),
            "ntasks" => self.tasks = Some(meaning::tasks(text)?),
            "ntasks-per-node" => self.tasks_per_node = Some(meaning::tasks(text)?),
            "cpus-per-task" => self.cpus_per_task = Some(meaning::cpus(text)?),
            "gpus" => self.gpus = Some(meaning::devices(text)?),
            "gpus-per-node" => self.gpus_per_node = Some(meaning::devices(text)?),
            "gpus-per-task" => self.gpus_per_task = Some(meaning::devices(text)?),
            "gres" => self.gpus_per_node = Some(meaning::gres(text)?),
            "constraint" => self.features = Some(meaning::features(text)?),
            "cpus-per-gpu" => self.cpus_per_gpu = Some(meaning::cpus(text)?),
            "mem" => self.memory(Memory::OfNode(meaning::memory(text)?))?,
            "mem-per-cpu" => self.memory(Memory::EachCpu(meaning::memory(text)?))?,
            "mem-per-gpu" => self.memory(Memory::EachGpu(meaning::memory(text)?))?,
            "time" => self.time_limit = Some(meaning::time(text)?),
            "dependency" => self.after = Some(meaning::dependencies(text)?),
            "array" => self.array(text)?,
            "output" => self.output = Some(meaning::pattern(text)?),
            "chdir" => self.workdir = Some(settings::path(text)?),
            "signal" => self.grace = Some(meaning::signal(text)?),
            "nice" => {
                let nice = if text.is_empty() { 100 } else { value::priority(text)? };
                self.priority = Some(nice.saturating_neg());
            }
            "priority" => self.priority = Some(value::priority(text)?),
            "export" => self.export(text)?,
            "wrap" => self.wrap = Some(text.into()),
            "wait" => self.wait = true,
            "parsable" => self.parsable = true,
            "requeue" => {}
            "error" => {
                self.note("`--error` is ignored: standard error goes where standard output goes");
            }
            "no-requeue" => {
                self.note("`--no-requeue` is ignored: work whose node is lost is started again");
            }
            other => self.note(&format!("`--{other}` is ignored: it changes nothing about the work")),
        }
        Ok(())
    }

    /// Ways to ask for memory exclude each other, as with Slurm. The same one again counts.
    fn memory(&mut self, memory: Memory) -> Result<(), Expected> {
        let is_other = |known: &Memory| std::mem::discriminant(known) != std::mem::discriminant(&memory);
        if self.memory.as_ref().is_some_and(is_other) {
            return Err("only one of --mem, --mem-per-cpu and --mem-per-gpu".into());
        }
        if memory == Memory::OfNode(None) {
            self.note(
                "`--mem=0` is not followed: nothing is reserved, and not all memory of a node is granted",
            );
        }
        self.memory = Some(memory);
        Ok(())
    }

    fn note(&mut self, sentence: &str) {
        if !self.notes.iter().any(|note| note == sentence) {
            self.notes.push(sentence.into());
        }
    }

    /// `0-9,12`, or `0-9%4` with at most four at once, which nobody here sees to.
    fn array(&mut self, text: &str) -> Result<(), Expected> {
        let (list, most) = match text.split_once('%') {
            Some((list, most)) => (list, Some(most)),
            None => (text, None),
        };
        if let Some(most) = most {
            value::count(most, 1, limits::TASKS).map_err(|_| "indices like 0-9,12 or 0-9%4".to_string())?;
            self.note(&format!(
                "`%{most}` in `--array` is ignored: the scheduler and quotas decide how many tasks run at once"
            ));
        }
        self.array = Some(indices::parse(list)?);
        Ok(())
    }

    /// `ALL`, `NONE`, `ALL,A=1` or `A=1,B`.
    fn export(&mut self, text: &str) -> Result<(), Expected> {
        let (mut all, mut names, mut env) = (false, vec![], vec![]);
        for part in text.split(',').filter(|part| !part.is_empty()) {
            match (part, part.split_once('=')) {
                ("ALL", _) => all = true,
                ("NONE" | "NIL", _) => {}
                (_, Some((name, text))) if name.len() + text.len() < limits::VARIABLE_BYTES => {
                    env.push((environment::name(name)?, text.to_string()));
                }
                (_, Some(_)) => return Err("variables of at most 128 KiB".into()),
                (name, None) => names.push(environment::name(name)?),
            }
        }
        env.sort();
        if env.len() > limits::VARIABLES || env.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            return Err("each variable once, and at most 4,096 of them".into());
        }
        self.export = Some(if all { Export::All } else { Export::Only(names) });
        self.env = env;
        Ok(())
    }

    /// What `over` says wins.
    pub(super) fn give_way(&mut self, over: &Options) {
        macro_rules! win {
            ($($field:ident)*) => {$(
                if over.$field.is_some() {
                    self.$field.clone_from(&over.$field);
                }
            )*};
        }
        // Ways to ask for GPUs replace each other: `--gpus 2` on the command line is not a second wish.
        if !over.is_plain() {
            (self.gpus, self.gpus_per_node, self.gpus_per_task) = (None, None, None);
        }
        if over.export.is_some() {
            self.env.clone_from(&over.env);
        }
        win!(name queue tenant qos priority after array time_limit memory workdir output grace export);
        win!(cpus_per_task cpus_per_gpu nodes tasks tasks_per_node features gpus gpus_per_node gpus_per_task wrap);
        over.notes.iter().for_each(|note| self.note(note));
        self.wait |= over.wait;
        self.parsable |= over.parsable;
        self.tasks_here = self.tasks_on_one_node();
    }

    fn tasks_on_one_node(&self) -> u32 {
        let nodes = self.nodes.map_or(1, |nodes| nodes.min);
        let spread = || self.tasks.map(|tasks| tasks.div_ceil(nodes));
        self.tasks_per_node.or_else(spread).unwrap_or(1)
    }

    /// What one worker takes of its host, as far as that was said; `devices` are its GPUs.
    pub(super) fn host(&self, devices: u32) -> Result<Host, String> {
        let gpus = if self.is_plain() { 0 } else { u64::from(devices) };
        let per_task = self.cpus_per_task.map(|cpus| u64::from(cpus) * u64::from(self.tasks_here.max(1)));
        let cpus = match (per_task, self.cpus_per_gpu) {
            (Some(_), Some(_)) => {
                return Err("--cpus-per-task and --cpus-per-gpu are both given, expected one of them".into());
            }
            (None, Some(_)) if gpus == 0 => {
                return Err("--cpus-per-gpu is given without a GPU, expected --cpus-per-task".into());
            }
            (cpus, each) => cpus.or(each.map(|each| u64::from(each) * gpus)),
        };
        let memory = match self.memory {
            None => None,
            Some(Memory::OfNode(memory)) => memory,
            Some(Memory::EachCpu(each)) => {
                each.map(|each| each.saturating_mul(cpus.unwrap_or(self.tasks_here.max(1).into())))
            }
            Some(Memory::EachGpu(_)) if gpus == 0 => {
                return Err("--mem-per-gpu is given without a GPU, expected --mem".into());
            }
            Some(Memory::EachGpu(each)) => each.map(|each| each.saturating_mul(gpus)),
        };
        if cpus.is_some_and(|cpus| cpus > 1_000_000) {
            return Err("more than 1,000,000 processors per node".into());
        }
        match memory.unwrap_or(0) {
            memory_bytes if memory_bytes <= limits::MEMORY_BYTES => {
                Ok(Host { cpu_milli: cpus.unwrap_or(0) * 1000, memory_bytes })
            }
            _ => Err("one node is to have more than 1PiB of memory, expected less".into()),
        }
    }

    /// Whether no accelerator is asked for, in any way.
    pub(super) fn is_plain(&self) -> bool {
        self.gpus.is_none() && self.gpus_per_node.is_none() && self.gpus_per_task.is_none()
    }

    /// How many workers, and what each of them gets.
    pub(super) fn hardware(&self) -> Result<Hardware, String> {
        let mut nodes = self.nodes.unwrap_or(Count::exactly(1));
        if let (None, Some(tasks), Some(each)) = (self.nodes, self.tasks, self.tasks_per_node) {
            nodes = Count::exactly(tasks.div_ceil(each));
        }
        let ways = [
            ("--gpus", &self.gpus),
            ("--gpus-per-node or --gres", &self.gpus_per_node),
            ("--gpus-per-task", &self.gpus_per_task),
        ];
        let given: Vec<_> = ways.iter().filter_map(|(name, way)| Some((*name, way.as_ref()?))).collect();
        let (kind, each) = match given[..] {
            [] => {
                (Some(CPU.to_string()), self.cpus_per_task.unwrap_or(1).checked_mul(self.tasks_here.max(1)))
            }
            [("--gpus", (kind, total))] if nodes.min == nodes.max && total.is_multiple_of(nodes.max) => {
                (kind.clone(), Some(total / nodes.max))
            }
            [("--gpus", (_, total))] => {
                let many = if nodes.min == nodes.max { nodes.max.to_string() } else { "a range of".into() };
                return Err(format!(
                    "{total} GPUs do not divide evenly over {many} nodes, expected --gpus-per-node"
                ));
            }
            [("--gpus-per-task", (kind, each))] => (kind.clone(), each.checked_mul(self.tasks_here.max(1))),
            [(_, (kind, each))] => (kind.clone(), Some(*each)),
            [(one, _), (other, _), ..] => {
                return Err(format!("{one} and {other} are both given, expected one of them"));
            }
        };
        let most = u64::from(limits::WIDTH);
        match each {
            Some(each) if u64::from(each) * u64::from(nodes.max) <= most => {
                let features = self.features.clone().unwrap_or_default();
                Ok((nodes, Shape { kind, devices: each, features, ..Shape::any() }))
            }
            _ => Err("the job asks for more than 1,000,000 devices".into()),
        }
    }
}

/// A queue; Slurm takes the first of several that has room, we take one.
fn one_name(text: &str) -> Result<String, Expected> {
    match text.contains(',') {
        true => Err("one queue".into()),
        false => value::name(text),
    }
}

fn unknown(name: &str) -> String {
    let shown = format!("--{}", name.chars().take(40).collect::<String>());
    let known: Vec<&str> = KNOWN.iter().map(|(known, ..)| *known).collect();
    // The search takes hyphens for underscores, as the fields of files have them.
    let underscored: Vec<String> = known.iter().map(|known| known.replace('-', "_")).collect();
    let words: Vec<&str> = underscored.iter().map(String::as_str).collect();
    match nearest(name, &words) {
        Some(meant) => {
            format!("unknown option {}; did you mean `--{}`?", quoted(&shown), meant.replace('_', "-"))
        }
        None => refused(&shown),
    }
}

fn refused(shown: &str) -> String {
    format!("unsupported option {}; leave it out", quoted(shown))
}
