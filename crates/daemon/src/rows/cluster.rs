//! Nodes, devices, queues, tenants.

use crate::meters::Gauges;
use consort_api::shapes::{Device, DeviceState, Node, NodeState, Queue, Quota, Tenant};
use consort_sched::{Doing, NodeView, Reading, View};
use consort_types::*;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

/// Which jobs hold which devices.
fn holders(view: &View<'_>) -> BTreeMap<DeviceId, BTreeSet<JobId>> {
    let mut holders: BTreeMap<DeviceId, BTreeSet<JobId>> = BTreeMap::new();
    for ask in view.granted().filter_map(|id| view.ask(id)) {
        if ask.doing() != Doing::Planned {
            for grant in ask.grants() {
                holders.entry(grant.device).or_default().insert(ask.id().job);
            }
        }
    }
    holders
}

fn ids(node: &NodeView<'_>) -> impl Iterator<Item = DeviceId> + use<> {
    (node.first.0..node.first.0 + node.devices).map(DeviceId)
}

/// How many devices are unhealthy, and why if it is the same for all of them.
fn note(ill: &[&str]) -> String {
    match ill {
        [] => String::new(),
        [why, rest @ ..] if rest.iter().all(|other| other == why) => {
            format!("{} unhealthy: {why}", ill.len())
        }
        _ => format!("{} unhealthy", ill.len()),
    }
}

/// Which nodes, or devices, are wanted.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Page<S> {
    /// Only this node, or devices of it.
    node: Option<String>,
    /// Only devices of this kind, or nodes with some; in any case.
    kind: Option<String>,
    /// Only in this state.
    state: Option<S>,
    /// Only behind this one, the last of the page before: `n1`, or `n1[3]`.
    after: Option<String>,
    /// At most this many.
    limit: Option<usize>,
}

impl<S> Page<S> {
    /// Everything.
    pub fn whole() -> Self {
        Self { node: None, kind: None, state: None, after: None, limit: None }
    }

    /// One node, or its devices.
    pub fn of_node(name: &str) -> Self {
        Self { node: Some(name.into()), ..Self::whole() }
    }
}

impl<S: PartialEq> Page<S> {
    fn admits(&self, node: &NodeView<'_>) -> bool {
        self.node.as_ref().is_none_or(|wanted| *wanted == node.spec.name)
    }

    fn admits_kind(&self, kind: &str) -> bool {
        self.kind.as_ref().is_none_or(|wanted| wanted.eq_ignore_ascii_case(kind))
    }

    fn admits_state(&self, state: S) -> bool {
        self.state.as_ref().is_none_or(|wanted| *wanted == state)
    }

    /// The rows of the page, and whether there are more.
    fn cut<T>(&self, rows: impl Iterator<Item = T>) -> (Vec<T>, bool) {
        let limit = self.limit.unwrap_or(usize::MAX);
        let mut rows: Vec<T> = rows.take(limit.saturating_add(1)).collect();
        let more = rows.len() > limit;
        rows.truncate(limit);
        (rows, more)
    }
}

fn node_state(node: &NodeView<'_>) -> NodeState {
    match (node.fenced, node.suspect, node.drained) {
        (true, ..) => NodeState::Fenced,
        (_, true, _) => NodeState::Suspect,
        (_, _, true) => NodeState::Draining,
        _ => NodeState::Up,
    }
}

