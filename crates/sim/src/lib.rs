//! A virtual world, and the workloads that are run in it.
pub mod workload;
