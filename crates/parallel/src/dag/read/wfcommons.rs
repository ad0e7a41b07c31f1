//! WfCommons: workflows that others ran, as JSON (schema 1.3 to 1.5).
//!
//! From 1.4 on, `workflow.specification` has tasks and files, and `workflow.execution` run times and machines; before,
//! `workflow.tasks` has everything. What one task makes and another reads is handed over; a file that nobody makes comes
//! from the store if there is one, and is everywhere otherwise. Devices come from a file of their own, or are the
//! machines of the trace, one device each. Simplified: how many processors a task used is not looked at.

use super::Read;
use super::devices::Site;
use crate::dag::check;
use crate::dag::work::{Data, Device, Edge, Task, Work};
use crate::fabric::Link;
use consort_types::file::ReadError;
use consort_types::file::read_error::Place;
use consort_types::file::{value, yaml};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Between machines of a trace, which says nothing about their network: 10 Gbit/s.
const LINK: Link = Link { bandwidth: 1.25e9, latency_s: 1e-4 };
/// Largest text that is looked at.
const BYTES: usize = 256 << 20;

/// The JSON, if that is what it is and it has a workflow.
pub fn recognised(text: &str) -> Option<Value> {
    let is_json = text.trim_start().starts_with('{') && text.len() <= BYTES;
    let json: Value = is_json.then(|| serde_json::from_str(text).ok())??;
    json.get("workflow").is_some().then_some(json)
}

/// What is wrong with a text that was meant to be JSON. Our own form may be written with braces too, so this is for texts
/// that could not be read as such: with a quoted first key, and with a workflow or not even YAML.
pub fn broken(text: &str) -> Option<ReadError> {
    let inside = text.trim_start().strip_prefix('{')?.trim_start();
    let is_meant = inside.is_empty() || inside.starts_with('"');
    if !is_meant || text.len() > BYTES || !(text.contains("\"workflow\"") || yaml::parse(text, "").is_err()) {
        return None;
    }
    let error = serde_json::from_str::<serde::de::IgnoredAny>(text).err()?;
    let place = Place { line: error.line() as u64, column: error.column() as u64 };
    let said = error.to_string();
    let what = said.split(" at line ").next().unwrap_or_default();
    Some(place.fail(format!("is not JSON: {what}")))
}

/// Reads it.
pub fn read(json: &Value, site: Option<Site>) -> Result<Read, ReadError> {
    let workflow = &json["workflow"];
    let specified = workflow
        .pointer("/specification/tasks")
        .or_else(|| workflow.get("tasks"))
        .or_else(|| workflow.get("jobs"));
    let listed = specified
        .and_then(Value::as_array)
        .ok_or_else(|| fail("missing `workflow.specification.tasks`, expected a list"))?;
    if listed.is_empty() || listed.len() > check::TASKS {
        let most = value::grouped(check::TASKS as u32);
        return Err(fail(format!("has {} tasks, expected 1 to {most}", listed.len())));
    }
    let execution =
        workflow.pointer("/execution/tasks").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let ran: BTreeMap<&str, &Value> =
        execution.iter().filter_map(|task| Some((text(task, &["id"])?, task))).collect();
    let mut names = vec![];
    for task in listed {
        let id = text(task, &["id", "name"]).ok_or_else(|| fail("missing `id` of a task"))?;
        names.push(value::name(id).map_err(|expected| fail(value::complaint("id", id, &expected)))?);
    }
    let mut seen = BTreeSet::new();
    if let Some(twice) = names.iter().find(|name| !seen.insert(&***name)) {
        let twice = value::quoted(twice);
        return Err(fail(format!("duplicate task id {twice}, expected unique ids")));
    }
    let machines = machines(workflow);
    let mut assumed = vec![];
    let (site, is_own) = match site {
        Some(site) => (site, true),
        None => (machine_site(&machines, &mut assumed)?, false),
    };
    let files = sizes(workflow);
    let mut tasks = vec![];
    for (task, name) in listed.iter().zip(&names) {
        let measured = ran.get(&**name).copied().unwrap_or(task);
        let seconds = number(measured, &["runtimeInSeconds", "runtime"])
            .ok_or_else(|| fail(format!("missing `runtimeInSeconds` of the task {}", value::quoted(name))))?;
        if seconds < 0.0 {
            let name = value::quoted(name);
            return Err(fail(format!(
                "the task {name} ran for {seconds} s, expected a time that is not negative"
            )));
        }
        // Seconds were measured on one machine; on the others they shrink or grow with the clock.
        let there = match is_own {
            true => 1.0,
            false => machine(measured)
                .and_then(|machine| machines.get(machine))
                .map_or(1.0, |machine| machine.speed),
        };
        tasks.push(Task {
            name: name.clone(),
            time_s: site.speed.iter().map(|speed| Some(seconds * there / speed)).collect(),
            memory_bytes: number(measured, &["memoryInBytes"]).filter(|bytes| *bytes >= 0.0).unwrap_or(0.0)
                as u64,
            run: command(measured),
            ..Task::default()
        });
    }
    let flow = Flow::new(listed, &files);
    let edges = edges(listed, &names, &flow)?;
    reads(&mut tasks, &flow, &site, &mut assumed);
    let work = Work { tasks, edges, devices: site.devices, links: site.links, store: site.store };
    Ok(Read { work, assumed })
}

