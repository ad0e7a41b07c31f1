//! The read-only face of the state. Policies, explanations, the command line and the dashboard all look through it.

use crate::apply::progress::{pace, setting};
use crate::belief::Setting;
use crate::class::{Class, ClassId, Classes};
use crate::explain::world_words;
use crate::state::State;
use crate::state::cluster::{Health, Node};
use crate::state::jobs::{Ask, AskState, Ending, HostUse, Job, Phase, Progress, Why};
use crate::state::observed::Rates;
use consort_types::*;
use std::sync::Arc;

/// Looks, never touches.
#[derive(Clone, Copy)]
pub struct View<'a> {
    state: &'a State,
}

/// One job, as others may see it.
#[derive(Clone, Copy)]
pub struct JobView<'a> {
    job: &'a Job,
}

/// One ask, as others may see it.
#[derive(Clone, Copy)]
pub struct AskView<'a> {
    state: &'a State,
    job: &'a Job,
    ask: &'a Ask,
    id: AskId,
}

/// What an ask is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// Something must happen first: another job, another stage, a resume.
    Blocked,
    /// Could start.
    Waiting,
    /// Has been promised devices that others still hold.
    Planned,
    /// Is being brought up.
    Starting,
    /// Runs.
    Running,
    /// Has been told to go.
    Releasing,
    /// Is over.
    Done,
}

/// What one tenant holds, is promised and has used of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Account {
    /// Thousandths of a device it is promised.
    pub guarantee: u64,
    /// Thousandths of a device it never exceeds.
    pub ceiling: Option<u64>,
    /// Thousandths of a device it holds.
    pub held: u64,
    /// Device-milliseconds settled so far.
    pub usage_device_ms: u64,
}

/// What one tenant holds and has used of a pool: thousandths of a processor, or bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolAccount {
    /// Above this nothing starts that asks for it.
    pub ceiling: Option<u64>,
    /// What it holds, asked for or only counted.
    pub held: u64,
    /// Milliseconds of one processor, or of one byte, settled so far.
    pub usage_ms: u128,
}

/// One device, as others may see it.
#[derive(Clone, Copy, Debug)]
pub struct DeviceView<'a> {
    /// The node it is in.
    pub node: NodeId,
    /// Its kind.
    pub kind: KindId,
    /// Thousandths granted and not yet given back.
    pub held: u16,
    /// Thousandths in the hands of somebody we do not schedule.
    pub foreign: u16,
    /// Why it must not be used, if so.
    pub ill: Option<&'a str>,
}

/// One node, as others may see it.
#[derive(Clone, Copy, Debug)]
pub struct NodeView<'a> {
    /// Its id.
    pub id: NodeId,
    /// What it presented itself as.
    pub spec: &'a NodeSpec,
    /// Takes new work.
    pub usable: bool,
    /// Given up; work may still be there, see [`View::fenced_attempts`].
    pub fenced: bool,
    /// Has not been heard of for a while.
    pub suspect: bool,
    /// Takes no new work, because somebody said so.
    pub drained: bool,
    /// Its first device; the others follow.
    pub first: DeviceId,
    /// Its number of devices.
    pub devices: u32,
}

impl<'a> View<'a> {
    pub(crate) fn of(state: &'a State) -> Self {
        View { state }
    }

