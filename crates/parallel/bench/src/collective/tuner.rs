//! Figures of NCCL's tuner beside those it was published with.

use super::figures;
use crate::{Row, data};
use consort_parallel::collective::nccl::constants as ours;
use serde::Deserialize;
use std::collections::BTreeMap;

type Rows = Vec<Vec<f64>>;

/// The file.
#[derive(Deserialize)]
pub struct Published {
    base_latency: BTreeMap<String, Vec<f64>>,
    hw_latency: BTreeMap<String, BTreeMap<String, Vec<f64>>>,
    ll_max_bw: Noted,
    per_channel_max_ring_ll128_bw: Rows,
    per_channel_max_tree_ll128_bw: Rows,
    per_channel_max_tree_bw: Rows,
}

#[derive(Deserialize)]
struct Noted {
    rows: Rows,
}

impl Published {
    /// How many figures there are, and how many are ours.
    pub fn row(&self) -> Row {
        let layouts = |table: Option<&BTreeMap<String, Vec<f64>>>| -> Rows {
            let of = |name: &str| table.and_then(|table| table.get(name)).cloned().unwrap_or_default();
            vec![of("Tree"), of("Ring")]
        };
        let rows = |table: &[[f64; 3]]| -> Rows { table.iter().map(|row| row.to_vec()).collect() };
        let compared = [
            ("base latency", layouts(Some(&self.base_latency)), rows(&ours::BASE)),
            ("NVLink latency", layouts(self.hw_latency.get("NVLINK")), rows(&ours::NVLINK)),
            ("PCIe latency", layouts(self.hw_latency.get("PCI")), rows(&ours::PCIE)),
            ("network latency", layouts(self.hw_latency.get("NET")), rows(&ours::NETWORK)),
            ("LL bandwidth", self.ll_max_bw.rows.clone(), rows(&ours::LL_MOST)),
            (
                "ring LL128 bandwidth",
                self.per_channel_max_ring_ll128_bw.clone(),
                rows(&ours::RING_LL128_MOST),
            ),
            (
                "tree LL128 bandwidth",
                self.per_channel_max_tree_ll128_bw.clone(),
                rows(&ours::TREE_LL128_MOST),
            ),
            ("tree bandwidth", self.per_channel_max_tree_bw.clone(), rows(&ours::TREE_MOST)),
        ];
        let (misses, cpu_ms) = data::timed(|| {
            let differs = compared.iter().filter(|(_, theirs, ours)| theirs != ours);
            differs
                .map(|(name, theirs, ours)| format!("{name} is {ours:?}, published is {theirs:?}"))
                .collect::<Vec<_>>()
        });
        let count = |table: &Rows| table.iter().flatten().count() as f64;
        let published: f64 = compared.iter().map(|(_, theirs, _)| count(theirs)).sum();
        let same: f64 = compared
            .iter()
            .filter(|(_, theirs, ours)| theirs == ours)
            .map(|(_, theirs, _)| count(theirs))
            .sum();
        Row { figures: figures(same, published, cpu_ms), misses, is_barred: true, ..Row::default() }
    }
}
