//! A virtual world around the same scheduler that runs real clusters.
//!
//! Nothing in here decides anything: the shipped [`consort_sched::Scheduler`] does, through `accept`, `apply`,
//! `plan` and `check`, exactly as elsewhere. What is in here is truth (how long work takes, what breaks), inputs
//! (workloads), and looking at the result (reports).
//!
//! | read | for |
//! |---|---|
//! | [`workload`] | readers of job lists, cluster files and what others publish; a seeded generator |
//! | [`world`] | the virtual world: delays, failures, late and duplicate news |
//! | [`run`] | one simulated run, with a journal in memory and crashes if wanted |
//! | [`report`] | what came out, in numbers |
//! | [`course`] | what happened over time, for pictures; kept only when asked for |
//! | [`peers`] | other people's simulators, quirks included, as policies like any other |
//! | [`swarm`] | seeded histories in which everything goes wrong, and what must hold all the same |
//! | [`bench`] | public benchmarks beside their anchors |
//! | [`scenario`] | small stories in plain text, with an expected ending |

pub mod bench;
pub mod course;
mod dice;
pub mod peers;
pub mod report;
pub mod run;
pub mod scenario;
pub mod swarm;
pub mod truth;
pub mod workload;
pub mod world;
