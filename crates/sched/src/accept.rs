//! First verb: an input becomes an event, or a polite refusal.
//!
//! Looks, never touches. Everything that `apply` relies on is established here: names are known, numbers make
//! sense, the thing spoken of exists and is in the right state. News about an attempt that is over is refused as
//! stale, and so is news that was already told; that is how late and duplicate observations are survived.

mod capacity;
mod ceiling;
mod job;

use crate::scheduler::Scheduler;
use crate::state::cluster::{Health, Node};
use crate::state::jobs::{Allocation, Job, Phase};
use consort_types::file::limits::NAME;
use consort_types::file::value::is_hidden;
use consort_types::*;

/// The most characters of a name; fewer for those of features, which are told in the middle of sentences.
const FEATURE: usize = 64;
/// Features of one node, or that one shape insists on.
const FEATURES: usize = 256;
/// Devices of one node.
const DEVICES_PER_NODE: u32 = 65_536;

type Verdict = Result<(), Refusal>;

fn refuse<T>(rule: Rule, subject: impl Into<String>, remedy: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal::new(rule, subject, remedy))
}

impl Scheduler {
    /// The stamped fact, or why not. Time never goes back: an input from a clock that jumped is stamped with the
    /// time of the last event.
    pub fn accept(&self, now: Time, input: Input) -> Result<Event, Refusal> {
        match &input {
            Input::Configure(settings) => self.accept_settings(settings)?,
            Input::SetKind(kind) => self.accept_kind(kind)?,
            Input::SetTenant(tenant) => self.accept_tenant(tenant)?,
            Input::SetQueue(queue) => self.accept_queue(queue)?,
            Input::Drain(node) => self.accept_drain(*node, true)?,
            Input::Undrain(node) => self.accept_drain(*node, false)?,
            Input::Submit(spec) => self.accept_job(spec)?,
            Input::Cancel(job) => {
                let job = self.living(*job)?;
                if job.ending.is_some() {
                    refuse(Rule::Stale, format!("job {} is already ending", job.id), "no action is needed")?;
                }
            }
            Input::Pause(job) => self.accept_pause(*job, true)?,
            Input::Resume(job) => self.accept_pause(*job, false)?,
            Input::NodeJoined(spec) => self.accept_node(spec)?,
            Input::NodeSilent(node) => self.accept_health(*node, |health| health == Health::Up, "up")?,
            Input::NodeReturned(node) => {
                let in_time = |health| matches!(health, Health::Suspect { fence_at } if now < fence_at);
                self.accept_health(*node, in_time, "suspect")?
            }
            Input::NodeFenced(node) => {
                let is_here = |health| matches!(health, Health::Up | Health::Suspect { .. });
                self.accept_health(*node, is_here, "up or suspect")?
            }
            Input::NodeLeft(node) => self.accept_leaving(*node)?,
            Input::ForeignUse { node, shares, host } => self.accept_foreign(*node, shares, host)?,
            Input::DeviceHealth { node, ill } => self.accept_illness(*node, ill)?,
            Input::Started(allocation) => {
                self.accept_news(*allocation, |phase| phase == Phase::Starting, "starting")?
            }
            Input::StartRefused { allocation, why } => {
                text("the reason", why, 4096)?;
                let is_open =
                    |phase| matches!(phase, Phase::Starting | Phase::Releasing { ran_since: None, .. });
                self.accept_end(*allocation, is_open, "starting")?
            }
            Input::Resized { allocation, generation } => self.accept_resize(*allocation, *generation)?,
            Input::ResizeRefused { allocation, generation, why } => {
                text("the reason", why, 4096)?;
                self.accept_resize(*allocation, *generation)?
            }
            Input::OutputLost { allocation, .. } => {
                self.accept_news(*allocation, |phase| phase != Phase::Planned, "started")?
            }
            Input::Progress(reports) => {
                let event = Input::Progress(self.accept_reports(reports)?);
                return Ok(Event::new(now.max(self.state.now), Fact::Accepted(event)));
            }
            Input::Ended { allocation, why, .. } => {
                why.as_ref().map_or(Ok(()), |why| text("the reason", why, 4096))?;
                self.accept_end(*allocation, |phase| phase != Phase::Planned, "started")?
            }
        }
        Ok(Event::new(now.max(self.state.now), Fact::Accepted(input)))
    }

