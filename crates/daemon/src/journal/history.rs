//! Jobs that have ended: one record each, written in the transaction that ended them.

use consort_api::Moment;
use consort_api::shapes::{Job, RanOn, State};
use consort_sched::{Ended, Ending};
use consort_types::{JobId, JobSpec, Span, Story, Time, Total};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What is kept of a job.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    /// Which.
    pub job: JobId,
    /// What was submitted.
    pub spec: Arc<JobSpec>,
    /// When.
    pub submitted: Time,
    /// When its first worker was up, if that ever happened.
    pub started: Option<Time>,
    /// When its last device was back.
    pub ended: Time,
    /// How it ended.
    pub ending: Kept,
    /// Why, in words.
    pub why: String,
    /// Exit status, if there was one.
    pub exit_code: Option<i32>,
    /// Time it waited: the mean over its asks.
    pub waited: Span,
    /// Time its asks ran, added up.
    pub served: Total,
    /// Times it was interrupted.
    pub restarts: u32,
    /// The part of these that was a plan's decision.
    pub preemptions: u32,
    /// Times it was started.
    pub attempts: u32,
    /// What it had of hosts: milliseconds of one processor. Nothing in records of versions before 0.2.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub used_cpu_ms: u64,
    /// And of one mebibyte of memory.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub used_memory_mib_ms: u64,
    /// What happened to it lately. Empty in records of versions before 0.2.
    #[serde(default)]
    pub story: Story,
    /// Where its last attempt ran. Absent in records of versions before 0.2, and where that ended before the last restart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ran_on: Option<RanOn>,
}

fn is_nothing(amount: &u64) -> bool {
    *amount == 0
}

/// An ending, as it is written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kept {
    /// All its work is done.
    Succeeded,
    /// It broke.
    Failed,
    /// Somebody ended it.
    Cancelled,
}

/// Which records are wanted.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Only jobs before this one.
    pub before: Option<JobId>,
    /// Only in one of these states; in any when empty.
    pub states: Vec<String>,
    /// Only of this tenant.
    pub tenant: Option<String>,
    /// Only of this queue.
    pub queue: Option<String>,
    /// Only of this name.
    pub name: Option<String>,
}

impl Record {
    /// What is worth keeping of a job that has just ended.
    pub fn of(ended: &Ended) -> Self {
        let ending = match ended.ending {
            Ending::Succeeded => Kept::Succeeded,
            Ending::Failed => Kept::Failed,
            Ending::Cancelled => Kept::Cancelled,
        };
        Record {
            job: ended.job,
            spec: ended.spec.clone(),
            submitted: ended.submitted,
            started: ended.started,
            ended: ended.ended,
            ending,
            why: ended.why.told(&ended.spec),
            exit_code: ended.why.exit_code(),
            waited: ended.waited,
            served: ended.served,
            restarts: ended.restarts,
            preemptions: ended.preemptions,
            attempts: ended.attempts,
            used_cpu_ms: ended.hosts.cpu_ms(),
            used_memory_mib_ms: ended.hosts.memory_mib_ms(),
            story: ended.story.clone(),
            ran_on: None,
        }
    }

    /// Its state, as people are told.
    pub fn state(&self) -> State {
        match self.ending {
            Kept::Succeeded => State::Succeeded,
            Kept::Failed => State::Failed,
            Kept::Cancelled => State::Cancelled,
        }
    }

    /// The job in one line.
    pub fn row(&self) -> Job {
        Job {
            id: self.job.0,
            name: self.spec.name.clone(),
            user: None,
            tenant: self.spec.tenant.clone(),
            queue: self.spec.queue.clone(),
            state: self.state(),
            reason: self.why.clone(),
            devices: self.spec.least_devices(),
            submitted: Moment(self.submitted),
            started: self.started.map(Moment),
            expected_start: None,
            ended: Some(Moment(self.ended)),
            exit_code: self.exit_code,
            priority: self.spec.priority,
            qos: self.spec.qos.to_string(),
            attempts: self.attempts,
            preemptions: self.preemptions,
            restarts: self.restarts,
            used_cpu_ms: self.used_cpu_ms,
            used_memory_mib_ms: self.used_memory_mib_ms,
            asks_for: crate::rows::asks_for(&self.spec),
        }
    }
}
