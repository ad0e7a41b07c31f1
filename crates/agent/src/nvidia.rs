//! NVIDIA's management library, if it is there.
//!
//! For: discovery, telemetry and health ask one place how to reach it.
//! Promises: a machine without it is an ordinary machine; a call it does not know costs one field and nothing more.
//! Never: changes a setting of a card.

use nvml_wrapper::Nvml;
use nvml_wrapper::error::NvmlError;
use std::path::Path;

/// The name under which the driver installs it.
const USUAL: &str = "libnvidia-ml.so.1";

/// Loads the library; in words why it cannot be.
pub(crate) fn load(library: Option<&Path>) -> Result<Nvml, String> {
    let name = library.map_or(USUAL.as_ref(), Path::as_os_str);
    Nvml::builder().lib_path(name).init().map_err(|error| match error {
        NvmlError::LibloadingError(_) => format!("{} is not installed", name.display()),
        NvmlError::DriverNotLoaded => "the NVIDIA driver is not loaded".into(),
        other => format!("{} does not answer: {other}", name.display()),
    })
}

/// Whether a device is there but cannot be reached.
pub(crate) fn is_lost(error: &NvmlError) -> bool {
    matches!(error, NvmlError::GpuLost)
}

/// An address as the kernel writes it: `0000:3b:00.0`, where the library writes `00000000:3B:00.0`.
pub(crate) fn address(library: &str) -> String {
    let lower = library.to_ascii_lowercase();
    match lower.split_once(':') {
        Some((domain, rest)) if domain.len() > 4 => format!("{}:{rest}", &domain[domain.len() - 4..]),
        _ => lower,
    }
}

/// A short name for a kind: what a person would call it. `NVIDIA H100 80GB HBM3` is an `h100`.
///
/// Memory and the way a card is plugged in are dropped where they are what one expects (`SXM`), and kept where they make
/// another card of it (`PCIe`, `NVL`).
pub(crate) fn kind(name: &str) -> String {
    let lower = name.to_ascii_lowercase();
    let word = |word: &&str| {
        let size = word.strip_suffix("gb").is_some_and(|digits| digits.parse::<u32>().is_ok());
        let usual = matches!(*word, "nvidia" | "tesla" | "geforce" | "quadro" | "graphics" | "device" | "");
        !size && !usual && !word.starts_with("sxm") && !word.starts_with("hbm")
    };
    let words: Vec<&str> = lower.split([' ', '-', '_']).filter(word).collect();
    if words.is_empty() { "nvidia".into() } else { words.join("-") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_what_people_call_them() {
        for (name, short) in [
            ("NVIDIA H200", "h200"),
            ("NVIDIA H100 80GB HBM3", "h100"),
            ("NVIDIA H100 PCIe", "h100-pcie"),
            ("NVIDIA A100-SXM4-80GB", "a100"),
            ("Tesla V100-SXM2-16GB", "v100"),
            ("NVIDIA GeForce RTX 4090", "rtx-4090"),
            ("NVIDIA H200 MIG 1g.18gb", "h200-mig-1g.18gb"),
            ("NVIDIA L40S", "l40s"),
            ("NVIDIA Graphics Device", "nvidia"),
        ] {
            assert_eq!(kind(name), short);
        }
    }

    #[test]
    fn addresses_are_written_as_the_kernel_does() {
        assert_eq!(address("00000000:3B:00.0"), "0000:3b:00.0");
        assert_eq!(address("0000:3b:00.0"), "0000:3b:00.0");
        assert_eq!(address("x"), "x");
    }
}
