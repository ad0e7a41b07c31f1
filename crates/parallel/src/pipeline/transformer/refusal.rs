//! What the planner for transformers will not do.

use super::Request;
use std::fmt;

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// A size that is 0, or larger than anything that is built.
    Size {
        /// Which.
        what: &'static str,
        /// Its value.
        value: u64,
        /// The largest that is planned.
        most: u64,
    },
    /// Heads that do not divide the width.
    Heads {
        /// Heads.
        heads: u32,
        /// Width.
        hidden: u64,
    },
    /// A speed that is not above 0.
    Speed(&'static str),
    /// Devices that do not fill their hosts.
    Hosts {
        /// Devices.
        devices: u32,
        /// Devices of a host.
        per_host: u32,
    },
    /// Nothing fits.
    Memory {
        /// The least that any plan needs on a device.
        needed: f64,
        /// What a device has.
        has: f64,
    },
    /// Fewer sequences than devices.
    Few {
        /// Devices.
        devices: u32,
        /// Sequences of one iteration.
        batch: u64,
    },
    /// A number of microbatches that suits no factorisation.
    Microbatches {
        /// How many were asked for.
        asked: u32,
        /// Sequences of one iteration.
        batch: u64,
    },
    /// Replicas on all devices that cannot have so many microbatches each.
    Replicas {
        /// How many were asked for.
        asked: u32,
        /// Sequences of one iteration.
        batch: u64,
        /// Devices.
        devices: u32,
    },
    /// No way to divide the batch by the devices.
    NoFactors {
        /// Devices.
        devices: u32,
        /// Sequences.
        batch: u64,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        const GIB: f64 = 1_073_741_824.0;
        match self {
            Refusal::Size { what, value, most } => {
                write!(to, "invalid {what} {value}; give 1 to {most}")
            }
            Refusal::Heads { heads, hidden } => {
                write!(to, "{heads} heads do not divide a width of {hidden}; correct either")
            }
            Refusal::Speed(what) => write!(to, "the {what} is not above 0; give one"),
            Refusal::Hosts { devices, per_host } => {
                write!(to, "{devices} devices do not fill hosts of {per_host}; correct either")
            }
            Refusal::Memory { needed, has } => write!(
                to,
                "no plan fits: each needs at least {:.2} GiB on a device, which has {:.2} GiB; use more devices or more \
                 memory",
                (needed / GIB * 100.0).ceil() / 100.0,
                (has / GIB * 100.0).floor() / 100.0
            ),
            Refusal::NoFactors { devices, batch } => write!(
                to,
                "a batch of {batch} cannot be divided among {devices} devices; choose one that their number divides"
            ),
            Refusal::Replicas { asked, batch, devices } => write!(
                to,
                "a batch of {batch} cannot be divided into {asked} microbatches of whole sequences on each of {devices} \
                 devices; ask for another number of microbatches or none"
            ),
            Refusal::Few { devices, batch } => write!(
                to,
                "a batch of {batch} is smaller than the number of devices, {devices}; use a larger batch or fewer \
                 devices"
            ),
            Refusal::Microbatches { asked, batch } => write!(
                to,
                "no factorisation of the devices leaves {asked} microbatches of whole sequences of a batch of {batch}; \
                 ask for another number or none"
            ),
        }
    }
}

impl std::error::Error for Refusal {}

/// Refuses sizes that cannot be.
pub fn check(request: &Request) -> Result<(), Refusal> {
    let shape = &request.shape;
    let sizes = [
        ("number of layers", u64::from(shape.layers), 4096),
        ("width", shape.hidden, 1 << 20),
        ("number of heads", u64::from(shape.heads), 1 << 16),
        ("length of a sequence", shape.sequence, 1 << 24),
        ("vocabulary", shape.vocabulary, 1 << 28),
        ("inner width", shape.inner, 1 << 24),
        ("batch", request.batch, 1 << 24),
        ("number of devices", u64::from(request.devices), 1 << 17),
        ("number of devices in a host", u64::from(request.per_host), 1 << 17),
        ("number of microbatches", u64::from(request.microbatches.unwrap_or(1)), 1 << 20),
    ];
    if let Some(&(what, value, most)) = sizes.iter().find(|(_, value, most)| !(1..=*most).contains(value)) {
        return Err(Refusal::Size { what, value, most });
    }
    if request.batch < u64::from(request.devices) {
        return Err(Refusal::Few { devices: request.devices, batch: request.batch });
    }
    if !shape.hidden.is_multiple_of(shape.heads.into()) {
        return Err(Refusal::Heads { heads: shape.heads, hidden: shape.hidden });
    }
    let speeds = [
        ("bandwidth inside a host", request.inside.bandwidth),
        ("bandwidth between hosts", request.between.bandwidth),
        ("speed of a device", request.operations_per_s),
        ("memory of a device", request.memory_bytes),
    ];
    if let Some((what, _)) = speeds.iter().find(|(_, speed)| *speed <= 0.0 || speed.is_nan()) {
        return Err(Refusal::Speed(what));
    }
    if request.devices > request.per_host && !request.devices.is_multiple_of(request.per_host) {
        return Err(Refusal::Hosts { devices: request.devices, per_host: request.per_host });
    }
    Ok(())
}