    fn living(&self, id: JobId) -> Result<&Job, Refusal> {
        match (self.state.jobs.get(id), self.state.jobs.ending(id)) {
            (Some(job), _) => Ok(job),
            (None, Some(_)) => {
                refuse(Rule::NotThere, format!("job {id} has already ended"), "no action is needed")
            }
            (None, None) => refuse(Rule::NotThere, format!("unknown job {id}"), "check the job id"),
        }
    }

    fn accept_pause(&self, id: JobId, pause: bool) -> Verdict {
        let job = self.living(id)?;
        if job.ending.is_some() {
            return refuse(
                Rule::WrongState,
                format!("job {id} is ending"),
                "submit it again when it has ended",
            );
        }
        match (pause, job.paused) {
            (true, true) => refuse(Rule::Stale, format!("job {id} is already paused"), "resume it first"),
            (false, false) => refuse(Rule::Stale, format!("job {id} is not paused"), "pause it first"),
            _ => Ok(()),
        }
    }

    fn accept_settings(&self, settings: &Settings) -> Verdict {
        if self.state.cluster.nodes.iter().any(Node::is_there) {
            return refuse(
                Rule::InUse,
                "the topology cannot change while nodes are known",
                "set it before the first node joins",
            );
        }
        if settings.levels.len() > 16 {
            return refuse(
                Rule::OutOfRange,
                format!("{} topology levels were given", settings.levels.len()),
                "use at most 16",
            );
        }
        for (index, level) in settings.levels.iter().enumerate() {
            text("the name of a topology level", &level.name, NAME)?;
            let is_taken = matches!(level.name.as_str(), "node" | "island");
            if is_taken || settings.levels[..index].iter().any(|other| other.name == level.name) {
                let subject = format!("topology level {} is named twice", level.name);
                return refuse(
                    Rule::Malformed,
                    subject,
                    "give every level a name of its own; node and island exist already",
                );
            }
        }
        span("the lease", settings.lease, Span::ZERO)?;
        span("the margin", settings.margin, Span::ZERO)?;
        let constants = settings.constants();
        span("the longest backoff", constants.longest_backoff, Span::ZERO)?;
        span("the backoff after a refused start", constants.refused_backoff, Span::ZERO)?;
        // Usage is counted in milliseconds, and a tick of a day says as much as one of a week.
        if !(Span::seconds(1)..=Span::seconds(86_400)).contains(&constants.usage_tick) {
            let subject = format!("a tick of usage is {}", constants.usage_tick);
            return refuse(Rule::OutOfRange, subject, "use 1s to 1 day");
        }
        Ok(())
    }

    fn accept_kind(&self, kind: &KindSpec) -> Verdict {
        text("the name of a device kind", &kind.name, NAME)?;
        if kind.memory_bytes > i64::MAX as u64 {
            return refuse(
                Rule::OutOfRange,
                format!("kind {} has {} bytes of memory", kind.name, kind.memory_bytes),
                "give a real size",
            );
        }
        let Some(id) = self.state.cluster.kind(&kind.name) else { return Ok(()) };
        let known = &self.state.cluster.kinds[id.index()];
        let in_use = known.sizes.values().any(|&nodes| nodes > 0);
        if in_use && known.spec.memory_bytes != kind.memory_bytes {
            return refuse(
                Rule::InUse,
                format!("nodes have devices of kind {}", kind.name),
                "declare a kind under another name",
            );
        }
        Ok(())
    }

