//! What is sent and answered.
//!
//! Keys are lower case with underscores, values of a fixed set lower case with hyphens. What may be absent is `null`,
//! never left out, so that a script can rely on every key. [`Problem`] is the one shape of everything that went wrong.

mod cluster;
mod job;
mod server;

pub use cluster::{Device, DeviceState, Node, NodeState, Queue, QueueChange, Quota, Tenant, TenantChange};
pub use job::{
    Acted, Ask, AskReason, AskedFor, Explanation, Job, JobDetail, JobList, OutputLost, Progress, RanOn,
    Reported, State, StoryLine, Submitted,
};
pub use server::{
    EventActor, EventChange, EventLine, Problem, Rejection, Shutdown, Status, Workers, World, WorldLine,
};
