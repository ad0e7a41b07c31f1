//! A small cluster out of nothing but dice: kinds, racks, islands, memory, tenants, queues.

use crate::dice::Dice;
use crate::workload::Cluster;
use crate::world::{Delays, Faults};
use consort_types::*;

impl Dice {
    /// A whole number from `low` to `high`, both included.
    pub(super) fn whole(&mut self, low: u32, high: u32) -> u32 {
        low + self.below(u64::from(high - low) + 1) as u32
    }

    /// Some time between `low` and `high` seconds, in whole milliseconds.
    pub(super) fn seconds(&mut self, low: f64, high: f64) -> Span {
        Span((self.between(low, high) * 1000.0) as i64 * 1_000_000)
    }

    /// One of these, each as likely.
    pub(super) fn one_of<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len() as u64) as usize]
    }
}

const KINDS: [&str; 3] = ["a", "b", "c"];
/// What nodes may have, in order.
pub(super) const FEATURES: [&str; 2] = ["x", "y"];

pub(super) fn cluster(dice: &mut Dice) -> Cluster {
    let settings = settings(dice);
    let kinds: Vec<KindSpec> = KINDS[..dice.whole(1, 3) as usize]
        .iter()
        .map(|name| KindSpec { memory_bytes: *dice.one_of(&[0, 16, 80]), ..KindSpec::named(*name) })
        .collect();
    let racks = dice.whole(1, 3);
    let has_features = dice.chance(0.4);
    let has_host = dice.chance(0.3);
    let nodes: Vec<NodeSpec> = (0..dice.whole(1, 12))
        .map(|number| {
            let rack = dice.below(u64::from(racks));
            let path = [format!("b{}", rack / 2), format!("r{rack}")];
            NodeSpec {
                name: format!("n{number}"),
                domains: path[2 - settings.levels.len()..].to_vec(),
                devices: devices(dice, kinds.len()),
                features: features(dice, has_features),
                host: host(dice, has_host),
            }
        })
        .collect();
    let tenants: Vec<TenantSpec> =
        (0..dice.whole(1, 4)).map(|number| tenant(dice, &format!("t{number}"), &kinds, &nodes)).collect();
    let queues = (0..dice.whole(1, 3))
        .map(|number| QueueSpec {
            name: format!("q{number}"),
            priority: dice.whole(0, 2) as i32 - 1,
            strict: dice.chance(0.4),
            tenants: if dice.chance(0.15) { vec![dice.one_of(&tenants).name.clone()] } else { vec![] },
        })
        .collect();
    Cluster { settings, kinds, nodes, tenants, queues }
}

pub(super) fn features(dice: &mut Dice, has_any: bool) -> Vec<String> {
    let some = FEATURES.into_iter().filter(|_| has_any && dice.chance(0.5));
    some.map(Into::into).collect()
}

/// Some nodes account for their processors, some for their memory too.
pub(super) fn host(dice: &mut Dice, has_any: bool) -> Host {
    if !has_any || dice.chance(0.1) {
        return Host::NONE;
    }
    Host { cpu_milli: *dice.one_of(&[2_000, 8_000, 16_500]), memory_bytes: *dice.one_of(&[0, 64, 200]) }
}

fn settings(dice: &mut Dice) -> Settings {
    let level = |name: &str, link: Option<&str>| LevelSpec { name: name.into(), link: link.map(Into::into) };
    let levels = [level("block", None), level("rack", Some("fabric"))];
    let skipped = dice.whole(0, 2) as usize;
    Settings {
        levels: levels[skipped..].to_vec(),
        island_link: dice.chance(0.5).then(|| "nvlink".into()),
        node_link: dice.chance(0.3).then(|| "pcie".into()),
        lease: dice.seconds(5.0, 40.0),
        margin: dice.seconds(0.0, 10.0),
        constants: dice.chance(0.3).then(|| constants(dice)),
    }
}

/// As another version of the program might write them into its journals.
fn constants(dice: &mut Dice) -> Constants {
    Constants {
        longest_backoff: dice.seconds(5.0, 4000.0),
        refused_backoff: dice.seconds(0.0, 20.0),
        usage_tick: Span::seconds(*dice.one_of(&[1, 60, 3600])),
        usage_kept: *dice.one_of(&[1 << 31, Constants::FIRST.usage_kept]),
        learned: dice.whole(1, 5),
    }
}

/// What one node has.
pub(super) fn devices(dice: &mut Dice, kinds: usize) -> Vec<DeviceGroup> {
    let groups = if kinds > 1 && dice.chance(0.3) { 2 } else { 1 };
    (0..groups)
        .map(|_| DeviceGroup {
            kind: KINDS[dice.below(kinds as u64) as usize].into(),
            count: *dice.one_of(&[1, 2, 3, 4, 4, 8]),
            island: *dice.one_of(&[0, 0, 2, 4]),
        })
        .collect()
}

/// A tenant with quotas for some kinds, and ceilings for what hosts have.
pub(super) fn tenant(dice: &mut Dice, name: &str, kinds: &[KindSpec], nodes: &[NodeSpec]) -> TenantSpec {
    let mut quotas = vec![];
    for kind in kinds {
        let groups = nodes.iter().flat_map(|node| &node.devices).filter(|group| group.kind == kind.name);
        let there: u32 = groups.map(|group| group.count).sum();
        if dice.chance(0.5) {
            let guarantee = if dice.chance(0.6) { dice.whole(0, there) } else { 0 };
            let ceiling =
                dice.chance(0.5).then(|| dice.whole(guarantee.max(1), there.max(guarantee) + 1).into());
            quotas.push(Quota { kind: kind.name.clone(), guarantee, ceiling });
        }
    }
    for pool in Pool::ALL {
        let there: u64 = nodes.iter().map(|node| pool.of(&node.host) / pool.unit()).sum();
        if there > 0 && dice.chance(0.4) {
            let ceiling = Some(1 + dice.below(there));
            quotas.push(Quota { kind: pool.name().into(), guarantee: 0, ceiling });
        }
    }
    TenantSpec { name: name.into(), quotas }
}

pub(super) fn delays(dice: &mut Dice) -> Delays {
    let mut some = |most| if dice.chance(0.4) { Span::ZERO } else { dice.seconds(0.0, most) };
    Delays { start: some(5.0), stop: some(5.0), ended: some(3.0), resize: some(20.0) }
}

pub(super) fn faults(dice: &mut Dice) -> Faults {
    let mut some = |most| if dice.chance(0.3) { 0.0 } else { dice.between(0.0, most) };
    Faults {
        refuse: some(0.25),
        late: some(0.4),
        twice: some(0.3),
        refuse_resize: some(0.4),
        unconfirmed: some(0.2),
        late_seconds: dice.below(90),
    }
}

pub(super) fn capabilities(dice: &mut Dice) -> Capabilities {
    let grain = if dice.chance(0.2) { Grain::Node } else { Grain::Device };
    Capabilities {
        preempts: dice.chance(0.9),
        shares: dice.chance(0.9),
        grain,
        resize: *dice.one_of(&[Resize::No, Resize::Restart, Resize::InPlace, Resize::InPlace]),
        counts_hosts: grain == Grain::Node,
    }
}
