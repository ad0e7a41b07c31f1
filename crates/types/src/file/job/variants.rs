//! `variants`: what differs by kind of device.
//!
//! ```yaml
//! kind: [h200, mi300x]
//! run: python train.py
//! variants:
//!   h200: {env: {TRAIN_BACKEND: nccl}}
//!   mi300x: {run: python train.py --rocm, image: rocm/pytorch}
//! ```
//! `run` may be left out where the job names its kinds and every one of them has a variant with a `run` of its own.

use super::{command, environment, settings};
use crate::file::read_error::{Place, ReadError};
use crate::file::value;
use crate::file::yaml::Fields;
use crate::job::Role;
use crate::work::Variant;

/// Variants of a job or a stage, each with its place in the file, in order of kinds.
pub(super) fn take(fields: &mut Fields, setup: Option<&str>) -> Result<Vec<(Place, Variant)>, ReadError> {
    let Some(node) = fields.take("variants") else { return Ok(vec![]) };
    fields.refuse_beside("variants", &["roles"])?;
    let mut variants: Vec<(Place, Variant)> = vec![];
    for (key, node) in node.entries("variants")? {
        let kind = key.read("variants", value::name)?;
        if variants.iter().any(|(_, other)| other.kind.eq_ignore_ascii_case(&kind)) {
            return Err(key.place.fail(format!("`variants` names kind `{kind}` twice")));
        }
        let mut fields = node.fields("a variant", &["run", "image", "env", "envs"])?;
        fields.alias("envs", "env")?;
        let command = fields.take("run").map(|node| command::read(node, setup)).transpose()?;
        let image = fields.read("image", settings::image)?;
        let env = environment::take(&mut fields, "env")?;
        if command.is_none() && image.is_none() && env.is_empty() {
            return Err(key
                .place
                .fail(format!("the variant for `{kind}` is empty, expected `run`, `image` or `env`")));
        }
        variants.push((key.place, Variant { kind, command, image, env }));
    }
    variants.sort_by(|(_, one), (_, other)| one.kind.cmp(&other.kind));
    Ok(variants)
}

/// Whether a role names its kinds, and all of them have a variant that says what to run.
pub(super) fn cover(variants: &[(Place, Variant)], role: &Role) -> bool {
    let runs = |kind: &String| {
        variants
            .iter()
            .any(|(_, variant)| variant.kind.eq_ignore_ascii_case(kind) && variant.command.is_some())
    };
    let all_run = variants.iter().all(|(_, variant)| variant.command.is_some());
    all_run && role.shapes.iter().all(|shape| shape.kind.as_ref().is_some_and(runs))
}

/// The variants, if each is for a kind that the roles accept.
pub(super) fn accepted(variants: Vec<(Place, Variant)>, roles: &[Role]) -> Result<Vec<Variant>, ReadError> {
    let kinds = || roles.iter().flat_map(|role| &role.shapes).map(|shape| shape.kind.as_deref());
    for (place, variant) in &variants {
        let accepts = |kind: Option<&str>| kind.is_none_or(|kind| kind.eq_ignore_ascii_case(&variant.kind));
        if !kinds().any(accepts) {
            let kinds: Vec<&str> = kinds().flatten().collect();
            let (kind, kinds) = (value::quoted(&variant.kind), kinds.join(", "));
            return Err(place.fail(format!(
                "there is a variant for {kind}, which the job does not accept, expected one of {kinds}"
            )));
        }
    }
    Ok(variants.into_iter().map(|(_, variant)| variant).collect())
}
