//! What this cluster could ever hold, empty and with every node in good health; and the nearest thing that fits.

use super::{Verdict, refuse};
use crate::class::{Class, ClassRole, ClassShape};
use crate::draft::Draft;
use crate::free::Free;
use crate::lines::Lines;
use crate::policy::place::Consolidated;
use crate::scheduler::Scheduler;
use crate::state::State;
use crate::state::cluster::{Cluster, Health, Level, Node};
use crate::state::ledger::Ledger;
use consort_types::*;

impl Scheduler {
    pub(super) fn accept_capacity(&self, class: &Class, stage: &StageSpec, who: &str) -> Verdict {
        let cluster = &self.state.cluster;
        for (role, spec) in class.roles.iter().zip(&stage.roles) {
            let shapes = role.shapes.iter().zip(&spec.shapes);
            let judged = shapes.map(|(shape, spec)| (self.most_members(shape), shape, spec));
            // The first of the best: that is the one to speak of.
            let best = judged.reduce(|best, other| if other.0 > best.0 { other } else { best });
            let (most, shape, spec) = best.expect("a role has a shape");
            if most < role.count.min {
                return self.never(cluster, role.count.min, most, shape, spec, who);
            }
        }
        if class.roles.len() > 1 && !self.fits_together(class) {
            let subject = format!("{who} asks for roles that do not fit into this cluster together");
            return refuse(
                Rule::NeverFits,
                subject,
                "ask for fewer members, or let roles use different kinds",
            );
        }
        Ok(())
    }

    /// The most members of a role that an empty, healthy cluster could hold, if that is less than it needs. Looks at no
    /// node: what only nodes by themselves could tell is taken to fit.
    pub(crate) fn too_few(cluster: &Cluster, role: &ClassRole) -> Option<u32> {
        let most = |shape: &ClassShape| {
            let is_plain = shape.features.is_empty() && shape.host.is_none() && shape.devices > 0;
            let kinds = shape.kinds(cluster).filter(|&kind| shape.suits(cluster, kind));
            let total = |kind: KindId| -> u64 {
                let sizes = sizes(cluster, shape, kind).into_iter();
                sizes.map(|(members, nodes)| u64::from(members) * u64::from(nodes)).sum()
            };
            if is_plain { kinds.map(total).max().unwrap_or(0) } else { u64::MAX }
        };
        let most = role.shapes.iter().map(most).max()?;
        (most < u64::from(role.count.min)).then_some(most as u32)
    }

    /// The most members of a shape that an empty, healthy cluster could hold.
    fn most_members(&self, shape: &ClassShape) -> u32 {
        shape.kinds(&self.state.cluster).map(|kind| self.most_of_kind(shape, kind)).max().unwrap_or(0)
    }

    /// The same on one kind.
    fn most_of_kind(&self, shape: &ClassShape, kind: KindId) -> u32 {
        let cluster = &self.state.cluster;
        let sizes = sizes(cluster, shape, kind).into_iter();
        match shape.within {
            _ if !shape.suits(cluster, kind) => 0,
            None => {
                let members = sizes.map(|(members, nodes)| u64::from(members) * u64::from(nodes));
                u32::try_from(members.sum::<u64>()).unwrap_or(u32::MAX)
            }
            Some(Level::Node) => sizes.map(|(members, _)| members).max().unwrap_or(0),
            Some(_) => most_within(cluster, shape, kind),
        }
    }

    /// Whether some shape and kind has room for a role, and is not closed to the tenant.
    fn role_fits_below_ceilings(&self, role: &ClassRole, tenant: TenantId) -> bool {
        role.shapes.iter().any(|shape| {
            let share = u64::from(role.count.min) * u64::from(shape.devices) * u64::from(shape.share);
            let is_open = |kind: KindId, needs: u64| {
                let ceiling = self.ceiling_of(tenant, kind);
                needs == 0 || ceiling.is_none_or(|ceiling| needs <= ceiling)
            };
            let cluster = &self.state.cluster;
            shape.kinds(cluster).any(|kind| {
                let counts_hosts = self.capabilities.counts_hosts;
                let mut hosts = shape.asked_of_pools(cluster, kind, role.count.min, counts_hosts);
                hosts.all(|(pool, asked)| is_open(pool, asked))
                    && is_open(kind, share)
                    && self.most_of_kind(shape, kind) >= role.count.min
            })
        })
    }

