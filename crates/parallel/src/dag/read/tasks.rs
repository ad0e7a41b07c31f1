//! The tasks, in YAML.

use super::amount::{self, Spread};
use super::body;
use super::devices::Site;
use crate::dag::check;
use crate::dag::work::{Data, Edge, Task, Work};
use consort_types::file::ReadError;
use consort_types::file::value;
use consort_types::file::yaml::{Fields, Node, Value};
use std::collections::BTreeMap;

const KNOWN: [&str; 7] = ["time", "spread", "after", "memory", "held", "reads", "run"];

/// Work of `tasks` and `data` on a site.
pub fn work(tasks: Node, data: Option<Node>, site: Site) -> Result<Work, ReadError> {
    let known = data.map_or(Ok(BTreeMap::new()), known_data)?;
    let (place, entries) = (tasks.place, tasks.entries("tasks")?);
    if entries.is_empty() || entries.len() > check::TASKS {
        let most = value::grouped(check::TASKS as u32);
        return Err(place.fail(format!("`tasks` has {} entries, expected 1 to {most}", entries.len())));
    }
    let mut names = BTreeMap::new();
    for (index, (key, _)) in entries.iter().enumerate() {
        names.insert(key.read("the name of a task", value::name)?, index);
    }
    let (mut tasks, mut edges) = (vec![], vec![]);
    for (key, node) in entries {
        let name = key.into_text("the name of a task")?;
        let mut fields = node.fields("a task", &KNOWN)?;
        for (from, bytes) in after(&mut fields, &names)? {
            edges.push(Edge { from, to: tasks.len(), bytes });
        }
        tasks.push(task(name, &mut fields, &known, &site)?);
    }
    Ok(Work { tasks, edges, devices: site.devices, links: site.links, store: site.store })
}

fn task(
    name: String,
    fields: &mut Fields,
    known: &BTreeMap<String, Data>,
    site: &Site,
) -> Result<Task, ReadError> {
    let spread = fields.take("spread");
    let time = fields.need("time")?;
    let is_one = matches!(time.value, Value::Text(_));
    let time_s = match is_one {
        true => {
            let seconds = time.read("time", amount::seconds)?;
            site.speed.iter().map(|speed| Some(seconds / speed)).collect()
        }
        false => by_device(time, "time", site, amount::seconds)?,
    };
    let spread_s = spread.map_or(Ok(vec![]), |node| spreads(node, &time_s, is_one, site))?;
    let mut reads = vec![];
    for node in fields.take("reads").map_or(Ok(vec![]), |node| node.one_or_more("reads"))? {
        let name = node.text("reads")?;
        let data = known.get(name).ok_or_else(|| {
            node.place.fail(format!("`reads` names {}, expected an entry of `data`", value::quoted(name)))
        })?;
        reads.push(data.clone());
    }
    Ok(Task {
        name,
        time_s,
        spread_s,
        memory_bytes: fields.read("memory", value::memory)?.unwrap_or(0),
        is_held: fields.read("held", value::flag)?.unwrap_or(false),
        reads,
        run: fields.take("run").map_or(Ok(String::new()), |node| node.into_text("run"))?,
    })
}

/// A value for each device: under its name, or else under its kind; none where neither is named.
fn by_device<T: Copy>(
    node: Node,
    what: &'static str,
    site: &Site,
    parse: impl Fn(&str) -> Result<T, value::Expected>,
) -> Result<Vec<Option<T>>, ReadError> {
    let mut named = BTreeMap::new();
    for (key, node) in node.entries(what)? {
        let name = key.text(what)?.to_string();
        if !site.devices.iter().any(|device| device.name == name || (device.kind == name && !name.is_empty()))
        {
            let name = value::quoted(&name);
            return Err(key.place.fail(format!("`{what}` names {name}, expected a device or a kind")));
        }
        named.insert(name, node.read(what, &parse)?);
    }
    let find = |name: &str| named.get(name).copied();
    Ok(site.devices.iter().map(|device| find(&device.name).or_else(|| find(&device.kind))).collect())
}

fn spreads(node: Node, time_s: &[Option<f64>], is_one: bool, site: &Site) -> Result<Vec<f64>, ReadError> {
    let spread = match matches!(node.value, Value::Text(_)) {
        true => vec![Some(node.read("spread", amount::spread)?); time_s.len()],
        false => by_device(node, "spread", site, amount::spread)?,
    };
    let seconds = |(index, spread): (usize, &Option<Spread>)| match spread {
        None => 0.0,
        Some(Spread::Part(part)) => part * time_s[index].unwrap_or(0.0),
        // A time that stands for all devices shrinks with the speed, and its spread with it.
        Some(Spread::Seconds(seconds)) if is_one => seconds / site.speed[index],
        Some(Spread::Seconds(seconds)) => *seconds,
    };
    Ok(spread.iter().enumerate().map(seconds).collect())
}

/// `a`, `[a, b]` or `{a: 10MB, b: 0}`.
fn after(fields: &mut Fields, names: &BTreeMap<String, usize>) -> Result<Vec<(usize, f64)>, ReadError> {
    let Some(node) = fields.take("after") else { return Ok(vec![]) };
    let find = |node: &Node| {
        let name = node.text("after")?;
        let found = names.get(name).copied();
        found
            .ok_or_else(|| node.place.fail(format!("`after` names {}, expected a task", value::quoted(name))))
    };
    match node.value {
        Value::Map(_) => {
            let entries = node.entries("after")?;
            entries.iter().map(|(key, node)| Ok((find(key)?, node.read("after", amount::bytes)?))).collect()
        }
        _ => node.one_or_more("after")?.iter().map(|node| Ok((find(node)?, 0.0))).collect(),
    }
}

/// `{name: {size: 150GB, on: [host]}}`.
fn known_data(node: Node) -> Result<BTreeMap<String, Data>, ReadError> {
    let mut known = BTreeMap::new();
    for (key, node) in node.entries("data")? {
        let name = key.read("the name of data", value::name)?;
        let place = key.place;
        let fields = body(node, "data", &["size", "on"])?;
        let mut fields = fields.ok_or_else(|| place.fail("is empty, expected {size: 150GB, on: [n1]}"))?;
        let bytes = fields.need("size")?.read("size", amount::bytes)?;
        let on = fields.take("on").map_or(Ok(vec![]), |node| node.one_or_more("on"))?;
        let cached_on = on.into_iter().map(|node| node.into_text("on")).collect::<Result<_, _>>()?;
        known.insert(name.clone(), Data { name, bytes, cached_on });
    }
    Ok(known)
}
