//! Figures of NCCL's default tuner: latencies in microseconds, bandwidths in GB/s.
//!
//! Source: NVIDIA/nccl, `src/graph/tuning.cc`, as of June 2026; numeric facts only, in a layout of our own. Columns of
//! protocols are LL, LL128, Simple. Rows of generations are Volta, Ampere, Hopper, Blackwell; their columns are one node,
//! two nodes, more.

/// Before anything is sent, for tree and ring.
pub const BASE: [[f64; 3]; 2] = [[6.8, 14.0, 8.4], [6.6, 14.0, 8.4]];

/// One message over NVLink, for tree and ring.
pub const NVLINK: [[f64; 3]; 2] = [[0.6, 1.25, 4.0], [0.6, 1.9, 3.4]];

/// One message over PCIe, for tree and ring.
pub const PCIE: [[f64; 3]; 2] = [[1.0, 1.9, 4.0], [1.0, 2.5, 5.7]];

/// One message over the network, for tree and ring.
pub const NETWORK: [[f64; 3]; 2] = [[5.0, 8.5, 14.0], [2.7, 4.0, 14.0]];

/// The most that LL reaches in all. Rows are generations in one node; among nodes the first is for Intel processors and
/// the second for AMD.
pub const LL_MOST: [[f64; 3]; 4] =
    [[39.0, 39.0, 20.4], [87.7, 22.5, 19.0], [141.0, 45.0, 35.0], [282.0, 90.0, 70.0]];

/// The most that a channel of a ring reaches with LL128.
pub const RING_LL128_MOST: [[f64; 3]; 4] =
    [[20.0, 20.0, 20.0], [20.0, 20.0, 20.0], [36.7, 36.7, 36.7], [40.0, 40.0, 40.0]];

/// The most that a channel of a tree reaches with LL128.
pub const TREE_LL128_MOST: [[f64; 3]; 4] =
    [[20.0, 20.0, 20.0], [20.0, 20.0, 20.0], [36.7, 36.7, 29.0], [55.6, 31.67, 20.0]];

/// The most that a channel of a tree reaches.
pub const TREE_MOST: [[f64; 3]; 4] =
    [[26.5, 18.5, 10.0], [24.0, 23.6, 17.8], [38.7, 41.4, 36.0], [70.0, 42.8, 24.0]];

/// What part of its bandwidth a tree reaches, by protocol and by the power of two of the size: 64 B, 128 B, ... 256 MiB.
pub const TREE_REACHED: [[f64; 23]; 3] = [
    [
        1.0, 1.0, 1.0, 1.0, 0.9, 0.8, 0.7, 0.7, 0.7, 0.7, 0.6, 0.5, 0.4, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0,
        1.0, 1.0, 1.0,
    ],
    [
        1.0, 1.0, 1.0, 1.0, 1.0, 0.9, 0.8, 0.8, 0.8, 0.7, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.8, 0.9, 0.9, 0.9,
        0.9, 1.0, 1.0,
    ],
    [
        0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.8, 0.7, 0.6, 0.6, 0.5, 0.5, 0.5, 0.5, 0.6, 0.7, 0.8, 0.7, 0.7,
        0.8, 0.9, 0.9,
    ],
];
