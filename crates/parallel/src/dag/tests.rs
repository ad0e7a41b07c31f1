//! What the tests of this room share.

mod random;

use super::work::{Device, Edge, Task, Work};
use crate::fabric::Link;

/// Tasks `t0`, `t1`, ... with a time on each of the devices `d0`, `d1`, ...; a byte takes a second everywhere.
pub fn work(times: &[&[f64]], edges: &[(usize, usize, f64)]) -> Work {
    let devices = times[0].len();
    let task = |(index, times): (usize, &&[f64])| Task {
        name: format!("t{index}"),
        time_s: times.iter().map(|&time| Some(time)).collect(),
        ..Task::default()
    };
    Work {
        tasks: times.iter().enumerate().map(task).collect(),
        edges: edges.iter().map(|&(from, to, bytes)| edge(from, to, bytes)).collect(),
        devices: (0..devices)
            .map(|index| Device { name: format!("d{index}"), ..Device::default() })
            .collect(),
        links: Work::joined(devices, Link { bandwidth: 1.0, latency_s: 0.0 }),
        store: None,
    }
}

/// A short way to write one.
pub fn edge(from: usize, to: usize, bytes: f64) -> Edge {
    Edge { from, to, bytes }
}