fn fail(message: impl Into<String>) -> ReadError {
    ReadError::whole("", message)
}

/// The first of these fields that is text.
fn text<'a>(value: &'a Value, fields: &[&str]) -> Option<&'a str> {
    fields.iter().find_map(|field| value.get(field)?.as_str())
}

/// The first of these fields that is a number.
fn number(value: &Value, fields: &[&str]) -> Option<f64> {
    fields.iter().find_map(|field| value.get(field)?.as_f64())
}

fn list<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    value.get(field).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn machine(measured: &Value) -> Option<&str> {
    text(measured, &["machine"]).or_else(|| list(measured, "machines").first()?.as_str())
}

fn command(measured: &Value) -> String {
    let Some(command) = measured.get("command") else { return String::new() };
    let words = text(command, &["program"])
        .into_iter()
        .chain(list(command, "arguments").iter().filter_map(Value::as_str));
    words.collect::<Vec<&str>>().join(" ").replace('\0', "")
}

/// A machine of the trace.
struct Machine {
    speed: f64,
    memory_bytes: Option<u64>,
}

fn machines(workflow: &Value) -> BTreeMap<String, Machine> {
    let listed =
        workflow.get("execution").map_or(list(workflow, "machines"), |execution| list(execution, "machines"));
    let mut found = BTreeMap::new();
    for machine in listed {
        let Some(name) = text(machine, &["nodeName"]).and_then(|name| value::name(name).ok()) else {
            continue;
        };
        let clock = machine.get("cpu").and_then(|cpu| number(cpu, &["speedInMHz", "speed"]));
        let speed = clock.filter(|&clock| clock > 0.0 && clock < 1e9).map_or(1.0, |clock| clock / 1000.0);
        let memory_bytes =
            number(machine, &["memoryInBytes"]).filter(|&bytes| bytes > 0.0).map(|bytes| bytes as u64);
        found.insert(name, Machine { speed, memory_bytes });
    }
    found
}

fn machine_site(machines: &BTreeMap<String, Machine>, assumed: &mut Vec<String>) -> Result<Site, ReadError> {
    if machines.is_empty() || machines.len() > check::DEVICES {
        let found = machines.len();
        return Err(fail(format!(
            "has {found} machines, expected 1 to {}, or a file of devices beside it",
            check::DEVICES
        )));
    }
    assumed.push("every machine of the trace is one device, as fast as its clock".into());
    assumed.push("machines talk at 10 Gbit/s with 100 us: the trace does not say".into());
    let device = |(name, machine): (&String, &Machine)| Device {
        name: name.clone(),
        memory_bytes: machine.memory_bytes,
        ..Device::default()
    };
    Ok(Site {
        devices: machines.iter().map(device).collect(),
        speed: machines.values().map(|machine| machine.speed).collect(),
        links: Work::joined(machines.len(), LINK),
        store: None,
    })
}

