//! Names for things. Every id is a newtype, so that a node cannot be mistaken for a device.
//!
//! Ids are small integers handed out in order, which makes "ties fall to the lowest id" mean "first come, first
//! served" everywhere. They are never reused within one journal.

use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident($inner:ty) $prefix:literal from $first:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub struct $name(pub $inner);

        impl $name {
            /// The id as an index into a dense table.
            pub fn index(self) -> usize {
                self.0.wrapping_sub($first) as usize
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }
    )*};
}

ids! {
    /// What was submitted, in order of acceptance; people count from 1.
    JobId(u64) "" from 1;
    /// Who owns work and is owed a share.
    TenantId(u32) "tenant " from 0;
    /// A waiting line.
    QueueId(u32) "queue " from 0;
    /// One machine.
    NodeId(u32) "node " from 0;
    /// One grantable accelerator, counted over the whole cluster.
    DeviceId(u32) "device " from 0;
    /// A kind of device.
    KindId(u32) "kind " from 0;
}

/// The smallest thing that is granted or refused as a whole: a gang, one task of a bag, or one replica of a
/// service. Most jobs are exactly one ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AskId {
    /// The job it belongs to.
    pub job: JobId,
    /// Which of the job's stages.
    pub stage: u16,
    /// Which task of the bag or replica of the service; 0 for a gang.
    pub task: u32,
}

impl AskId {
    /// The only ask of a job that has one stage, and that stage a gang.
    pub fn whole(job: JobId) -> Self {
        Self { job, stage: 0, task: 0 }
    }
}

impl fmt::Display for AskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.stage, self.task) {
            (0, 0) => write!(f, "{}", self.job),
            (stage, 0) => write!(f, "{}.{stage}", self.job),
            (stage, task) => write!(f, "{}.{stage}[{task}]", self.job),
        }
    }
}

/// One attempt at one ask. The attempt number is what fences late news: an observation about attempt 2 cannot
/// touch attempt 3, however late it arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AllocationId {
    /// What was granted its devices.
    pub ask: AskId,
    /// Counts from 1 and rises at every start.
    pub attempt: u32,
}

impl fmt::Display for AllocationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.ask, self.attempt)
    }
}
