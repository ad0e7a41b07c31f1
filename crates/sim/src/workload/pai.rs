//! Alibaba's PAI cluster of 2020, as published: tables of tasks, jobs and machines, with or without their headers.
//!
//! ```csv
//! job_name,task_name,inst_num,status,start_time,end_time,plan_cpu,plan_mem,plan_gpu,gpu_type
//! 4f05,ps,1.0,Terminated,1739162.0,1739200.0,600.0,29.296875,,
//! 4f05,worker,2.0,Terminated,1739162.0,1739262.0,600.0,29.296875,50.0,T4
//! ```
//! The columns are those above (`pai_task_table.csv`; its header ships in a file of its own and may be put on top). All
//! tasks of one `job_name` are one gang: each task is a role, with `inst_num` members. `plan_gpu` is in hundredths of
//! a device for each member: 50 is half a device, 200 are two whole ones on one node. A share is a part of one device,
//! so what is above one device and not whole becomes whole, and is counted (150 are two). `gpu_type` is the kind: the
//! one that the task was given, which need not be one that it asked for. The gang is as long as the time from the first
//! start to the last end.
//!
//! A job table (`pai_job_table.csv`: `job_name,inst_id,user,status,start_time,end_time`) in the same folder says who
//! submitted a job, which becomes the tenant, and when. Without it the tenant is `default` and a job arrives when its
//! first task started. Times count from the first submission. How tasks ended is read over, and so are processors and
//! memory, so that such a workload runs on clusters that do not account for them.
//!
//! Left out, and counted: tasks that ask for no device, say no number of instances, or have no start or end.
//!
//! The machines (`pai_machine_spec.csv`: `machine,gpu_type,cap_cpu,cap_mem,cap_gpu`) are a cluster.

use super::assemble::Assembly;
use super::left_out::LeftOut;
use super::moment::{from_the_first, maybe};
use super::read_error::{InFile, ReadError};
use super::table::{Column, Table};
use super::value::{self, Expected};
use super::{Submission, Truth, Workload, limits};
use consort_types::{Count, JobSpec, Role, Shape, Time, WHOLE};
use std::collections::HashMap;
use std::sync::Arc;

mod machines;
pub use machines::parse_cluster;

const TASKS: [&str; 10] = [
    "job_name",
    "task_name",
    "inst_num",
    "status",
    "start_time",
    "end_time",
    "plan_cpu",
    "plan_mem",
    "plan_gpu",
    "gpu_type",
];
const JOBS: [&str; 6] = ["job_name", "inst_id", "user", "status", "start_time", "end_time"];

/// Whether the first line of a table is that of the task table, be it a header or a row.
pub(super) fn is_task_table(first: &[String]) -> bool {
    first == TASKS || (first.len() == TASKS.len() && has_status(first))
}

/// Whether the first line of a table is that of the job table, be it a header or a row.
pub(super) fn is_job_table(first: &[String]) -> bool {
    first == JOBS || (first.len() == JOBS.len() && has_status(first))
}

fn has_status(row: &[String]) -> bool {
    matches!(row[3].as_str(), "Terminated" | "Failed" | "Running" | "Waiting")
}

/// Whether the first line of a table is that of the machines: its header, or a row that could be nothing else.
pub(super) fn is_machine_table(first: &[String]) -> bool {
    let is_number =
        |text: &String| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    first == machines::COLUMNS
        || (first.len() == machines::COLUMNS.len()
            && first[2..].iter().all(is_number)
            && !is_number(&first[1]))
}

/// Reads a task table, and a job table if there is one. Each comes with what errors call it.
pub fn parse(tasks: (&str, &[u8]), jobs: Option<(&str, &[u8])>) -> Result<Workload, ReadError> {
    let mut left = LeftOut::of("tasks");
    let mut gangs = read_tasks(tasks.1, &mut left).in_file(tasks.0)?;
    let mut notes = left.notes();
    match jobs {
        None => notes.push("there is no job table beside it, so every job is the tenant default's".into()),
        Some((file, bytes)) => {
            let named = read_jobs(bytes, &mut gangs).in_file(file)?;
            let (all, rest) = (gangs.list.len() as u64, (gangs.list.len() - named) as u64);
            if rest > 0 {
                let (rest, all) = (value::grouped(rest), value::grouped(all));
                notes.push(format!("{rest} of {all} jobs are not in {file}: the tenant default's"));
            }
        }
    }
    let mut assembly = Assembly::<()>::new();
    for gang in gangs.list {
        assembly.add(gang.submission(), vec![]).map_err(|message| ReadError::whole(tasks.0, message))?;
    }
    let workload = assembly.finish().expect("nobody waits for anybody");
    Ok(Workload { notes, ..from_the_first(workload) })
}

/// The tasks of one job so far.
struct Gang {
    name: String,
    /// Empty until a job table names one.
    user: String,
    submit: Option<Time>,
    start: Time,
    end: Time,
    roles: Vec<Role>,
}

/// Jobs in the order in which their first tasks come up.
#[derive(Default)]
struct Gangs {
    list: Vec<Gang>,
    /// Looked up, never iterated.
    positions: HashMap<String, usize>,
}

