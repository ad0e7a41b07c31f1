//! What is usually asked for, laid out so that the fragments of a node take a few additions.

use super::Lot;
use crate::class::Classes;
use crate::state::cluster::Cluster;
use consort_types::{KindId, Shape};

/// A request and how often it is made.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Shapes of one member, any of which will do.
    pub shapes: Vec<Shape>,
    /// How often.
    pub weight: u64,
}

/// One request with its names resolved.
pub(super) struct Want {
    kinds: Vec<KindId>,
    devices: u32,
    share: u16,
    cpu_milli: u64,
    weight: u64,
}

/// Requests that somebody listed. What names an unknown kind can never be asked for here.
pub(super) fn given<'a>(cluster: &'a Cluster, asked: &'a [Asked]) -> impl Iterator<Item = Want> + 'a {
    asked.iter().map(|asked| {
        let kinds = asked.shapes.iter().flat_map(|shape| match &shape.kind {
            Some(name) => cluster.kind_meant(name).into_iter().collect::<Vec<_>>(),
            None => cluster.kind_ids().filter(|kind| !cluster.kinds[kind.index()].spec.by_name).collect(),
        });
        let shape = &asked.shapes[0];
        let (devices, share, cpu_milli) = (shape.devices, shape.share, shape.host.cpu_milli);
        Want { kinds: kinds.collect(), devices, share, cpu_milli, weight: asked.weight }
    })
}

/// What the jobs that are alive ask for, role by role.
pub(super) fn living<'a>(cluster: &'a Cluster, classes: &'a Classes) -> impl Iterator<Item = Want> + 'a {
    let roles = classes.in_use().flat_map(|(class, users)| class.roles.iter().map(move |role| (role, users)));
    roles.map(|(role, users)| {
        let shape = &role.shapes[0];
        let kinds = role.shapes.iter().flat_map(|shape| shape.kinds(cluster)).collect();
        let (devices, share, cpu_milli) = (shape.devices, shape.share, shape.host.cpu_milli);
        let weight = u64::from(users) * u64::from(role.count.min);
        Want { kinds, devices, share, cpu_milli, weight }
    })
}

/// Requests by kind.
#[derive(Default)]
pub(super) struct Demand {
    kinds: Vec<OnKind>,
    total: i64,
}

/// Requests that accept one kind.
#[derive(Default)]
struct OnKind {
    /// Distinct pairs of devices and share.
    forms: Vec<(u32, u16)>,
    /// Distinct needs for processors, ascending.
    cpus: Vec<u64>,
    /// For each number of leading entries of `cpus` that a node still has: the weight of each form.
    weights: Vec<Vec<i64>>,
}

impl Demand {
    pub fn of(cluster: &Cluster, wants: impl Iterator<Item = Want>) -> Demand {
        let wants: Vec<Want> = wants.collect();
        let on = |kind: KindId| {
            let mine: Vec<&Want> =
                wants.iter().filter(|want| want.devices > 0 && want.kinds.contains(&kind)).collect();
            let mut forms: Vec<(u32, u16)> = mine.iter().map(|want| (want.devices, want.share)).collect();
            let mut cpus: Vec<u64> = mine.iter().map(|want| want.cpu_milli).collect();
            forms.sort_unstable();
            forms.dedup();
            cpus.sort_unstable();
            cpus.dedup();
            let weigh = |enough: usize| {
                let fits = |want: &&&Want| cpus[..enough].contains(&want.cpu_milli);
                let mut weights = vec![0; forms.len()];
                for want in mine.iter().filter(fits) {
                    let form = forms.binary_search(&(want.devices, want.share)).expect("one of them");
                    weights[form] += want.weight as i64;
                }
                weights
            };
            let weights = (0..=cpus.len()).map(weigh).collect();
            OnKind { forms, cpus, weights }
        };
        let total = wants.iter().map(|want| want.weight as i64).sum();
        Demand { kinds: cluster.kind_ids().map(on).collect(), total }
    }

    /// How often anything is asked for.
    pub fn total(&self) -> i64 {
        self.total
    }

    /// The fragments of a node, in thousandths of a device times [`total`](Self::total).
    pub fn fragments(&self, lot: &Lot) -> i64 {
        let mut all = 0;
        let kinds = lot.devices.chunk_by(|one, other| one.0 == other.0);
        for devices in kinds {
            let Some(on) = self.kinds.get(devices[0].0.index()) else { continue };
            let idle: i64 = devices.iter().map(|&(_, free)| i64::from(free)).sum();
            let enough = match lot.cpu_milli {
                Some(left) => on.cpus.partition_point(|&cpu| cpu <= left),
                None => on.cpus.len(),
            };
            let mut unfit = self.total;
            for (&(wanted, share), &weight) in on.forms.iter().zip(&on.weights[enough]) {
                let (mut fitting, mut short) = (0, 0);
                for &(_, free) in devices {
                    if free >= share { fitting += 1 } else { short += i64::from(free) }
                }
                if fitting >= wanted {
                    all += weight * short;
                    unfit -= weight;
                }
            }
            all += unfit * idle;
        }
        all
    }
}