    fn accept_tenant(&self, tenant: &TenantSpec) -> Verdict {
        text("the name of a tenant", &tenant.name, NAME)?;
        for (index, quota) in tenant.quotas.iter().enumerate() {
            let who = format!("tenant {}, quota for {}", tenant.name, quota.kind);
            let is_kind = self.state.cluster.kind(&quota.kind).is_some();
            if !is_kind && Pool::named(&quota.kind).is_none() {
                return refuse(Rule::UnknownName, format!("{who}: unknown kind"), self.kinds_remedy());
            }
            if tenant.quotas[..index].iter().any(|other| other.kind == quota.kind) {
                return refuse(
                    Rule::Malformed,
                    format!("{who} is given twice"),
                    "give one quota for each kind",
                );
            }
            if !is_kind && quota.guarantee > 0 {
                let subject = format!("{who}: processors and memory of hosts cannot be guaranteed");
                return refuse(Rule::Malformed, subject, "give a ceiling alone, or guarantee devices");
            }
            if quota.ceiling.is_some_and(|ceiling| ceiling < u64::from(quota.guarantee)) {
                return refuse(
                    Rule::Malformed,
                    format!("{who}: the guarantee is above the ceiling"),
                    "raise the ceiling or lower the guarantee",
                );
            }
        }
        Ok(())
    }

    fn accept_queue(&self, queue: &QueueSpec) -> Verdict {
        text("the name of a queue", &queue.name, NAME)?;
        match queue.tenants.iter().find(|tenant| self.state.ledger.find(tenant).is_none()) {
            Some(tenant) => {
                let subject = format!("queue {} names unknown tenant {tenant}", queue.name);
                refuse(Rule::UnknownName, subject, "declare the tenant first")
            }
            None => Ok(()),
        }
    }

    fn kinds_remedy(&self) -> String {
        let names = self.state.cluster.kinds.iter().map(|kind| kind.spec.name.as_str());
        let names: Vec<&str> = names.filter(|name| !name.is_empty()).collect();
        if names.is_empty() {
            "declare a kind first".into()
        } else {
            format!("known kinds: {}", names.join(", "))
        }
    }

    fn node_known(&self, node: NodeId) -> Verdict {
        if self.state.cluster.nodes.get(node.index()).is_some_and(Node::is_there) {
            return Ok(());
        }
        refuse(Rule::NotThere, format!("unknown {node}"), "let it join first")
    }

    fn accept_drain(&self, node: NodeId, drain: bool) -> Verdict {
        self.node_known(node)?;
        let is_drained = self.state.cluster.nodes[node.index()].drained;
        if is_drained == drain {
            let name = &self.state.cluster.nodes[node.index()].spec.name;
            let is = if drain { "is already draining" } else { "is not drained" };
            return refuse(Rule::Stale, format!("node {name} {is}"), "no action is needed");
        }
        Ok(())
    }

    fn accept_health(&self, node: NodeId, is_right: impl Fn(Health) -> bool, right: &str) -> Verdict {
        self.node_known(node)?;
        let found = &self.state.cluster.nodes[node.index()];
        if is_right(found.health) {
            return Ok(());
        }
        let subject = format!("node {} is not {right}", found.spec.name);
        refuse(Rule::Stale, subject, "no action is needed; a fenced node joins again")
    }

    /// A node leaves only when nothing can be left of what ran there.
    fn accept_leaving(&self, node: NodeId) -> Verdict {
        self.node_known(node)?;
        let found = &self.state.cluster.nodes[node.index()];
        let name = &found.spec.name;
        if found.health != Health::Fenced {
            let subject = format!("node {name} is still in the cluster");
            return refuse(
                Rule::InUse,
                subject,
                "drain it and shut it down; it can be removed once it is lost",
            );
        }
        match self.state.tombstones.on(node) {
            Some(attempt) => refuse(
                Rule::InUse,
                format!("attempt {attempt} may still run on node {name}"),
                "remove the node once the end of that attempt is known",
            ),
            None => Ok(()),
        }
    }

