//! `consort devices`: what there is to run on, and how it is.

use super::server::{Pick, Server, tell_more};
use super::wording::{bytes, maybe};
use crate::failure::{Failure, one_line};
use crate::screen::{Screen, print, print_json};
use crate::table::Table;
use clap::builder::PossibleValuesParser;
use consort_api::client::PlaceQuery;
use consort_api::shapes::{Device, DeviceState};

const EXAMPLES: &str = "\
Examples:
  consort devices
  consort devices --state unhealthy
  consort devices --node n7 --kind h200 --json";

/// List devices
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Only devices of this node
    #[arg(long)]
    node: Option<String>,
    /// Only in this state
    #[arg(long, value_parser = PossibleValuesParser::new(DeviceState::ALL.map(DeviceState::word)))]
    state: Option<String>,
    #[command(flatten)]
    pick: Pick,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: Server,
}

/// The command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let query = PlaceQuery { node: args.node.clone(), ..args.pick.query(args.state.as_ref()) };
    let client = args.server.client()?;
    let (devices, more) = client.devices_like(&query)?;
    if devices.is_empty() {
        args.node.iter().try_for_each(|name| super::filters::node(&client, name))?;
        let is_filtered = args.state.is_some() || args.node.is_some();
        if (args.pick.check(&client)? || is_filtered) && !args.json {
            return print("No device matches these filters.\n");
        }
    }
    tell_more(more, devices.last().map(|device| format!("{}[{}]", device.node, device.index)));
    if args.json {
        return print_json(&devices);
    }
    match devices.is_empty() {
        true => print("No devices.\n"),
        false => print(&table(&devices).show(&Screen::for_list())),
    }
}

/// Devices as they are shown: one by one, but free ones of a kind that tell nothing of themselves together, because a
/// machine may have hundreds of processors.
pub fn folded(devices: &[Device]) -> impl Iterator<Item = &[Device]> {
    let is_dull = |device: &Device| device.state == DeviceState::Free && device.temperature_c.is_none();
    devices.chunk_by(move |one, other| {
        is_dull(one)
            && is_dull(other)
            && one.node == other.node
            && one.kind == other.kind
            && one.why == other.why
    })
}

/// `n1[3]`, or `n1[3-8]` for several.
pub fn label(devices: &[Device]) -> String {
    match devices {
        [] => String::new(),
        [one] => format!("{}[{}]", one_line(&one.node), one.index),
        [first, .., last] => format!("{}[{}-{}]", one_line(&first.node), first.index, last.index),
    }
}

/// Devices, as they are folded. What no device tells has no column.
pub fn table(devices: &[Device]) -> Table {
    let each =
        |show: &dyn Fn(&Device) -> String| folded(devices).map(|group| show(&group[0])).collect::<Vec<_>>();
    let jobs = |device: &Device| {
        let jobs: Vec<String> = device.jobs.iter().map(u64::to_string).collect();
        jobs.join(" ")
    };
    let memory = |device: &Device| match (device.memory_used_bytes, device.memory_bytes) {
        (Some(used), Some(all)) => format!("{} of {}", bytes(used), bytes(all)),
        (None, Some(all)) => bytes(all),
        _ => "-".into(),
    };
    let mut table = Table::default();
    table.text("device", 0, folded(devices).map(label));
    table.text("kind", 0, each(&|device| one_line(&device.kind)));
    table.text("state", 0, each(&|device| device.state.to_string()));
    table.numbers("granted", 2, each(&|device| format!("{}%", f64::from(device.used_thousandths) / 10.0)));
    table.text("jobs", 0, each(&jobs));
    if devices.iter().any(|device| device.utilization_percent.is_some()) {
        table.numbers("busy", 1, each(&|device| maybe(device.utilization_percent, "%")));
    }
    if devices.iter().any(|device| device.memory_bytes.is_some()) {
        table.numbers("memory", 3, each(&memory));
    }
    if devices.iter().any(|device| device.temperature_c.is_some()) {
        table.numbers("heat", 4, each(&|device| maybe(device.temperature_c, " °C")));
    }
    if devices.iter().any(|device| device.power_w.is_some()) {
        table.numbers("power", 5, each(&|device| maybe(device.power_w, " W")));
    }
    if devices.iter().any(|device| device.why.is_some()) {
        table.long_text("why", 20, each(&|device| one_line(device.why.as_deref().unwrap_or_default())));
    }
    table
}