    fn never(
        &self,
        cluster: &Cluster,
        asked: u32,
        most: u32,
        shape: &ClassShape,
        spec: &Shape,
        who: &str,
    ) -> Verdict {
        let wanted = spec.kind.as_deref().unwrap_or(if spec.devices == 0 { "any node" } else { "any kind" });
        let kind_name = |kind: KindId| cluster.kinds[kind.index()].spec.name.as_str();
        if !shape.precisions.is_empty() && !shape.kinds(cluster).any(|kind| shape.computes_on(cluster, kind))
        {
            let formats =
                |formats: &[Precision]| formats.iter().map(Precision::to_string).collect::<Vec<_>>();
            let known =
                shape.kinds(cluster).map(|kind| match cluster.kinds[kind.index()].spec.computes_in() {
                    [] => format!("the number formats of {} are unknown", kind_name(kind)),
                    known => format!("{} supports {}", kind_name(kind), formats(known).join(", ")),
                });
            let known: Vec<String> = known.collect();
            let subject = format!("{who} asks for {} on {wanted}", formats(&shape.precisions).join(" or "));
            let remedy =
                if known.is_empty() { "no kinds of device are known yet".into() } else { known.join("; ") };
            return refuse(Rule::NeverFits, subject, remedy);
        }
        if shape.kinds(cluster).all(|kind| !shape.suits(cluster, kind)) {
            let each = spec.kind.as_deref().unwrap_or("device");
            let largest = shape.kinds(cluster).max_by_key(|&kind| cluster.memory(kind));
            let subject =
                format!("{who} asks for {} of memory on each {each}", memory_words(shape.memory_bytes));
            return refuse(
                Rule::NeverFits,
                subject,
                match largest {
                    Some(kind) if cluster.memory(kind) == 0 && cluster.is_processors(kind) => {
                        "there are only processors; use `mem` for memory of the host".into()
                    }
                    Some(kind) if cluster.memory(kind) == 0 => {
                        let name = kind_name(kind);
                        format!("the memory of {name} is unknown; name the kind if it has enough")
                    }
                    Some(kind) => format!("{} has {}", kind_name(kind), memory_words(cluster.memory(kind))),
                    None => "no kinds of device are known yet".into(),
                },
            );
        }
        let each = match (spec.devices, spec.share) {
            (0, _) | (1, WHOLE) => String::new(),
            (1, share) => format!(" with {} of a device each", f64::from(share) / f64::from(WHOLE)),
            (devices, _) => format!(" with {devices} devices each on one node"),
        };
        let within = spec.within.as_ref().map(|within| format!(" within {within}")).unwrap_or_default();
        let nodes = match spec.features.is_empty() {
            true => String::new(),
            false => format!(" on nodes with {}", spec.features.join(" and ")),
        };
        let beside = match spec.host.is_none() {
            true => String::new(),
            false if asked == 1 => format!(" with {}", spec.host),
            false => format!(" with {} each", spec.host),
        };
        let subject = match (asked, spec.devices, spec.share) {
            (1, 0, _) => format!("{who} asks for a worker{beside}{within}{nodes}, but no node has that"),
            (1, 1, WHOLE) => {
                format!("{who} asks for a device of {wanted}{beside}{within}{nodes}, but no node has that")
            }
            (1, 1, share) => {
                let share = f64::from(share) / f64::from(WHOLE);
                format!("{who} asks for {share} of a device of {wanted}{beside}{nodes}, but no node has that")
            }
            (1, devices, _) => {
                format!(
                    "{who} asks for {devices} devices of {wanted} on one node{beside}{within}{nodes}, but no node has that"
                )
            }
            _ => format!(
                "{who} asks for a gang of {asked} on {wanted}{each}{beside}{within}{nodes}, but the cluster can hold at most {most}"
            ),
        };
        let remedy = match most {
            0 if !cluster.nodes.iter().any(Node::is_there) => "add nodes first".into(),
            0 if !shape.host.is_none() => largest_host(cluster),
            0 => self.inventory(),
            most => format!("ask for {most} or fewer"),
        };
        refuse(Rule::NeverFits, subject, remedy)
    }

    fn inventory(&self) -> String {
        let kinds = self.state.cluster.kinds.iter().filter_map(|kind| {
            let (&size, _) = kind.sizes.iter().rev().find(|&(_, &nodes)| nodes > 0)?;
            Some(format!("up to {size} {} on a node", kind.spec.name))
        });
        format!("the cluster has {}", kinds.collect::<Vec<_>>().join(", "))
    }

    fn fits_together(&self, class: &Class) -> bool {
        self.fits_empty(class, Ledger::default(), None)
    }

