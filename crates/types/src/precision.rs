//! The number formats that kinds of device compute in.
//!
//! A table of facts about kinds that are known by name: formats for which the device has arithmetic of its own, in matrix
//! or vector units. Formats that a library emulates do not count. Of a kind that is not in the table nothing is known, and
//! what the owner of a cluster says wins over the table ([`KindSpec::precisions`](crate::KindSpec)).
//!
//! | maker | checked against |
//! |---|---|
//! | NVIDIA | TensorRT 8.4 and 10.1, *Support Matrix: Hardware and Precision* (compute capability 6.0 to 9.0); Transformer Engine, *Datatype and hardware support matrix* (8.0 to 12.0) |
//! | AMD | ROCm Compute Profiler, *Performance model: Data type support*; ROCm, *Data types and precision support* |
//! | Intel, GPUs | article 000098346, *AI Engines and Supported Datatypes*; SYCL extension `sycl_ext_oneapi_matrix`, *Intel XMX Supported Combinations* |
//! | Intel, Gaudi | Gaudi documentation, *PyTorch Operators*, *FP8 Training*, and *Best Practices* (no double precision) |
//! | Google | Cloud TPU documentation, pages *v5e*, *v5p*, *v6e* and *TPU7x* |
//! | AWS | Neuron documentation, *Trainium*, *Trainium2*, *Trainium3* and *Inferentia2 Architecture*, *Data Types* |
//!
//! Taken from announcements and not found in such a page: whole numbers on TPU v4 and v5p and on the first Inferentia, all
//! of Ascend, and NVIDIA devices older than compute capability 6.0.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A number format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// Four bits, floating point.
    Fp4,
    /// Eight bits, floating point.
    Fp8,
    /// Eight bits, whole numbers.
    Int8,
    /// IEEE half precision.
    Fp16,
    /// Sixteen bits with the range of single precision.
    Bf16,
    /// Nineteen bits, of NVIDIA and others.
    Tf32,
    /// Single precision.
    Fp32,
    /// Double precision.
    Fp64,
}

use Precision::*;

