//! What one stage runs on: the fields that a stage and a job of a single stage have in common.
//!
//! Three ways to say it, from short to full: `devices`, `workers` with `devices_per_worker`, or `roles`. Saying it
//! twice is an error, so that nothing written is silently ignored. Two [`Dialect`]s share all of this and differ in
//! what a bare `devices: 8` means and in whether a role may say what it runs.

use super::fields;
use super::kinds;
use super::limits;
use super::read_error::{Place, ReadError};
use super::value;
use super::yaml::{Fields, Node};
use crate::cluster::Host;
use crate::job::{Count, Form, Role, Shape, WHOLE};

/// What may be said of one shape beside its devices.
const OF_A_SHAPE: [&str; fields::count(fields::SHAPE, fields::LIST)] =
    fields::names(fields::SHAPE, fields::LIST);

/// The fields about hardware; they exclude `roles`.
pub const HARDWARE: [&str; fields::count(fields::HARDWARE, fields::LIST)] =
    fields::names(fields::HARDWARE, fields::LIST);

/// Which format is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// A job list for a simulation: `devices` counts members of one device each.
    List,
    /// A job file: `devices` are those of one worker, and a role may have its own `run`.
    File,
}

/// A role and what it says it runs, as written.
pub struct Member {
    /// The role.
    pub role: Role,
    /// Only in a job file.
    pub run: Option<Node>,
}

/// How the members run: `tasks` makes a bag, `replicas` a service.
pub fn form(fields: &mut Fields) -> Result<Form, ReadError> {
    let number = |text: &str| value::count(text, 1, limits::TASKS);
    Ok(match fields.read("tasks", number)? {
        Some(tasks) => {
            fields.refuse_beside("tasks", &["replicas"])?;
            Form::Bag { tasks }
        }
        None => match fields.read("replicas", number)? {
            Some(replicas) => Form::Service { replicas },
            None => Form::Gang,
        },
    })
}

/// The roles of a stage, however they are written.
pub fn members(fields: &mut Fields, dialect: Dialect) -> Result<Vec<Member>, ReadError> {
    let place = fields.place;
    let members = match fields.take("roles") {
        Some(node) => {
            fields.refuse_beside("roles", &HARDWARE)?;
            roles(node, dialect)?
        }
        None => vec![Member { role: short(fields, dialect)?, run: None }],
    };
    widths(&members, place)?;
    Ok(members)
}

/// The one role of the short forms.
fn short(fields: &mut Fields, dialect: Dialect) -> Result<Role, ReadError> {
    let (mut count, mut devices) = (None, None);
    if let Some(node) = fields.take("devices") {
        fields.refuse_beside("devices", &["workers", "devices_per_worker"])?;
        match dialect {
            Dialect::List => count = Some(node.read("devices", value::range)?),
            Dialect::File => devices = Some(node.read("devices", one_worker)?),
        }
    }
    let count = match count {
        Some(count) => count,
        None => fields.read("workers", value::range)?.unwrap_or(Count::exactly(1)),
    };
    let devices = match devices {
        Some(devices) => devices,
        None => fields.read("devices_per_worker", value::width)?.unwrap_or(1),
    };
    Ok(Role { name: "worker".into(), count, shapes: shapes(fields, devices)? })
}

/// The devices of one worker. A range is what people try who know job lists.
fn one_worker(text: &str) -> Result<u32, value::Expected> {
    match value::range(text) {
        Ok(count) if count.min != count.max => {
            Err(format!("one number; workers can be a range, as in `workers: {text}`"))
        }
        _ => value::width(text),
    }
}

fn roles(node: Node, dialect: Dialect) -> Result<Vec<Member>, ReadError> {
    let (place, nodes) = (node.place, node.list("roles")?);
    if nodes.is_empty() || nodes.len() > limits::ROLES {
        return Err(place.fail(format!(
            "`roles` has {} entries, expected 1 to {}",
            nodes.len(),
            limits::ROLES
        )));
    }
    let mut known = vec!["name", "count", "devices", "shapes"];
    known.extend(OF_A_SHAPE);
    known.extend((dialect == Dialect::File).then_some("run"));
    let mut members: Vec<Member> = vec![];
    for node in nodes {
        let mut fields = node.fields("a role", &known)?;
        let named = fields.need("name")?;
        let name = named.read("name", value::name)?;
        if members.iter().any(|member| member.role.name == name) {
            return Err(named
                .place
                .fail(format!("a role called `{name}` already exists, expected another name")));
        }
        let count = fields.read("count", value::range)?.unwrap_or(Count::exactly(1));
        let devices = fields.read("devices", value::width)?.unwrap_or(1);
        let role = Role { name, count, shapes: shapes(&mut fields, devices)? };
        members.push(Member { role, run: fields.take("run") });
    }
    Ok(members)
}

