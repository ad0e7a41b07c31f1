//! Requests with their names resolved. Jobs that ask for the same thing share one class, so that what is found out
//! about one of them (it fits nowhere just now) holds for all.

use crate::state::cluster::{Cluster, FeatureId, Level};
use consort_types::{Count, DeviceId, Host, KindId, Pool, Precision, Role, WHOLE};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Names a class while any job uses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ClassId(pub(crate) u32);

/// A request: what one ask needs, role by role.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Class {
    pub(crate) roles: Vec<ClassRole>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct ClassRole {
    pub count: Count,
    pub shapes: Vec<ClassShape>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct ClassShape {
    pub kind: Option<KindId>,
    pub devices: u32,
    pub share: u16,
    pub memory_bytes: u64,
    pub within: Option<Level>,
    /// What a node must have, all of it; most ask for nothing.
    pub features: Vec<FeatureId>,
    /// Tried before `within`.
    pub prefer: Option<Level>,
    /// What a member takes of its node beside devices.
    pub host: Host,
    /// Number formats of which a kind must compute in one; most ask for nothing.
    pub precisions: Vec<Precision>,
}

impl ClassShape {
    /// The kinds it accepts, in order of id; that of the pools for a member without devices.
    pub fn kinds(&self, cluster: &Cluster) -> impl Iterator<Item = KindId> + use<> {
        let named = if self.devices == 0 { cluster.pools } else { self.kind };
        let all = match named {
            Some(kind) => kind.0..kind.0 + 1,
            None if self.devices == 0 => 0..0,
            None => 0..cluster.kinds.len() as u32,
        };
        let is_meant = |&kind: &u32| named.is_some() || !cluster.kinds[kind as usize].spec.by_name;
        all.filter(is_meant).collect::<Vec<_>>().into_iter().map(KindId)
    }

    /// Whether a device of this kind has the memory and the number formats it asks for. Memory that is not known is enough
    /// only where the job named the kind: then its owner knows.
    pub fn suits(&self, cluster: &Cluster, kind: KindId) -> bool {
        let is_enough = match cluster.memory(kind) {
            0 => self.memory_bytes == 0 || self.kind == Some(kind),
            memory => self.memory_bytes <= memory,
        };
        is_enough && self.computes_on(cluster, kind)
    }

    /// The same where memory that is not known is always enough. What `apply` decides goes by this: a journal must keep its
    /// meaning.
    pub fn might_suit(&self, cluster: &Cluster, kind: KindId) -> bool {
        let memory = cluster.memory(kind);
        (memory == 0 || self.memory_bytes <= memory) && self.computes_on(cluster, kind)
    }

    /// Whether a kind computes in a number format that would do.
    pub fn computes_on(&self, cluster: &Cluster, kind: KindId) -> bool {
        let known = || cluster.kinds[kind.index()].spec.computes_in();
        self.precisions.is_empty() || Precision::best(known(), &self.precisions).is_some()
    }

    /// Whether it could use this device, were it free.
    pub fn could_use(&self, cluster: &Cluster, id: DeviceId) -> bool {
        let device = cluster.device(id);
        if self.devices == 0 {
            let pool = Pool::ALL.into_iter().find(|pool| pool.of(&self.host) > 0);
            let is_meant = pool.and_then(|pool| cluster.nodes[device.node.index()].pool(pool)) == Some(id);
            return is_meant && cluster.has_features(device.node, &self.features);
        }
        let is_meant = match self.kind {
            Some(kind) => kind == device.kind,
            None => !cluster.kinds[device.kind.index()].spec.by_name,
        };
        is_meant && self.suits(cluster, device.kind) && cluster.has_features(device.node, &self.features)
    }

    /// What `count` members on this kind ask for of each pool, by the kinds of the pools; nothing where no pools are known.
    /// Where a world `counts_hosts`, processors that are granted as devices are asked for as well.
    pub fn asked_of_pools(
        &self,
        cluster: &Cluster,
        kind: KindId,
        count: u32,
        counts_hosts: bool,
    ) -> impl Iterator<Item = (KindId, u64)> + use<> {
        let mut host = self.host;
        if counts_hosts && self.devices > 0 && cluster.is_processors(kind) {
            host.cpu_milli = host.cpu_milli.max(u64::from(self.devices) * u64::from(self.share));
        }
        let kinds = (!host.is_none()).then(|| cluster.pool_kinds()).into_iter().flatten();
        let asked = Pool::ALL.map(|pool| pool.of(&host).saturating_mul(u64::from(count)));
        kinds.zip(asked)
    }

    /// Memory that a grant on a device of this kind takes: all of a whole device, the need or the share of a part.
    pub fn memory_on(&self, cluster: &Cluster, kind: KindId) -> u64 {
        let memory = cluster.memory(kind);
        match (self.share, self.memory_bytes) {
            (WHOLE, _) => memory,
            (share, 0) => (u128::from(memory) * u128::from(share) / u128::from(WHOLE)) as u64,
            (_, need) => need.min(memory),
        }
    }
}

impl Class {
    /// Resolves names; `None` if one is unknown (then `accept` says which).
    pub(crate) fn compile(roles: &[Role], cluster: &Cluster) -> Option<Class> {
        let roles = roles.iter().map(|role| {
            let shapes = role.shapes.iter().map(|shape| {
                let kind = match &shape.kind {
                    Some(name) => Some(cluster.kind_meant(name)?),
                    None => None,
                };
                let level = |name: &Option<String>| match name {
                    Some(name) => cluster.level(name).map(Some),
                    None => Some(None),
                };
                let (within, prefer, host) = (level(&shape.within)?, level(&shape.prefer)?, shape.host);
                let (devices, share, memory_bytes) = (shape.devices, shape.share, shape.memory_bytes);
                let features = shape.features.iter().map(|name| cluster.feature(name));
                let features = features.collect::<Option<_>>()?;
                let precisions = shape.precisions.clone();
                Some(ClassShape {
                    kind,
                    devices,
                    share,
                    memory_bytes,
                    within,
                    features,
                    prefer,
                    host,
                    precisions,
                })
            });
            Some(ClassRole { count: role.count, shapes: shapes.collect::<Option<_>>()? })
        });
        Some(Class { roles: roles.collect::<Option<_>>()? })
    }

    /// Devices of one ask at its widest, by its first shapes: what "width" means to an order.
    pub fn width(&self) -> u64 {
        self.roles.iter().map(|role| u64::from(role.count.max) * u64::from(role.shapes[0].devices)).sum()
    }

    /// How many members each role accepts.
    pub fn roles(&self) -> Vec<Count> {
        self.roles.iter().map(|role| role.count).collect()
    }

    /// Members of each role at the least width, in the order of the roles.
    pub fn least(&self) -> Vec<u32> {
        self.roles.iter().map(|role| role.count.min).collect()
    }

    /// Members of each role at the greatest width.
    pub fn most(&self) -> Vec<u32> {
        self.roles.iter().map(|role| role.count.max).collect()
    }

    /// Members of one ask at its widest.
    pub fn members(&self) -> u32 {
        self.roles.iter().fold(0u32, |sum, role| sum.saturating_add(role.count.max))
    }

    /// Whether some shape insists on features of its node.
    pub(crate) fn is_featured(&self) -> bool {
        self.shapes().any(|shape| !shape.features.is_empty())
    }

    /// The shapes of all roles.
    pub(crate) fn shapes(&self) -> impl Iterator<Item = &ClassShape> {
        self.roles.iter().flat_map(|role| &role.shapes)
    }

    /// Whether it is one role that wants whole devices.
    pub fn is_plain(&self) -> bool {
        self.roles.len() == 1 && self.roles[0].shapes.iter().all(|shape| shape.share == WHOLE)
    }
}

/// The classes in use.
#[derive(Clone, Debug, Default, Hash, Serialize, Deserialize)]
pub(crate) struct Classes {
    ids: BTreeMap<Vec<Role>, ClassId>,
    entries: Vec<Option<Entry>>,
    spare: Vec<u32>,
}

#[derive(Clone, Debug, Hash, Serialize, Deserialize)]
struct Entry {
    class: Arc<Class>,
    roles: Vec<Role>,
    users: u32,
    /// The make of cluster for which `accept` found that the class could fit.
    fits_make: u64,
}

impl Classes {
    /// All of them, and how many jobs use each.
    pub fn in_use(&self) -> impl Iterator<Item = (&Class, u32)> {
        self.entries.iter().flatten().map(|entry| (&*entry.class, entry.users))
    }

    pub fn get(&self, id: ClassId) -> &Arc<Class> {
        &self.entries[id.0 as usize].as_ref().expect("a class lives while a job uses it").class
    }

    /// The same, where it may have left.
    pub fn find(&self, id: ClassId) -> Option<&Arc<Class>> {
        self.entries.get(id.0 as usize)?.as_ref().map(|entry| &entry.class)
    }

    /// Whether these roles were already found to fit a cluster of this make.
    pub fn known_to_fit(&self, roles: &[Role], make: u64) -> bool {
        self.ids
            .get(roles)
            .is_some_and(|id| self.entries[id.0 as usize].as_ref().is_some_and(|e| e.fits_make == make))
    }

    pub fn enter(&mut self, roles: &[Role], cluster: &Cluster) -> ClassId {
        if let Some(&id) = self.ids.get(roles) {
            let entry = self.entries[id.0 as usize].as_mut().expect("a class lives while a job uses it");
            entry.users += 1;
            entry.fits_make = cluster.make;
            return id;
        }
        let class = Class::compile(roles, cluster).expect("accept admits only known names");
        let entry =
            Entry { class: Arc::new(class), roles: roles.to_vec(), users: 1, fits_make: cluster.make };
        let id = match self.spare.pop() {
            Some(slot) => {
                self.entries[slot as usize] = Some(entry);
                ClassId(slot)
            }
            None => {
                self.entries.push(Some(entry));
                ClassId(self.entries.len() as u32 - 1)
            }
        };
        self.ids.insert(roles.to_vec(), id);
        id
    }

    pub fn leave(&mut self, id: ClassId) {
        let slot = &mut self.entries[id.0 as usize];
        let entry = slot.as_mut().expect("a class lives while a job uses it");
        entry.users -= 1;
        if entry.users == 0 {
            let entry = slot.take().expect("just seen");
            self.ids.remove(&entry.roles);
            self.spare.push(id.0);
        }
    }
}
