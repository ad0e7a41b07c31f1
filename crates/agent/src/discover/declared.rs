//! `devices.yaml`: what a machine cannot say itself.
//!
//! ```yaml
//! discover: [cpu, nvidia, pci]      # what is looked for; all when absent, nothing when empty
//! devices:
//!   - {kind: vck5000, count: 2, vendor: xilinx, memory: 16GiB, island: 2, mask: XILINX_VISIBLE_DEVICES, paths: [/dev/a, /dev/b]}
//! kinds:                            # what no library says of a kind, or says wrongly
//!   - {name: vck5000, precision: [int8, fp32]}
//! ```
//! For: devices that no library knows, kinds of which too little is known, and machines on which not everything is to be
//! used.
//! Promises: any text gives a list or one error that names line, column and field; nothing is guessed.
//! Never: reads a file itself; whoever has the text hands it in.

use crate::discover::inventory::{CPU, FoundDevice, Mask};
use consort_types::KindSpec;
use consort_types::file::ReadError;
use consort_types::file::kinds;
use consort_types::file::read_error::InFile;
use consort_types::file::value;
use consort_types::file::yaml::{self, Node};
use std::path::PathBuf;

/// What a search is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Search {
    /// Processors.
    Cpu,
    /// NVIDIA devices, through their library.
    Nvidia,
    /// Accelerators of other vendors on the PCI bus.
    Pci,
}

/// What `devices.yaml` says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared {
    /// What is looked for.
    pub searches: Vec<Search>,
    /// What is there without being looked for.
    pub devices: Vec<FoundDevice>,
    /// What is said of kinds of device, wherever they were found.
    pub kinds: Vec<KindSpec>,
}

impl Default for Declared {
    fn default() -> Self {
        Self { searches: vec![Search::Cpu, Search::Nvidia, Search::Pci], devices: vec![], kinds: vec![] }
    }
}

const EXPECTED: &str = "`discover`, `devices` and `kinds`";

impl Declared {
    /// Reads the text of a file of this name.
    pub fn parse(file: &str, text: &str) -> Result<Self, ReadError> {
        yaml::parse(text, EXPECTED).and_then(read).in_file(file)
    }
}

fn read(root: Node) -> Result<Declared, ReadError> {
    let mut declared = Declared::default();
    root.refuse_nul()?;
    let mut fields = root.fields("the file", &["discover", "devices", "kinds"])?;
    if let Some(node) = fields.take("discover") {
        let words = node.one_or_more("discover")?.into_iter();
        declared.searches = words.map(|word| word.read("discover", search)).collect::<Result<_, _>>()?;
    }
    if let Some(node) = fields.take("devices") {
        for item in node.list("devices")? {
            device(item, &mut declared.devices)?;
        }
    }
    if let Some(node) = fields.take("kinds") {
        for item in node.list("kinds")? {
            let place = item.place;
            let mut fields = item.fields("the kind", &kinds::FIELDS)?;
            let name = fields.need("name")?.read("name", value::name)?;
            if declared.kinds.iter().any(|other| other.name == name) {
                return Err(place.fail(format!("kind `{name}` is declared twice, expected once")));
            }
            declared.kinds.push(kinds::read(&mut fields, name)?);
        }
    }
    Ok(declared)
}

fn search(text: &str) -> Result<Search, value::Expected> {
    match text {
        "cpu" => Ok(Search::Cpu),
        "nvidia" => Ok(Search::Nvidia),
        "pci" => Ok(Search::Pci),
        _ => Err("cpu, nvidia or pci".into()),
    }
}