/// The acceptable shapes of one member: a list of them, or one that may name several kinds.
fn shapes(fields: &mut Fields, devices: u32) -> Result<Vec<Shape>, ReadError> {
    let Some(node) = fields.take("shapes") else { return alternatives(fields, devices) };
    fields.refuse_beside("shapes", &OF_A_SHAPE)?;
    let place = node.place;
    let mut shapes = vec![];
    for node in node.list("shapes")? {
        let mut known = vec!["devices"];
        known.extend(OF_A_SHAPE);
        let mut fields = node.fields("a shape", &known)?;
        let devices = fields.read("devices", value::width)?.unwrap_or(devices);
        shapes.extend(alternatives(&mut fields, devices)?);
    }
    match shapes.is_empty() {
        true => Err(place.fail("`shapes` is empty, expected at least one")),
        false => Ok(shapes),
    }
}

/// One shape for each kind that is named, alike in everything else.
fn alternatives(fields: &mut Fields, devices: u32) -> Result<Vec<Shape>, ReadError> {
    let shape = Shape {
        kind: None,
        devices,
        share: fields.read("share", value::share)?.unwrap_or(WHOLE),
        memory_bytes: fields.read("memory", value::memory)?.unwrap_or(0),
        within: fields.read("within", value::name)?,
        prefer: fields.read("prefer", value::name)?,
        features: features(fields)?,
        host: host(fields)?,
        precisions: kinds::precisions(fields)?,
        on_oom: fields.read("on_oom", value::on_oom)?.unwrap_or_default(),
    };
    let Some(node) = fields.take("kind") else { return Ok(vec![shape]) };
    let (place, nodes) = (node.place, node.one_or_more("kind")?);
    if nodes.is_empty() {
        return Err(place.fail("`kind` is empty, expected the name of a kind"));
    }
    let of = |node: Node| Ok(Shape { kind: Some(node.read("kind", value::name)?), ..shape.clone() });
    nodes.into_iter().map(of).collect()
}

/// `features: ib` or `features: [ib, nvme]`: what a node must have, all of it; in order, each once.
pub fn features(fields: &mut Fields) -> Result<Vec<String>, ReadError> {
    let Some(node) = fields.take("features") else { return Ok(vec![]) };
    let (place, nodes) = (node.place, node.one_or_more("features")?);
    if nodes.is_empty() {
        return Err(place.fail("`features` is empty, expected the name of a feature"));
    }
    let names = nodes.into_iter().map(|node| node.read("features", value::name));
    Ok(value::sorted(names.collect::<Result<_, _>>()?))
}

/// `cpus: 2.5` and `mem: 64GiB`, or `host_memory`: what a node has beside its devices, or what a member takes of it.
pub fn host(fields: &mut Fields) -> Result<Host, ReadError> {
    // Errors call it what the file calls it.
    let memory = if fields.given("mem").is_some() { "mem" } else { "host_memory" };
    if memory == "mem" {
        fields.refuse_beside("mem", &["host_memory"])?;
    }
    Ok(Host {
        cpu_milli: fields.read("cpus", value::processors)?.unwrap_or(0),
        memory_bytes: fields.read(memory, value::memory)?.unwrap_or(0),
    })
}

/// However it is written, one ask stays within bounds.
fn widths(members: &[Member], place: Place) -> Result<(), ReadError> {
    let widest = |member: &Member| {
        let devices = member.role.shapes.iter().map(|shape| u64::from(shape.devices)).max().unwrap_or(0);
        u64::from(member.role.count.max) * devices
    };
    match members.iter().map(widest).sum::<u64>() > u64::from(limits::WIDTH) {
        true => Err(place.fail("asks for more than 1,000,000 devices at once")),
        false => Ok(()),
    }
}
