//! `consort plan dag`: which task runs where and when.

mod look;

use crate::failure::Failure;
use crate::plan::shown::{self, Shown};
use crate::screen::print;
use clap::ValueEnum;
use consort_parallel::dag::read::{File, read};
use consort_parallel::dag::{self, Ask, write};
use std::path::PathBuf;

const EXAMPLES: &str = "\
The file is a WfCommons workflow, or YAML:
  tasks:
    load: {time: 30s, reads: images}
    prep: {time: {cpu: 60s, h200: 6s}, after: {load: 2GB}, spread: 10%}
    train: {time: {h200: 10m}, after: [prep], memory: 40GiB, run: python train.py}
  devices:
    host: {kind: cpu, host: n1}
    gpu: {count: 2, kind: h200, speed: 4, memory: 80GiB, host: n1}
  link: {bandwidth: 25GB/s, latency: 5us}
  data:
    images: {size: 150GB, on: n1}

Examples:
  consort plan dag work.yaml
  consort plan dag work.yaml --quantile 0.9 --picture plan.svg
  consort plan dag montage.json --devices devices.yaml --want report --json
  consort plan dag work.yaml --as job > job.yaml && consort submit job.yaml";

/// Schedule a task graph on heterogeneous devices
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Task graph: YAML, or WfCommons JSON
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Devices and links, as YAML, if they are not in the file
    #[arg(long, value_name = "FILE")]
    devices: Option<PathBuf>,
    /// Quantile of the task times to plan with, such as 0.9
    #[arg(long, value_name = "Q")]
    quantile: Option<f64>,
    /// Plan only what this task needs; may be repeated
    #[arg(long, value_name = "TASK")]
    want: Vec<String>,
    /// Algorithm
    #[arg(long, value_enum, default_value = "best")]
    policy: Policy,
    /// Print the plan in another form
    #[arg(long = "as", value_enum, value_name = "FORM", conflicts_with_all = ["json", "picture"])]
    form: Option<Form>,
    #[command(flatten)]
    shown: Shown,
}

/// Whose plan.
#[derive(Clone, Copy, ValueEnum)]
enum Policy {
    /// That of HEFT.
    Heft,
    /// That of PEFT.
    Peft,
    /// The best that is found.
    Best,
}

/// Other forms.
#[derive(Clone, Copy, ValueEnum)]
enum Form {
    /// Job file with one stage per task; tasks without `run` only print their name
    Job,
}

/// The command.
pub fn run(args: &Args) -> Result<(), Failure> {
    args.shown.check()?;
    let name = args.file.display().to_string();
    let text = shown::read(&args.file)?;
    let devices = match &args.devices {
        Some(path) => Some((path.display().to_string(), shown::read(path)?)),
        None => None,
    };
    let devices = devices.as_ref().map(|(name, text)| File { name, text });
    let found = read(File { name: &name, text: &text }, devices)
        .map_err(|error| Failure::Request(error.to_string()))?;
    let policy = match args.policy {
        Policy::Heft => dag::Policy::Heft,
        Policy::Peft => dag::Policy::Peft,
        Policy::Best => dag::Policy::Best,
    };
    let ask = Ask { policy, quantile: args.quantile, want: args.want.clone(), ..Ask::default() };
    let refused = |refusal: dag::Refusal| Failure::Request(format!("{name}: {refusal}"));
    let mut answer = dag::plan(&found.work, &ask).map_err(refused)?;
    answer.assumed.extend(found.assumed);
    if let Some(Form::Job) = args.form {
        let stem = args.file.file_stem().map_or("plan".into(), |stem| stem.to_string_lossy().into_owned());
        let text = write::job(&stem, &found.work, &answer.plan, answer.objective).map_err(refused)?;
        return print(&text);
    }
    args.shown.show("dag", &answer, |screen| look::text(&answer, screen), || look::picture(&answer))
}
