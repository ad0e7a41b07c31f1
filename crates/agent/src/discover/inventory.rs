//! What was found on this machine, in the order in which the scheduler will count it.
//!
//! For: a device granted by its position is the device that was found, and the same one tomorrow.
//! Promises: devices are sorted by kind (processors last), island and index, and stay so; the position in
//! [`Inventory::devices`] is the position in [`Inventory::node_spec`]; no two devices share an identity.
//! Never: asks the machine anything.

use super::declared::Search;
use super::pci::PCI;
pub use consort_types::CPU;
use consort_types::{DeviceGroup, Host, KindSpec, NodeSpec, Precision};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// One device that was found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundDevice {
    /// `h200`, `cpu`
    pub kind: String,
    /// `nvidia`; empty when nobody knows.
    pub vendor: String,
    /// Memory on it; 0 when it is not accounted for.
    pub memory_bytes: u64,
    /// Unlike any other device of this machine, and the same after a restart.
    pub identity: String,
    /// How its vendor, or the kernel for a processor, counts it.
    pub index: u32,
    /// The memory node it is near to.
    pub numa: Option<u32>,
    /// The variables that show it to a worker, and hide all others of its vendor.
    pub masks: Vec<Mask>,
    /// Device nodes.
    pub paths: Vec<PathBuf>,
    /// Processors near it; for a processor, itself.
    pub cpus: Vec<u32>,
    /// Devices of one kind with the same number are joined by a fast link.
    pub island: Option<u32>,
}

impl FoundDevice {
    /// The identity of the device of a kind that is declared with this number; nothing that is found has such a one.
    pub(super) fn declared(kind: &str, index: u32) -> String {
        format!("{kind}-{index}")
    }

    /// Whether it is there only because somebody said so, or is found by a search that is not among these: that it is not
    /// in an inventory then says nothing about the hardware.
    pub fn is_described_away(&self, searches: &[Search]) -> bool {
        let search = match self.kind.as_str() {
            _ if self.identity == Self::declared(&self.kind, self.index) => return true,
            CPU => Search::Cpu,
            _ if self.identity.starts_with(PCI) => Search::Pci,
            _ => Search::Nvidia,
        };
        !searches.contains(&search)
    }
}

/// How one device is shown to a worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mask {
    /// `CUDA_VISIBLE_DEVICES`
    pub variable: String,
    /// What stands for this device in it; its number among those the worker is given when absent.
    pub value: Option<String>,
}

impl Mask {
    /// A variable in which this device has a fixed name.
    pub fn fixed(variable: &str, value: impl Into<String>) -> Self {
        Self { variable: variable.into(), value: Some(value.into()) }
    }

    /// A variable in which the worker's devices are counted from 0.
    pub fn counted(variable: &str) -> Self {
        Self { variable: variable.into(), value: None }
    }
}

/// What this machine has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inventory {
    /// What the machine calls itself.
    pub hostname: String,
    devices: Vec<FoundDevice>,
    /// Processors and memory of the machine, as far as we may use them.
    #[serde(default)]
    pub host: Host,
    /// What its owner says of kinds of device.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub declared: Vec<KindSpec>,
    /// `HOME`, `LOGNAME`, `SHELL` and `USER` of the user who runs workers here, as far as the machine's list of users says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub login: Vec<(String, String)>,
    /// What was looked for and not found, or could not be told; in words.
    pub notes: Vec<String>,
}

impl Inventory {
    /// Puts what was found in order. A device found twice counts once, the first time.
    pub fn new(hostname: impl Into<String>, found: Vec<FoundDevice>, notes: Vec<String>) -> Self {
        let mut seen = BTreeSet::new();
        let mut devices: Vec<FoundDevice> =
            found.into_iter().filter(|device| seen.insert(device.identity.clone())).collect();
        devices.sort_by(|a, b| {
            let key =
                |device: &FoundDevice| (device.kind == CPU, device.kind.clone(), device.island, device.index);
            key(a).cmp(&key(b)).then_with(|| a.identity.cmp(&b.identity))
        });
        Self { hostname: hostname.into(), devices, host: Host::NONE, declared: vec![], login: vec![], notes }
    }

    /// The devices, by position.
    pub fn devices(&self) -> &[FoundDevice] {
        &self.devices
    }

    /// The machine as it presents itself to the scheduler.
    pub fn node_spec(&self) -> NodeSpec {
        let kinds = self.devices.chunk_by(|a, b| a.kind == b.kind);
        let devices = kinds.flat_map(groups).collect();
        NodeSpec { name: self.hostname.clone(), devices, host: self.host, ..NodeSpec::default() }
    }