    fn accept_node(&self, node: &NodeSpec) -> Verdict {
        text("the name of a node", &node.name, NAME)?;
        let who = format!("node {}", node.name);
        let known = self.state.cluster.node(&node.name).map(|id| self.state.cluster.nodes[id.index()].health);
        if known.is_some_and(|health| health != Health::Fenced) {
            return refuse(
                Rule::Stale,
                format!("{who} has already joined"),
                "fence it before it joins again",
            );
        }
        let levels = &self.state.cluster.settings.levels;
        if node.domains.len() != levels.len() {
            let names: Vec<&str> = levels.iter().map(|level| level.name.as_str()).collect();
            let subject = format!(
                "{who} names {} domains, the topology has {} levels",
                node.domains.len(),
                levels.len()
            );
            return refuse(
                Rule::Malformed,
                subject,
                format!("name one domain for each of: {}", names.join(", ")),
            );
        }
        node.domains.iter().try_for_each(|domain| text("the name of a domain", domain, NAME))?;
        features(&who, &node.features)?;
        host(&who, &node.host)?;
        let mut devices = 0u32;
        for group in &node.devices {
            if self.state.cluster.kind(&group.kind).is_none() {
                return refuse(
                    Rule::UnknownName,
                    format!("{who} has devices of unknown kind {}", group.kind),
                    self.kinds_remedy(),
                );
            }
            devices = devices.saturating_add(group.count);
        }
        if devices > DEVICES_PER_NODE {
            return refuse(
                Rule::OutOfRange,
                format!("{who} has {devices} devices"),
                format!("at most {DEVICES_PER_NODE} fit in a node"),
            );
        }
        if self.state.cluster.devices.len() as u64 + u64::from(devices) > u64::from(u32::MAX) {
            return refuse(
                Rule::OutOfRange,
                format!("{who} is one device too many"),
                "four billion devices are the limit",
            );
        }
        Ok(())
    }

    fn accept_foreign(&self, node: NodeId, shares: &[u16], amounts: &Host) -> Verdict {
        self.node_known(node)?;
        let found = &self.state.cluster.nodes[node.index()];
        host(&format!("foreign use of node {}", found.spec.name), amounts)?;
        if found.count as usize != shares.len() || shares.iter().any(|&share| share > WHOLE) {
            let subject =
                format!("foreign use of node {} was reported for {} devices", found.spec.name, shares.len());
            return refuse(
                Rule::Malformed,
                subject,
                format!("report {} numbers from 0 to {WHOLE}", found.count),
            );
        }
        Ok(())
    }

    fn accept_illness(&self, node: NodeId, ill: &[Illness]) -> Verdict {
        self.node_known(node)?;
        let found = &self.state.cluster.nodes[node.index()];
        for illness in ill {
            text("the reason why a device is unhealthy", &illness.why, 4096)?;
        }
        let in_order = ill.is_sorted_by(|one, other| one.device < other.device);
        if !in_order || ill.last().is_some_and(|last| last.device >= found.count) {
            let subject = format!("the health of node {} was reported for unknown devices", found.spec.name);
            return refuse(
                Rule::Malformed,
                subject,
                format!("name positions below {}, each once and in order", found.count),
            );
        }
        Ok(())
    }

    /// The reports that can be believed, of attempts that run; refused if there is none.
    fn accept_reports(&self, reports: &[Report]) -> Result<Vec<Report>, Refusal> {
        let judge = |report: &Report| {
            self.accept_news(report.allocation, |phase| matches!(phase, Phase::Running { .. }), "running")?;
            if report.sample.is_sane() {
                return Ok(());
            }
            let subject = format!("allocation {} reported progress that is out of range", report.allocation);
            refuse(Rule::OutOfRange, subject, "report numbers from 0 to 10^15 and names of at most 32 bytes")
        };
        let (mut believed, mut refused) = (vec![], None);
        for report in reports {
            match judge(report) {
                Ok(()) => believed.push(report.clone()),
                Err(refusal) => refused = refused.or(Some(refusal)),
            }
        }
        match (believed.is_empty(), refused) {
            (false, _) => Ok(believed),
            (true, Some(refusal)) => Err(refusal),
            (true, None) => refuse(Rule::Malformed, "a report of progress names no attempt", "name one"),
        }
    }

