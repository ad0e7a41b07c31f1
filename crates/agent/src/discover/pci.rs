//! Accelerators on the PCI bus, whoever made them.
//!
//! For: a device is found before its vendor's library is installed, and without it.
//! Promises: only what the table below knows is a device, so that a display or a network card is never taken for one; the
//! variable of its vendor is set where there is one.
//! Never: finds NVIDIA devices: their library knows more, and asking twice would count them twice.

use crate::discover::cpu::parse_list;
use crate::discover::inventory::{FoundDevice, Mask};
use std::fs;
use std::path::{Path, PathBuf};

/// How the identity of a device that was found here begins.
pub(super) const PCI: &str = "pci-";

/// A vendor, its number on the bus, and the models of it that we know.
struct Vendor {
    name: &'static str,
    number: u16,
    mask: Masking,
    models: &'static [(u16, &'static str)],
}

/// How a vendor's runtime is told which devices to use.
enum Masking {
    /// Not at all.
    None,
    /// By their numbers, in this variable.
    Numbers(&'static str),
    /// By their numbers in the first; the second counts among those.
    Twice(&'static str, &'static str),
    /// By the numbers of their cores, so many on each.
    Cores(&'static str, u32),
}

const VENDORS: &[Vendor] = &[
    Vendor {
        name: "amd",
        number: 0x1002,
        mask: Masking::Twice("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"),
        models: &[
            (0x738c, "mi100"),
            (0x7408, "mi250x"),
            (0x740c, "mi250"),
            (0x740f, "mi210"),
            (0x74a0, "mi300a"),
            (0x74a1, "mi300x"),
            (0x74a5, "mi325x"),
            (0x74b5, "mi300x-vf"),
        ],
    },
    Vendor {
        name: "intel",
        number: 0x8086,
        mask: Masking::Numbers("ZE_AFFINITY_MASK"),
        models: &[
            (0x0bd5, "max-1550"),
            (0x0bd6, "max-1550"),
            (0x0bda, "max-1100"),
            (0x56c0, "flex-170"),
            (0x56c1, "flex-140"),
            (0x56a0, "arc-a770"),
            (0xe20b, "arc-b580"),
        ],
    },
    Vendor {
        name: "intel",
        number: 0x8086,
        mask: Masking::None,
        models: &[(0x09c4, "pac-a10"), (0x0b2b, "pac-d5005")],
    },
    Vendor {
        name: "habana",
        number: 0x1da3,
        mask: Masking::Numbers("HABANA_VISIBLE_DEVICES"),
        models: &[(0x1000, "gaudi"), (0x1020, "gaudi2"), (0x1060, "gaudi3"), (0x1063, "gaudi3")],
    },
    Vendor {
        name: "google",
        number: 0x1ae0,
        mask: Masking::Numbers("TPU_VISIBLE_CHIPS"),
        models: &[
            (0x0027, "tpu-v3"),
            (0x005e, "tpu-v4"),
            (0x0062, "tpu-v5p"),
            (0x0063, "tpu-v5e"),
            (0x006f, "tpu-v6e"),
            (0x0076, "tpu-v7x"),
        ],
    },
    Vendor {
        name: "aws",
        number: 0x1d0f,
        mask: Masking::Cores("NEURON_RT_VISIBLE_CORES", 4),
        models: &[(0x7064, "inferentia")],
    },
    Vendor {
        name: "aws",
        number: 0x1d0f,
        mask: Masking::Cores("NEURON_RT_VISIBLE_CORES", 2),
        models: &[(0x7164, "trainium"), (0x7264, "inferentia2")],
    },
    Vendor {
        name: "aws",
        number: 0x1d0f,
        mask: Masking::Cores("NEURON_RT_VISIBLE_CORES", 8),
        models: &[(0x7364, "trainium2")],
    },
    Vendor {
        name: "huawei",
        number: 0x19e5,
        mask: Masking::Numbers("ASCEND_RT_VISIBLE_DEVICES"),
        models: &[
            (0xd100, "ascend-310"),
            (0xd500, "ascend-310p"),
            (0xd801, "ascend-910"),
            (0xd802, "ascend-910b"),
        ],
    },
    // Two functions on each card: the one that computes is listed.
    Vendor {
        name: "xilinx",
        number: 0x10ee,
        mask: Masking::None,
        models: &[(0x5001, "u200"), (0x5005, "u250"), (0x500d, "u280"), (0x5021, "u50"), (0x505d, "u55c")],
    },
    Vendor {
        name: "tenstorrent",
        number: 0x1e52,
        mask: Masking::None,
        models: &[(0xfaca, "grayskull"), (0x401e, "wormhole"), (0xb140, "blackhole")],
    },
    Vendor { name: "groq", number: 0x1de0, mask: Masking::None, models: &[(0x0000, "groq")] },
    Vendor {
        name: "furiosa",
        number: 0x1ed2,
        mask: Masking::None,
        models: &[(0x0000, "warboy"), (0x0001, "rngd")],
    },
    Vendor {
        name: "rebellions",
        number: 0x1eff,
        mask: Masking::None,
        models: &[(0x1020, "atom"), (0x1120, "atom")],
    },
    Vendor { name: "d-matrix", number: 0x1f82, mask: Masking::None, models: &[(0x0011, "corsair")] },
    Vendor { name: "hailo", number: 0x1e60, mask: Masking::None, models: &[(0x2864, "hailo-8")] },
    Vendor { name: "qualcomm", number: 0x17cb, mask: Masking::None, models: &[(0xa100, "ai100")] },
];

/// The accelerators on the bus, in order of their addresses, which is the order in which runtimes count them.
pub(super) fn find(root: &Path) -> Vec<FoundDevice> {
    let entries = fs::read_dir(root.join(BUS)).into_iter().flatten().flatten();
    let mut addresses: Vec<String> =
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    addresses.sort();
    let mut found: Vec<FoundDevice> = Vec::new();
    for address in addresses {
        let number = |file| u16::from_str_radix(read(root, &address, file)?.strip_prefix("0x")?, 16).ok();
        let (Some(maker), Some(model)) = (number("vendor"), number("device")) else { continue };
        let known = VENDORS
            .iter()
            .filter(|vendor| vendor.number == maker)
            .find_map(|vendor| Some((vendor, vendor.models.iter().find(|(number, _)| *number == model)?.1)));
        let Some((vendor, kind)) = known else { continue };
        let index = found.iter().filter(|device| device.vendor == vendor.name).count() as u32;
        let memory = read(root, &address, "mem_info_vram_total").and_then(|text| text.parse().ok());
        found.push(FoundDevice {
            kind: kind.into(),
            vendor: vendor.name.into(),
            memory_bytes: memory.unwrap_or(0),
            index,
            numa: numa(root, &address),
            masks: masks(&vendor.mask, index),
            paths: nodes(root, &address),
            cpus: near(root, &address),
            island: None,
            identity: format!("{PCI}{address}"),
        });
    }
    found
}

const BUS: &str = "sys/bus/pci/devices";

fn masks(masking: &Masking, index: u32) -> Vec<Mask> {
    match masking {
        Masking::None => vec![],
        Masking::Numbers(variable) => vec![Mask::fixed(variable, index.to_string())],
        Masking::Twice(first, second) => vec![Mask::fixed(first, index.to_string()), Mask::counted(second)],
        Masking::Cores(variable, cores) => {
            let own: Vec<String> =
                (index * cores..(index + 1) * cores).map(|core| core.to_string()).collect();
            vec![Mask::fixed(variable, own.join(","))]
        }
    }
}

/// The device nodes that the kernel made for it.
fn nodes(root: &Path, address: &str) -> Vec<PathBuf> {
    let mut nodes = Vec::new();
    for (folder, place) in [("drm", "/dev/dri"), ("accel", "/dev/accel"), ("neuron_device", "/dev")] {
        let entries = fs::read_dir(root.join(BUS).join(address).join(folder)).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        nodes.extend(names.map(|name| Path::new(place).join(name)));
    }
    nodes.sort();
    nodes
}

/// The memory node a device is near to.
pub(super) fn numa(root: &Path, address: &str) -> Option<u32> {
    // The kernel says -1 when it does not know.
    read(root, address, "numa_node")?.parse().ok()
}

/// The processors a device is near to; none when nobody knows.
pub(super) fn near(root: &Path, address: &str) -> Vec<u32> {
    read(root, address, "local_cpulist").map(|list| parse_list(&list)).unwrap_or_default()
}

fn read(root: &Path, address: &str, file: &str) -> Option<String> {
    if address.is_empty() {
        return None;
    }
    Some(fs::read_to_string(root.join(BUS).join(address).join(file)).ok()?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plug(root: &Path, address: &str, files: &[(&str, &str)]) {
        for (file, text) in files {
            let path = root.join(BUS).join(address).join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }

    #[test]
    fn what_the_table_knows_is_found_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        let amd = [
            ("vendor", "0x1002\n"),
            ("device", "0x74a1\n"),
            ("numa_node", "1\n"),
            ("local_cpulist", "4-7\n"),
        ];
        plug(root, "0000:c1:00.0", &amd);
        plug(
            root,
            "0000:03:00.0",
            &[&amd[..], &[("mem_info_vram_total", "206141652992"), ("drm/renderD128/dev", "")]].concat(),
        );
        plug(root, "0000:00:02.0", &[("vendor", "0x8086\n"), ("device", "0x1234\n")]);
        plug(root, "0000:05:00.0", &[("vendor", "0x1d0f"), ("device", "0x7164"), ("numa_node", "-1")]);
        let found = find(root);
        let seen: Vec<_> = found.iter().map(|device| (device.kind.as_str(), device.index)).collect();
        assert_eq!(seen, [("mi300x", 0), ("trainium", 0), ("mi300x", 1)]);
        assert_eq!((found[0].memory_bytes, found[0].numa), (206_141_652_992, Some(1)));
        assert_eq!(found[0].cpus, [4, 5, 6, 7]);
        assert_eq!(found[0].paths, [Path::new("/dev/dri/renderD128")]);
        assert_eq!(found[2].masks[0], Mask::fixed("ROCR_VISIBLE_DEVICES", "1"));
        assert_eq!(found[2].masks[1], Mask::counted("HIP_VISIBLE_DEVICES"));
        assert_eq!(found[1].masks, [Mask::fixed("NEURON_RT_VISIBLE_CORES", "0,1")]);
        assert_eq!((found[1].numa, found[1].identity.as_str()), (None, "pci-0000:05:00.0"));
    }

    #[test]
    fn a_machine_without_a_bus_has_none() {
        assert!(find(Path::new("/nonexistent")).is_empty());
    }
}