    /// What holds for the whole cluster.
    pub fn settings(&self) -> &'a Settings {
        &self.state.cluster.settings
    }

    /// Time of the last event.
    pub fn now(&self) -> Time {
        self.state.now
    }

    /// How many events the state has seen.
    pub fn seen(&self) -> u64 {
        self.state.seen
    }

    /// The id that the next accepted submission gets.
    pub fn next_job(&self) -> JobId {
        self.state.jobs.next_id()
    }

    /// A job that is alive.
    pub fn job(&self, id: JobId) -> Option<JobView<'a>> {
        self.state.jobs.get(id).map(|job| JobView { job })
    }

    /// How a job ended, if it has.
    pub fn ending(&self, id: JobId) -> Option<Ending> {
        self.state.jobs.ending(id)
    }

    /// All jobs that are alive, in order of id.
    pub fn jobs(&self) -> impl DoubleEndedIterator<Item = JobView<'a>> + use<'a> {
        self.state.jobs.iter().map(|job| JobView { job })
    }

    /// How many jobs are alive.
    pub fn living_count(&self) -> usize {
        self.state.jobs.living()
    }

    /// One ask of a living job.
    pub fn ask(&self, id: AskId) -> Option<AskView<'a>> {
        let job = self.state.jobs.get(id.job)?;
        Some(AskView { state: self.state, job, ask: job.ask(id)?, id })
    }

    /// Asks that could start, in order of id; some may be backing off.
    pub fn waiting(&self) -> impl DoubleEndedIterator<Item = AskId> + use<'a> {
        self.state.jobs.waiting.iter().copied()
    }

    /// Gangs that hold devices and accept other widths, in order of id.
    pub fn elastic(&self) -> impl Iterator<Item = AskId> + use<'a> {
        self.state.jobs.elastic.0.iter().copied()
    }

    /// How many could start.
    pub fn waiting_count(&self) -> usize {
        self.state.jobs.waiting.len()
    }

    /// Asks that hold or are promised devices, in order of id.
    pub fn granted(&self) -> impl Iterator<Item = AskId> + use<'a> {
        self.state.jobs.granted.iter().copied()
    }

    /// Attempts that lost a node to a fence and that the world may still have, with the nodes.
    pub fn fenced_attempts(&self) -> impl Iterator<Item = (AllocationId, &'a [NodeId])> + use<'a> {
        self.state.tombstones.iter()
    }

    /// Everything that is known of a request.
    pub fn class(&self, id: ClassId) -> &'a Class {
        self.state.classes.get(id)
    }

    /// What living jobs ask for.
    pub(crate) fn classes(&self) -> &'a Classes {
        &self.state.classes
    }

    /// All nodes, in order of id.
    pub fn nodes(&self) -> impl Iterator<Item = NodeView<'a>> + use<'a> {
        let (all, view) = (self.state.cluster.nodes.len() as u32, *self);
        (0..all).filter_map(move |index| view.node_by_id(NodeId(index)))
    }

    /// A node by its number, unless it left for good.
    pub fn node_by_id(&self, id: NodeId) -> Option<NodeView<'a>> {
        let node = self.state.cluster.nodes.get(id.index()).filter(|node| Node::is_there(node))?;
        Some(NodeView {
            id,
            spec: &node.spec,
            usable: node.usable(),
            fenced: node.health == Health::Fenced,
            suspect: matches!(node.health, Health::Suspect { .. }),
            drained: node.drained,
            first: DeviceId(node.first),
            devices: node.count,
        })
    }

    /// Numbers of nodes and devices that are free again, and the number of the next device.
    pub fn vacancies(&self) -> (&'a Vacancies, DeviceId) {
        let cluster = &self.state.cluster;
        (&cluster.vacant, DeviceId(cluster.devices.len() as u32))
    }

    /// What no job holds of a node's processors and memory; 0 of what it does not account for.
    pub fn host_left(&self, node: NodeId) -> Host {
        let cluster = &self.state.cluster;
        let left = |pool| {
            let device = cluster.nodes[node.index()].pool(pool);
            device.map_or(0, |id| cluster.unheld(id).1.max(0) as u64)
        };
        Host { cpu_milli: left(Pool::Cpu), memory_bytes: left(Pool::Memory) }
    }

    /// What is in foreign hands of a node's processors and memory.
    pub fn host_foreign(&self, node: NodeId) -> Host {
        let cluster = &self.state.cluster;
        let foreign = |pool| {
            let device = cluster.nodes[node.index()].pool(pool);
            device.map_or(0, |id| cluster.device(id).foreign_amount)
        };
        Host { cpu_milli: foreign(Pool::Cpu), memory_bytes: foreign(Pool::Memory) }
    }

    /// A node by its name.
    pub fn node(&self, name: &str) -> Option<NodeId> {
        self.state.cluster.node(name)
    }

    /// The node a device is in, and its position there.
    pub fn locate(&self, device: DeviceId) -> (NodeId, u32) {
        let node = self.state.cluster.device(device).node;
        (node, device.0 - self.state.cluster.nodes[node.index()].first)
    }

    /// What is known of a device.
    pub fn device(&self, id: DeviceId) -> DeviceView<'a> {
        let device = self.state.cluster.device(id);
        let (node, kind, held, foreign) = (device.node, device.kind, device.held, device.foreign);
        DeviceView { node, kind, held, foreign, ill: device.ill.as_deref() }
    }

    /// The pool that a grant without a share is of.
    pub fn pool_of(&self, device: DeviceId) -> Option<Pool> {
        self.state.cluster.pool_of(self.state.cluster.device(device).kind)
    }

    /// A kind by its name.
    pub fn kind(&self, name: &str) -> Option<KindId> {
        self.state.cluster.kind(name)
    }

    /// The kind of a device.
    pub fn kind_of(&self, device: DeviceId) -> KindId {
        self.state.cluster.device(device).kind
    }

    /// All kinds, in order of id.
    pub fn kinds(&self) -> impl Iterator<Item = (KindId, &'a KindSpec)> + use<'a> {
        let cluster = &self.state.cluster;
        let kinds = cluster.kinds.iter().enumerate().map(|(index, kind)| (KindId(index as u32), &kind.spec));
        kinds.filter(|(id, _)| cluster.pool_of(*id).is_none())
    }

    /// Devices of a kind, whatever the health of their nodes.
    pub fn devices_of(&self, kind: KindId) -> u64 {
        let sizes = &self.state.cluster.kinds[kind.index()].sizes;
        sizes.iter().map(|(&size, &nodes)| u64::from(size) * u64::from(nodes)).sum()
    }

    /// Devices of nodes that could take work if they were free.
    pub fn usable_devices(&self) -> u64 {
        self.state.cluster.nodes.iter().filter(|node| node.usable()).map(|node| u64::from(node.count)).sum()
    }

    /// A tenant by its name.
    pub fn tenant(&self, name: &str) -> Option<TenantId> {
        self.state.ledger.find(name)
    }

    /// All tenants, in order of id.
    pub fn tenants(&self) -> impl Iterator<Item = (TenantId, &'a TenantSpec)> + use<'a> {
        self.state
            .ledger
            .tenants
            .iter()
            .enumerate()
            .map(|(index, tenant)| (TenantId(index as u32), &tenant.spec))
    }

    /// A tenant's account for one kind.
    pub fn account(&self, tenant: TenantId, kind: KindId) -> Account {
        let account = self.state.ledger.account(tenant, kind);
        Account {
            guarantee: account.guarantee,
            ceiling: account.ceiling,
            held: account.held,
            usage_device_ms: u64::try_from(account.usage_ms).unwrap_or(u64::MAX),
        }
    }

    /// A tenant's account for a pool.
    pub fn pool_account(&self, tenant: TenantId, pool: Pool) -> PoolAccount {
        let kind = self.state.cluster.pool_kind(pool);
        let account = kind.map(|kind| self.state.ledger.account(tenant, kind)).unwrap_or_default();
        PoolAccount { ceiling: account.ceiling, held: account.held, usage_ms: account.usage_ms }
    }

    /// What a tenant held lately of one kind, up to the last event that was a reason to plan: an average in thousandths of a device, shifted left by
    /// 16, that halves with every day in which it holds nothing.
    pub fn recent(&self, tenant: TenantId, kind: KindId) -> u64 {
        let coarseness = self.state.cluster.coarseness(kind);
        self.state.ledger.account(tenant, kind).recent(self.state.decay(), self.state.stirred_at, coarseness)
    }

    /// The kinds of the pools, how much all hosts have of each, whatever the health of their nodes, and by how many bits
    /// amounts are shifted to the right in what [`recent`](Self::recent) says of them.
    pub(crate) fn pools(&self) -> impl Iterator<Item = (KindId, u64, u32)> + use<'a> {
        let cluster = &self.state.cluster;
        let known = |kind| Some((kind, cluster.pool_of(kind)?.of(&cluster.hosts), cluster.coarseness(kind)));
        cluster.pool_kinds().filter_map(known)
    }

    /// All queues, in order of id.
    pub fn queues(&self) -> impl Iterator<Item = (QueueId, &'a QueueSpec)> + use<'a> {
        self.state.queues.list.iter().enumerate().map(|(index, queue)| (QueueId(index as u32), queue))
    }

    /// One queue.
    pub fn queue(&self, id: QueueId) -> &'a QueueSpec {
        self.state.queues.get(id)
    }

    /// What a policy of this name remembered in this version of its layout; nothing if another policy, or another version,
    /// wrote last. Policies read it through [`crate::Draft::memory`].
    pub fn memory_of(&self, policy: &str, version: u32) -> Option<&'a [i64]> {
        let slot = &self.state.slot;
        (slot.policy == policy && slot.version == version && !policy.is_empty()).then_some(&slot.words[..])
    }

    /// The policy that remembers something, by name, and the version of its layout.
    pub fn remembering(&self) -> Option<(&'a str, u32)> {
        let slot = &self.state.slot;
        (!slot.policy.is_empty()).then_some((&slot.policy, slot.version))
    }
}

