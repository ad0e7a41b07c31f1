//! `consort tenants`: who owns work, what they are promised and what they hold.

use super::server::Look;
use crate::failure::{Failure, one_line};
use crate::numbers::decimal;
use crate::screen::{Screen, print, print_json};
use crate::table::Table;
use consort_api::shapes::{Quota, Tenant, TenantChange};
use std::collections::{BTreeMap, BTreeSet};

const EXAMPLES: &str = "\
Examples:
  consort tenants
  consort tenants set red --quota h200=8            8 promised, no ceiling
  consort tenants set red --quota h200=8:16 --quota mi300x=none";

/// List tenants, or change one
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub struct Args {
    #[command(subcommand)]
    change: Option<Change>,
    #[command(flatten)]
    look: Look,
}

#[derive(clap::Subcommand)]
enum Change {
    /// Make a tenant, or change its quotas for the kinds that are named
    #[command(after_help = "Example:\n  consort tenants set red --quota h200=8:16")]
    Set(Set),
}

#[derive(clap::Args)]
struct Set {
    /// The name of the tenant
    #[arg(value_name = "TENANT")]
    name: String,
    /// For one kind of device, what is promised and what is never exceeded; `none` takes the quota away
    #[arg(long, value_name = "KIND=GUARANTEE[:CEILING]", value_parser = quota)]
    quota: Vec<(String, Option<Quota>)>,
    #[command(flatten)]
    look: Look,
}

fn quota(text: &str) -> Result<(String, Option<Quota>), String> {
    let expected =
        || "expected KIND=GUARANTEE or KIND=GUARANTEE:CEILING like h200=8:16, or KIND=none".to_string();
    let (kind, amount) = text.split_once('=').filter(|(kind, _)| !kind.is_empty()).ok_or_else(expected)?;
    if amount == "none" {
        return Ok((kind.into(), None));
    }
    let number = |text: &str| text.parse::<u32>().map_err(|_| expected());
    let (guarantee, ceiling) = match amount.split_once(':') {
        Some((guarantee, ceiling)) => (number(guarantee)?, Some(number(ceiling)?)),
        None => (number(amount)?, None),
    };
    match ceiling.is_some_and(|ceiling| ceiling < guarantee) {
        true => Err("expected a ceiling that is at least the guarantee".into()),
        false => Ok((kind.into(), Some(Quota { kind: kind.into(), guarantee, ceiling }))),
    }
}

/// The command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let screen = Screen::for_list();
    let Some(Change::Set(set)) = &args.change else {
        let tenants = args.look.server.client()?.tenants()?;
        return match (args.look.json, tenants.is_empty()) {
            (true, _) => print_json(&tenants),
            (false, true) => print("There is no tenant.\n"),
            (false, false) => print(&(table(&tenants).show(&screen) + &notes(&tenants))),
        };
    };
    let client = set.look.server.client()?;
    // The server replaces all quotas; those of kinds that are not named here stay as they were.
    let known = client.tenants()?.into_iter().find(|tenant| tenant.name == set.name);
    let mut quotas = known.map(|tenant| tenant.quotas).unwrap_or_default();
    for (kind, quota) in &set.quota {
        quotas.retain(|known| known.kind != *kind);
        quotas.extend(quota.clone());
    }
    let tenant = client.set_tenant(&set.name, &TenantChange { quotas })?;
    match set.look.json {
        true => print_json(&tenant),
        false => {
            let notes = notes(std::slice::from_ref(&tenant));
            print(&(table(&[tenant]).show(&screen) + &notes))
        }
    }
}

/// What cannot be kept, once each.
fn notes(tenants: &[Tenant]) -> String {
    let notes: BTreeSet<&String> = tenants.iter().flat_map(|tenant| &tenant.notes).collect();
    notes.into_iter().map(|note| format!("Note: {}\n", one_line(note))).collect()
}

fn table(tenants: &[Tenant]) -> Table {
    let each = |show: &dyn Fn(&Tenant) -> String| tenants.iter().map(show).collect::<Vec<_>>();
    let quotas = |tenant: &Tenant| {
        let one = |quota: &Quota| match quota.ceiling {
            Some(ceiling) => format!("{} {} up to {ceiling}", quota.guarantee, quota.kind),
            None => format!("{} {}", quota.guarantee, quota.kind),
        };
        one_line(&tenant.quotas.iter().map(one).collect::<Vec<_>>().join(", "))
    };
    let mut table = Table::default();
    table.text("tenant", 0, each(&|tenant| one_line(&tenant.name)));
    table.text("promised", 1, each(&quotas));
    table.text("holds", 0, each(&|tenant| amounts(&tenant.holds)));
    table.numbers("waiting", 2, each(&|tenant| tenant.waiting.to_string()));
    table.numbers("running", 2, each(&|tenant| tenant.running.to_string()));
    table.text("device hours", 3, each(&|tenant| amounts(&tenant.usage_device_hours)));
    table
}

fn amounts(amounts: &BTreeMap<String, f64>) -> String {
    let one = |(kind, amount): (&String, &f64)| {
        let decimals = if amount.fract() == 0.0 { 0 } else { 1 };
        format!("{} {kind}", decimal(*amount, decimals))
    };
    one_line(&amounts.iter().filter(|(_, amount)| **amount > 0.0).map(one).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotas_are_read_or_refused() {
        let read = |text| {
            quota(text).map(|(kind, quota)| (kind, quota.map(|quota| (quota.guarantee, quota.ceiling))))
        };
        assert_eq!(read("h200=8"), Ok(("h200".into(), Some((8, None)))));
        assert_eq!(read("h200=8:16"), Ok(("h200".into(), Some((8, Some(16))))));
        assert_eq!(read("h200=none"), Ok(("h200".into(), None)));
        for text in ["", "h200", "=3", "h200=x", "h200=8:4", "h200=-1"] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
