//! How large anything may be. Far above what a simulation can use, and low enough that a hostile or broken file
//! ends in a sentence instead of in the machine's memory.

/// Bytes of a file, before and after it is unpacked.
pub const FILE_BYTES: u64 = 2 << 30;
/// Bytes of a YAML text, which takes more room in memory than a table does. Larger workloads belong in CSV.
pub const YAML_BYTES: u64 = 256 << 20;
/// Values in a YAML text.
pub const YAML_VALUES: usize = 20_000_000;
/// How deep YAML may nest.
pub const YAML_DEPTH: usize = 32;
/// Jobs of one workload.
pub const JOBS: usize = 5_000_000;
/// Stages of one job.
pub const STAGES: usize = 256;
/// Roles of one stage.
pub const ROLES: usize = 16;
/// Tasks of one job of a published trace, and models that one of its tasks accepts.
pub const LISTED: usize = 1_000;
/// Devices of one cluster.
pub const DEVICES: u64 = 1_000_000;
/// Levels of the topology above the node.
pub const LEVELS: usize = 16;
/// Devices of one ask, over all its members.
pub const WIDTH: u32 = 1_000_000;
/// Tasks of one bag, replicas of one service.
pub const TASKS: u32 = 1_000_000;
/// Retries of a job, and failures in its truth.
pub const RETRIES: u32 = 1_000_000;
/// Characters of a name.
pub const NAME: usize = 256;
/// Memory of one device: a pebibyte.
pub const MEMORY_BYTES: u64 = 1 << 50;
/// Variables of one environment.
pub const VARIABLES: usize = 4_096;
/// Bytes of one variable, and of one argument: what Linux takes.
pub const VARIABLE_BYTES: usize = 128 << 10;
/// Bytes of one environment.
pub const ENVIRONMENT_BYTES: usize = 1 << 20;
/// Bytes of a script, and of a program with its arguments.
pub const COMMAND_BYTES: usize = 1 << 20;
/// Bytes of a path.
pub const PATH_BYTES: usize = 4_096;
