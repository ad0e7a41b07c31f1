//! The `nodes` of a cluster file: groups of like nodes, written once and counted out here.
//!
//! The number of devices is checked before a group is counted out, so that a short line cannot ask for more
//! memory than a large cluster needs.

use super::{known_kind, limits};
use crate::workload::read_error::{Place, ReadError};
use crate::workload::value;
use crate::workload::yaml::{Fields, Node, Value};
use consort_types::file::body::{features, host};
use consort_types::{DeviceGroup, NodeSpec, Settings};
use std::collections::BTreeSet;

/// All nodes. `kinds` are those that the file declares, if it declares any.
pub(super) fn nodes(
    node: Node,
    settings: &Settings,
    kinds: Option<&BTreeSet<&str>>,
) -> Result<Vec<NodeSpec>, ReadError> {
    let (mut nodes, mut seen, mut devices) = (vec![], BTreeSet::new(), 0u64);
    let place = node.place;
    for node in node.list("nodes")? {
        let known =
            ["name", "count", "from", "names", "devices", "domains", "features", "cpus", "host_memory"];
        let mut fields = node.fields("a group of nodes", &known)?;
        let group = device_groups(fields.need("devices")?, settings, kinds)?;
        let names = Names::read(&mut fields)?;
        let each: u64 = group.iter().map(|group| u64::from(group.count)).sum();
        devices = devices.saturating_add(each.saturating_mul(names.len() as u64));
        if devices > limits::DEVICES {
            let most = value::grouped(limits::DEVICES);
            return Err(fields.place.fail(format!("the devices up to here are more than {most}")));
        }
        let domains = domains(&mut fields, settings)?;
        let (features, host) = (features(&mut fields)?, host(&mut fields)?);
        // Names only grow as they are counted on, so the last is the longest.
        let last = names.len().saturating_sub(1);
        if domains.iter().any(|domain| value::name(&domain.of(last)).is_err()) {
            let message = "the name of a domain would be longer than 256 characters";
            return Err(fields.place.fail(message));
        }
        for index in 0..names.len() {
            let (name, place) = names.get(index);
            if value::name(&name).is_err() {
                return Err(place.fail("the name of a node would be longer than 256 characters"));
            }
            if !seen.insert(name.clone()) {
                return Err(
                    place.fail(format!("a node called `{name}` already exists, expected another name"))
                );
            }
            let domains = domains.iter().map(|domain| domain.of(index)).collect();
            let (devices, features) = (group.clone(), features.clone());
            nodes.push(NodeSpec { name, domains, devices, features, host });
        }
    }
    if nodes.is_empty() {
        return Err(place.fail("`nodes` is empty, expected at least one node"));
    }
    Ok(nodes)
}

/// How the nodes of a group are called.
enum Names {
    Listed(Vec<(String, Place)>),
    Counted { pattern: String, place: Place, from: u32, count: u32 },
}

impl Names {
    fn read(fields: &mut Fields) -> Result<Names, ReadError> {
        if let Some(names) = fields.take("names") {
            fields.refuse_beside("names", &["name", "count", "from"])?;
            let names = names.list("names")?.into_iter();
            let names = names.map(|node| Ok((node.read("names", value::name)?, node.place)));
            return names.collect::<Result<_, _>>().map(Names::Listed);
        }
        let node = fields.need("name")?;
        let pattern = node.read("name", value::name)?;
        let count = fields.read("count", value::width)?.unwrap_or(1);
        let from = fields.read("from", |text| value::count(text, 0, limits::WIDTH))?.unwrap_or(1);
        if count > 1 && !pattern.contains("{}") {
            let expected = "a pattern like n{} where `count` is more than 1";
            return Err(node.place.fail(value::complaint("name", &pattern, expected)));
        }
        Ok(Names::Counted { pattern, place: node.place, from, count })
    }

    fn len(&self) -> usize {
        match self {
            Names::Listed(names) => names.len(),
            Names::Counted { count, .. } => *count as usize,
        }
    }

    fn get(&self, index: usize) -> (String, Place) {
        match self {
            Names::Listed(names) => names[index].clone(),
            Names::Counted { pattern, place, from, .. } => {
                (numbered(pattern, *from as usize + index), *place)
            }
        }
    }
}

fn numbered(pattern: &str, number: usize) -> String {
    pattern.replace("{}", &number.to_string())
}

