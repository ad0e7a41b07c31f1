//! The nouns of Consort.
//!
//! Every other room speaks with the words defined here. This crate holds plain data: what a job, a cluster, a
//! tenant, a plan, an input and a reason *are*, and the one seam that real and simulated worlds implement.
//! It decides nothing, reads no clock and touches no disk.
//!
//! | read | for |
//! |---|---|
//! | [`id`] | newtypes that name things; how a late message is fenced |
//! | [`time`] | instants and spans in whole nanoseconds, and how people write them |
//! | [`job`] | a job as a small graph of stages, made of roles, made of shapes |
//! | [`cluster`] | kinds of device, nodes, the levels of the topology |
//! | [`tenant`] | tenants, quotas, queues |
//! | [`plan`] | what a policy may ask for: moves, placements, grants |
//! | [`input`] | what arrives, and what it becomes once believed: events |
//! | [`actor`] | who caused an event, and from where |
//! | [`story`] | what happened to one job, its last few entries |
//! | [`narrate`] | events as sentences and as fields, with the names of [`directory`] |
//! | [`reason`] | why something is not running now (nothing is wrong) |
//! | [`refusal`] | why we will not do what was asked (something is wrong with the request) |
//! | [`vacancies`] | numbers of nodes and devices that are free again |
//! | [`work`] | what a job runs; only worlds look inside |
//! | [`world`] | desired allocations in, inputs out: simulator, one machine, Slurm, Kubernetes |
//! | [`file`] | what people write: job files, batch scripts, and how values are read |
//! | [`digest`] | a hash that is the same on every machine |

pub mod actor;
pub mod cluster;
pub mod constants;
pub mod digest;
pub mod directory;
pub mod file;
pub mod id;
pub mod input;
pub mod job;
pub mod narrate;
pub mod plan;
pub mod precision;
pub mod progress;
pub mod reason;
pub mod refusal;
pub mod story;
pub mod tenant;
pub mod time;
pub mod vacancies;
pub mod work;
pub mod world;

pub use actor::Actor;
pub use cluster::{
    CPU, DeviceGroup, Host, KindSpec, LevelSpec, NodeSpec, Pool, Settings, Thousandths, memory_words,
};
pub use constants::Constants;
pub use digest::Digest;
pub use directory::Directory;
pub use id::{AllocationId, AskId, DeviceId, JobId, KindId, NodeId, QueueId, TenantId};
pub use input::{Cause, Event, Fact, Illness, Input, Outcome};
pub use job::{
    Condition, Count, Dependency, Form, JobSpec, OnFailure, OnOom, Qos, Role, Shape, StageSpec, WHOLE,
};
pub use plan::{Claim, Fill, Grant, Move, Placement, Plan, Slot, StopCause};
pub use precision::Precision;
pub use progress::{Report, Sample};
pub use reason::{Explanation, Holder, Reason};
pub use refusal::{Refusal, Rule};
pub use story::{Entry as StoryEntry, Happened, Story};
pub use tenant::{QueueSpec, Quota, TenantSpec};
pub use time::{Span, Time, Total};
pub use vacancies::Vacancies;
pub use work::{Command, Grace, Limits, Output, StageWork, Variant, Work, Works};
pub use world::{Capabilities, Desired, Grain, Resize, Wanted, World};
