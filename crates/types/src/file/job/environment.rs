//! Variables: names that a program can be given, and no more of them than it could take.

use crate::file::limits;
use crate::file::read_error::ReadError;
use crate::file::value;
use crate::file::yaml::{Fields, Node};

/// A map of variables under this name, in the order of their names: that of a file means nothing.
pub(super) fn take(fields: &mut Fields, what: &str) -> Result<Vec<(String, String)>, ReadError> {
    let Some(node) = fields.take(what) else { return Ok(vec![]) };
    let (place, entries) = (node.place, node.entries(what)?);
    if entries.len() > limits::VARIABLES {
        return Err(place.fail(format!("`{what}` has {} variables, expected at most 4,096", entries.len())));
    }
    let variable = |(key, node): (Node, Node)| {
        let name = key.read(what, self::name)?;
        let place = node.place;
        let text = node.into_text(&name)?;
        match name.len() + text.len() + 1 > limits::VARIABLE_BYTES {
            true => Err(place.fail(format!("`{name}` is larger than 128 KiB"))),
            false => Ok((name, text)),
        }
    };
    let mut variables = entries.into_iter().map(variable).collect::<Result<Vec<_>, _>>()?;
    variables.sort();
    let bytes: usize = variables.iter().map(|(name, text)| name.len() + text.len() + 2).sum();
    match bytes > limits::ENVIRONMENT_BYTES {
        true => Err(place.fail(format!("`{what}` is larger than 1 MiB"))),
        false => Ok(variables),
    }
}

/// The name of a variable.
pub(crate) fn name(text: &str) -> Result<String, value::Expected> {
    let wrong = text.is_empty() || text.contains('=') || text.chars().any(value::is_hidden);
    match wrong || text.len() > 1_024 {
        true => Err("the name of a variable, without `=`, control and invisible characters".into()),
        false => Ok(text.into()),
    }
}
