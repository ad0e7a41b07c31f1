//! Why something is not running now. Nothing is wrong; it is just not its turn, or there is no room.

use crate::cluster::{Pool, Thousandths, memory_words};
use crate::id::{AllocationId, AskId, JobId};
use crate::time::{Span, Time};
use std::fmt;

/// What `explain` answers about one job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The job.
    pub job: JobId,
    /// One entry for each group of asks in the same position, in order of stages.
    pub asks: Vec<(AskId, Reason)>,
}

/// Why an ask is not running, or that it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It runs.
    Running {
        /// Since when.
        since: Time,
        /// On how many devices.
        devices: u32,
        /// The level it would have liked to be within, and is not.
        apart: Option<String>,
    },
    /// It is getting another placement.
    Resizing {
        /// Devices that it runs on.
        devices: u32,
        /// Workers that it has.
        from: u32,
        /// Workers that it will have.
        to: u32,
        /// Whether it runs on meanwhile; otherwise its attempt is ending and the next one starts with the new placement.
        in_place: bool,
        /// Allocations that have to release devices first.
        after: Vec<AllocationId>,
    },
    /// Devices are granted; the world is bringing it up.
    Starting,
    /// Nothing is in its way: the next plan starts it.
    Next,
    /// It has been told to end and is releasing its devices.
    Releasing,
    /// It has ended.
    Done,
    /// Somebody paused the job.
    Paused,
    /// Other jobs must end first.
    AfterJobs(Vec<JobId>),
    /// Stages of the same job must end first, by name.
    AfterStages(Vec<String>),
    /// It failed or was refused, and waits a while before it tries again.
    BackingOff {
        /// Until when.
        until: Time,
        /// Why the last attempt ended.
        last: String,
    },
    /// It lost its node, and the world has not reported yet that the lost attempt is over.
    EarlierAttempt {
        /// The number of that attempt.
        attempt: u32,
        /// The node that was given up.
        node: String,
    },
    /// Starting it would take its tenant over its ceiling.
    Ceiling {
        /// The tenant.
        tenant: String,
        /// The kind of device.
        kind: String,
        /// Devices it may use.
        ceiling: u32,
        /// Thousandths of a device in use.
        in_use: u64,
        /// Thousandths of a device asked for.
        needs: u64,
    },
    /// The same with what it asks for of hosts.
    HostCeiling {
        /// The tenant.
        tenant: String,
        /// Which part of the hosts.
        pool: Pool,
        /// Amount it may use.
        ceiling: u64,
        /// Amount in use, whether it was asked for or only counted.
        in_use: u64,
        /// Amount asked for.
        needs: u64,
    },
    /// Something ahead in a strict queue cannot start.
    Behind {
        /// The first in line.
        head: AskId,
        /// Its name.
        name: String,
        /// The queue's name.
        queue: String,
    },
    /// There is no room.
    NoRoom {
        /// What it needs, in words: `16 h200`.
        needs: String,
        /// Free devices that would do, were there enough or in the right place; by kind.
        free: Vec<(String, u32)>,
        /// The same on nodes that take no new work just now.
        closed: u32,
        /// The same in the hands of somebody we do not schedule.
        foreign: u32,
        /// The same that are ill.
        ill: u32,
        /// Set when enough are free, but not together or not with enough memory.
        scattered: bool,
        /// Set when it also needs a part of a node's processors or memory.
        hosted: bool,
        /// Of the nodes with enough free devices, the one that lacks least of what is asked for beside them, and what it
        /// has left of that: `3 cpus`.
        nearest: Option<(String, String)>,
        /// Who holds what it could use, soonest to end first; the first few.
        holders: Vec<Holder>,
        /// How many others do.
        others: u32,
        /// Set when not even an empty cluster would do: how many members it can hold at most.
        most: Option<u32>,
    },
    /// Its devices are promised and being given back by others.
    Promised(Vec<AllocationId>),
    /// There may be room, and the policy leaves it for later.
    Deferred {
        /// The policy.
        policy: String,
        /// Why, in its own words: a clause without a full stop.
        why: String,
    },
    /// The policy did not get to it.
    NotReached,
}

