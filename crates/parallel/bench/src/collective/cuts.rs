//! The narrowest cut beside sets that somebody tried out, and what it costs on large fabrics.

use super::{compare, figures};
use crate::{Anchor, Row, data};
use consort_parallel::collective::bound::Bounds;
use consort_parallel::collective::cut::{self, Wires};
use consort_parallel::collective::wires;
use consort_parallel::dice::Dice;
use consort_parallel::fabric::{Fabric, Host, Level, Link};
use serde::Deserialize;

/// A fabric of which somebody has tried all sets of vertices.
#[derive(Deserialize)]
pub struct Public {
    /// Its name.
    pub name: String,
    vertices: usize,
    compute: usize,
    links: Vec<(usize, usize, f64)>,
    inv_x_star: Option<f64>,
    bottleneck_cut: Option<Vec<usize>>,
    #[serde(rename = "allgather_algbw_GBps")]
    algbw: Option<f64>,
    #[serde(rename = "allgather_time_per_GB")]
    time_per_gb: Option<f64>,
}

/// A fabric made here.
#[derive(Clone, Copy)]
pub enum Scale {
    /// 384 ranks and 128 switches, each with links to eight others.
    Random,
    /// 1,024 hosts of eight devices under 64 leaves and 8 pods.
    Hosts,
}

/// A cut of some hundred vertices takes well under a second, bars say a second.
const BAR_MS: f64 = 1000.0;

fn wires(ranks: usize, vertices: usize, links: Vec<(usize, usize, f64)>) -> Wires {
    let names = (0..vertices).map(|vertex| vertex.to_string()).collect();
    Wires { ranks, names, links, ..Wires::default() }
}

impl Public {
    /// The case, measured.
    pub fn row(&self) -> Row {
        let wires = wires(self.compute, self.vertices, self.links.clone());
        let (found, cpu_ms) = data::timed(|| cut::narrowest(&wires));
        let cut = match found {
            Ok(cut) => cut,
            Err(refusal) => {
                return Row { misses: vec![refusal.to_string()], is_barred: true, ..Row::default() };
            }
        };
        let mut misses = vec![];
        let time = cut.inv_x / self.compute as f64;
        compare(&mut misses, "inv_x_star", cut.inv_x, self.inv_x_star);
        compare(&mut misses, "allgather_algbw_GBps", 1.0 / time, self.algbw);
        compare(&mut misses, "allgather_time_per_GB", time, self.time_per_gb);
        if let Some(known) = &self.bottleneck_cut {
            // Several cuts may be equally narrow; the known one must be no worse than ours, by our own count.
            let side: Vec<bool> = (0..self.vertices).map(|vertex| known.contains(&vertex)).collect();
            let inside = side[..self.compute].iter().filter(|&&inside| inside).count() as f64;
            compare(&mut misses, "the known cut", inside / wires.out(&side), Some(cut.inv_x));
        }
        let mut figures = figures(time, time, cpu_ms);
        figures.extend([("inv_x_star", cut.inv_x), ("algbw_GBps", 1.0 / time)]);
        figures.extend([
            ("ranks_inside", cut.ranks_inside as f64),
            ("out_GBps", cut.out),
            ("flows", cut.flows as f64),
        ]);
        let anchor =
            self.inv_x_star.map(|value| Anchor { who: "all sets tried", metric: "inv_x_star", value });
        Row { figures, anchor, misses, is_barred: true, ..Row::default() }
    }
}

impl Scale {
    /// All of them.
    pub const ALL: [Scale; 2] = [Scale::Random, Scale::Hosts];

    /// What people type.
    pub fn name(self) -> &'static str {
        match self {
            Scale::Random => "scale-random-512",
            Scale::Hosts => "scale-hosts-1024x8",
        }
    }

    /// The case, measured.
    pub fn row(self) -> Row {
        let (found, cpu_ms) = match self {
            Scale::Random => {
                let wires = random();
                data::timed(|| cut::narrowest(&wires).map(|cut| (cut.inv_x / wires.ranks as f64, cut.flows)))
            }
            Scale::Hosts => {
                let fabric = hosts();
                data::timed(|| {
                    let wires = wires::of(&fabric);
                    let bounds = Bounds::of(&wires, 1e-6)?;
                    Ok((bounds.cut().inv_x / wires.ranks as f64, bounds.cut().flows))
                })
            }
        };
        let (time, flows) = match found {
            Ok(found) => found,
            Err(refusal) => {
                return Row { misses: vec![refusal.to_string()], is_barred: true, ..Row::default() };
            }
        };
        let mut figures = figures(time, time, cpu_ms);
        figures.push(("flows", flows as f64));
        let late = match cpu_ms > BAR_MS {
            true => vec![format!("it took {cpu_ms:.0} ms, the bar is {BAR_MS} ms")],
            false => vec![],
        };
        Row { figures, late, is_barred: true, ..Row::default() }
    }
}

fn random() -> Wires {
    let mut dice = Dice::new(1);
    let mut links = vec![];
    for from in 0..512 {
        for _ in 0..8 {
            let to = dice.below(512);
            let speed = (1 + dice.below(100)) as f64;
            if to != from {
                links.extend([(from, to, speed), (to, from, speed)]);
            }
        }
    }
    wires(384, 512, links)
}

fn hosts() -> Fabric {
    let link = |bandwidth, latency_s| Link { bandwidth, latency_s };
    let level = |name: &str, link, uplink| Level { name: name.into(), link, uplink };
    let host = |index: usize| Host {
        name: format!("h{index}"),
        domains: vec![format!("p{}", index / 128), format!("l{}", index / 16)],
        devices: 8,
        island: 8,
        kind: String::new(),
    };
    Fabric {
        levels: vec![
            level("spine", link(100e9, 8e-6), None),
            level("pod", link(200e9, 6e-6), Some(6400e9)),
            level("leaf", link(400e9, 4e-6), Some(1600e9)),
        ],
        node: link(64e9, 3e-6),
        island: link(450e9, 1e-6),
        hosts: (0..1024).map(host).collect(),
        measured: None,
    }
}
