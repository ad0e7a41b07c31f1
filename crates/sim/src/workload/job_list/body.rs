//! What one stage runs on and for how long: the fields that a stage and a job of a single stage have in common.
//!
//! Three ways to say it, from short to full: `devices` (members of one device each), `workers` with
//! `devices_per_worker`, or `roles`. Saying it twice is an error, so that nothing written is silently ignored.

use crate::workload::read_error::{Place, ReadError};
use crate::workload::yaml::{Fields, Node};
use crate::workload::{Truth, limits, value};
use consort_types::{Count, Form, Role, Shape, Span, WHOLE};

/// The fields read here.
pub(super) const FIELDS: [&str; 12] = [
    "run",
    "devices",
    "workers",
    "devices_per_worker",
    "kind",
    "share",
    "memory",
    "within",
    "shapes",
    "roles",
    "tasks",
    "replicas",
];

/// What a stage consists of, less its name and its place in the graph.
pub(super) struct Body {
    pub form: Form,
    pub roles: Vec<Role>,
    pub length: Span,
}

/// Takes [`FIELDS`] from a job or a stage.
pub(super) fn read(fields: &mut Fields) -> Result<Body, ReadError> {
    let place = fields.place;
    let number = |text: &str| value::count(text, 1, limits::TASKS);
    let form = match fields.read("tasks", number)? {
        Some(tasks) => {
            fields.refuse_beside("tasks", &["replicas"])?;
            Form::Bag { tasks }
        }
        None => match fields.read("replicas", number)? {
            Some(replicas) => Form::Service { replicas },
            None => Form::Gang,
        },
    };
    let length = match form {
        Form::Service { .. } => {
            fields.refuse_beside("replicas", &["run"])?;
            Truth::FOREVER
        }
        Form::Gang | Form::Bag { .. } => fields.need("run")?.read("run", value::span)?,
    };
    let roles = match fields.take("roles") {
        Some(node) => {
            let others =
                ["devices", "workers", "devices_per_worker", "kind", "share", "memory", "within", "shapes"];
            fields.refuse_beside("roles", &others)?;
            roles(node)?
        }
        None => vec![short(fields)?],
    };
    widths(&roles, place)?;
    Ok(Body { form, roles, length })
}

/// The one role of the short forms.
fn short(fields: &mut Fields) -> Result<Role, ReadError> {
    let count = match fields.read("devices", value::range)? {
        Some(count) => {
            fields.refuse_beside("devices", &["workers", "devices_per_worker"])?;
            count
        }
        None => fields.read("workers", value::range)?.unwrap_or(Count::exactly(1)),
    };
    let devices = fields.read("devices_per_worker", value::width)?.unwrap_or(1);
    Ok(Role { name: "worker".into(), count, shapes: shapes(fields, devices)? })
}

fn roles(node: Node) -> Result<Vec<Role>, ReadError> {
    let (place, nodes) = (node.place, node.list("roles")?);
    if nodes.is_empty() || nodes.len() > limits::STAGES {
        return Err(place.fail(format!("`roles` has {} entries, expected 1 to 1,000", nodes.len())));
    }
    let mut roles: Vec<Role> = vec![];
    for node in nodes {
        let known = ["name", "count", "devices", "kind", "share", "memory", "within", "shapes"];
        let mut fields = node.fields("a role", &known)?;
        let named = fields.need("name")?;
        let name = named.read("name", value::name)?;
        if roles.iter().any(|role| role.name == name) {
            return Err(named
                .place
                .fail(format!("a role called `{name}` is already there, expected another name")));
        }
        let count = fields.read("count", value::range)?.unwrap_or(Count::exactly(1));
        let devices = fields.read("devices", value::width)?.unwrap_or(1);
        roles.push(Role { name, count, shapes: shapes(&mut fields, devices)? });
    }
    Ok(roles)
}

/// The acceptable shapes of one member: a list of them, or one that may name several kinds.
fn shapes(fields: &mut Fields, devices: u32) -> Result<Vec<Shape>, ReadError> {
    let Some(node) = fields.take("shapes") else { return alternatives(fields, devices) };
    fields.refuse_beside("shapes", &["kind", "share", "memory", "within"])?;
    let place = node.place;
    let mut shapes = vec![];
    for node in node.list("shapes")? {
        let mut fields = node.fields("a shape", &["kind", "devices", "share", "memory", "within"])?;
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
    };
    let Some(node) = fields.take("kind") else { return Ok(vec![shape]) };
    let (place, nodes) = (node.place, node.one_or_more("kind")?);
    if nodes.is_empty() {
        return Err(place.fail("`kind` is empty, expected the name of a kind"));
    }
    let of = |node: Node| Ok(Shape { kind: Some(node.read("kind", value::name)?), ..shape.clone() });
    nodes.into_iter().map(of).collect()
}

/// However it is written, one ask stays within bounds.
fn widths(roles: &[Role], place: Place) -> Result<(), ReadError> {
    let widest = |role: &Role| {
        let devices = role.shapes.iter().map(|shape| u64::from(shape.devices)).max().unwrap_or(0);
        u64::from(role.count.max) * devices
    };
    match roles.iter().map(widest).sum::<u64>() > u64::from(limits::WIDTH) {
        true => Err(place.fail("one ask is for more than 1,000,000 devices, expected fewer")),
        false => Ok(()),
    }
}