/// Nodes, and whether there are more; `None` if the page begins behind an unknown one.
pub fn nodes(reading: &Reading<'_>, page: &Page<NodeState>) -> Option<(Vec<Node>, bool)> {
    let view = reading.view();
    let after = match &page.after {
        Some(after) => Some(view.node(after)?),
        None => None,
    };
    let holders = holders(&view);
    let told = |node: NodeView<'_>| {
        let held: Vec<&BTreeSet<JobId>> = ids(&node).filter_map(|id| holders.get(&id)).collect();
        let jobs: BTreeSet<JobId> = held.iter().flat_map(|jobs| jobs.iter().copied()).collect();
        let mut kinds = BTreeMap::new();
        for group in &node.spec.devices {
            *kinds.entry(group.kind.clone()).or_default() += u64::from(group.count);
        }
        let ill: Vec<&str> = ids(&node).filter_map(|id| view.device(id).ill).collect();
        let left = view.host_left(node.id);
        Node {
            name: node.spec.name.clone(),
            state: node_state(&node),
            devices: u64::from(node.devices),
            used: held.len() as u64,
            jobs: jobs.len() as u64,
            kinds,
            note: note(&ill),
            features: node.spec.features.clone(),
            cpu_thousandths: node.spec.host.cpu_milli,
            cpu_thousandths_free: left.cpu_milli,
            memory_bytes: node.spec.host.memory_bytes,
            memory_bytes_free: left.memory_bytes,
        }
    };
    let has_kind = |node: &NodeView<'_>| {
        page.kind.is_none() || node.spec.devices.iter().any(|group| page.admits_kind(&group.kind))
    };
    let wanted = |node: &NodeView<'_>| {
        after.is_none_or(|after| node.id > after)
            && page.admits(node)
            && page.admits_state(node_state(node))
            && has_kind(node)
    };
    Some(page.cut(view.nodes().filter(wanted).map(told)))
}

/// The node and the position in `n1[3]`.
fn place(view: &View<'_>, text: &str) -> Option<(NodeId, u32)> {
    let (node, index) = text.strip_suffix(']')?.rsplit_once('[')?;
    Some((view.node(node)?, index.parse().ok()?))
}

/// Devices, as the reading sees them, and whether there are more; `None` if the page begins behind an unknown one. What
/// their own sensors say is added by others.
pub fn devices(reading: &Reading<'_>, page: &Page<DeviceState>) -> Option<(Vec<Device>, bool)> {
    let view = reading.view();
    let after = match &page.after {
        Some(after) => Some(place(&view, after)?),
        None => None,
    };
    let holders = holders(&view);
    let kinds: BTreeMap<KindId, &KindSpec> = view.kinds().collect();
    let found =
        view.nodes().flat_map(|node| ids(&node).enumerate().map(move |(index, id)| (node, index as u32, id)));
    let is_wanted = |(node, index, _): &(NodeView<'_>, u32, DeviceId)| {
        page.admits(node) && after.is_none_or(|after| (node.id, *index) > after)
    };
    let told = |(node, index, id): (NodeView<'_>, u32, DeviceId)| {
        let device = view.device(id);
        let kind = kinds[&device.kind];
        let state = match (device.ill, device.held, device.foreign) {
            (Some(_), ..) => DeviceState::Unhealthy,
            (_, WHOLE, _) => DeviceState::Used,
            (_, 0, 0) => DeviceState::Free,
            (_, 0, _) => DeviceState::Foreign,
            _ => DeviceState::Shared,
        };
        if !page.admits_kind(&kind.name) || !page.admits_state(state) {
            return None;
        }
        let jobs = holders.get(&id);
        Some(Device {
            node: node.spec.name.clone(),
            index,
            kind: kind.name.clone(),
            vendor: kind.vendor.clone(),
            uuid: None,
            state,
            used_thousandths: u32::from(device.held),
            memory_bytes: Some(kind.memory_bytes).filter(|&bytes| bytes > 0),
            jobs: jobs.map_or(vec![], |jobs| jobs.iter().map(|job| job.0).collect()),
            temperature_c: None,
            power_w: None,
            utilization_percent: None,
            memory_used_bytes: None,
            why: device.ill.map(str::to_string).or_else(|| closed(&node)),
        })
    };
    Some(page.cut(found.filter(is_wanted).filter_map(told)))
}

/// Why nothing new starts on any device of a node; nothing where it does.
fn closed(node: &NodeView<'_>) -> Option<String> {
    match node_state(node) {
        NodeState::Up => None,
        state => Some(format!("its node is {state}")),
    }
}

/// Jobs that wait and that hold devices, by whatever they are counted.
fn counts<K: Ord>(view: &View<'_>, of: impl Fn(&JobSpec) -> K) -> BTreeMap<K, (u64, u64)> {
    let mut counts: BTreeMap<K, (u64, u64)> = BTreeMap::new();
    let holding: BTreeSet<JobId> = view.granted().map(|ask| ask.job).collect();
    for job in view.jobs() {
        let count = counts.entry(of(job.spec())).or_default();
        if holding.contains(&job.id()) { count.1 += 1 } else { count.0 += 1 }
    }
    counts
}

