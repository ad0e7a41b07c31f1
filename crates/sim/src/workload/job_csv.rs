//! The job table: one job a row, the header names the columns.
//!
//! ```csv
//! name,at,run,devices,kind,tenant,deadline,after
//! a,0s,1h,8,h200,red,,
//! b,10m,3h,2-8,h200;mi300x,blue,+6h,
//! c,1h,20m,1,,,,a;b
//! ```
//! `name`, `at`, `run` and `devices` must be there; the other columns mean what the fields of the same name mean in a
//! job list, and an empty cell is as good as no column. A service (`replicas`) never ends, so its `run` stays empty.
//! Where a list is allowed (`kind`, `after`), semicolons stand between its items. Stages and roles do not fit into a
//! row: they are written in a job list.

use super::assemble::{Assembly, Wait};
use super::read_error::{InFile, ReadError};
use super::table::{Column, Table};
use super::{DEFAULT, Submission, Truth, Workload, limits, value};
use consort_types::file::fields;
use consort_types::{Condition, Form, Host, JobSpec, Role, Shape, WHOLE};
use std::sync::Arc;

const NEEDED: [&str; 4] = ["name", "at", "run", "devices"];
const KNOWN: [&str; fields::count(u8::MAX, fields::TABLE)] = fields::names(u8::MAX, fields::TABLE);

/// Reads a job table. `file` is what errors call it.
pub fn parse(file: &str, bytes: &[u8]) -> Result<Workload, ReadError> {
    jobs(bytes).in_file(file)
}

fn jobs(bytes: &[u8]) -> Result<Workload, ReadError> {
    let mut table = Table::open(bytes, &KNOWN, &NEEDED)?;
    let columns = Columns::of(&table);
    let mut assembly = Assembly::new();
    while table.next()? {
        let (submission, waits) = columns.job(&table)?;
        assembly.add(submission, waits).map_err(|message| table.place_of(columns.name).fail(message))?;
    }
    assembly.finish().map_err(|(offset, message)| table.place_at(offset, columns.after).fail(message))
}

macro_rules! columns {
    ($($name:ident)*) => {
        /// Where each column is, looked up once.
        struct Columns { $($name: Column),* }
        impl Columns {
            #[cfg(test)]
            const NAMES: &[&str] = &[$(stringify!($name)),*];

            fn of(table: &Table<'_>) -> Self {
                Self { $($name: table.column(stringify!($name))),* }
            }
        }
    };
}
columns! {
    name at run devices devices_per_worker kind share memory within prefer cpus host_memory tasks replicas tenant queue priority qos
    deadline estimate time_limit restart_cost retries failures after
}

impl Columns {
    fn job(&self, table: &Table<'_>) -> Result<(Submission, Vec<Wait<u64>>), ReadError> {
        let name = table.need(self.name, value::name)?;
        let at = table.need(self.at, value::instant)?;
        let form = self.form(table)?;
        let length = match form {
            Form::Service { .. } if table.text(self.run)?.is_some() => {
                let message = "`run` cannot be used with `replicas`";
                return Err(table.place_of(self.run).fail(message));
            }
            Form::Service { .. } => Truth::FOREVER,
            Form::Gang | Form::Bag { .. } => table.need(self.run, value::span)?,
        };
        let mut spec = JobSpec::gang(name.as_str(), 1, Shape::any());
        spec.tenant = table.read(self.tenant, value::name)?.unwrap_or_else(|| DEFAULT.into());
        spec.queue = table.read(self.queue, value::name)?.unwrap_or_else(|| DEFAULT.into());
        spec.priority = table.read(self.priority, value::priority)?.unwrap_or(spec.priority);
        spec.qos = table.read(self.qos, value::qos)?.unwrap_or(spec.qos);
        spec.deadline = table.read(self.deadline, |text| value::deadline(text, at))?;
        spec.estimate = table.read(self.estimate, value::span)?;
        spec.time_limit = table.read(self.time_limit, value::span)?;
        spec.restart_cost = table.read(self.restart_cost, value::span)?.unwrap_or(spec.restart_cost);
        spec.retries = table.read(self.retries, value::retries)?.unwrap_or(spec.retries);
        spec.stages[0].form = form;
        spec.stages[0].roles = vec![self.role(table)?];
        let failures = table.read(self.failures, value::retries)?.unwrap_or(0);
        let truth = Truth { lengths: vec![length], failures, ..Truth::default() };
        let submission = Submission { label: name, at, spec: Arc::new(spec), after: vec![], truth };
        Ok((submission, self.waits(table)?))
    }

    fn form(&self, table: &Table<'_>) -> Result<Form, ReadError> {
        let number = |text: &str| value::count(text, 1, limits::TASKS);
        match (table.read(self.tasks, number)?, table.read(self.replicas, number)?) {
            (Some(_), Some(_)) => {
                Err(table.place_of(self.replicas).fail("`replicas` cannot be used with `tasks`"))
            }
            (Some(tasks), None) => Ok(Form::Bag { tasks }),
            (None, Some(replicas)) => Ok(Form::Service { replicas }),
            (None, None) => Ok(Form::Gang),
        }
    }

    fn role(&self, table: &Table<'_>) -> Result<Role, ReadError> {
        let count = table.need(self.devices, value::range)?;
        let shape = Shape {
            kind: None,
            devices: table.read(self.devices_per_worker, value::width)?.unwrap_or(1),
            share: table.read(self.share, value::share)?.unwrap_or(WHOLE),
            memory_bytes: table.read(self.memory, value::memory)?.unwrap_or(0),
            within: table.read(self.within, value::name)?,
            prefer: table.read(self.prefer, value::name)?,
            host: Host {
                cpu_milli: table.read(self.cpus, value::processors)?.unwrap_or(0),
                memory_bytes: table.read(self.host_memory, value::memory)?.unwrap_or(0),
            },
            ..Shape::any()
        };
        if u64::from(count.max) * u64::from(shape.devices) > u64::from(limits::WIDTH) {
            return Err(table.place_of(self.devices).fail("asks for more than 1,000,000 devices at once"));
        }
        let kinds = table.read(self.kind, kinds)?.unwrap_or_default();
        let mut shapes: Vec<Shape> =
            kinds.into_iter().map(|kind| Shape { kind: Some(kind), ..shape.clone() }).collect();
        if shapes.is_empty() {
            shapes.push(shape);
        }
        Ok(Role { name: "worker".into(), count, shapes })
    }

    fn waits(&self, table: &Table<'_>) -> Result<Vec<Wait<u64>>, ReadError> {
        let Some(names) = table.read(self.after, names)? else { return Ok(vec![]) };
        let place = table.offset();
        let wait = |name| Wait { name, when: Condition::Succeeded, place };
        Ok(names.into_iter().map(wait).collect())
    }
}

/// Kinds with semicolons between them. The marks that other tables use would make one odd name of them all.
fn kinds(text: &str) -> Result<Vec<String>, value::Expected> {
    match text.contains([',', '|']) {
        true => Err("kinds with `;` between them, like h200;mi300x".into()),
        false => names(text),
    }
}

/// Names with semicolons between them.
fn names(text: &str) -> Result<Vec<String>, value::Expected> {
    text.split(';').map(|part| value::name(part.trim())).collect()
}

#[cfg(test)]
mod tests;