/// `{h200: 8}`, or a list that also says how large the islands are.
fn device_groups(
    node: Node,
    settings: &Settings,
    kinds: Option<&BTreeSet<&str>>,
) -> Result<Vec<DeviceGroup>, ReadError> {
    let kind_of = |node: &Node| match kinds {
        Some(kinds) => known_kind(node, kinds),
        None => node.read("kind", value::name),
    };
    let (place, mut groups) = (node.place, vec![]);
    match node.value {
        Value::Map(entries) => {
            for (key, node) in entries {
                let (kind, count) = (kind_of(&key)?, node.read("devices", value::width)?);
                let island = if settings.island_link.is_some() { count } else { 0 };
                groups.push(DeviceGroup { kind, count, island });
            }
        }
        Value::List(items) => {
            for node in items {
                let mut fields = node.fields("a group of devices", &["kind", "count", "island"])?;
                let kind = kind_of(&fields.need("kind")?)?;
                let count = fields.need("count")?.read("count", value::width)?;
                let island = fields.read("island", |text| {
                    let island = value::count(text, 0, count);
                    let even =
                        island.as_ref().is_ok_and(|island| *island == 0 || count.is_multiple_of(*island));
                    island.ok().filter(|_| even).ok_or_else(|| format!("0, or a number that divides {count}"))
                })?;
                let island = island.unwrap_or(if settings.island_link.is_some() { count } else { 0 });
                groups.push(DeviceGroup { kind, count, island });
            }
        }
        Value::Text(text) => {
            return Err(place.fail(value::complaint("devices", &text, "kinds and counts like {h200: 8}")));
        }
    }
    match groups.is_empty() {
        true => Err(place.fail("`devices` is empty, expected kinds and counts like {h200: 8}")),
        false => Ok(groups),
    }
}

/// The domain of each node of a group at one level: always the same, or a new one every so many nodes.
struct Domain {
    pattern: String,
    from: u32,
    every: Option<u32>,
}

impl Domain {
    fn of(&self, index: usize) -> String {
        match self.every {
            None => self.pattern.clone(),
            Some(every) => numbered(&self.pattern, self.from as usize + index / every as usize),
        }
    }
}

fn domains(fields: &mut Fields, settings: &Settings) -> Result<Vec<Domain>, ReadError> {
    let levels: Vec<&str> = settings.levels.iter().map(|level| level.name.as_str()).collect();
    let place = fields.place;
    let Some(node) = fields.take("domains") else {
        return match levels.first() {
            Some(level) => Err(place.fail(format!("missing domain at level `{level}` of a group of nodes"))),
            None => Ok(vec![]),
        };
    };
    let place = node.place;
    undeclared(&node, &levels)?;
    let mut given = node.fields("`domains`", &levels)?;
    let mut domains = vec![];
    for level in levels {
        let Some(node) = given.take(level) else {
            return Err(place.fail(format!("missing level `{level}` of `domains`")));
        };
        domains.push(match node.value {
            Value::Map(_) => {
                let mut fields = node.fields("a domain", &["name", "every", "from"])?;
                let name = fields.need("name")?;
                let pattern = name.read("name", value::name)?;
                let every = fields.need("every")?.read("every", value::width)?;
                let from = fields.read("from", |text| value::count(text, 0, limits::WIDTH))?.unwrap_or(1);
                if !pattern.contains("{}") {
                    return Err(name.place.fail(value::complaint("name", &pattern, "a pattern like r{}")));
                }
                Domain { pattern, from, every: Some(every) }
            }
            _ => Domain { pattern: node.read(level, value::name)?, from: 0, every: None },
        });
    }
    Ok(domains)
}

/// Says how a level is declared that is only used.
fn undeclared(domains: &Node, levels: &[&str]) -> Result<(), ReadError> {
    let Value::Map(entries) = &domains.value else { return Ok(()) };
    for (key, _) in entries {
        let Value::Text(level) = &key.value else { continue };
        if levels.contains(&level.as_str()) {
            continue;
        }
        let quoted = value::quoted(level);
        let all = levels.iter().copied().chain([quoted.trim_matches('`')]).collect::<Vec<_>>().join(", ");
        return Err(key.place.fail(match levels.is_empty() {
            true => format!("unknown level {quoted}; declare it with levels: [{all}]"),
            false => {
                let known = levels.join(", ");
                format!("unknown level {quoted}, expected one of {known}; or declare it with levels: [{all}]")
            }
        }));
    }
    Ok(())
}