impl Precision {
    /// All of them, and their names.
    pub const ALL: [(Precision, &str); 8] = [
        (Fp4, "fp4"),
        (Fp8, "fp8"),
        (Int8, "int8"),
        (Fp16, "fp16"),
        (Bf16, "bf16"),
        (Tf32, "tf32"),
        (Fp32, "fp32"),
        (Fp64, "fp64"),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(precision, _)| *precision == self).expect("all are listed").1
    }

    /// The format of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| known.eq_ignore_ascii_case(name)).map(|(precision, _)| *precision)
    }

    /// What a kind computes in; nothing if it is not known.
    pub fn of_kind(kind: &str) -> &'static [Precision] {
        let name = kind.to_ascii_lowercase().replace('_', "-");
        let name = name.strip_prefix("nvidia-").or(name.strip_prefix("amd-")).unwrap_or(&name);
        // `h100-pcie` and a slice of an `h100` compute as an `h100` does.
        let is_meant = |known: &&str| {
            name.strip_prefix(*known).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        };
        KINDS.iter().find(|(kinds, _)| kinds.iter().any(is_meant)).map_or(&[], |(_, formats)| formats)
    }

    /// The first of these that is among those that a device computes in.
    pub fn best(known: &[Precision], wanted: &[Precision]) -> Option<Precision> {
        wanted.iter().copied().find(|precision| known.contains(precision))
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Kinds that compute in the same formats.
type Alike = (&'static [&'static str], &'static [Precision]);

const KINDS: &[Alike] = &[
    (
        &["b100", "b200", "b300", "gb200", "gb300", "rtx-5090", "rtx-5080", "rtx-pro-6000"],
        &[Fp4, Fp8, Int8, Fp16, Bf16, Tf32, Fp32, Fp64],
    ),
    (
        &[
            "h100",
            "h200",
            "h20",
            "h800",
            "gh200",
            "l4",
            "l40",
            "l40s",
            "rtx-4090",
            "rtx-4080",
            "rtx-6000-ada",
        ],
        &[Fp8, Int8, Fp16, Bf16, Tf32, Fp32, Fp64],
    ),
    (
        &[
            "a100",
            "a800",
            "a30",
            "a10",
            "a10g",
            "a16",
            "a40",
            "a2",
            "rtx-a6000",
            "rtx-a5000",
            "rtx-3090",
            "rtx-3080",
        ],
        &[Int8, Fp16, Bf16, Tf32, Fp32, Fp64],
    ),
    (&["t4", "rtx-2080", "rtx-2080-ti", "rtx-6000", "rtx-8000"], &[Int8, Fp16, Fp32, Fp64]),
    (&["v100", "titan-v"], &[Int8, Fp16, Fp32, Fp64]),
    (&["p100"], &[Fp16, Fp32, Fp64]),
    (&["p4", "p40", "gtx-1080", "gtx-1080-ti"], &[Int8, Fp32, Fp64]),
    (&["k80", "k40", "m40", "m60"], &[Fp32, Fp64]),
    (&["mi350x", "mi355x"], &[Fp4, Fp8, Int8, Fp16, Bf16, Fp32, Fp64]),
    (&["mi300x", "mi300a", "mi325x"], &[Fp8, Int8, Fp16, Bf16, Tf32, Fp32, Fp64]),
    (&["mi250x", "mi250", "mi210", "mi100"], &[Int8, Fp16, Bf16, Fp32, Fp64]),
    (&["max-1550", "max-1100"], &[Int8, Fp16, Bf16, Tf32, Fp32, Fp64]),
    (&["flex-170", "flex-140", "arc-a770"], &[Int8, Fp16, Bf16, Fp32]),
    (&["gaudi2", "gaudi3"], &[Fp8, Fp16, Bf16, Tf32, Fp32]),
    (&["gaudi"], &[Bf16, Fp32]),
    (&["tpu-v3", "tpu-v2"], &[Bf16, Fp32]),
    (&["tpu-v4", "tpu-v5e", "tpu-v5p", "tpu-v6e"], &[Int8, Bf16, Fp32]),
    (&["tpu-v7x"], &[Fp8, Bf16, Fp32]),
    (&["trainium3"], &[Fp4, Fp8, Fp16, Bf16, Tf32, Fp32]),
    (&["trainium2"], &[Fp8, Fp16, Bf16, Tf32, Fp32]),
    (&["trainium", "inferentia2"], &[Fp8, Int8, Fp16, Bf16, Tf32, Fp32]),
    (&["inferentia"], &[Int8, Fp16, Bf16]),
    (&["ascend-910b"], &[Int8, Fp16, Bf16, Fp32]),
    (&["ascend-910"], &[Int8, Fp16, Fp32]),
    (&["ascend-310", "ascend-310p"], &[Int8, Fp16]),
    (&["cpu"], &[Fp32, Fp64]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_that_a_kind_has_is_the_best() {
        let best = |kind: &str| Precision::best(Precision::of_kind(kind), &[Fp8, Bf16]).map(Precision::name);
        assert_eq!(best("h200"), Some("fp8"));
        assert_eq!(best("a100"), Some("bf16"));
        assert_eq!(best("v100"), None);
        assert_eq!(best("qpu"), None);
        assert_eq!(
            Precision::best(Precision::of_kind("h200"), &[Bf16, Fp8]),
            Some(Bf16),
            "the order is the user's"
        );
    }

    #[test]
    fn forms_of_a_kind_compute_alike() {
        for name in ["h100-pcie", "H100", "nvidia_h100_80gb_hbm3", "h100-mig-1g.10gb"] {
            assert_eq!(Precision::of_kind(name), Precision::of_kind("h100"), "{name}");
        }
        // Another device, whose name begins alike.
        assert_ne!(Precision::of_kind("a100"), Precision::of_kind("a10000"));
        assert!(Precision::of_kind("a1").is_empty() && Precision::of_kind("").is_empty());
    }

    #[test]
    fn every_kind_is_listed_once() {
        let mut names: Vec<&str> = KINDS.iter().flat_map(|(kinds, _)| kinds.iter().copied()).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
