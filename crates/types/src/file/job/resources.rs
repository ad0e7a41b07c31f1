//! `resources`, as a SkyPilot task writes it: accelerators, processors and memory.

use crate::file::body::HARDWARE;
use crate::file::limits;
use crate::file::read_error::ReadError;
use crate::file::value;
use crate::file::yaml::{Fields, Node, Value};
use crate::job::{Role, Shape, WHOLE};
use crate::work::Limits;

/// Takes `resources`, if it is there: limits are set at once, accelerators are returned as shapes that would all do.
pub(super) fn take(fields: &mut Fields, limits: &mut Limits) -> Result<Option<Vec<Shape>>, ReadError> {
    let Some(node) = fields.take("resources") else { return Ok(None) };
    let mut resources = node.fields("`resources`", &["accelerators", "cpus", "memory"])?;
    let twice = |what: &str| format!("`{what}` cannot be given both here and in `limits`");
    if let Some(node) = resources.take("cpus") {
        if limits.cpu_thousandths.is_some() {
            return Err(node.place.fail(twice("cpus")));
        }
        limits.cpu_thousandths = Some(node.read("cpus", |text| super::settings::cpus(at_least(text)))?);
    }
    if let Some(node) = resources.take("memory") {
        if limits.memory_bytes.is_some() {
            return Err(node.place.fail(twice("memory")));
        }
        limits.memory_bytes = Some(node.read("memory", |text| gibibytes(at_least(text)))?);
    }
    let Some(node) = resources.take("accelerators") else { return Ok(None) };
    let beside = ["workers", "memory", "within", "prefer", "features", "cpus", "host_memory", "mem"];
    let others = HARDWARE.into_iter().filter(|name| !beside.contains(name));
    let others: Vec<&str> = others.chain(["roles", "stages"]).collect();
    fields.refuse_beside("accelerators", &others)?;
    accelerators(node).map(Some)
}

/// Gives the role these shapes; what it says about memory, place and features holds for each of them.
pub(super) fn apply(shapes: Vec<Shape>, role: &mut Role) {
    let like = role.shapes[0].clone();
    let with =
        |shape: Shape| Shape { kind: shape.kind, devices: shape.devices, share: shape.share, ..like.clone() };
    role.shapes = shapes.into_iter().map(with).collect();
}

/// `4+`: we promise no more than what is asked for.
fn at_least(text: &str) -> &str {
    text.strip_suffix('+').unwrap_or(text)
}

/// Memory; a bare number counts gibibytes.
fn gibibytes(text: &str) -> Result<u64, value::Expected> {
    let bare = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    super::settings::some_memory(&if bare { format!("{text}GiB") } else { text.into() })
}

/// `H100:8`, `{H100: 8}`, or a list of the first.
fn accelerators(node: Node) -> Result<Vec<Shape>, ReadError> {
    let place = node.place;
    let shapes: Vec<Shape> = match node.value {
        Value::Map(entries) => {
            let one = |(key, node): (Node, Node)| {
                let kind = key.read("accelerators", value::name)?;
                node.read("accelerators", |text| shape(&kind, text))
            };
            entries.into_iter().map(one).collect::<Result<_, _>>()?
        }
        _ => {
            let one = |node: Node| {
                node.read("accelerators", |text| {
                    let (kind, count) = text.rsplit_once(':').unwrap_or((text, "1"));
                    shape(kind, count)
                })
            };
            node.one_or_more("accelerators")?.into_iter().map(one).collect::<Result<_, _>>()?
        }
    };
    match shapes.is_empty() {
        true => Err(place.fail("`accelerators` is empty, expected one like H100:8")),
        false => Ok(shapes),
    }
}

fn shape(kind: &str, count: &str) -> Result<Shape, value::Expected> {
    let expected =
        || "a kind and a number of devices like H100:8, or a part of one like H100:0.5".to_string();
    let kind = value::name(&kind.trim().to_lowercase()).map_err(|_| expected())?;
    let count = count.trim();
    let (devices, share) = match value::count(count, 1, limits::WIDTH) {
        Ok(devices) => (devices, WHOLE),
        Err(_) => (1, value::share(count).map_err(|_| expected())?),
    };
    Ok(Shape { devices, share, ..Shape::of(&kind) })
}