fn device(node: Node, all: &mut Vec<FoundDevice>) -> Result<(), ReadError> {
    let place = node.place;
    let known = ["kind", "count", "vendor", "memory", "island", "mask", "paths", "numa"];
    let mut fields = node.fields("the device", &known)?;
    let kind = fields.need("kind")?.read("kind", |text| match text {
        CPU => Err("a kind other than cpu: processors are found automatically".into()),
        _ => value::name(text),
    })?;
    let count = fields.read("count", |text| value::count(text, 1, 4096))?.unwrap_or(1);
    let vendor = fields.read("vendor", value::name)?.unwrap_or_default();
    let memory_bytes = fields.read("memory", value::memory)?.unwrap_or(0);
    let island = fields.read("island", |text| value::count(text, 1, 4096))?;
    let numa = fields.read("numa", |text| value::count(text, 0, 4096))?;
    let variable = fields.read("mask", variable)?;
    let paths: Vec<PathBuf> = match fields.take("paths") {
        Some(node) => {
            let items = node.one_or_more("paths")?;
            items.iter().map(|item| item.read("paths", path)).collect::<Result<_, _>>()?
        }
        None => vec![],
    };
    if !paths.is_empty() && paths.len() as u32 != count {
        let found = paths.len();
        return Err(place.fail(format!("`paths` has {found} for {count} devices, expected one for each")));
    }
    // Where several lines tell of one kind, its devices are counted on.
    let first = all.iter().filter(|device| device.kind == kind).count() as u32;
    for number in 0..count {
        let index = first + number;
        all.push(FoundDevice {
            kind: kind.clone(),
            vendor: vendor.clone(),
            memory_bytes,
            identity: FoundDevice::declared(&kind, index),
            index,
            numa,
            masks: variable.iter().map(|name| Mask::fixed(name, index.to_string())).collect(),
            paths: paths.get(number as usize).cloned().into_iter().collect(),
            cpus: vec![],
            island: island.map(|size| index / size),
        });
    }
    Ok(())
}

fn variable(text: &str) -> Result<String, value::Expected> {
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let good = !text.is_empty() && text.bytes().all(letter) && !text.as_bytes()[0].is_ascii_digit();
    // Whoever is told its rank by such a name must be able to believe it.
    if good && !text.starts_with("CONSORT_") {
        Ok(text.into())
    } else {
        Err("the name of a variable like XILINX_VISIBLE_DEVICES".into())
    }
}

fn path(text: &str) -> Result<PathBuf, value::Expected> {
    if text.starts_with('/') { Ok(text.into()) } else { Err("an absolute path like /dev/accel0".into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str) -> String {
        Declared::parse("devices.yaml", text).unwrap_err().to_string()
    }

    #[test]
    fn the_example_is_read() {
        let text = "discover: [cpu, nvidia]\ndevices:\n  - {kind: vck5000, count: 2, vendor: xilinx, \
            memory: 16GiB, island: 2, mask: XILINX_VISIBLE_DEVICES, paths: [/dev/a, /dev/b]}\n  - {kind: qpu}\n";
        let declared = Declared::parse("devices.yaml", text).unwrap();
        assert_eq!(declared.searches, [Search::Cpu, Search::Nvidia]);
        let second = &declared.devices[1];
        assert_eq!(
            (second.kind.as_str(), second.memory_bytes, second.island),
            ("vck5000", 16 << 30, Some(0))
        );
        assert_eq!(second.masks, [Mask::fixed("XILINX_VISIBLE_DEVICES", "1")]);
        assert_eq!(second.paths, [PathBuf::from("/dev/b")]);
        assert_eq!(declared.devices[2].identity, "qpu-0");
        assert_eq!(Declared::parse("x", "discover: []").unwrap().searches, []);
        assert_eq!(Declared::parse("x", "devices: []").unwrap(), Declared::default());
    }

    #[test]
    fn the_example_in_the_reference_can_be_read() {
        let text = include_str!("../../../../docs/files.md");
        let example =
            text.split("```devices.yaml\n").nth(1).and_then(|part| part.split("```").next()).unwrap();
        assert_eq!(Declared::parse("files.md", example).unwrap().devices.len(), 2);
    }

    #[test]
    fn faults_name_the_place_and_the_field() {
        assert_eq!(
            fault("discover: [gpu]"),
            "devices.yaml:1:12: `discover` is `gpu`, expected cpu, nvidia or pci"
        );
        assert!(fault("devices:\n  - {count: 2}").contains("missing field `kind`"));
        assert!(
            fault("devices:\n  - {kind: a, memory: 3 parsecs}").starts_with("devices.yaml:2:23: `memory`")
        );
        assert!(fault("devices: [{kind: a, count: 2, paths: /dev/a}]").contains("expected one for each"));
        assert!(fault("devices: [{kind: a, mask: A-B}]").contains("`mask`"));
        assert!(fault("devices: [{kind: cpu}]").contains("processors are"));
        assert!(fault("kinds: [{name: a}, {name: a}]").contains("declared twice"));
        assert!(fault("kinds: [{name: a, precision: fp7}]").contains("a number format"));
        assert!(fault("device: []").contains("did you mean `devices`?"));
        assert!(fault("").contains("is empty"));
    }
}
