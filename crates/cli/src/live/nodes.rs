//! `consort nodes`: the machines, and whether they take work.

use super::server::{Look, Pick, tell_more};
use super::wording::bytes;
use crate::failure::{Failure, one_line};
use crate::screen::{Screen, print, print_json};
use crate::table::Table;
use clap::builder::PossibleValuesParser;
use consort_api::shapes::{Node, NodeState};

const EXAMPLES: &str = "\
Examples:
  consort nodes
  consort nodes --state draining --kind h200
  consort nodes drain n7                    no new jobs; running ones may finish
  consort nodes undrain n7
  consort nodes remove n7                   remove a node that is lost and does not come back
  consort nodes --probe                     how the backend is reached, and whether it answers";

/// List nodes; drain, undrain or remove one
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub struct Args {
    #[command(subcommand)]
    change: Option<Change>,
    /// Check how the backend that runs jobs is reached and whether it answers
    #[arg(long)]
    probe: bool,
    /// Only in this state
    #[arg(long, value_parser = PossibleValuesParser::new(NodeState::ALL.map(NodeState::word)))]
    state: Option<String>,
    #[command(flatten)]
    pick: Pick,
    #[command(flatten)]
    look: Look,
}

#[derive(clap::Subcommand)]
enum Change {
    /// Drain a node: no new jobs start there, running ones may finish
    #[command(after_help = "Example:\n  consort nodes drain n7")]
    Drain(Named),
    /// Undrain a node: let jobs start there again
    #[command(after_help = "Example:\n  consort nodes undrain n7")]
    Undrain(Named),
    /// Remove a node that is lost and does not come back; one that returns is a new node
    #[command(after_help = "Example:\n  consort nodes remove n7")]
    Remove(Named),
}

#[derive(clap::Args)]
struct Named {
    /// Node name
    #[arg(value_name = "NODE")]
    name: String,
    #[command(flatten)]
    look: Look,
}

/// The command.
pub fn run(args: &Args) -> Result<(), Failure> {
    if args.probe {
        return probe(&args.look);
    }
    let (look, nodes) = match &args.change {
        None => {
            let client = args.look.server.client()?;
            let (nodes, more) = client.nodes_like(&args.pick.query(args.state.as_ref()))?;
            if nodes.is_empty() && (args.pick.check(&client)? || args.state.is_some()) && !args.look.json {
                return print("No node matches these filters.\n");
            }
            tell_more(more, nodes.last().map(|node| node.name.clone()));
            (&args.look, nodes)
        }
        Some(Change::Drain(named)) => (&named.look, vec![named.look.server.client()?.drain(&named.name)?]),
        Some(Change::Undrain(named)) => {
            (&named.look, vec![named.look.server.client()?.undrain(&named.name)?])
        }
        Some(Change::Remove(named)) => {
            (&named.look, vec![named.look.server.client()?.remove_node(&named.name)?])
        }
    };
    if look.json {
        return match (&args.change, &nodes[..]) {
            (Some(_), [node]) => print_json(node),
            _ => print_json(&nodes),
        };
    }
    match nodes.is_empty() {
        true => print("No nodes.\n"),
        false => print(&table(&nodes).show(&Screen::for_list())),
    }
}

fn probe(look: &Look) -> Result<(), Failure> {
    let world = look.server.client()?.world()?;
    if look.json {
        return print_json(&world);
    }
    let lines: Vec<(String, String)> =
        world.lines.iter().map(|line| (one_line(&line.what), one_line(&line.says))).collect();
    let pairs: Vec<(&str, String)> = lines.iter().map(|(what, says)| (what.as_str(), says.clone())).collect();
    let screen = Screen::here();
    print(&Table::pairs(["", ""], screen.width, &pairs).show(&screen))
}

fn table(nodes: &[Node]) -> Table {
    let each = |show: &dyn Fn(&Node) -> String| nodes.iter().map(show).collect::<Vec<_>>();
    let kinds = |node: &Node| {
        let kinds = node.kinds.iter().map(|(kind, count)| format!("{count} {kind}"));
        one_line(&kinds.collect::<Vec<_>>().join(", "))
    };
    let mut table = Table::default();
    table.text("node", 0, each(&|node| one_line(&node.name)));
    table.text("state", 0, each(&|node| node.state.to_string()));
    table.numbers("devices", 0, each(&|node| node.devices.to_string()));
    table.numbers("used", 0, each(&|node| node.used.to_string()));
    table.numbers("jobs", 2, each(&|node| node.jobs.to_string()));
    table.text("kinds", 1, each(&kinds));
    if nodes.iter().any(|node| node.cpu_thousandths > 0) {
        let cpus = |milli: u64| (milli as f64 / 1000.0).to_string();
        let of =
            |node: &Node| format!("{} of {}", cpus(node.cpu_thousandths_free), cpus(node.cpu_thousandths));
        table.text("cpus free", 2, each(&of));
    }
    if nodes.iter().any(|node| node.memory_bytes > 0) {
        let of = |node: &Node| format!("{} of {}", bytes(node.memory_bytes_free), bytes(node.memory_bytes));
        table.text("memory free", 2, each(&of));
    }
    if nodes.iter().any(|node| !node.features.is_empty()) {
        table.text("features", 2, each(&|node| one_line(&node.features.join(", "))));
    }
    table.text("note", 1, each(&|node| one_line(&node.note)));
    table
}
