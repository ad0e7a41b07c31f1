//! What the data lists: splits with their loads, and figures of others.

use crate::data::json;
use consort_types::file::ReadError;
use serde::Deserialize;
use std::path::Path;

/// What is known about one input.
#[derive(Debug, Deserialize)]
pub struct Listed {
    pub input: String,
    pub dp_contiguous_optimal: Option<Split>,
    pub pipedream: Option<Value>,
    pub local_search_10: Option<Value>,
    pub human_expert: Option<Value>,
}

/// A figure alone.
#[derive(Debug, Deserialize)]
pub struct Value {
    pub max_load: f64,
}

/// A figure with the split behind it; an expert's split has no figure.
#[derive(Debug, Deserialize)]
pub struct Split {
    #[serde(default)]
    pub max_load: f64,
    #[serde(alias = "fpgas")]
    pub accelerators: Vec<Part>,
    pub cpus: Vec<Part>,
}

/// One device of a split.
#[derive(Debug, Deserialize)]
pub struct Part {
    pub load: f64,
    pub nodes: Vec<i64>,
}

impl Listed {
    /// The best figure of all, and whose it is.
    pub fn best(&self) -> Option<(&'static str, f64)> {
        let values = [
            ("ideals", self.dp_contiguous_optimal.as_ref().map(|split| split.max_load)),
            ("pipedream", self.pipedream.as_ref().map(|value| value.max_load)),
            ("local search", self.local_search_10.as_ref().map(|value| value.max_load)),
            ("expert", self.human_expert.as_ref().map(|value| value.max_load)),
        ];
        let known = values.into_iter().filter_map(|(who, value)| value.map(|value| (who, value)));
        known.min_by(|one, other| one.1.total_cmp(&other.1))
    }
}

/// Everything listed; nothing where the file is absent.
pub fn answers(path: &Path) -> Result<Vec<Listed>, ReadError> {
    if path.exists() { json(path) } else { Ok(vec![]) }
}

/// An expert's split of layers. One for inference is also one for training, where twins share a device.
pub fn expert(folder: &Path, case: &str) -> Result<Option<Split>, ReadError> {
    let Some(name) = case.strip_prefix("LayerGraphs/") else { return Ok(None) };
    let names = [name.to_string(), name.replace("_training", "_inference")];
    let paths = names.map(|name| folder.join(format!("{name}_expert.json")));
    match paths.iter().find(|path| path.exists()) {
        Some(path) => json(path).map(Some),
        None => Ok(None),
    }
}

/// What is in a folder, by name.
pub fn names(folder: &Path) -> Result<Vec<String>, ReadError> {
    let fail = |error: std::io::Error| {
        ReadError::whole(&folder.display().to_string(), format!("cannot be listed: {error}"))
    };
    let mut names = vec![];
    for entry in std::fs::read_dir(folder).map_err(fail)? {
        names.push(entry.map_err(fail)?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}
