//! `consort plan collective`: what an exchange costs on a fabric, which algorithm to choose, and which gradients to send
//! together.

mod buckets;
mod sizes;

use crate::failure::Failure;
use crate::inputs;
use crate::names;
use crate::plan::shown::{Shown, read};
use crate::screen::print;
use consort_parallel::collective::choose::{self, usual_sizes};
use consort_parallel::collective::nccl::Generation;
use consort_parallel::collective::share;
use consort_parallel::collective::tiers::{Exit, Tiers};
use consort_parallel::collective::{Ground, Operation};
use consort_parallel::fabric::{self, Link};
use consort_types::file::{ReadError, value};
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  consort plan collective --ranks 16 --bandwidth 25GB/s --latency 5us
  consort plan collective --ranks 64 --per-node 8 --bandwidth 400Gb/s --bytes 64MiB --bytes 1GiB
  consort plan collective --topology cluster.yaml --op all-gather --picture times.svg
  consort plan collective --topology cluster.yaml --layers resnet50.txt
  consort plan collective --topology cluster.yaml --as nccl-tuner > tuner.conf

Sizes are bytes that each rank holds; for all-gather those at the end, for all-to-all those it sends.
A file for --layers is a profile, or has lines like `conv1, 1.2ms, 9.4MB`: a name, backward, the gradient.
A tuner file is read by NCCL's example tuner plugin: NCCL_TUNER_PLUGIN names it, NCCL_TUNER_CONFIG_FILE the file.";

/// Predict the cost of collectives on a fabric and choose the algorithm
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Topology file; every device in it is a rank
    #[arg(long, value_name = "FILE", conflicts_with_all = ["ranks", "bandwidth", "latency", "per_node"])]
    topology: Option<PathBuf>,
    /// Number of ranks, if there is no topology
    #[arg(long, value_name = "N", requires = "bandwidth")]
    ranks: Option<String>,
    /// Bandwidth between ranks, or between hosts with --per-node
    #[arg(long, value_name = "SPEED", requires = "ranks", allow_hyphen_values = true)]
    bandwidth: Option<String>,
    /// Latency of a message
    #[arg(long, value_name = "TIME", requires = "ranks", default_value = "5us")]
    latency: String,
    /// Ranks per host
    #[arg(long, value_name = "N", requires = "ranks")]
    per_node: Option<String>,
    /// Bandwidth between ranks of one host
    #[arg(long, value_name = "SPEED", requires = "per_node", default_value = "450GB/s")]
    node_bandwidth: String,
    /// Latency inside a host
    #[arg(long, value_name = "TIME", requires = "per_node", default_value = "1us")]
    node_latency: String,
    /// All ranks of a host share one network interface; otherwise each has its own
    #[arg(long, requires = "per_node")]
    shared_nic: bool,
    /// Operation: all-reduce, reduce-scatter, all-gather, all-to-all, broadcast [default: all-reduce]
    #[arg(long, value_name = "NAME")]
    op: Option<String>,
    /// Message size; may be repeated [default: 1KiB to 4GiB]
    #[arg(long, value_name = "SIZE")]
    bytes: Vec<String>,
    /// Layers of a network: plan gradient buckets
    #[arg(long, value_name = "FILE", conflicts_with_all = ["bytes", "export", "op"])]
    layers: Option<PathBuf>,
    /// Number of jobs that share the links between hosts, including this one
    #[arg(long, value_name = "N", default_value = "1")]
    jobs: String,
    /// Devices as NCCL sees them: volta, ampere, hopper, blackwell [default: by the topology, or hopper]
    #[arg(long, value_name = "NAME")]
    generation: Option<String>,
    /// Hosts have AMD's processors, for NCCL's figures
    #[arg(long)]
    amd: bool,
    /// Devices of a host are joined by PCI Express and not by NVLink, for NCCL's figures
    #[arg(long)]
    pcie: bool,
    /// Print for another program: nccl-tuner
    #[arg(long = "as", value_name = "FORM", id = "export")]
    export: Option<String>,
    #[command(flatten)]
    shown: Shown,
}

/// The command.
pub fn run(args: &Args) -> Result<(), Failure> {
    args.shown.check()?;
    let operation = args.op.as_deref().map(operation).transpose()?;
    let sizes = sizes_of(&args.bytes)?;
    let ground = ground(args)?;
    if let Some(path) = &args.layers {
        return buckets::run(&ground, path, &args.shown);
    }
    match args.export.as_deref() {
        Some("nccl-tuner") => print(&tuner(&ground, operation)?),
        Some(other) => Err(names::unknown("form", other, ["nccl-tuner"])),
        None => sizes::run(&ground, operation.unwrap_or(Operation::AllReduce), &sizes, &args.shown),
    }
}

fn operation(name: &str) -> Result<Operation, Failure> {
    let known = Operation::ALL.iter().find(|operation| operation.name() == name);
    known.copied().ok_or_else(|| names::unknown("operation", name, Operation::ALL.map(Operation::name)))
}