    /// Whether the tenant could run it in an empty cluster, with all its roles below its ceilings at once.
    pub(super) fn fits_below_ceilings(&self, class: &Class, tenant: TenantId) -> bool {
        if let [role] = &class.roles[..] {
            return self.role_fits_below_ceilings(role, tenant); // counting is enough, and costs nothing
        }
        let mut ledger = self.state.ledger.clone();
        for account in &mut ledger.tenants[tenant.index()].accounts {
            (account.held, account.committed, account.leaving) = (0, 0, 0);
        }
        self.fits_empty(class, ledger, Some(tenant))
    }

    fn fits_empty(&self, class: &Class, ledger: Ledger, tenant: Option<TenantId>) -> bool {
        let state = State { cluster: emptied(&self.state.cluster), ledger, ..State::default() };
        let (mut free, mut lines) = (Free::of(&state.cluster), Lines::default());
        let mut draft = Draft::new(&state, &mut free, &mut lines, self.capabilities, ("", state.now), None);
        let counts: Vec<u32> = class.roles.iter().map(|role| role.count.min).collect();
        draft.room_for(&Consolidated, class, &counts, tenant).is_some()
    }
}

/// What there is of hosts, for people.
fn largest_host(cluster: &Cluster) -> String {
    let hosts = || cluster.nodes.iter().map(|node| node.spec.host);
    let cpu_milli = hosts().map(|host| host.cpu_milli).max().unwrap_or(0);
    let memory_bytes = hosts().map(|host| host.memory_bytes).max().unwrap_or(0);
    format!("nodes have up to {}", Host { cpu_milli, memory_bytes })
}

/// How many members of a shape fit on how many of the nodes that would do, whatever their health.
fn sizes(cluster: &Cluster, shape: &ClassShape, kind: KindId) -> Vec<(u32, u32)> {
    let kind = &cluster.kinds[kind.index()];
    if shape.features.is_empty() && shape.host.is_none() {
        let sizes = kind.sizes.iter().map(|(&size, &nodes)| (size / shape.devices, nodes));
        return sizes.filter(|&(_, nodes)| nodes > 0).collect();
    }
    let all = (0..cluster.nodes.len() as u32).map(NodeId);
    let nodes = all.filter(|&node| cluster.has_features(node, &shape.features));
    let members = nodes.map(|node| {
        let spec = &cluster.nodes[node.index()].spec;
        let groups = spec.devices.iter().filter(|group| group.kind == kind.spec.name);
        let devices: u32 = groups.map(|group| group.count).sum();
        let hosted = hosted(&spec.host, &shape.host);
        devices
            .checked_div(shape.devices)
            .map_or(hosted.unwrap_or(0), |seats| seats.min(hosted.unwrap_or(seats)))
    });
    members.filter(|&members| members > 0).map(|members| (members, 1)).collect()
}

/// How many members a host could take, if it accounts for anything they want.
fn hosted(has: &Host, need: &Host) -> Option<u32> {
    if need.is_none() {
        return None;
    }
    let wanted = Pool::ALL.into_iter().filter(|pool| pool.of(need) > 0 && pool.of(has) > 0);
    let members = wanted.map(|pool| pool.of(has) / pool.of(need)).min()?;
    Some(u32::try_from(members).unwrap_or(u32::MAX))
}

/// The same cluster with nobody in it and every node in good health.
fn emptied(cluster: &Cluster) -> Cluster {
    let mut empty = cluster.clone();
    for device in &mut empty.devices {
        (device.held, device.held_memory, device.foreign, device.ill) = (0, 0, 0, None);
        device.foreign_amount = 0;
    }
    for node in empty.nodes.iter_mut().filter(|node| node.is_there()) {
        (node.health, node.drained) = (Health::Up, false);
    }
    empty
}

/// The most members inside one island or one domain, whatever the health of the nodes.
fn most_within(cluster: &Cluster, shape: &ClassShape, kind: KindId) -> u32 {
    let name = &cluster.kinds[kind.index()].spec.name;
    let mut in_domain = vec![0; cluster.domains.len()];
    let mut in_island = 0;
    for (index, node) in cluster.nodes.iter().enumerate() {
        if !node.is_there() || !cluster.has_features(NodeId(index as u32), &shape.features) {
            continue;
        }
        let groups = node.spec.devices.iter().filter(|group| group.kind == *name);
        let hosted = hosted(&node.spec.host, &shape.host).unwrap_or(u32::MAX);
        match shape.within {
            Some(Level::Domain(level)) => {
                let devices: u32 = groups.map(|group| group.count).sum();
                in_domain[node.domains[usize::from(level)] as usize] += (devices / shape.devices).min(hosted);
            }
            _ => {
                let largest = groups.map(|group| group.island.min(group.count)).max().unwrap_or(0);
                in_island = in_island.max((largest / shape.devices).min(hosted));
            }
        }
    }
    in_domain.into_iter().max().unwrap_or(0).max(in_island)
}
