//! `consort sinfo`: queues and nodes in Slurm's columns.

use super::row;
use crate::failure::Failure;
use crate::live::server::Server;
use crate::screen::{print, print_json};
use consort_api::shapes::{Node, NodeState};
use std::collections::BTreeMap;

const EXAMPLES: &str = "\
Examples:
  consort sinfo
  consort sinfo -p urgent -h
  consort sinfo --json                      the nodes, as `consort nodes --json`";

/// List queues and nodes, like Slurm's sinfo
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, disable_help_flag = true)]
pub struct Args {
    /// Only these queues
    #[arg(long, short, value_delimiter = ',')]
    partition: Vec<String>,
    /// No header line
    #[arg(long, short = 'h')]
    noheader: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: Server,
    /// Print help
    #[arg(long, action = clap::ArgAction::Help)]
    help: Option<bool>,
}

/// The command. Every node serves every queue, so each queue has the same lines.
pub fn run(args: &Args) -> Result<(), Failure> {
    let client = args.server.client()?;
    let nodes = client.nodes()?;
    if args.json {
        return print_json(&nodes);
    }
    let mut groups: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for node in &nodes {
        groups.entry(state(node)).or_default().push(&node.name);
    }
    let mut text = String::new();
    if !args.noheader {
        text += &line("PARTITION", "AVAIL", "TIMELIMIT", "NODES", "STATE", "NODELIST");
    }
    for queue in client.queues()? {
        if !args.partition.is_empty() && !args.partition.contains(&queue.name) {
            continue;
        }
        // Slurm marks the partition of those who name none.
        let mark = if queue.name == "default" { "*" } else { "" };
        let name = format!("{}{mark}", queue.name);
        for (state, nodes) in &groups {
            text += &line(&name, "up", "infinite", &nodes.len().to_string(), state, &nodes.join(","));
        }
    }
    print(&text)
}

fn line(queue: &str, available: &str, limit: &str, nodes: &str, state: &str, list: &str) -> String {
    row(&[(queue, -9), (available, -5), (limit, 10), (nodes, 6), (state, 6), (list, 0)])
}

fn state(node: &Node) -> &'static str {
    match node.state {
        NodeState::Up if node.used == 0 => "idle",
        NodeState::Up if node.used < node.devices => "mix",
        NodeState::Up => "alloc",
        NodeState::Draining if node.used > 0 => "drng",
        NodeState::Draining => "drain",
        NodeState::Suspect => "unk*",
        NodeState::Fenced => "down*",
    }
}