fn sizes_of(texts: &[String]) -> Result<Vec<u64>, Failure> {
    if texts.is_empty() {
        return Ok(usual_sizes());
    }
    texts.iter().map(|text| value::memory(text).map_err(|expected| flag("bytes", text, &expected))).collect()
}

/// A flag that is not what it should be.
fn flag(name: &str, found: &str, expected: &str) -> Failure {
    Failure::Request(value::complaint(&format!("--{name}"), found, expected))
}

/// What is wrong with a file, with its name.
fn malformed(path: &Path, error: ReadError) -> Failure {
    inputs::malformed(ReadError { file: path.display().to_string(), ..error })
}

/// All that was said about the ranks.
fn ground(args: &Args) -> Result<Ground, Failure> {
    let jobs = value::count(&args.jobs, 1, 1000).map_err(|expected| flag("jobs", &args.jobs, &expected))?;
    let generation = args.generation.as_deref().map(generation).transpose()?;
    let made = match (&args.topology, &args.ranks, &args.bandwidth) {
        (Some(path), ..) => {
            let text = read(path)?;
            let fabric = fabric::read(&text).map_err(|error| malformed(path, error))?;
            Ground::of(&share::among(&fabric, jobs), generation)
        }
        (None, Some(ranks), Some(speed)) => {
            let (tiers, nodes) = tiers(args, ranks, speed, jobs)?;
            Ground::of_tiers(tiers, nodes, generation)
        }
        _ => {
            return Err(Failure::request(
                "missing argument: how ranks are connected",
                "give --topology, or --ranks and --bandwidth",
            ));
        }
    };
    let mut ground = made.map_err(|refusal| Failure::Request(refusal.to_string()))?;
    (ground.machine.amd, ground.machine.nvlink) = (args.amd, !args.pcie);
    let links = if args.pcie { "PCI Express" } else { "NVLink" };
    let maker = if args.amd { "AMD" } else { "Intel" };
    let devices = if generation.is_none() { "Hopper devices, " } else { "" };
    ground.assumed.push(format!("NCCL's figures are those for {devices}{links} and processors of {maker}"));
    if jobs > 1 {
        let said = format!("{jobs} jobs share what is between hosts fairly, and send all the time");
        ground.tiers.assumed.push(said.clone());
        ground.assumed.push(said);
    }
    Ok(ground)
}

/// Tiers by flags, and how many nodes they are.
fn tiers(args: &Args, ranks: &str, speed: &str, jobs: u32) -> Result<(Tiers, u32), Failure> {
    let count = |name: &str, text: &str| {
        value::count(text, 1, 1_000_000).map_err(|expected| flag(name, text, &expected))
    };
    let link = |name: &str, speed: &str, wait: &str| -> Result<Link, Failure> {
        Ok(Link {
            bandwidth: fabric::bandwidth(speed)
                .map_err(|expected| flag(&format!("{name}bandwidth"), speed, &expected))?,
            latency_s: fabric::latency(wait)
                .map_err(|expected| flag(&format!("{name}latency"), wait, &expected))?,
        })
    };
    let ranks = count("ranks", ranks)?;
    let mut between = link("", speed, &args.latency)?;
    between.bandwidth = share::one_of(between.bandwidth, jobs);
    let (made, nodes) = match &args.per_node {
        None => (Tiers::flat(ranks, between), 1),
        Some(node) => {
            let node = count("per-node", node)?;
            let inside = link("node-", &args.node_bandwidth, &args.node_latency)?;
            let exit = if args.shared_nic { Exit::Shared } else { Exit::Rail };
            (Tiers::hosts(ranks, node, inside, between, exit), ranks / node)
        }
    };
    Ok((made.map_err(|refusal| Failure::Request(refusal.to_string()))?, nodes))
}

fn generation(name: &str) -> Result<Generation, Failure> {
    let known = ["volta", "ampere", "hopper", "blackwell"];
    let found = Generation::of(name);
    found.ok_or_else(|| names::unknown("generation", name, known))
}

/// A file for the tuner plugin: the operation asked for, or all it knows.
fn tuner(ground: &Ground, operation: Option<Operation>) -> Result<String, Failure> {
    let wanted = match operation {
        Some(operation) => vec![operation],
        None => Operation::ALL.into_iter().filter(|&operation| operation != Operation::AllToAll).collect(),
    };
    let mut text = format!(
        "# {} ranks on {} nodes, predicted with NCCL's own figures for {} channels of {:.1} GB/s\n\
         # collective,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks,numPipeOps,regBuff\n",
        ground.machine.ranks, ground.machine.nodes, ground.machine.channels, ground.machine.per_channel
    );
    for operation in wanted {
        text += &choose::tuner(ground, operation).map_err(|refusal| Failure::Request(refusal.to_string()))?;
    }
    Ok(text)
}