impl<'a> JobView<'a> {
    /// Its id.
    pub fn id(&self) -> JobId {
        self.job.id
    }

    /// What was submitted.
    pub fn spec(&self) -> &'a JobSpec {
        &self.job.spec
    }

    /// When it was accepted.
    pub fn submitted(&self) -> Time {
        self.job.submitted
    }

    /// What it had of hosts in attempts that are over.
    pub fn hosts(&self) -> HostUse {
        self.job.hosts
    }

    /// The spec, to be kept.
    pub fn shared_spec(&self) -> Arc<JobSpec> {
        self.job.spec.clone()
    }

    /// Why it is going to end, while it still holds something.
    pub fn ending(&self) -> Option<&'a Why> {
        self.job.ending.as_ref()
    }

    /// What happened to it lately.
    pub fn story(&self) -> &'a Story {
        &self.job.story
    }

    /// Jobs that must end first.
    pub fn after(&self) -> impl Iterator<Item = JobId> + use<'a> {
        self.job.after.iter().map(|dependency| dependency.job)
    }

    /// Whether somebody paused it.
    pub fn is_paused(&self) -> bool {
        self.job.paused
    }

    /// Its asks, in order of stage and task.
    pub fn asks(&self) -> impl Iterator<Item = AskId> + use<'a> {
        let job = self.job;
        (0..job.asks.len()).map(move |index| job.ask_id(index))
    }
}