/// A job that holds devices which would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The job.
    pub job: JobId,
    /// Its name.
    pub name: String,
    /// How many.
    pub devices: u32,
    /// When it ends, as far as we believe.
    pub until: Option<Time>,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.tell(f, None)
    }
}

impl Reason {
    /// The same for people whose clock shows `now`: times are told as the span until then, and jobs with their ids.
    pub fn told(&self, now: Time) -> impl fmt::Display + '_ {
        Told { reason: self, now }
    }

    fn tell(&self, f: &mut fmt::Formatter<'_>, now: Option<Time>) -> fmt::Result {
        match self {
            Reason::Running { devices, apart, .. } => {
                write!(f, "runs on {devices} device{}", plural(*devices))?;
                match apart {
                    None => Ok(()),
                    Some(level) => {
                        write!(f, ", not within one {level}: none had room for it when it was placed")
                    }
                }
            }
            Reason::Resizing { devices, from, to, in_place, after } => {
                let what = match (from == to, in_place) {
                    (true, true) => "is being moved to other devices".into(),
                    (true, false) => "is being restarted on other devices".into(),
                    (false, true) => format!("is being resized from {from} to {to} workers"),
                    (false, false) => format!("is being restarted with {to} workers instead of {from}"),
                };
                if *in_place {
                    write!(f, "runs on {devices} device{} and ", plural(*devices))?;
                }
                f.write_str(&what)?;
                match after.is_empty() {
                    true => Ok(()),
                    false => write!(f, ", once {} has released its devices", list(after)),
                }
            }
            Reason::Starting => f.write_str("is starting"),
            Reason::Next => f.write_str("starts with the next plan"),
            Reason::Releasing => f.write_str("is releasing its devices"),
            Reason::Done => f.write_str("has ended"),
            Reason::Paused => f.write_str("is paused"),
            Reason::AfterJobs(jobs) => {
                write!(f, "waits for job{} {}", plural(jobs.len() as u32), listed(jobs))
            }
            Reason::AfterStages(stages) => write!(f, "waits for stage {}", list(stages)),
            Reason::BackingOff { until, last } => match now {
                None => write!(f, "retries at {until}: {last}"),
                Some(now) => write!(f, "retries in {}: {last}", left(*until, now)),
            },
            Reason::EarlierAttempt { attempt, node } => {
                write!(f, "waits until attempt {attempt}, lost with node {node}, has ended")
            }
            Reason::Ceiling { tenant, kind, ceiling, in_use, needs } => write!(
                f,
                "tenant {tenant} is limited to {ceiling} {kind}: {} in use, {} more needed",
                Thousandths(*in_use),
                Thousandths(*needs)
            ),
            Reason::HostCeiling { tenant, pool: Pool::Cpu, ceiling, in_use, needs } => {
                let plural = if *ceiling == 1000 { "" } else { "s" };
                let [ceiling, in_use, needs] = [ceiling, in_use, needs].map(|amount| Thousandths(*amount));
                write!(
                    f,
                    "tenant {tenant} is limited to {ceiling} cpu{plural}: {in_use} in use, {needs} more needed"
                )
            }
            Reason::HostCeiling { tenant, pool: Pool::Memory, ceiling, in_use, needs } => {
                let [ceiling, in_use, needs] = [ceiling, in_use, needs].map(|amount| memory_words(*amount));
                write!(
                    f,
                    "tenant {tenant} is limited to {ceiling} of host memory: {in_use} in use, {needs} more needed"
                )
            }
            Reason::Behind { head, name, queue } => {
                write!(f, "is behind {} in queue {queue}", called(head.job, name, now))
            }
            Reason::NoRoom {
                needs,
                free,
                closed,
                foreign,
                ill,
                scattered,
                hosted,
                nearest,
                holders,
                others,
                most,
            } => {
                let holders = merged(holders);
                write!(f, "needs {needs}, ")?;
                match free.as_slice() {
                    [] => f.write_str("0 free")?,
                    [(_, count)] => write!(f, "{count} free")?,
                    kinds => {
                        let kinds = kinds.iter().map(|(kind, count)| format!("{count} {kind}"));
                        write!(f, "{} free", kinds.collect::<Vec<_>>().join(" and "))?;
                    }
                }
                match (scattered, hosted, nearest) {
                    (false, ..) => {}
                    (true, false, _) => f.write_str(" but not together")?,
                    (true, true, None) => f.write_str(" but not together with the rest")?,
                    (true, true, Some((node, left))) => write!(f, " but node {node} has {left} left")?,
                }
                for holder in holders.iter().take(3) {
                    let name = called(holder.job, &holder.name, now);
                    match *scattered && *hosted {
                        true => write!(f, ", host shared with {name}")?,
                        false => write!(f, ", {} held by {name}", holder.devices)?,
                    }
                    match (holder.until, now) {
                        (None, _) => {}
                        (Some(until), None) => write!(f, " until about {until}")?,
                        (Some(until), Some(now)) if until <= now => f.write_str(", due to end")?,
                        (Some(until), Some(now)) => write!(f, " for about {} more", left(until, now))?,
                    }
                }
                match holders.len().saturating_sub(3) + *others as usize {
                    0 => {}
                    1 => f.write_str(", and more by another")?,
                    more => write!(f, ", and more by {more} others")?,
                }
                if *foreign > 0 {
                    write!(f, ", {foreign} in use by others")?;
                }
                if *ill > 0 {
                    write!(f, ", {ill} unhealthy")?;
                }
                if *closed > 0 {
                    write!(f, ", {closed} on nodes that take no new work")?;
                }
                match most {
                    None => {}
                    Some(0) => {
                        f.write_str("; it can never start here: the whole cluster has no room for it")?
                    }
                    Some(most) => {
                        write!(f, "; it can never start here: the whole cluster has room for {most}")?
                    }
                }
                Ok(())
            }
            Reason::Promised(from) => write!(f, "waits for devices that {} is releasing", list(from)),
            Reason::Deferred { policy, why } => write!(f, "is deferred by {policy}: {why}"),
            Reason::NotReached => f.write_str("has not been considered yet"),
        }
    }
}