/// All queues.
pub fn queues(reading: &Reading<'_>) -> Vec<Queue> {
    let view = reading.view();
    let counts = counts(&view, |spec| spec.queue.clone());
    let told = |queue: &QueueSpec| {
        let (waiting, running) = counts.get(&queue.name).copied().unwrap_or_default();
        Queue {
            name: queue.name.clone(),
            priority: queue.priority,
            strict: queue.strict,
            tenants: queue.tenants.clone(),
            waiting,
            running,
        }
    };
    view.queues().map(|(_, queue)| told(queue)).collect()
}

/// All tenants.
pub fn tenants(reading: &Reading<'_>) -> Vec<Tenant> {
    let view = reading.view();
    let counts = counts(&view, |spec| spec.tenant.clone());
    let excess = excess_guarantees(reading);
    let told = |(id, tenant): (TenantId, &TenantSpec)| {
        let (waiting, running) = counts.get(&tenant.name).copied().unwrap_or_default();
        let (mut holds, mut usage) = (BTreeMap::new(), BTreeMap::new());
        for (kind, spec) in view.kinds() {
            let account = view.account(id, kind);
            if account.held > 0 {
                holds.insert(spec.name.clone(), account.held as f64 / f64::from(WHOLE));
            }
            if account.usage_device_ms > 0 {
                usage.insert(spec.name.clone(), account.usage_device_ms as f64 / 3_600_000.0);
            }
        }
        let quota = |quota: &consort_types::Quota| Quota {
            kind: quota.kind.clone(),
            guarantee: quota.guarantee,
            ceiling: quota.ceiling,
        };
        let quotas = tenant.quotas.iter().map(quota).collect();
        let notes = excess.iter().filter(|(kind, _)| view.account(id, *kind).guarantee > 0);
        let notes = notes.map(|(_, note)| note.clone()).collect();
        let [cpu, memory] = Pool::ALL.map(|pool| view.pool_account(id, pool));
        let settled = |amount: u128| u64::try_from(amount).unwrap_or(u64::MAX);
        Tenant {
            name: tenant.name.clone(),
            quotas,
            holds,
            usage_device_hours: usage,
            cpu_thousandths: cpu.held,
            memory_bytes: memory.held,
            usage_cpu_ms: settled(cpu.usage_ms),
            usage_memory_mib_ms: settled(memory.usage_ms >> 20),
            waiting,
            running,
            notes,
        }
    };
    view.tenants().map(told).collect()
}

/// Kinds of which more is guaranteed than there is, whatever the health of its nodes, with a sentence about each.
fn excess_guarantees(reading: &Reading<'_>) -> Vec<(KindId, String)> {
    let view = reading.view();
    let note = |(kind, spec): (KindId, &KindSpec)| {
        let promised: u64 = view.tenants().map(|(tenant, _)| view.account(tenant, kind).guarantee).sum();
        let (promised, there) = (promised / u64::from(WHOLE), view.devices_of(kind));
        let name = &spec.name;
        let note = format!(
            "the guarantees of {name} add up to {promised}, but there are {there}: \
             lower some with `consort tenants set TENANT --quota {name}=N`"
        );
        (promised > there).then_some((kind, note))
    };
    view.kinds().filter_map(note).collect()
}

/// What is counted for the metrics and the status.
pub fn gauges(reading: &Reading<'_>) -> Gauges {
    let view = reading.view();
    let holding: BTreeSet<JobId> = view.granted().map(|ask| ask.job).collect();
    let (mut devices, mut used, mut ill) = (0, 0, 0);
    for node in view.nodes() {
        for device in ids(&node).map(|id| view.device(id)) {
            devices += 1;
            used += u64::from(device.held > 0);
            ill += u64::from(device.ill.is_some());
        }
    }
    let running = holding.len() as u64;
    let waiting = view.living_count() as u64 - running;
    let ended = view.next_job().0 - 1 - view.living_count() as u64;
    Gauges { waiting, running, ended, devices: (devices, used, ill), position: view.seen() }
}

/// What the status says of the state: what is counted, and notes about guarantees.
pub type Figures = (Gauges, Vec<String>);

/// The same, now.
pub fn figures(reading: &Reading<'_>) -> Figures {
    (gauges(reading), excess_guarantees(reading).into_iter().map(|(_, note)| note).collect())
}