    /// Number formats that a kind computes in; nothing if that is not known.
    pub fn computes_in(&self, kind: &str) -> &[Precision] {
        let said = self.declared.iter().find(|said| said.name == kind && !said.precisions.is_empty());
        said.map_or_else(|| Precision::of_kind(kind), |said| &said.precisions)
    }

    /// The kinds there are, in order. Processors are for those who ask for them by name, unless there is nothing else.
    pub fn kinds(&self) -> Vec<KindSpec> {
        let kinds = self.devices.chunk_by(|a, b| a.kind == b.kind);
        let mut kinds: Vec<KindSpec> = kinds
            .map(|devices| KindSpec {
                vendor: devices[0].vendor.clone(),
                // Cards of one kind differ by a few pages that their drivers keep; what all of them have counts.
                memory_bytes: devices.iter().map(|device| device.memory_bytes).min().unwrap_or(0),
                ..KindSpec::named(devices[0].kind.clone())
            })
            .map(|kind| match self.declared.iter().find(|said| said.name == kind.name) {
                Some(said) => kind.declared(said),
                None => kind,
            })
            .collect();
        KindSpec::reserve_processors(&mut kinds);
        kinds
    }
}

/// One group when all islands are of one size, else one for each island.
fn groups(devices: &[FoundDevice]) -> Vec<DeviceGroup> {
    let group = |count: usize, island: usize| DeviceGroup {
        kind: devices[0].kind.clone(),
        count: count as u32,
        // One device alone is joined to nothing.
        island: if island > 1 { island as u32 } else { 0 },
    };
    let joined = |a: &FoundDevice, b: &FoundDevice| a.island.is_some() && a.island == b.island;
    let sizes: Vec<usize> = devices.chunk_by(joined).map(<[FoundDevice]>::len).collect();
    match sizes.first() {
        Some(&size) if sizes.iter().all(|&other| other == size) => vec![group(devices.len(), size)],
        _ => sizes.into_iter().map(|size| group(size, size)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(kind: &str, index: u32, island: Option<u32>) -> FoundDevice {
        let identity = format!("{kind}-{index}");
        FoundDevice { kind: kind.into(), identity, index, island, memory_bytes: 8, ..FoundDevice::default() }
    }

    fn shape(inventory: &Inventory) -> Vec<(String, u32, u32)> {
        let groups = inventory.node_spec().devices.into_iter();
        groups.map(|group| (group.kind, group.count, group.island)).collect()
    }

    #[test]
    fn positions_are_those_of_the_spec() {
        let found = vec![
            device("cpu", 0, Some(0)),
            device("h200", 1, Some(1)),
            device("h200", 2, Some(0)),
            device("h200", 3, Some(1)),
            device("h200", 0, Some(0)),
            device("cpu", 1, Some(0)),
            device("cpu", 1, Some(0)),
        ];
        let inventory = Inventory::new("a", found, vec![]);
        let indices: Vec<u32> = inventory.devices().iter().map(|device| device.index).collect();
        assert_eq!(indices, [0, 2, 1, 3, 0, 1]);
        assert_eq!(shape(&inventory), [("h200".into(), 4, 2), ("cpu".into(), 2, 2)]);
        let kinds = inventory.kinds();
        assert!(!kinds[0].by_name && kinds[1].by_name);
    }

    #[test]
    fn islands_of_unlike_size_are_groups_of_their_own() {
        let islands = [Some(0), Some(0), Some(1), None, None];
        let found =
            islands.iter().enumerate().map(|(index, island)| device("a", index as u32, *island)).collect();
        let inventory = Inventory::new("a", found, vec![]);
        let ones = |count| ("a".to_owned(), count, 0);
        // Those that are joined to nothing sort first.
        assert_eq!(shape(&inventory), [ones(1), ones(1), ("a".into(), 2, 2), ones(1)]);
        assert!(inventory.devices()[0].island.is_none());
    }

    #[test]
    fn processors_alone_are_for_everybody() {
        let inventory = Inventory::new("a", vec![device("cpu", 0, None), device("cpu", 1, None)], vec![]);
        assert_eq!(shape(&inventory), [("cpu".into(), 2, 0)]);
        assert!(!inventory.kinds()[0].by_name);
        assert!(Inventory::default().node_spec().devices.is_empty());
    }
}
