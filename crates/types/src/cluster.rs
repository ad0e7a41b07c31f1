//! What there is: kinds of device, nodes, and the levels of the topology.
//!
//! Level names come from configuration, because label families differ between sites and change over time. Two
//! levels need no configuration: `node`, and below it `island` (devices of one node joined by one class of link).

use crate::constants::Constants;
use crate::precision::Precision;
use crate::time::Span;
use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};
use std::fmt;

/// What holds for the whole cluster. Set once, before the first node joins.
///
/// [`Default`] is what a journal means that never says: it must not change. [`Settings::today`] is what new journals get.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize)]
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
    /// Absent in journals of versions before 0.2; see [`Settings::constants`].
    #[serde(default)]
    pub constants: Option<Constants>,
}

impl Settings {
    /// What a new journal is told: every constant written out.
    pub fn today() -> Self {
        Self { constants: Some(Constants::today()), ..Self::default() }
    }

    /// The numbers that decide what an event means.
    pub fn constants(&self) -> &Constants {
        self.constants.as_ref().unwrap_or(&Constants::FIRST)
    }
}

/// By hand for the same reason as [`NodeSpec`]: in a journal what was not said is not written, in a snapshot every field is.
impl Serialize for Settings {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let constants = self.constants.is_some() || !to.is_human_readable();
        let mut written = to.serialize_struct("Settings", 5 + usize::from(constants))?;
        written.serialize_field("levels", &self.levels)?;
        written.serialize_field("island_link", &self.island_link)?;
        written.serialize_field("node_link", &self.node_link)?;
        written.serialize_field("lease", &self.lease)?;
        written.serialize_field("margin", &self.margin)?;
        if constants {
            written.serialize_field("constants", &self.constants)?;
        }
        written.end()
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            levels: vec![],
            island_link: None,
            node_link: None,
            lease: Span::seconds(30),
            margin: Span::seconds(10),
            constants: None,
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
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize)]
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
    /// Number formats that it computes in, as its owner says; where that is nothing, the table of
    /// [`Precision::of_kind`] counts.
    #[serde(default)]
    pub precisions: Vec<Precision>,
}

impl KindSpec {
    /// A kind of which nothing is known but its name.
    pub fn named(name: impl Into<String>) -> Self {
        let name = name.into();
        Self { name, vendor: String::new(), memory_bytes: 0, by_name: false, precisions: vec![] }
    }

    /// Number formats that it computes in; nothing if that is not known.
    pub fn computes_in(&self) -> &[Precision] {
        match &self.precisions[..] {
            [] => Precision::of_kind(&self.name),
            said => said,
        }
    }

    /// The same with what a declaration of this kind says; what it does not say stays.
    pub fn declared(self, said: &KindSpec) -> Self {
        let vendor = if said.vendor.is_empty() { self.vendor } else { said.vendor.clone() };
        let memory_bytes = if said.memory_bytes == 0 { self.memory_bytes } else { said.memory_bytes };
        Self { vendor, memory_bytes, precisions: said.precisions.clone(), ..self }
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

/// Written by hand because of the formats, for the reason given at [`NodeSpec`].
impl Serialize for KindSpec {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let says = !self.precisions.is_empty() || !to.is_human_readable();
        let mut written = to.serialize_struct("KindSpec", 4 + usize::from(says))?;
        written.serialize_field("name", &self.name)?;
        written.serialize_field("vendor", &self.vendor)?;
        written.serialize_field("memory_bytes", &self.memory_bytes)?;
        written.serialize_field("by_name", &self.by_name)?;
        if says {
            written.serialize_field("precisions", &self.precisions)?;
        }
        written.end()
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
    #[inline]
    pub fn is_none(&self) -> bool {
        *self == Self::NONE
    }
}

/// For people: `2.5 cpus and 64 GiB of host memory`.
impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let said = Pool::ALL.into_iter().filter(|pool| pool.of(self) > 0);
        let words: Vec<String> = said.map(|pool| pool.words(pool.of(self))).collect();
        f.write_str(&words.join(" and "))
    }
}

/// A part of a host of which amounts are granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Pool {
    /// Processors, in thousandths.
    Cpu,
    /// Main memory, in bytes.
    Memory,
}

impl Pool {
    /// Both, in the order in which a node has them.
    pub const ALL: [Pool; 2] = [Pool::Cpu, Pool::Memory];

    /// What a quota calls it, and a job file.
    pub fn name(self) -> &'static str {
        match self {
            Pool::Cpu => "cpus",
            Pool::Memory => "mem",
        }
    }

    /// The pool that a quota means.
    pub fn named(name: &str) -> Option<Pool> {
        Pool::ALL.into_iter().find(|pool| pool.name() == name)
    }

    /// What a host has of it, or a member needs.
    #[inline]
    pub fn of(self, host: &Host) -> u64 {
        match self {
            Pool::Cpu => host.cpu_milli,
            Pool::Memory => host.memory_bytes,
        }
    }

    /// How much of it one unit of a quota's ceiling is: a processor, or a byte.
    #[inline]
    pub fn unit(self) -> u64 {
        match self {
            Pool::Cpu => 1000,
            Pool::Memory => 1,
        }
    }

    /// An amount for people: `2.5 cpus`, `64 GiB of host memory`.
    pub fn words(self, amount: u64) -> String {
        match self {
            Pool::Cpu if amount == 1000 => "1 cpu".into(),
            Pool::Cpu => format!("{} cpus", Thousandths(amount)),
            Pool::Memory => format!("{} of host memory", memory_words(amount)),
        }
    }
}

/// Thousandths of a device or a processor, shown as people count them.
pub struct Thousandths(pub u64);

impl fmt::Display for Thousandths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 % 1000 {
            0 => write!(f, "{}", self.0 / 1000),
            _ => write!(f, "{}", self.0 as f64 / 1000.0),
        }
    }
}

/// Memory as people say it: in the largest unit of which there is one, with one decimal if it needs one.
pub fn memory_words(bytes: u64) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    let Some((power, unit)) = units.into_iter().find(|(power, _)| bytes >> power > 0) else {
        return format!("{bytes} bytes");
    };
    let tenths = (u128::from(bytes) * 10).div_ceil(1 << power);
    match (tenths / 10, tenths % 10) {
        (whole, 0) => format!("{whole} {unit}"),
        (whole, tenth) => format!("{whole}.{tenth} {unit}"),
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
