//! What a file says of a kind of device, in cluster files and in `devices.yaml`.

use super::read_error::ReadError;
use super::value;
use super::yaml::Fields;
use crate::cluster::KindSpec;
use crate::precision::Precision;

/// The fields of a kind.
pub const FIELDS: [&str; 4] = ["name", "vendor", "memory", "precision"];

/// Takes them, but for the name, which is known by now.
pub fn read(fields: &mut Fields, name: String) -> Result<KindSpec, ReadError> {
    Ok(KindSpec {
        vendor: fields.read("vendor", value::name)?.unwrap_or_default(),
        memory_bytes: fields.read("memory", value::memory)?.unwrap_or(0),
        precisions: precisions(fields)?,
        ..KindSpec::named(name)
    })
}

/// `precision: bf16` or `precision: [fp8, bf16]`: number formats, each once.
pub(super) fn precisions(fields: &mut Fields) -> Result<Vec<Precision>, ReadError> {
    let Some(node) = fields.take("precision") else { return Ok(vec![]) };
    let (place, nodes) = (node.place, node.one_or_more("precision")?);
    if nodes.is_empty() {
        return Err(place.fail("`precision` is empty, expected a number format like bf16"));
    }
    let mut found: Vec<Precision> = vec![];
    for node in nodes {
        let precision = node.read("precision", value::precision)?;
        if found.contains(&precision) {
            return Err(node.place.fail(format!("`precision` names {precision} twice")));
        }
        found.push(precision);
    }
    Ok(found)
}
