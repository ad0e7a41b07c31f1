//! Task graphs as people and tools write them: our own YAML, and WfCommons' JSON.
//!
//! What a text is follows from itself: JSON with a `workflow` is WfCommons', everything else is ours. Devices stand in
//! the same file or in one of their own. Promises to name the line of what is wrong in YAML, the task in JSON, and never
//! to panic on any text. What had to be assumed is told.

mod amount;
mod devices;
mod tasks;
mod wfcommons;

use super::work::Work;
use consort_types::file::ReadError;
use consort_types::file::read_error::InFile;
use consort_types::file::yaml::{self, Fields, Node};
use devices::Site;

/// Work, and what was assumed while it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Read {
    /// Not yet checked.
    pub work: Work,
    /// Short sentences for people.
    pub assumed: Vec<String>,
}

/// A text and what to call it in complaints.
#[derive(Clone, Copy, Debug)]
pub struct File<'a> {
    /// As the user named it.
    pub name: &'a str,
    /// What is in it.
    pub text: &'a str,
}

const WHAT: &str = "a task graph";
const SITE: [&str; 4] = ["devices", "link", "links", "store"];

/// Reads a task graph, with the devices of the second file if there is one.
pub fn read(work: File<'_>, devices: Option<File<'_>>) -> Result<Read, ReadError> {
    let site = devices.map(|file| site_file(file.text).in_file(file.name)).transpose()?;
    match wfcommons::recognised(work.text) {
        Some(json) => wfcommons::read(&json, site).in_file(work.name),
        None => ours(work.text, site)
            .map_err(|error| wfcommons::broken(work.text).unwrap_or(error))
            .in_file(work.name),
    }
}

fn site_file(text: &str) -> Result<Site, ReadError> {
    let mut fields = yaml::parse(text, "a list of devices")?.fields("a list of devices", &SITE)?;
    devices::site(&mut fields)
}

fn ours(text: &str, site: Option<Site>) -> Result<Read, ReadError> {
    let known: Vec<&str> = ["tasks", "data"].iter().chain(&SITE).copied().collect();
    let mut fields = yaml::parse(text, WHAT)?.fields(WHAT, &known)?;
    let site = match site {
        None => devices::site(&mut fields)?,
        Some(site) => match SITE.iter().find_map(|name| Some((name, fields.given(name)?))) {
            Some((name, place)) => {
                return Err(
                    place.fail(format!("`{name}` is here and in the file of devices, expected one place"))
                );
            }
            None => site,
        },
    };
    let data = fields.take("data");
    let tasks = fields.need("tasks")?;
    Ok(Read { work: tasks::work(tasks, data, site)?, assumed: vec![] })
}

/// The fields of what may be left empty.
fn body(node: Node, what: &'static str, known: &[&str]) -> Result<Option<Fields>, ReadError> {
    match &node.value {
        yaml::Value::Text(text) if ["", "~", "null"].contains(&&**text) => Ok(None),
        _ => node.fields(what, known).map(Some),
    }
}

#[cfg(test)]
mod tests;