/// Sizes by file, where they are listed apart from tasks.
fn sizes(workflow: &Value) -> BTreeMap<&str, f64> {
    let listed = workflow.get("specification").map_or(&[][..], |specification| list(specification, "files"));
    let size = |file| Some((text(file, &["id", "name"])?, number(file, &["sizeInBytes", "size"])?));
    listed.iter().filter_map(size).collect()
}

/// Which files every task reads and makes, with sizes.
struct Flow<'a> {
    reads: Vec<BTreeMap<&'a str, f64>>,
    makes: Vec<BTreeMap<&'a str, f64>>,
}

impl<'a> Flow<'a> {
    fn new(tasks: &'a [Value], sizes: &BTreeMap<&str, f64>) -> Self {
        let by_id = |task: &'a Value, field: &str| -> BTreeMap<&'a str, f64> {
            let ids = list(task, field).iter().filter_map(Value::as_str);
            ids.map(|id| (id, sizes.get(id).copied().unwrap_or(0.0))).collect()
        };
        let (mut reads, mut makes) = (vec![], vec![]);
        for task in tasks {
            let (mut read, mut made) = (by_id(task, "inputFiles"), by_id(task, "outputFiles"));
            for file in list(task, "files") {
                let Some(name) = text(file, &["id", "name"]) else { continue };
                let size = number(file, &["sizeInBytes", "size"]).unwrap_or(0.0);
                match text(file, &["link"]) {
                    Some("input") => read.insert(name, size),
                    Some("output") => made.insert(name, size),
                    _ => None,
                };
            }
            reads.push(read);
            makes.push(made);
        }
        Self { reads, makes }
    }

    /// What one task makes and another reads.
    fn between(&self, from: usize, to: usize) -> f64 {
        let (made, read) = (&self.makes[from], &self.reads[to]);
        match made.len() < read.len() {
            true => made.iter().filter(|file| read.contains_key(file.0)).map(|file| file.1).sum(),
            false => read.keys().filter_map(|name| made.get(name)).sum(),
        }
    }
}

fn edges(listed: &[Value], names: &[String], flow: &Flow<'_>) -> Result<Vec<Edge>, ReadError> {
    let mut index: BTreeMap<&str, usize> = BTreeMap::new();
    // A name may be shared by many tasks; an id is one task's own and wins.
    for (at, task) in listed.iter().enumerate() {
        text(task, &["name"]).map(|name| index.insert(name, at));
    }
    names.iter().enumerate().for_each(|(at, id)| {
        index.insert(id, at);
    });
    let mut pairs = BTreeSet::new();
    for (at, task) in listed.iter().enumerate() {
        for (field, is_parent) in [("parents", true), ("children", false)] {
            for other in list(task, field) {
                let other = other.as_str().unwrap_or_default();
                let found = *index.get(other).ok_or_else(|| {
                    let (task, other) = (value::quoted(&names[at]), value::quoted(other));
                    fail(format!("`{field}` of the task {task} names {other}, expected a task"))
                })?;
                pairs.insert(if is_parent { (found, at) } else { (at, found) });
            }
        }
        if pairs.len() > check::EDGES {
            return Err(fail(format!("has more than {} edges", value::grouped(check::EDGES as u32))));
        }
    }
    Ok(pairs.into_iter().map(|(from, to)| Edge { from, to, bytes: flow.between(from, to) }).collect())
}

/// Files that nobody makes.
fn reads(tasks: &mut [Task], flow: &Flow<'_>, site: &Site, assumed: &mut Vec<String>) {
    let made: BTreeSet<&str> = flow.makes.iter().flat_map(|made| made.keys().copied()).collect();
    let mut lost = 0;
    for (task, read) in tasks.iter_mut().zip(&flow.reads) {
        let first: Vec<(&&str, &f64)> = read.iter().filter(|(name, _)| !made.contains(**name)).collect();
        match site.store {
            Some(_) => task.reads.extend(first.iter().map(|&(name, &bytes)| Data {
                name: name.to_string(),
                bytes,
                cached_on: vec![],
            })),
            None => lost += first.len(),
        }
    }
    if lost > 0 {
        assumed.push(format!(
            "files that no task makes are there on every device ({lost} readings): no store is named"
        ));
    }
}