    /// The end of an attempt: of one that holds devices, or of one that lost them to a fence.
    fn accept_end(&self, id: AllocationId, is_right: impl Fn(Phase) -> bool, right: &str) -> Verdict {
        match self.state.jobs.allocation(id) {
            None if self.state.tombstones.has(id) => Ok(()),
            _ => self.accept_news(id, is_right, right),
        }
    }

    /// News about a resize: only of the one that the world is asked for just now.
    fn accept_resize(&self, id: AllocationId, generation: u32) -> Verdict {
        self.accept_news(id, |phase| matches!(phase, Phase::Running { .. }), "running")?;
        let asked = self.state.jobs.allocation(id).and_then(Allocation::asked).map(|(_, asked)| asked);
        if asked == Some(generation) {
            return Ok(());
        }
        let subject = format!("allocation {id} is not being resized as generation {generation}");
        refuse(Rule::Stale, subject, "reports about it are ignored")
    }

    fn accept_news(&self, id: AllocationId, is_right: impl Fn(Phase) -> bool, right: &str) -> Verdict {
        match self.state.jobs.allocation(id) {
            None => {
                let is_ahead = self.state.jobs.ask(id.ask).is_some_and(|ask| ask.attempt < id.attempt);
                let what = if is_ahead { "was never granted" } else { "is over" };
                refuse(Rule::Stale, format!("allocation {id} {what}"), "reports about it are ignored")
            }
            Some(found) if !is_right(found.phase) => {
                refuse(Rule::Stale, format!("allocation {id} is not {right}"), "reports about it are ignored")
            }
            Some(_) => Ok(()),
        }
    }
}

/// Names of features that can be printed, in order and each once.
fn features(who: &str, names: &[String]) -> Verdict {
    if names.len() > FEATURES {
        let subject = format!("{who} names {} features", names.len());
        return refuse(Rule::OutOfRange, subject, format!("use at most {FEATURES}"));
    }
    names.iter().try_for_each(|name| text("the name of a feature", name, FEATURE))?;
    match names.is_sorted_by(|one, other| one < other) {
        true => Ok(()),
        false => refuse(
            Rule::Malformed,
            format!("{who} names features twice or out of order"),
            "name each once, in order",
        ),
    }
}

/// Amounts of a host that a machine could have.
fn host(who: &str, host: &Host) -> Verdict {
    if host.cpu_milli > 1_000_000_000 || host.memory_bytes > 1 << 50 {
        let subject = format!("{who} names {}", host);
        return refuse(Rule::OutOfRange, subject, "use at most 1,000,000 processors and 1 PiB");
    }
    Ok(())
}

/// A name that can be printed.
fn text(what: &str, value: &str, longest: usize) -> Verdict {
    let length = value.chars().count();
    if !(1..=longest).contains(&length) {
        return refuse(
            Rule::OutOfRange,
            format!("{what} has {length} characters"),
            format!("use 1 to {longest}"),
        );
    }
    if value.chars().any(is_hidden) {
        return refuse(
            Rule::Malformed,
            format!("{what} {value:?} contains control or invisible characters"),
            "use printable characters",
        );
    }
    Ok(())
}

/// A length of time that makes sense.
fn span(what: &str, value: Span, least: Span) -> Verdict {
    if value < least || value > Span::CENTURY {
        return refuse(Rule::OutOfRange, format!("{what} is {value}"), format!("use {least} to 100 years"));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