impl Gang {
    fn submission(self) -> Submission {
        let mut spec = JobSpec::gang(self.name.as_str(), 1, Shape::any());
        spec.stages[0].roles = self.roles;
        if !self.user.is_empty() {
            spec.tenant = self.user;
        }
        let truth = Truth::runs(self.end - self.start);
        let at = self.submit.unwrap_or(self.start);
        Submission { label: self.name, at, spec: Arc::new(spec), after: vec![], truth }
    }
}

fn read_tasks(bytes: &[u8], left: &mut LeftOut) -> Result<Gangs, ReadError> {
    let mut table = Table::open_named(bytes, &TASKS)?;
    let [name, task, members, _, start, end, _, _, gpu, kind] = TASKS.map(|name| table.column(name));
    let mut gangs = Gangs::default();
    while table.next()? {
        left.see();
        let name = table.need(name, value::name)?;
        let from = table.need(start, maybe(value::instant))?;
        let to = table.need(end, maybe(value::instant))?;
        let members = table.need(members, maybe(count))?;
        let thousandths = table.need(gpu, maybe(hundredths))?.unwrap_or(0);
        let (start, end, members) = match (from, to, members) {
            _ if thousandths == 0 => {
                left.leave("no devices requested");
                continue;
            }
            (_, _, None | Some(0)) => {
                left.leave("no number of instances");
                continue;
            }
            (Some(start), Some(end), Some(members)) if start <= end => (start, end, members),
            (Some(_), Some(_), _) => {
                left.leave("it ended before it started");
                continue;
            }
            _ => {
                left.leave("it has no start or no end");
                continue;
            }
        };
        let kind = table.need(kind, maybe(value::name))?;
        let shape = shape(thousandths, kind);
        if shape.devices > 1 && !thousandths.is_multiple_of(u64::from(WHOLE)) {
            left.lose("the part of a device beside whole ones, which became whole");
        }
        if u64::from(members) * u64::from(shape.devices) > u64::from(limits::WIDTH) {
            let message = "asks for more than 1,000,000 devices at once";
            return Err(table.place_of(gpu).fail(message));
        }
        let role = Role {
            name: table.need(task, value::name)?,
            count: Count::exactly(members),
            shapes: vec![shape],
        };
        add(&mut gangs, &table, task, (name, start, end), role)?;
    }
    Ok(gangs)
}

/// Adds a task to its job, or begins a new one with it.
fn add(
    gangs: &mut Gangs,
    table: &Table<'_>,
    task: Column,
    (name, start, end): (String, Time, Time),
    role: Role,
) -> Result<(), ReadError> {
    let Some(&position) = gangs.positions.get(&name) else {
        gangs.positions.insert(name.clone(), gangs.list.len());
        gangs.list.push(Gang { name, user: String::new(), submit: None, start, end, roles: vec![role] });
        return Ok(());
    };
    let gang = &mut gangs.list[position];
    if gang.roles.len() == limits::LISTED {
        return Err(table.place_of(task).fail("is beyond the limit of 1,000 tasks per job"));
    }
    (gang.start, gang.end) = (gang.start.min(start), gang.end.max(end));
    gang.roles.push(role);
    Ok(())
}

/// Reads who submitted the jobs, and when; tells how many of them are named.
fn read_jobs(bytes: &[u8], gangs: &mut Gangs) -> Result<usize, ReadError> {
    let mut table = Table::open_named(bytes, &JOBS)?;
    let [name, _, user, _, submit, _] = JOBS.map(|name| table.column(name));
    let mut named = 0;
    while table.next()? {
        let Some(&position) = gangs.positions.get(table.text(name)?.unwrap_or("")) else { continue };
        let gang = &mut gangs.list[position];
        named += usize::from(gang.user.is_empty());
        gang.user = table.need(user, value::name)?;
        gang.submit = table.need(submit, maybe(value::instant))?;
    }
    Ok(named)
}

/// So many thousandths of a device for each member: a part of one, or whole ones.
fn shape(thousandths: u64, kind: Option<String>) -> Shape {
    let devices = thousandths.div_ceil(u64::from(WHOLE));
    let share = if devices == 1 { thousandths as u16 } else { WHOLE };
    Shape { kind, devices: devices as u32, share, ..Shape::any() }
}

/// A number that is whole, whether or not it is written with decimals.
fn count(text: &str) -> Result<u32, Expected> {
    value::count(text.strip_suffix(".0").unwrap_or(text), 0, limits::WIDTH)
}

/// Hundredths of a device, as thousandths of one. Less than a thousandth counts as one.
fn hundredths(text: &str) -> Result<u64, Expected> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
    let kept = format!("{whole}.{}", decimals.get(..decimals.len().min(3)).unwrap_or("?"));
    let number = value::thousandths(&kept).filter(|_| decimals.bytes().all(|byte| byte.is_ascii_digit()));
    match number.map(|number| number.div_ceil(100)) {
        Some(number) if number <= u64::from(limits::WIDTH) * u64::from(WHOLE) => Ok(number),
        _ => Err("hundredths of a device, like 50 for half of one, at most 1,000,000 devices".into()),
    }
}

#[cfg(test)]
mod tests;
