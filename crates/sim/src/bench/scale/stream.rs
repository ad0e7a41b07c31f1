//! The cluster of `plan-scale` and the endless stream of jobs for it.

use crate::dice::Dice;
use crate::workload::{Cluster, DEFAULT};
use consort_types::*;
use std::sync::Arc;

const KINDS: [&str; 4] = ["a", "b", "c", "d"];
const DEVICES: u32 = 8;
const TENANTS: u32 = 50;
const CLASSES: u64 = 300;
const WIDTHS: [(u32, f64); 8] =
    [(1, 40.0), (2, 15.0), (4, 15.0), (8, 18.0), (16, 6.0), (32, 4.0), (64, 1.5), (128, 0.5)];

pub(super) struct Stream {
    pub nodes: u32,
    /// Jobs drawn so far.
    pub drawn: u64,
    dice: Dice,
    classes: Vec<Vec<Role>>,
    /// How long each job runs, in order.
    lengths: Vec<Span>,
}

impl Stream {
    pub fn new(seed: u64, nodes: u32) -> Self {
        let mut dice = Dice::new(seed);
        let classes = (0..CLASSES).map(|number| class(&mut dice, number)).collect();
        Stream { nodes, drawn: 0, dice, classes, lengths: vec![] }
    }

    /// A quarter of the nodes of each kind, in turns; half of it is promised to somebody.
    pub fn cluster(&self) -> Cluster {
        let level = |name: &str| LevelSpec { name: name.into(), link: None };
        let nodes = (0..self.nodes).map(|number| NodeSpec {
            name: format!("n{number}"),
            domains: vec![format!("b{}", number / 128), format!("r{}", number / 16)],
            devices: vec![DeviceGroup { kind: KINDS[number as usize % 4].into(), count: DEVICES, island: 4 }],
            ..NodeSpec::default()
        });
        let guarantee = self.nodes / 4 * DEVICES / 2 / TENANTS;
        let quota = |kind: &&str| Quota { kind: (*kind).into(), guarantee, ceiling: None };
        let tenants = (0..TENANTS).map(|number| TenantSpec {
            name: format!("t{number}"),
            quotas: KINDS.iter().map(quota).collect(),
        });
        let kind = |name: &&str| KindSpec { memory_bytes: 80 << 30, ..KindSpec::named(*name) };
        Cluster {
            settings: Settings { levels: vec![level("block"), level("rack")], ..Settings::default() },
            kinds: KINDS.iter().map(kind).collect(),
            nodes: nodes.collect(),
            tenants: tenants.collect(),
            queues: vec![QueueSpec { name: DEFAULT.into(), priority: 0, strict: false, tenants: vec![] }],
        }
    }

    fn spec(&mut self, roles: Vec<Role>) -> Arc<JobSpec> {
        self.drawn += 1;
        let mut spec = JobSpec::gang(format!("j{}", self.drawn), 1, Shape::any());
        spec.stages[0].roles = roles;
        spec.tenant = format!("t{}", self.dice.below(u64::from(TENANTS)));
        spec.priority = self.dice.below(3) as i32;
        let length = Span((self.dice.log_normal(3600.0, 1.5) * 1e9) as i64);
        self.lengths.push(length);
        Arc::new(spec)
    }

    pub fn draw(&mut self) -> Arc<JobSpec> {
        let class = self.dice.below(CLASSES) as usize;
        self.spec(self.classes[class].clone())
    }

    /// One device of any kind.
    pub fn draw_single(&mut self) -> Arc<JobSpec> {
        self.spec(vec![role(1, vec![Shape::any()])])
    }

    /// How long a job runs.
    pub fn length(&self, job: JobId) -> Span {
        self.lengths[job.index()]
    }

    /// More nodes than there are, more in a rack than a rack has, more in an island.
    pub fn hopeless(&self) -> Vec<Arc<JobSpec>> {
        let whole = Shape { devices: DEVICES, ..Shape::any() };
        let in_rack = Shape { within: Some("rack".into()), ..whole.clone() };
        let in_island = Shape { within: Some("island".into()), ..Shape::of("a") };
        let jobs = [(self.nodes, whole), (17, in_rack), (DEVICES, in_island)];
        let job = |(count, shape): (u32, Shape)| JobSpec {
            tenant: "t0".into(),
            ..JobSpec::gang("never", count, shape)
        };
        jobs.map(|asked| Arc::new(job(asked))).into()
    }
}

fn role(count: u32, shapes: Vec<Shape>) -> Role {
    Role { name: "worker".into(), count: Count::exactly(count), shapes }
}

/// One of the classes. Each asks for a little more memory than the one before, so that no two are the same.
fn class(dice: &mut Dice, number: u64) -> Vec<Role> {
    let width = *dice.pick(&WIDTHS).expect("there are some");
    let first = dice.below(4) as usize;
    let second = dice.chance(0.4).then(|| (first + 1 + dice.below(3) as usize) % 4);
    let (count, devices) = (width.div_ceil(DEVICES), width.min(DEVICES));
    let memory_bytes = (number + 1) << 20;
    let shape = |kind: usize| Shape { devices, memory_bytes, ..Shape::of(KINDS[kind]) };
    vec![role(count, [Some(first), second].into_iter().flatten().map(shape).collect())]
}
