//! The stages of a job: names, and who waits for whom. A stage waits only for earlier ones, so there is no circle.

use super::limits;
use super::read_error::ReadError;
use super::value;
use super::yaml::{Fields, Node};
use std::collections::BTreeMap;

/// A stage, less what it consists of.
pub struct Stage<B> {
    /// Unique in the job.
    pub name: String,
    /// Earlier stages, by position.
    pub after: Vec<u16>,
    /// What it consists of.
    pub body: B,
}

/// Reads `stages`. `known` are the fields of a body, which `body` takes.
pub fn read<B>(
    node: Node,
    known: &[&str],
    mut body: impl FnMut(&mut Fields) -> Result<B, ReadError>,
) -> Result<Vec<Stage<B>>, ReadError> {
    let known: Vec<&str> = ["name", "after"].iter().chain(known).copied().collect();
    let (place, nodes) = (node.place, node.list("stages")?);
    if nodes.is_empty() || nodes.len() > limits::STAGES {
        return Err(place.fail(format!(
            "`stages` has {} entries, expected 1 to {}",
            nodes.len(),
            limits::STAGES
        )));
    }
    let (mut stages, mut positions) = (vec![], BTreeMap::new());
    for node in nodes {
        let mut fields = node.fields("a stage", &known)?;
        let named = fields.need("name")?;
        let name = named.read("name", value::name)?;
        let mut after = vec![];
        for node in fields.take("after").map_or(Ok(vec![]), |node| node.one_or_more("after"))? {
            let other = node.read("after", value::name)?;
            match positions.get(&other) {
                Some(position) if !after.contains(position) => after.push(*position),
                Some(_) => {
                    return Err(node.place.fail(format!("`after` names `{other}` twice")));
                }
                None => {
                    let other = value::quoted(&other);
                    return Err(node.place.fail(format!("`after` names {other}, expected an earlier stage")));
                }
            }
        }
        if positions.insert(name.clone(), stages.len() as u16).is_some() {
            return Err(named
                .place
                .fail(format!("a stage called `{name}` already exists, expected another name")));
        }
        stages.push(Stage { name, after, body: body(&mut fields)? });
    }
    Ok(stages)
}
