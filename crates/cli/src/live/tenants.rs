//! `consort tenants`: tenants with their quotas and what their jobs hold.

use super::server::Look;
use crate::failure::{Failure, one_line};
use crate::numbers::decimal;
use crate::screen::{Screen, print, print_json};
use crate::table::Table;
use consort_api::shapes::{Quota, Tenant, TenantChange};
use consort_types::Pool;
use consort_types::file::value;
use std::collections::{BTreeMap, BTreeSet};

const EXAMPLES: &str = "\
Examples:
  consort tenants
  consort tenants set red --quota h200=8            guarantee 8, no ceiling
  consort tenants set red --quota h200=8:16 --quota mi300x=none
  consort tenants set red --quota h200=:16          ceiling 16, no guarantee
  consort tenants set red --quota cpus=:64 --quota mem=:512GiB      ceilings for processors and memory of hosts";

/// List tenants, create or change one
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
    /// Create a tenant, or change its quotas for the given kinds
    #[command(after_help = "Example:\n  consort tenants set red --quota h200=8:16")]
    Set(Set),
}

#[derive(clap::Args)]
struct Set {
    /// Tenant name
    #[arg(value_name = "TENANT")]
    name: String,
    /// Guarantee and ceiling for one kind of device, in devices; a ceiling for `cpus` or `mem` of hosts; `none` removes the
    /// quota
    #[arg(long, value_name = "KIND=GUARANTEE[:CEILING]", value_parser = quota)]
    quota: Vec<(String, Option<Quota>)>,
    #[command(flatten)]
    look: Look,
}

fn quota(text: &str) -> Result<(String, Option<Quota>), String> {
    let expected = || {
        "expected KIND=GUARANTEE, KIND=GUARANTEE:CEILING or KIND=:CEILING like h200=8:16 or h200=:16, or KIND=none; \
         `cpus` and `mem` are processors and memory of hosts, like cpus=:64 or mem=:512GiB, and `cpu` is a kind of device"
            .to_string()
    };
    let (kind, amount) = text.split_once('=').filter(|(kind, _)| !kind.is_empty()).ok_or_else(expected)?;
    let pool = if kind == "host_memory" { Some(Pool::Memory) } else { Pool::named(kind) };
    let kind = match pool {
        Some(pool) => pool.name(),
        None => kind,
    };
    if amount == "none" {
        return Ok((kind.into(), None));
    }
    let number = |text: &str| text.parse::<u32>().map_err(|_| expected());
    if let Some(pool) = pool {
        let guaranteed = || format!("{kind} cannot be guaranteed: give a ceiling alone, like {kind}=:64");
        let (guarantee, ceiling) = amount.split_once(':').ok_or_else(guaranteed)?;
        if !matches!(guarantee, "" | "0") {
            return Err(guaranteed());
        }
        let ceiling = match pool {
            Pool::Cpu => u64::from(number(ceiling)?),
            Pool::Memory => value::memory(ceiling).map_err(|expected| format!("expected {expected}"))?,
        };
        return Ok((kind.into(), Some(Quota { kind: kind.into(), guarantee: 0, ceiling: Some(ceiling) })));
    }
    let (guarantee, ceiling) = match amount.split_once(':') {
        Some(("", ceiling)) => (0, Some(u64::from(number(ceiling)?))),
        Some((guarantee, ceiling)) => (number(guarantee)?, Some(u64::from(number(ceiling)?))),
        None => (number(amount)?, None),
    };
    match ceiling.is_some_and(|ceiling| ceiling < u64::from(guarantee)) {
        true => Err("the ceiling must be at least the guarantee".into()),
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
            (false, true) => print("No tenants.\n"),
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
        let one = |quota: &Quota| match (Pool::named(&quota.kind), quota.ceiling) {
            (Some(pool), Some(ceiling)) if quota.guarantee == 0 => {
                format!("up to {}", pool.words(ceiling.saturating_mul(pool.unit())))
            }
            (_, Some(ceiling)) if quota.guarantee == 0 => format!("up to {ceiling} {}", quota.kind),
            (_, Some(ceiling)) => format!("{} {} up to {ceiling}", quota.guarantee, quota.kind),
            (_, None) => format!("{} {}", quota.guarantee, quota.kind),
        };
        one_line(&tenant.quotas.iter().map(one).collect::<Vec<_>>().join(", "))
    };
    let mut table = Table::default();
    table.text("tenant", 0, each(&|tenant| one_line(&tenant.name)));
    table.text("quota", 1, each(&quotas));
    table.text("in use", 0, each(&|tenant| joined([amounts(&tenant.holds), hosts(tenant)])));
    table.numbers("waiting", 2, each(&|tenant| tenant.waiting.to_string()));
    table.numbers("running", 2, each(&|tenant| tenant.running.to_string()));
    table.text("device hours", 3, each(&|tenant| amounts(&tenant.usage_device_hours)));
    if tenants.iter().any(|tenant| tenant.usage_cpu_ms > 0 || tenant.usage_memory_mib_ms > 0) {
        let hours = |ms: u64, unit: f64| decimal(ms as f64 / unit / 3_600_000.0, 1);
        table.numbers("cpu hours", 3, each(&|tenant| hours(tenant.usage_cpu_ms, 1.0)));
        table.numbers("GiB hours", 3, each(&|tenant| hours(tenant.usage_memory_mib_ms, 1024.0)));
    }
    table
}

/// What it holds of hosts.
fn hosts(tenant: &Tenant) -> String {
    let amounts = [(Pool::Cpu, tenant.cpu_thousandths), (Pool::Memory, tenant.memory_bytes)];
    let held = amounts.into_iter().filter(|(_, amount)| *amount > 0);
    held.map(|(pool, amount)| pool.words(amount)).collect::<Vec<_>>().join(", ")
}

fn joined(parts: [String; 2]) -> String {
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
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
        assert_eq!(read("h200=:16"), Ok(("h200".into(), Some((0, Some(16))))));
        assert_eq!(read("cpu=:2"), Ok(("cpu".into(), Some((0, Some(2))))), "the kind");
        assert_eq!(read("h200=none"), Ok(("h200".into(), None)));
        assert_eq!(read("cpus=:64"), Ok(("cpus".into(), Some((0, Some(64))))));
        assert_eq!(read("host_memory=0:512GiB"), Ok(("mem".into(), Some((0, Some(512 << 30))))));
        assert_eq!(read("mem=none"), Ok(("mem".into(), None)));
        for text in [
            "", "h200", "=3", "h200=x", "h200=8:4", "h200=-1", "cpus=8", "cpus=4:8", "mem=:8", "h200=:",
            "h200=:x",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
