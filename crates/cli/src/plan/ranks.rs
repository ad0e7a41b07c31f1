//! `consort plan ranks`: the order of hosts and ranks that keeps rings on fast links.

mod text;

use crate::failure::Failure;
use crate::inputs;
use crate::plan::shown::{Shown, read};
use crate::screen::{print, print_json};
use consort_parallel::fabric::{self, Fabric, Found, Hints};
use consort_parallel::ranks::export::{Form, write};
use consort_parallel::ranks::{Plan, Wish, plan};
use consort_parallel::{Answer, fabric::MOST_DEVICES};
use consort_report::picture;
use consort_types::file::hosts;
use consort_types::file::read_error::{InFile, ReadError};
use serde::Serialize;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  consort plan ranks --topology topology.yaml
  consort plan ranks --topology topology.yaml --tensor 8 --pipeline 4
  consort plan ranks --slurm /etc/slurm/topology.conf --hosts 'node[01-16]' --devices 8
  kubectl get nodes -o json > nodes.json
  consort plan ranks --labels nodes.json --picture ring.svg

For a launcher:
  consort plan ranks --slurm topology.conf --as slurm > order
  SLURM_HOSTFILE=order srun --distribution=arbitrary ...
                                        (one task per host: add --devices 1)
  consort plan ranks --topology topology.yaml --as hostfile > hosts
  deepspeed --hostfile hosts ...        mpirun --hostfile hosts ...
  consort plan ranks --topology topology.yaml --as rankfile > ranks
  mpirun --rankfile ranks ...
  consort plan ranks --topology topology.yaml --as torchrun

A topology file:
  levels:                        # outermost first; the first joins all hosts
    - {name: spine, bandwidth: 100Gb/s}
    - {name: leaf, bandwidth: 400Gb/s}
  hosts:
    - {name: 'node{}', count: 16, devices: 8, domains: {leaf: {name: 'l{}', every: 4}}}
  measured:                      # pairs that were measured, if any
    - {between: [node1, node2], bandwidth: 380Gb/s}";

/// Order hosts and ranks so that rings use fast links
///
/// Launchers number hosts by name, and rings follow the numbers: in a fabric with switches they cross slow links far
/// more often than necessary. This finds the order whose slowest link is as fast as possible and, among those, the one
/// with the fastest links overall.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    source: Source,
    /// Only these hosts, such as 'node[1-8],spare'
    #[arg(long, value_name = "LIST")]
    hosts: Option<String>,
    /// Devices to use of each host
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_DEVICES)))]
    devices: Option<u32>,
    /// Bandwidth between hosts that meet at a level, such as switch=400Gb/s, if the file has none
    #[arg(long, value_name = "LEVEL=SPEED", value_parser = speed, conflicts_with = "topology")]
    speed: Vec<(String, f64)>,
    /// Label that is a level, outermost first [default: the usual ones]
    #[arg(long, value_name = "LABEL", requires = "labels")]
    level: Vec<String>,
    /// Members of a tensor group, inside an island
    #[arg(long, value_name = "N")]
    tensor: Option<u64>,
    /// Members of an expert group, inside an island too
    #[arg(long, value_name = "N")]
    expert: Option<u64>,
    /// Stages of the pipeline
    #[arg(long, value_name = "N")]
    pipeline: Option<u64>,
    /// Replicas [default: as many as the other sizes leave]
    #[arg(long, value_name = "N")]
    data: Option<u64>,
    /// Print the order for a launcher
    #[arg(long = "as", value_name = "FORM", value_parser = ["hostfile", "rankfile", "slurm", "torchrun", "json"],
        conflicts_with_all = ["picture", "json"])]
    form: Option<String>,
    #[command(flatten)]
    shown: Shown,
}

/// Where the fabric is described.
#[derive(clap::Args)]
#[group(required = true, multiple = false)]
struct Source {
    /// Topology file (.yaml)
    #[arg(long, value_name = "FILE")]
    topology: Option<PathBuf>,
    /// Slurm's topology.conf or topology.yaml, or what `scontrol show topology` prints
    #[arg(long, value_name = "FILE")]
    slurm: Option<PathBuf>,
    /// What `kubectl get nodes -o json` prints
    #[arg(long, value_name = "FILE")]
    labels: Option<PathBuf>,
}

