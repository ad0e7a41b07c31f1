//! What the planner of whole pipelines will not do, each in one sentence with its remedy.

use std::fmt;

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// Nothing to cut.
    NoLayers,
    /// Nothing takes time, so nothing can be balanced.
    NoWork,
    /// A layer whose time or size is not a number of at least 0.
    Figure {
        /// The layer.
        layer: String,
        /// Which figure of it.
        what: &'static str,
    },
    /// Layers that feed each other in a circle, the first again at the end.
    Cycle(Vec<String>),
    /// An edge that names no layer.
    Edge(usize),
    /// Nobody to do it.
    NoDevices,
    /// A host whose devices are of no known kind.
    Kind {
        /// The host.
        host: String,
        /// What it calls its devices.
        kind: String,
    },
    /// A kind that is not faster than nothing, or has no memory.
    Useless(String),
    /// Factors that are not one for each layer.
    Factors {
        /// The kind.
        kind: String,
        /// How many it has.
        found: usize,
        /// How many layers there are.
        layers: usize,
    },
    /// Kept bytes that are not one for each layer.
    Kept {
        /// How many there are.
        found: usize,
        /// How many layers there are.
        layers: usize,
    },
    /// A host whose devices do not divide into its islands.
    Hierarchy {
        /// The host.
        host: String,
        /// Its devices.
        devices: u32,
        /// Devices of one island.
        island: u32,
    },
    /// Hosts that meet nowhere, or a link without speed.
    Link(String),
    /// A layer that no device can hold, however it is divided.
    Layer {
        /// The layer.
        layer: String,
        /// What it takes at least, in bytes.
        needed: f64,
        /// The largest memory there is.
        largest: f64,
    },
    /// A batch that cannot be cut into so many microbatches of whole samples.
    Uneven {
        /// Samples of one iteration.
        samples: u64,
        /// How many microbatches were asked for.
        asked: u32,
    },
    /// Replicas on all devices that cannot have so many microbatches each.
    Replicas {
        /// Samples of one iteration.
        samples: u64,
        /// How many microbatches were asked for; none in particular if absent.
        asked: Option<u32>,
        /// Devices.
        devices: usize,
    },
    /// Bytes for a parameter that are no number from 0.
    State,
    /// Fewer samples than devices.
    Samples {
        /// Samples of one iteration.
        samples: u64,
        /// Devices.
        devices: usize,
    },
    /// A batch or a number of microbatches of 0, or more microbatches than samples.
    Microbatches {
        /// How many were asked for.
        asked: u32,
        /// How many there may be.
        most: u64,
    },
    /// A size of the batch that is not above 0.
    Batch,
    /// No schedule to choose from.
    NoSchedule,
    /// More than is planned here.
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many.
        found: usize,
        /// How many there may be.
        most: usize,
    },
    /// Every layer fits somewhere, but nothing that was tried fits as a whole.
    Memory {
        /// The device that is shortest of memory in the best attempt.
        device: String,
        /// What it would need, in bytes.
        needed: f64,
        /// What it has.
        has: f64,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        const GIB: f64 = 1_073_741_824.0;
        // What is needed is rounded up and what there is down, so that what is told would do.
        let up = |bytes: f64| format!("{:.2} GiB", (bytes / GIB * 100.0).ceil() / 100.0);
        let down = |bytes: f64| format!("{:.2} GiB", (bytes / GIB * 100.0).floor() / 100.0);
        match self {
            Refusal::NoLayers => write!(to, "no layers to plan for; give a profile with layers"),
            Refusal::NoWork => {
                write!(to, "no layer takes any time; give a profile with measured times")
            }
            Refusal::Figure { layer, what } => {
                write!(to, "the {what} of layer `{layer}` is missing or negative; measure it again")
            }
            Refusal::Cycle(layers) => {
                write!(to, "the layers {} form a cycle; break it", layers.join(", "))
            }
            Refusal::Edge(number) => {
                write!(to, "edge {} names an unknown layer; remove it", number + 1)
            }
            Refusal::NoDevices => write!(to, "no devices to plan for; name at least one"),
            Refusal::Kind { host, kind } => {
                write!(to, "unknown kind `{kind}` of host `{host}`; describe it")
            }
            Refusal::Useless(kind) => {
                write!(to, "the kind `{kind}` has no speed or no memory; give it both above 0")
            }
            Refusal::Factors { kind, found, layers } => write!(
                to,
                "the kind `{kind}` has {found} factors for {layers} layers; give one for each layer or none"
            ),
            Refusal::Kept { found, layers } => {
                write!(to, "kept bytes are given for {found} of {layers} layers; give one for each or none")
            }
            Refusal::Hierarchy { host, devices, island } => write!(
                to,
                "the {devices} devices of host `{host}` do not divide into islands of {island}; correct either"
            ),
            Refusal::Link(what) => write!(to, "{what} has no bandwidth above 0; give it one"),
            Refusal::Layer { layer, needed, largest } => write!(
                to,
                "layer `{layer}` fits on no device: it takes at least {} and the largest has {}; use devices \
                 with that much memory or divide the layer",
                up(*needed),
                down(*largest)
            ),
            Refusal::Samples { samples, devices } => write!(
                to,
                "a batch of {samples} is smaller than the number of devices, {devices}; use a larger batch or fewer \
                 devices"
            ),
            Refusal::Uneven { samples, asked } => write!(
                to,
                "a batch of {samples} cannot be cut into {asked} microbatches of whole samples; ask for a number \
                 that divides it"
            ),
            Refusal::Replicas { samples, asked: Some(asked), devices } => write!(
                to,
                "a batch of {samples} cannot be divided into {asked} microbatches of whole samples on each of {devices} \
                 devices; ask for another number of microbatches or none"
            ),
            Refusal::Replicas { samples, asked: None, devices } => write!(
                to,
                "a batch of {samples} cannot be divided among {devices} devices; choose one that their number divides"
            ),
            Refusal::State => write!(
                to,
                "the bytes that weights, gradients and optimizer take for a parameter are not a number; give them \
                 like 16"
            ),
            Refusal::Microbatches { asked, most } => {
                write!(to, "{asked} microbatches are not possible; ask for 1 to {most}")
            }
            Refusal::Batch => write!(to, "the batch is not above 0; give its size"),
            Refusal::NoSchedule => write!(to, "no schedules to choose from; allow at least one"),
            Refusal::TooMany { what, found, most } => {
                write!(to, "{found} {what} are more than can be planned; give at most {most}")
            }
            Refusal::Memory { device, needed, has } => write!(
                to,
                "no plan was found that fits: the nearest needs {} on `{device}`, which has {}; use more \
                 devices, more memory or more microbatches",
                up(*needed),
                down(*has)
            ),
        }
    }
}

impl std::error::Error for Refusal {}
