//! The cluster file: what a person writes to describe a cluster.
//!
//! ```yaml
//! # Levels above the node, outermost first. A level may name the link that joins what is inside one domain.
//! levels: [site, {name: rack, link: leaf}]
//! # What joins the devices of one island, and the islands of one node.
//! links: {island: nvlink, node: pcie}
//! # After this much silence a node ends its own work; so much longer we wait before we believe it.
//! lease: 30s
//! margin: 10s
//! # Kinds of device. Without this field, the kinds are those that the nodes name.
//! kinds:
//!   - {name: h200, vendor: nvidia, memory: 141GiB}
//!   - {name: mi300x, vendor: amd, memory: 192GiB}
//!   - cpu
//! nodes:
//!   # 32 nodes h1 to h32; {} counts. Racks r1 and r2 take 16 nodes each. The 8 devices form one island.
//!   - name: h{}
//!     count: 32
//!     devices: {h200: 8}
//!     domains: {site: east, rack: {name: "r{}", every: 16}}
//!   # Numbers may start elsewhere, and islands may be smaller (0: no link joins the devices).
//!   - name: m{}
//!     count: 4
//!     from: 10
//!     devices: [{kind: mi300x, count: 8, island: 4}, {kind: cpu, count: 2, island: 0}]
//!     domains: {site: west, rack: {name: "r{}", every: 2, from: 3}}
//!   # Or each by its name.
//!   - names: [login, spare]
//!     devices: {cpu: 1}
//!     domains: {site: east, rack: r1}
//! # Quotas for each kind: what is promised, and what is never exceeded. A bare number is a guarantee.
//! tenants:
//!   - {name: red, quotas: {h200: {guarantee: 128, ceiling: 200}, mi300x: 16}}
//!   - blue
//! # Queues of higher priority go first. In a strict one, the first that cannot start blocks those behind it.
//! queues:
//!   - {name: urgent, priority: 10, strict: true, tenants: [red]}
//!   - batch
//! ```
//! Only `nodes` must be there. The tenant `default` and the queue `default` exist whether or not they are declared.
//! In the short form `{h200: 8}` the devices form one island if the file names an island link, and none otherwise.
//!
//! This module checks what can be seen in the file alone; whether work fits the cluster is for others to say.

use super::limits;
use super::read_error::{InFile, ReadError};
use super::yaml::{self, Fields, Node, Value};
use super::{Cluster, DEFAULT, value};
use consort_types::file::kinds;
use consort_types::{KindSpec, LevelSpec, Pool, QueueSpec, Quota, Settings, TenantSpec};
use std::collections::BTreeSet;

mod nodes;

/// Reads a cluster file. `file` is what errors call it.
pub fn parse(file: &str, text: &str) -> Result<Cluster, ReadError> {
    cluster(text).in_file(file)
}

fn cluster(text: &str) -> Result<Cluster, ReadError> {
    let known = ["levels", "links", "lease", "margin", "kinds", "nodes", "tenants", "queues"];
    let mut fields = yaml::parse(text, "a cluster")?.fields("a cluster", &known)?;
    let settings = settings(&mut fields)?;
    let declares = fields.given("kinds").is_some();
    let mut kinds = each(&mut fields, "kinds", "a kind", &kinds::FIELDS, kind)?;
    let names = kinds.iter().map(|kind| kind.name.as_str()).collect();
    let nodes = nodes::nodes(fields.need("nodes")?, &settings, declares.then_some(&names))?;
    if !declares {
        let mut seen = BTreeSet::new();
        for group in nodes.iter().flat_map(|node| &node.devices) {
            if seen.insert(group.kind.as_str()) {
                kinds.push(KindSpec::named(group.kind.clone()));
            }
        }
    }
    let names = kinds.iter().map(|kind| kind.name.as_str()).collect();
    let known = ["name", "quotas"];
    let tenants = each(&mut fields, "tenants", "a tenant", &known, |f, name| tenant(f, name, &names))?;
    let names = tenants.iter().map(|tenant| tenant.name.as_str()).chain([DEFAULT]).collect();
    let known = ["name", "priority", "strict", "tenants"];
    let queues = each(&mut fields, "queues", "a queue", &known, |f, name| queue(f, name, &names))?;
    Ok(Cluster { settings, kinds, nodes, tenants, queues })
}

/// Things with unique names, each of them a map with a `name`, or the bare name.
fn each<T>(
    fields: &mut Fields,
    field: &str,
    what: &'static str,
    known: &[&str],
    mut make: impl FnMut(Fields, String) -> Result<T, ReadError>,
) -> Result<Vec<T>, ReadError> {
    let Some(node) = fields.take(field) else { return Ok(vec![]) };
    let (mut things, mut names) = (vec![], BTreeSet::new());
    for mut node in node.list(field)? {
        if let Value::Text(_) = node.value {
            let place = node.place;
            let key = Node { place, value: Value::Text("name".into()) };
            node = Node { place, value: Value::Map(vec![(key, node)]) };
        }
        let mut fields = node.fields(what, known)?;
        let named = fields.need("name")?;
        let name = named.read("name", value::name)?;
        if !names.insert(name.clone()) {
            return Err(named
                .place
                .fail(format!("{what} called `{name}` already exists, expected another name")));
        }
        things.push(make(fields, name)?);
    }
    Ok(things)
}