/// The same keys as everywhere.
#[derive(Serialize)]
struct Told<'a> {
    planner: &'a str,
    #[serde(flatten)]
    answer: &'a Answer<Plan>,
    gap_pct: f64,
}

/// The command.
pub fn run(args: &Args) -> Result<(), Failure> {
    args.shown.check()?;
    let Found { fabric, assumed } = found(args)?;
    let wish = Wish { pipeline: args.pipeline, data: args.data, expert: args.expert, tensor: args.tensor };
    let mut answer = plan(&fabric, &wish).map_err(|refusal| Failure::Request(refusal.to_string()))?;
    answer.assumed.splice(0..0, assumed);
    let form = match args.form.as_deref() {
        Some("hostfile") => Form::Hostfile,
        Some("rankfile") => Form::Rankfile,
        Some("slurm") => Form::Slurm,
        Some("torchrun") => Form::Torchrun,
        Some(_) => {
            return print_json(&Told { planner: "ranks", answer: &answer, gap_pct: 100.0 * answer.gap() });
        }
        None => {
            let shown = |screen: &_| text::text(&answer, &fabric, screen);
            return args.shown.show("ranks", &answer, shown, || drawn(&answer.plan, &fabric));
        }
    };
    print(&write(&answer.plan, form))
}

/// The fabric that the files and flags describe.
fn found(args: &Args) -> Result<Found, Failure> {
    let hosts =
        args.hosts.as_deref().map(hosts::expand).transpose().map_err(|told| {
            Failure::request(format_args!("--hosts: {told}"), "write it like n[1-4],login")
        })?;
    let Source { topology, slurm, labels } = &args.source;
    if let Some(path) = topology {
        let mut fabric = fabric::read(&read(path)?).in_file(&name(path)).map_err(malformed)?;
        let refused = |flaw: fabric::Flaw| Failure::Request(format!("{}: {flaw}", path.display()));
        if let Some(hosts) = hosts {
            fabric = fabric.only(&hosts).map_err(refused)?;
        }
        if let Some(devices) = args.devices {
            fabric = fabric.with_devices(devices).map_err(refused)?;
        }
        return Ok(Found { fabric, assumed: vec![] });
    }
    let hints =
        Hints { hosts, devices: args.devices, speeds: args.speed.clone(), levels: args.level.clone() };
    match (slurm, labels) {
        (Some(path), _) => fabric::slurm(&read(path)?, &hints).in_file(&name(path)).map_err(malformed),
        (_, Some(path)) => fabric::labels(&read(path)?, &hints).in_file(&name(path)).map_err(malformed),
        (None, None) => Err(Failure::request("nothing says how hosts are joined", "name a --topology")),
    }
}

/// What is wrong with a file; most of it names its remedy already.
fn malformed(error: ReadError) -> Failure {
    match error.message.contains("; ") {
        true => Failure::Request(error.to_string()),
        false => inputs::malformed(error),
    }
}

fn name(path: &Path) -> String {
    path.display().to_string()
}

/// `switch=400Gb/s`
fn speed(text: &str) -> Result<(String, f64), String> {
    let (level, speed) =
        text.split_once('=').ok_or("expected a level and its speed, as in switch=400Gb/s")?;
    fabric::bandwidth(speed)
        .map(|speed| (level.into(), speed))
        .map_err(|expected| format!("expected {expected}"))
}

fn drawn(plan: &Plan, fabric: &Fabric) -> String {
    let domain = |domains: &[String]| domains.last().unwrap_or(&fabric.levels[0].name).clone();
    picture::ring(&picture::Ring {
        title: format!(
            "Ring of {} hosts, slowest link {}",
            plan.hosts.len(),
            fabric::shown(plan.planned.bottleneck)
        ),
        members: plan.hosts.iter().map(|seat| (seat.host.clone(), domain(&seat.domains))).collect(),
        links: plan.hosts.iter().map(|seat| seat.to_next).collect(),
    })
}
