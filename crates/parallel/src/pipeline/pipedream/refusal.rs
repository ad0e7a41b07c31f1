//! Why a network is not cut.

use std::fmt;

/// Why a network is not cut.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// Nothing but inputs.
    Empty,
    /// An edge names a layer that is not there.
    Edge {
        /// From, to.
        edge: (usize, usize),
        /// How many layers there are.
        layers: usize,
    },
    /// A time or size that is not a number, or negative.
    Figure {
        /// Whose.
        layer: String,
    },
    /// Layers feed each other.
    Cycle {
        /// The circle; the first is there again at the end.
        layers: Vec<String>,
    },
    /// The network is in two parts.
    Apart {
        /// A layer of the other part.
        layer: String,
        /// The first layer.
        first: String,
    },
    /// More layers than are cut.
    TooManyLayers {
        /// How many there are.
        layers: usize,
        /// How many may be.
        most: usize,
    },
    /// More ways to stand in the network than are looked at.
    TooManyStates {
        /// How many may be.
        most: usize,
    },
    /// Fewer places to cut than a straight pipeline has stages.
    TooFewStates {
        /// How many stages it can be cut into.
        stages: usize,
        /// How many it would be.
        machines: usize,
    },
    /// No level of machines, or more than are looked at.
    Levels {
        /// How many there are.
        levels: usize,
        /// How many may be.
        most: usize,
    },
    /// A level without machines.
    NoMachines {
        /// Counted from 1, innermost first.
        level: usize,
    },
    /// More machines than are looked at.
    TooManyMachines {
        /// All levels added up.
        machines: usize,
        /// How many may be.
        most: usize,
    },
    /// A bandwidth that is not positive.
    Bandwidth {
        /// Counted from 1, innermost first.
        level: usize,
        /// What was given.
        bandwidth: f64,
    },
    /// A ratio that is not positive.
    Ratio {
        /// What was given.
        ratio: f64,
    },
    /// An amount of memory that is not positive.
    Memory {
        /// What was given.
        bytes: f64,
    },
    /// No straight pipeline fits.
    NoRoom {
        /// The largest layer of the stage that lacks most.
        layer: String,
        /// The least memory of a machine with which a pipeline fits.
        least_bytes: f64,
        /// What was given.
        bytes: f64,
    },
    /// The search was ended.
    TooLong {
        /// How many candidates were looked at.
        tried: u64,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Empty => write!(f, "the network has no layers but inputs; give layers that compute"),
            Refusal::Edge { edge: (from, to), layers } => write!(
                f,
                "the edge from layer {from} to layer {to} leaves the network of {layers} layers; correct it"
            ),
            Refusal::Figure { layer } => {
                write!(f, "layer {layer} has a time or size that is negative or not a number; correct it")
            }
            Refusal::Cycle { layers } => {
                write!(f, "the layers {} form a cycle; break it", layers.join(", "))
            }
            Refusal::Apart { layer, first } => write!(
                f,
                "layer {layer} has no connection with layer {first}; join them by an edge or plan them apart"
            ),
            Refusal::TooManyLayers { layers, most } => {
                write!(f, "the network has {layers} layers and at most {most} are planned; group layers")
            }
            Refusal::TooManyStates { most } => write!(
                f,
                "the branches of the network can be cut in more than {most} ways; group the layers of a branch into one"
            ),
            Refusal::TooFewStates { stages, machines } => write!(
                f,
                "the network can be cut into at most {stages} stages, not {machines}; use fewer machines or allow replicas"
            ),
            Refusal::Levels { levels: 0, .. } => write!(f, "no machines are given; give at least one level"),
            Refusal::Levels { levels, most } => {
                write!(f, "the machines are in {levels} levels and at most {most} are planned; join levels")
            }
            Refusal::NoMachines { level } => write!(f, "level {level} has no machines; give at least 1"),
            Refusal::TooManyMachines { machines, most } => write!(
                f,
                "the levels have {machines} machines in sum and at most {most} are planned; arrange them in more levels"
            ),
            Refusal::Bandwidth { level, bandwidth } => write!(
                f,
                "level {level} has a bandwidth of {bandwidth} bytes per second; give one that is positive"
            ),
            Refusal::Ratio { ratio } => {
                write!(f, "activations are to be divided by {ratio}; give a ratio that is positive")
            }
            Refusal::Memory { bytes } => {
                write!(f, "a machine has {bytes} bytes of memory; give an amount that is positive")
            }
            Refusal::NoRoom { layer, least_bytes, bytes } => write!(
                f,
                "the stage with layer {layer} does not fit in {bytes:.0} bytes of memory; give {least_bytes:.0} or allow replicas"
            ),
            Refusal::TooLong { tried } => {
                write!(f, "no answer after {tried} candidates; group layers or use fewer machines")
            }
        }
    }
}

impl std::error::Error for Refusal {}