impl<'a> AskView<'a> {
    /// Its id.
    pub fn id(&self) -> AskId {
        self.id
    }

    /// What the world had to say about the end of the last attempt, while it waits for the next one; to be told beside
    /// the reason why it waits. Whoever backs off has it in that reason.
    pub fn last_words(&self, now: Time) -> Option<String> {
        if self.has_failed() {
            return Some(crate::explain::last_words(&self.ask.last));
        }
        let waits = matches!(self.doing(), Doing::Waiting | Doing::Planned) && self.not_before() <= now;
        if waits { world_words(&self.ask.last) } else { None }
    }

    /// The job's spec.
    pub fn spec(&self) -> &'a JobSpec {
        &self.job.spec
    }

    /// When the job was accepted.
    pub fn submitted(&self) -> Time {
        self.job.submitted
    }

    /// Whose it is.
    pub fn tenant(&self) -> TenantId {
        self.job.tenant
    }

    /// Where it waits.
    pub fn queue(&self) -> QueueId {
        self.job.queue
    }

    /// What it asks for.
    pub fn class_id(&self) -> ClassId {
        self.job.stages[usize::from(self.id.stage)].class
    }

    /// What it asks for, resolved.
    pub fn class(&self) -> &'a Class {
        self.state.classes.get(self.class_id())
    }

    /// What it is doing.
    pub fn doing(&self) -> Doing {
        match &self.ask.state {
            AskState::Blocked => Doing::Blocked,
            AskState::Waiting => Doing::Waiting,
            AskState::Done => Doing::Done,
            AskState::Granted(allocation) => match allocation.phase {
                Phase::Planned => Doing::Planned,
                Phase::Starting => Doing::Starting,
                Phase::Running { .. } => Doing::Running,
                Phase::Releasing { .. } => Doing::Releasing,
            },
        }
    }

    /// Whether it is over because it failed.
    pub fn has_failed(&self) -> bool {
        matches!(self.ask.state, AskState::Done) && self.ask.last.has_failed()
    }

    /// Attempts started so far.
    pub fn attempt(&self) -> u32 {
        self.ask.attempt
    }

    /// The attempt it is on.
    pub fn allocation(&self) -> AllocationId {
        AllocationId { ask: self.id, attempt: self.ask.attempt }
    }

    /// When it was first up, if ever.
    pub fn first_started(&self) -> Option<Time> {
        self.ask.first_started
    }

    /// Times a plan took back what it had.
    pub fn preemptions(&self) -> u32 {
        self.ask.preemptions
    }

    /// Attempts that failed by themselves.
    pub fn failures(&self) -> u32 {
        self.ask.failures
    }

    /// Times it ran, was interrupted, and has to run again.
    pub fn restarts(&self) -> u32 {
        self.ask.restarts
    }

    /// When it last began to wait, or will have stopped backing off.
    pub fn queued(&self) -> Time {
        self.ask.queued.max(self.ask.not_before)
    }

    /// Orders those who began to wait, or were granted devices, at the same time: who came first has less.
    pub fn turn(&self) -> u64 {
        self.ask.turn
    }

    /// Backs off until then.
    pub fn not_before(&self) -> Time {
        self.ask.not_before
    }

    /// An attempt before this one that lost its node and may not be over yet. Until it is, this ask does not start.
    pub fn earlier_attempt(&self) -> Option<AllocationId> {
        self.state.tombstones.of(self.id).map(|(attempt, _)| attempt)
    }

    /// Since when it has devices for its current attempt; for one that waits, when its last attempt got them.
    pub fn granted_at(&self) -> Time {
        self.ask.queued.max(self.ask.not_before) + self.ask.spell
    }

    /// Since when it runs, if it does.
    pub fn running_since(&self) -> Option<Time> {
        match self.ask.allocation()?.phase {
            Phase::Running { since } => Some(since),
            _ => None,
        }
    }

    /// Since when it runs at the width that it has, if it runs. Later than [`running_since`](Self::running_since) for an
    /// attempt that was resized.
    pub fn width_since(&self) -> Option<Time> {
        Some(self.ask.allocation()?.width_since(self.running_since()?))
    }

    /// Resizes in place of the attempt that it is on.
    pub fn generation(&self) -> u32 {
        self.ask.allocation().map_or(0, |allocation| allocation.width.generation)
    }

    /// The placement that it is going to have instead of the one that it has, and the generation by which the world is
    /// asked for it; without one the attempt is restarted.
    pub fn resizing(&self) -> Option<(&'a Placement, Option<u32>)> {
        let resizing = self.ask.allocation()?.width.resizing.as_deref()?;
        Some((&resizing.placement, resizing.generation))
    }

    /// When it last got another placement without having been in a queue.
    pub fn resized_at(&self) -> Option<Time> {
        self.ask.resizes.last
    }

    /// It is not resized before, because the world refused to.
    pub fn resize_after(&self) -> Time {
        self.ask.resizes.not_before.unwrap_or(Time(i64::MIN))
    }

    /// Time it has run, over all attempts, this one included.
    pub fn served_until(&self, now: Time) -> Span {
        self.ask.served + self.width_since().map_or(Span::ZERO, |since| now - since)
    }

    /// Work done so far, as time at its full width.
    pub fn worked_until(&self, now: Time) -> Span {
        let running = self.width_since().map_or(Span::ZERO, |since| now - since);
        let (pace, full) = self.pace();
        self.ask.worked + running.scaled(pace, full)
    }

    /// How fast it runs against its full width, as a fraction: as observed where that is known, else in proportion to its
    /// members. 1 of 1 while it does not run.
    pub fn pace(&self) -> (u64, u64) {
        match self.ask.allocation() {
            Some(found) => pace(self.state, self.job, &found.placement, self.class().members()),
            None => (1, 1),
        }
    }

    /// What it last reported of itself, if it ever did.
    pub fn progress(&self) -> Option<&'a Progress> {
        self.job.reported.as_ref()?.progress.get(&(self.job.index(self.id)? as u32))
    }

    /// The setting it holds devices for.
    pub fn setting(&self) -> Option<Setting> {
        let placement = &self.ask.allocation()?.placement;
        let batch = self.progress().map_or(0, |progress| progress.sample.batch);
        Some(setting(self.state, placement, batch))
    }

    /// The setting under which its job last reported a rate.
    pub fn last_setting(&self) -> Option<Setting> {
        self.rates()?.rows().iter().max_by_key(|row| row.seen).map(|row| row.setting)
    }

    /// Rates that were observed of its own job.
    pub(crate) fn rates(&self) -> Option<&'a Rates> {
        self.job.reported.as_ref().map(|reported| &reported.rates)
    }

    /// The same of all jobs of its tenant and name, its own among them.
    pub(crate) fn rates_of_name(&self) -> Option<&'a Rates> {
        self.state.observed.of(self.job.tenant, &self.job.spec.name)
    }

    /// Members it runs with, and members at its widest; the same while it does not run.
    pub fn width(&self) -> (u32, u32) {
        let most = self.class().members();
        match self.fills() {
            [] => (most, most),
            fills => (fills.iter().map(|fill| fill.count).sum(), most),
        }
    }

    /// The same times devices, in device-thousandths times nanoseconds.
    pub fn attained_until(&self, now: Time) -> i128 {
        let running = self.width_since().map_or(Span::ZERO, |since| now - since);
        self.ask.attained + i128::from(running.0) * i128::from(self.thousandths())
    }

    /// The same without the attempt that runs.
    pub fn attained_before(&self) -> i128 {
        self.ask.attained - self.ask.allocation().map_or(0, |allocation| allocation.width.attained)
    }

    /// Time it had run before the attempt that runs.
    pub fn served_before(&self) -> Span {
        let counted = self.running_since().zip(self.width_since());
        self.ask.served - counted.map_or(Span::ZERO, |(since, counted)| counted - since)
    }

    /// How long it waited before its current or last attempt.
    pub fn last_spell(&self) -> Span {
        self.ask.spell
    }

    /// Thousandths of a device that it holds or is promised.
    pub fn thousandths(&self) -> u64 {
        self.grants().iter().map(|grant| u64::from(grant.share)).sum()
    }

    /// What it holds or is promised.
    pub fn grants(&self) -> &'a [Grant] {
        self.ask.allocation().map_or(&[], |allocation| &allocation.placement.grants)
    }

    /// How wide it runs, role by role.
    pub fn fills(&self) -> &'a [Fill] {
        self.ask.allocation().map_or(&[], |allocation| &allocation.placement.fills)
    }
}
