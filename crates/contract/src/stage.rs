//! What a new world has to provide.
//!
//! For: cases that know nothing of processes, pods or virtual time.
//! Promises: small; everything that differs between worlds is behind it.
//! Never: judges. A stage says what it sees, a case says what that means.

use consort_types::{AllocationId, Capabilities, Input, JobId, JobSpec, Shape, Span, Time, World};
use std::sync::Arc;

/// How long work that ends by itself takes, more or less.
pub const WHILE: Span = Span(50_000_000);

/// A world and what surrounds it.
pub trait Stage {
    /// What is examined.
    type World: World;

    /// What it is able to do.
    const CAPABILITIES: Capabilities;

    /// Longer than anything takes in it, on whatever machine.
    const PATIENCE: Span = Span::seconds(30);

    /// Whether no worker of a gang begins before all of them are there; otherwise only their devices are granted at once.
    const TOGETHER: bool = true;

    /// The status that work ends with when it fails.
    const FAILURE: i32;

    /// Inputs that describe the cluster: kinds, nodes with at least four devices of one kind in all, the tenant and the
    /// queue called `default`.
    fn cluster(&self) -> Vec<Input>;

    /// What one worker of the cases needs: a device of the kind of which there are at least four.
    fn shape() -> Shape {
        Shape::any()
    }

    /// Opens the world, for the first time or after its owner died without a word. Whatever it still has of an earlier
    /// life and is not among `desired` is nobody's.
    fn open(&mut self, desired: &[AllocationId]) -> Self::World;

    /// What the job that is about to be submitted will do. An id may come again when a journal lost its end.
    fn prepare(&mut self, job: JobId, spec: &Arc<JobSpec>, part: Part);

    /// What the clock shows.
    fn now(&self) -> Time;

    /// Lets time pass until then, or until the world has something to say. There may be no world just now.
    fn pass(&mut self, world: Option<&Self::World>, until: Time);

    /// Who really works for an allocation, if that can be seen.
    fn crew(&self, allocation: AllocationId) -> Option<Crew>;

    /// What is wrong with the world once everything is over and settled, as far as it can tell itself.
    fn complaints(&mut self) -> Vec<String> {
        vec![]
    }
}

/// What a job does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Every worker succeeds after [`WHILE`].
    Ends,
    /// The same, but so many first attempts fail, with [`Stage::FAILURE`].
    Fails(u32),
    /// Runs until it is told to go.
    Runs,
    /// The same, and exits with 0 when it is told to go. A worker counts as begun once it is ready for that.
    Saves,
    /// The world cannot start it. Of a gang, somebody could be started.
    CannotStart,
}

/// The workers of one allocation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Crew {
    /// Those who are there now, even if they still wait for the others.
    pub up: usize,
    /// Those who ever began to work; one that began twice counts twice.
    pub began: usize,
}
