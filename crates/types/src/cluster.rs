//! What there is: kinds of device, nodes, and the levels of the topology.
//!
//! Level names come from configuration, because label families differ between sites and change over time. Two
//! levels need no configuration: `node`, and below it `island` (devices of one node joined by one class of link).

use crate::time::Span;
use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};

/// What holds for the whole cluster. Set once, before the first node joins.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Settings {
    /// Levels above the node, outermost first: `["site", "block", "rack"]`.
    pub levels: Vec<LevelSpec>,
    /// What joins the devices of one island: `nvlink`.
    pub island_link: Option<String>,
    /// What joins the islands of one node: `pcie`.
    pub node_link: Option<String>,
    /// After this much silence a node's own agent ends its work.
    pub lease: Span,
    /// How much longer we wait before we believe it.
    pub margin: Span,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            levels: vec![],
            island_link: None,
            node_link: None,
            lease: Span::seconds(30),
            margin: Span::seconds(10),
        }
    }
}

/// One level of the topology.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LevelSpec {
    /// `rack`
    pub name: String,
    /// The class of link that joins what is inside one such domain, if it has a name.
    pub link: Option<String>,
}

/// The kind of processors.
pub const CPU: &str = "cpu";

/// A kind of device.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct KindSpec {
    /// `h200`, `tpu-v5e`, `cpu`
    pub name: String,
    /// `nvidia`; empty when nobody said.
    pub vendor: String,
    /// Memory of one device; 0 when it is not accounted for.
    pub memory_bytes: u64,
    /// Granted only to jobs that name it: processors where there are accelerators too. See [`KindSpec::reserve_processors`].
    #[serde(default)]
    pub by_name: bool,
}

impl KindSpec {
    /// A kind of which nothing is known but its name.
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), vendor: String::new(), memory_bytes: 0, by_name: false }
    }

    /// What a device is to a job that names no kind: an accelerator. Processors are devices only where there is no
    /// accelerator at all, or for jobs that ask for [`CPU`] by name. Every world calls this on the kinds it found.
    pub fn reserve_processors(kinds: &mut [KindSpec]) {
        let has_accelerators = kinds.iter().any(|kind| kind.name != CPU);
        for kind in kinds {
            kind.by_name = kind.name == CPU && has_accelerators;
        }
    }
}

/// One machine, as it presents itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
pub struct NodeSpec {
    /// Unique in the cluster. A node that joins again under its name is the same node.
    pub name: String,
    /// The domain it sits in at each configured level, outermost first; as many as there are levels.
    pub domains: Vec<String>,
    /// Its devices, numbered in this order.
    pub devices: Vec<DeviceGroup>,
    /// What else is to be said of it, in order and each once: `ib`, `nvme`. A job may insist on some of them.
    #[serde(default)]
    pub features: Vec<String>,
    /// What the machine around the devices has.
    #[serde(default)]
    pub host: Host,
}

/// Processors and memory of a machine, beside its devices: what a node has of them, or what one member takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Host {
    /// Thousandths of a processor. A node with 0 does not account for them; a member with 0 needs none.
    pub cpu_milli: u64,
    /// Memory of the machine, not of a device; 0 likewise.
    pub memory_bytes: u64,
}

impl Host {
    /// Nothing is accounted for, or nothing needed.
    pub const NONE: Host = Host { cpu_milli: 0, memory_bytes: 0 };

    /// Whether nothing is accounted for, or nothing needed.
    pub fn is_none(&self) -> bool {
        *self == Self::NONE
    }
}

/// Written by hand because of the features and the host: in a journal, which people read, those that say nothing are left
/// out, so that such nodes are written as they always were; in a snapshot, where fields have no names, every field must be
/// there.
impl Serialize for NodeSpec {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let [features, host] = [!self.features.is_empty(), !self.host.is_none()]
            .map(|is_said| is_said || !to.is_human_readable());
        let fields = 3 + usize::from(features) + usize::from(host);
        let mut written = to.serialize_struct("NodeSpec", fields)?;
        written.serialize_field("name", &self.name)?;
        written.serialize_field("domains", &self.domains)?;
        written.serialize_field("devices", &self.devices)?;
        if features {
            written.serialize_field("features", &self.features)?;
        }
        if host {
            written.serialize_field("host", &self.host)?;
        }
        written.end()
    }
}

/// Like devices of one node.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct DeviceGroup {
    /// The name of their kind.
    pub kind: String,
    /// How many.
    pub count: u32,
    /// How many of them form one island; 0 when no link joins them.
    pub island: u32,
}
