//! The seam to a world: desired allocations in, inputs out.
//!
//! A world compares what is desired with what is, makes it so, and reports what it observes. It never consumes a
//! queue of commands that a crash could lose: after a crash it is simply told everything desired once more.

use crate::cluster::NodeSpec;
use crate::id::{AllocationId, DeviceId, NodeId};
use crate::input::Input;
use crate::plan::Placement;
use crate::refusal::Refusal;
use crate::time::Time;

/// What is desired of one allocation. Telling a world the same thing twice changes nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Desired {
    /// Which.
    pub allocation: AllocationId,
    /// Run, or be gone.
    pub wanted: Wanted,
}

/// Run, or be gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Be up on these devices.
    Run {
        /// On these.
        placement: Placement,
        /// Counts the resizes in place that were asked of this attempt; 0 until the first. A world that has the attempt up
        /// with an earlier generation makes members join and leave until it has this placement, and answers with
        /// `Resized`, or `ResizeRefused`, and the generation. What it has refused once it never carries out later. Of an
        /// earlier generation than it has nothing is believed.
        generation: u32,
    },
    /// End it and give everything back. Also told of attempts that were fenced, and of attempts that this world may never
    /// have heard of: the answer is always an `Ended` (or `StartRefused`) once nothing of it is left or can come up.
    Gone,
}

/// What a world is able to do. `check` respects it, so that the core never asks which world it is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Capabilities {
    /// Whether running work may be ended and started again later.
    pub preempts: bool,
    /// Whether a part of a device can be granted.
    pub shares: bool,
    /// How exactly a placement is followed.
    pub grain: Grain,
    /// How running work gets another placement.
    pub resize: Resize,
    /// Whether a member that does not say what it takes of its host is counted with its devices' share of it, as far as
    /// that much is left. A member never waits for what it did not ask for.
    pub counts_hosts: bool,
}

impl Capabilities {
    /// Of a world that can do everything but resize, which has to be declared. Hosts are counted as far as members ask for
    /// them, and no further.
    pub const ALL: Capabilities = Capabilities {
        preempts: true,
        shares: true,
        grain: Grain::Device,
        resize: Resize::No,
        counts_hosts: false,
    };
}

impl Default for Capabilities {
    fn default() -> Self {
        Self::ALL
    }
}

/// How running work gets another placement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Resize {
    /// It does not.
    #[default]
    No,
    /// Its attempt is asked to go, with the grace of the job, and the next one starts on the new placement.
    Restart,
    /// Members join and leave while it runs.
    InPlace,
}

/// How exactly a placement is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Grain {
    /// The very devices that were granted are used.
    Device,
    /// So many devices of each kind on each node: which of them, the world picks itself. Its nodes therefore have no
    /// islands that could be asked for.
    Node,
}

/// Where work really happens, or is imagined to.
///
/// What the scheduler relies on, checked for every world by `crates/contract`:
/// * `Ended` and `StartRefused` are said only once nothing of the attempt is left, nor can come up later. A node that was
///   fenced is no exception: an attempt on it that is desired gone is cancelled first.
/// * `Succeeded` is said only if every worker is known to have succeeded; never of a gang that lost one.
/// * `Resized` is said only once no worker is left on what the new placement lacks, and all its members are up;
///   `ResizeRefused` only if none has joined, nor can join later, and none has left. An attempt that cannot keep to either
///   is ended.
/// * A fenced node is said to join only once nothing of an earlier attempt is left on it, or can come up on it.
pub trait World {
    /// What this world is able to do.
    fn capabilities(&self) -> Capabilities;

    /// What is newly desired, at this moment.
    fn desire(&mut self, now: Time, changes: &[Desired]);

    /// When this world will next have something to say, if it knows.
    fn next_at(&self) -> Option<Time>;

    /// Appends what the world has to say at `now`, in the order in which it happened.
    fn observe(&mut self, now: Time, inputs: &mut Vec<Input>);

    /// What the scheduler calls a node that joined, and its first device; the others follow in order. Told whenever one
    /// joins, and for all nodes when the two are put together.
    fn joined(&mut self, _node: NodeId, _first: DeviceId, _spec: &NodeSpec) {}

    /// A node left for good. Its number, and those of its devices, may be given to a node that joins later.
    fn left(&mut self, _node: NodeId) {}

    /// Nothing of these need be kept: what the world said about their end is safe on disk, or the scheduler knows nothing
    /// of them. Whatever still runs of one is ended without a report.
    fn settled(&mut self, _ended: &[AllocationId]) {}

    /// Something it said was refused; usually stale news, which needs no answer.
    fn refused(&mut self, _now: Time, _input: &Input, _refusal: &Refusal) {}
}