/// Tasks of one job that end at the same time, as far as we tell, are told as one.
fn merged(holders: &[Holder]) -> Vec<Holder> {
    let mut merged: Vec<Holder> = vec![];
    for holder in holders {
        let is_same = |other: &&mut Holder| (other.job, other.until) == (holder.job, holder.until);
        match merged.iter_mut().find(is_same) {
            Some(other) => other.devices += holder.devices,
            None => merged.push(holder.clone()),
        }
    }
    merged
}

/// A job as people find it again; in a story, where names are unique, the name alone.
fn called(job: JobId, name: &str, now: Option<Time>) -> String {
    now.map_or_else(|| name.into(), |_| format!("job {job} ({name})"))
}

struct Told<'a> {
    reason: &'a Reason,
    now: Time,
}

impl fmt::Display for Told<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.reason.tell(f, Some(self.now))
    }
}

/// The time until then, in whole seconds once it is more than one.
fn left(until: Time, now: Time) -> Span {
    let span = (until - now).max(Span::ZERO);
    if span > Span::seconds(1) {
        Span::seconds(span.0 / 1_000_000_000)
    } else {
        Span(span.0 / 1_000_000 * 1_000_000)
    }
}

fn plural(count: u32) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// `7`, `7 and 8`, `7, 8 and 9`.
fn listed<T: fmt::Display>(items: &[T]) -> String {
    match items {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", list(first)),
        _ => list(items),
    }
}

fn list<T: fmt::Display>(items: &[T]) -> String {
    items.iter().map(T::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_that_holds_devices_twice_is_named_once() {
        let holder = |job: u64, devices, until| Holder { job: JobId(job), name: "j".into(), devices, until };
        let reason = Reason::NoRoom {
            needs: "9 a".into(),
            free: vec![("a".into(), 0)],
            closed: 0,
            foreign: 0,
            ill: 0,
            scattered: false,
            hosted: false,
            nearest: None,
            holders: vec![holder(37, 3, None), holder(37, 5, None), holder(37, 1, Some(Time::seconds(60)))],
            others: 0,
            most: Some(8),
        };
        let told = reason.told(Time::ZERO).to_string();
        let says = "needs 9 a, 0 free, 8 held by job 37 (j), 1 held by job 37 (j) for about 1m more; it can never start \
                    here: the whole cluster has room for 8";
        assert_eq!(told, says);
    }
}