fn settings(fields: &mut Fields) -> Result<Settings, ReadError> {
    let mut settings = Settings::default();
    let place = fields.given("levels").unwrap_or_default();
    settings.levels = each(fields, "levels", "a level", &["name", "link"], |mut fields, name| {
        if name == "node" || name == "island" {
            return Err(fields.place.fail(format!("level `{name}` always exists, expected another name")));
        }
        Ok(LevelSpec { name, link: fields.read("link", value::name)? })
    })?;
    if settings.levels.len() > limits::LEVELS {
        return Err(place.fail("`levels` has more than 16 entries"));
    }
    if let Some(links) = fields.take("links") {
        let mut links = links.fields("`links`", &["island", "node"])?;
        settings.island_link = links.read("island", value::name)?;
        settings.node_link = links.read("node", value::name)?;
    }
    settings.lease = fields.read("lease", value::span)?.unwrap_or(settings.lease);
    settings.margin = fields.read("margin", value::span)?.unwrap_or(settings.margin);
    Ok(settings)
}

fn kind(mut fields: Fields, name: String) -> Result<KindSpec, ReadError> {
    kinds::read(&mut fields, name)
}

fn tenant(mut fields: Fields, name: String, kinds: &BTreeSet<&str>) -> Result<TenantSpec, ReadError> {
    let mut quotas = vec![];
    for (key, node) in fields.take("quotas").map_or(Ok(vec![]), |node| node.entries("quotas"))? {
        if let Some(pool) = pool(&key, kinds) {
            quotas.push(host_quota(pool, node)?);
            continue;
        }
        let kind = known_kind(&key, kinds)?;
        let amount = |text: &str| value::count(text, 0, limits::DEVICES as u32);
        let (guarantee, ceiling) = match node.value {
            Value::Map(_) => {
                let place = node.place;
                let mut quota = node.fields("a quota", &["guarantee", "ceiling"])?;
                let guarantee = quota.read("guarantee", amount)?.unwrap_or(0);
                let ceiling: Option<u32> = quota.read("ceiling", amount)?;
                if ceiling.is_some_and(|ceiling| ceiling < guarantee) {
                    return Err(
                        place.fail("the ceiling is below the guarantee, expected at least the guarantee")
                    );
                }
                (guarantee, ceiling)
            }
            _ => (node.read(&kind, amount)?, None),
        };
        quotas.push(Quota { kind, guarantee, ceiling: ceiling.map(u64::from) });
    }
    Ok(TenantSpec { name, quotas })
}

fn queue(mut fields: Fields, name: String, known: &BTreeSet<&str>) -> Result<QueueSpec, ReadError> {
    let mut tenants = vec![];
    for node in fields.take("tenants").map_or(Ok(vec![]), |node| node.one_or_more("tenants"))? {
        let tenant = node.read("tenants", value::name)?;
        if !known.contains(tenant.as_str()) {
            let message =
                format!("unknown tenant {}, expected one of {}", value::quoted(&tenant), some(known));
            return Err(node.place.fail(message));
        }
        tenants.push(tenant);
    }
    let priority = fields.read("priority", value::priority)?.unwrap_or(0);
    let strict = fields.read("strict", value::flag)?.unwrap_or(false);
    Ok(QueueSpec { name, priority, strict, tenants })
}

/// The part of hosts that a quota is for, unless a kind is called so.
fn pool(key: &Node, kinds: &BTreeSet<&str>) -> Option<Pool> {
    let name = key.text("kind").ok().filter(|name| !kinds.contains(name))?;
    if name == "host_memory" { Some(Pool::Memory) } else { Pool::named(name) }
}

/// `{ceiling: 64}` for `cpus`, `{ceiling: 512GiB}` for `mem`.
fn host_quota(pool: Pool, node: Node) -> Result<Quota, ReadError> {
    let (name, place) = (pool.name(), node.place);
    let refused = || {
        let like = if pool == Pool::Cpu { "64" } else { "512GiB" };
        place.fail(format!(
            "`{name}` cannot be guaranteed, expected a ceiling alone like `{{ceiling: {like}}}`"
        ))
    };
    let Value::Map(_) = node.value else { return Err(refused()) };
    let mut quota = node.fields("a quota", &["guarantee", "ceiling"])?;
    if quota.given("guarantee").is_some() {
        return Err(refused());
    }
    let ceiling = match pool {
        Pool::Cpu => {
            quota.read("ceiling", |text| value::count(text, 0, limits::DEVICES as u32))?.map(u64::from)
        }
        Pool::Memory => quota.read("ceiling", value::memory)?,
    };
    Ok(Quota { kind: name.into(), guarantee: 0, ceiling })
}

/// A kind that the file declares.
fn known_kind(node: &Node, known: &BTreeSet<&str>) -> Result<String, ReadError> {
    let name = node.read("kind", value::name)?;
    match known.contains(name.as_str()) {
        true => Ok(name),
        false => {
            let message = format!("unknown kind {}, expected one of {}", value::quoted(&name), some(known));
            Err(node.place.fail(message))
        }
    }
}

/// A few of the names that would have done.
fn some(names: &BTreeSet<&str>) -> String {
    let mut shown = names.iter().take(12).copied().collect::<Vec<_>>().join(", ");
    if names.len() > 12 {
        shown.push_str(", ...");
    }
    shown
}

#[cfg(test)]
mod tests;
