//! Events as sentences and as fields, for everybody who tells what happened: the feed, scenarios, the swarm.
//!
//! The sentences are written here once. What things are called comes from [`Names`]: to people a job is
//! `job 17 (train)`, in a story, where names are unique, `train`.

use crate::cluster::Pool;
use crate::id::{AllocationId, AskId, DeviceId, JobId, NodeId};
use crate::input::{Event, Fact, Input, Outcome};
use crate::job::{JobSpec, WHOLE};
use crate::plan::{Grant, Move, Plan, StopCause};
use crate::story::part;
use crate::tenant::{Quota, TenantSpec};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// What things are called.
pub trait Names {
    /// What was submitted as this job, if that is known.
    fn spec(&self, job: JobId) -> Option<&JobSpec>;

    /// The name of a node, if it is known.
    fn node_name(&self, node: NodeId) -> Option<&str>;

    /// The node that a device is in, and its position there, if that is known.
    fn locate(&self, device: DeviceId) -> Option<(NodeId, u32)>;

    /// What an attempt holds, or held until now, if that is known.
    fn grants(&self, _id: AllocationId) -> Option<&[Grant]> {
        None
    }

    /// The node of an attempt, if it is on one node only.
    fn only_node(&self, id: AllocationId) -> Option<String> {
        let mut nodes = self.grants(id)?.iter().map(|grant| self.locate(grant.device));
        let (first, _) = nodes.next()??;
        let is_only = nodes.all(|node| node.is_some_and(|(node, _)| node == first));
        self.node_name(first).filter(|_| is_only).map(Into::into)
    }

    /// `job 17 (train)`.
    fn job(&self, job: JobId) -> String {
        self.spec(job).map_or_else(|| format!("job {job}"), |spec| format!("job {job} ({})", spec.name))
    }

    /// `job 17 (train)`, `task 3 of job 17 (train)`.
    fn ask(&self, ask: AskId) -> String {
        let Some(spec) = self.spec(ask.job) else { return format!("job {ask}") };
        match part(spec, ask) {
            part if part.is_empty() => self.job(ask.job),
            part => format!("{part} of {}", self.job(ask.job)),
        }
    }

    /// The same with the tenant: `job 17 (train, tenant blue)`.
    fn claimant(&self, ask: AskId) -> String {
        match self.spec(ask.job) {
            Some(spec) => format!("job {} ({}, tenant {})", ask.job, spec.name, spec.tenant),
            None => self.ask(ask),
        }
    }

    /// `attempt 2 of job 17 (train)`.
    fn attempt(&self, id: AllocationId) -> String {
        format!("attempt {} of {}", id.attempt, self.ask(id.ask))
    }

    /// `node n1`.
    fn node(&self, node: NodeId) -> String {
        self.node_name(node).map_or_else(|| node.to_string(), |name| self.node_called(name))
    }

    /// The same for a node that is known by its name only.
    fn node_called(&self, name: &str) -> String {
        format!("node {name}")
    }
}

/// One event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// What kind of thing happened, in one word.
    pub kind: &'static str,
    /// The job it is about, if it is about one.
    pub job: Option<JobId>,
    /// The tenant it is about, if it is about one.
    pub tenant: Option<String>,
    /// The node it is about, by name, if it is about one.
    pub node: Option<String>,
    /// Why it happened, as far as the event says: an outcome, the words of the world.
    pub cause: Option<String>,
    /// Figures, by what they count.
    pub numbers: BTreeMap<Cow<'static, str>, i64>,
    /// What a plan changes, the first hundred; `numbers` counts all.
    pub changes: Vec<Change>,
    /// The sentence.
    pub text: String,
}

/// One change of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// `start`, `promise`, `stop`, `resize` or `fence`.
    pub kind: &'static str,
    /// What is started, stopped or resized.
    pub ask: Option<AskId>,
    /// Whose it is.
    pub tenant: Option<String>,
    /// The nodes it is about, by name.
    pub nodes: Vec<String>,
    /// Devices that are granted; of a resize, all that it has then.
    pub devices: u32,
    /// Why it is stopped: the rule by which it is preempted, `time-limit` or `yield`.
    pub cause: Option<&'static str>,
    /// The ask for which it is preempted.
    pub by: Option<AskId>,
    /// The sentence.
    pub text: String,
}

/// Changes of a plan that stand in its sentence; the rest is counted.
const SPOKEN: usize = 3;
/// Changes of a plan that are listed.
const LISTED: usize = 100;

/// One event. A submission does not know which job it became, so that is an argument.
pub fn event(event: &Event, submitted: Option<JobId>, names: &impl Names) -> Told {
    match &event.fact {
        Fact::Planned(plan) => planned(plan, names),
        Fact::Accepted(input) => {
            let by = event.actor.as_ref().filter(|actor| actor.is_client());
            let by = by.map_or(String::new(), |actor| format!(" by {}", actor.who()));
            accepted(input, submitted, &by, names)
        }
    }
}

/// An input that was accepted, on whose account: ` by root`, or empty.
pub fn accepted(input: &Input, submitted: Option<JobId>, by: &str, names: &impl Names) -> Told {
    let submitted = submitted.filter(|_| matches!(input, Input::Submit(_)));
    let mut told = Told { job: subject(input).or(submitted), ..Told::default() };
    told.tenant = told.job.and_then(|job| names.spec(job)).map(|spec| spec.tenant.clone());
    if let Some(node) = node_of(input) {
        told.node = Some(names.node_name(node).map_or_else(|| node.to_string(), Into::into));
    }
    if let Some(id) = attempt_of(input) {
        told.node = names.only_node(id);
    }
    (told.kind, told.text) = match input {
        Input::Configure(_) => ("configured", format!("the topology was set{by}")),
        Input::SetKind(kind) => ("kind-set", format!("kind {} was set{by}", kind.name)),
        Input::SetTenant(tenant) => {
            told.tenant = Some(tenant.name.clone());
            for quota in &tenant.quotas {
                let guarantee = (quota.guarantee > 0).then_some(("guarantee", u64::from(quota.guarantee)));
                let ceiling = quota.ceiling.map(|ceiling| ("ceiling", ceiling));
                let numbers = guarantee.into_iter().chain(ceiling);
                let named = numbers.map(|(name, amount)| {
                    let amount = i64::try_from(amount).unwrap_or(i64::MAX);
                    (format!("{name}.{}", quota.kind).into(), amount)
                });
                told.numbers.extend(named);
            }
            ("tenant-set", format!("tenant {} was set{by}: {}", tenant.name, quotas(tenant)))
        }
        Input::SetQueue(queue) => {
            told.numbers.insert("priority".into(), queue.priority.into());
            let strict = if queue.strict { ", strict" } else { "" };
            let tenants = match &queue.tenants[..] {
                [] => String::new(),
                tenants => format!(", for {}", tenants.join(" and ")),
            };
            let text =
                format!("queue {} was set{by}: priority {}{strict}{tenants}", queue.name, queue.priority);
            ("queue-set", text)
        }
        Input::Drain(node) => ("node-drained", format!("{} was drained{by}", names.node(*node))),
        Input::Undrain(node) => ("node-undrained", format!("{} was undrained{by}", names.node(*node))),
        Input::Submit(spec) => {
            told.tenant = Some(spec.tenant.clone());
            let numbers = [("devices", spec.least_devices()), ("workers", spec.least_workers())];
            let whole = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
            told.numbers.extend(numbers.map(|(name, number)| (name.into(), whole(number))));
            let job = submitted.map_or_else(|| spec.name.clone(), |job| format!("job {job} ({})", spec.name));
            let text = format!("{job} was submitted{by} for tenant {} to queue {}", spec.tenant, spec.queue);
            ("submitted", text)
        }
        Input::Cancel(job) => ("cancelled", format!("{} was cancelled{by}", names.job(*job))),
        Input::Pause(job) => ("paused", format!("{} was paused{by}", names.job(*job))),
        Input::Resume(job) => ("resumed", format!("{} was resumed{by}", names.job(*job))),
        Input::NodeJoined(spec) => {
            told.node = Some(spec.name.clone());
            let devices: u32 = spec.devices.iter().map(|group| group.count).sum();
            told.numbers.insert("devices".into(), devices.into());
            let plural = if devices == 1 { "" } else { "s" };
            ("node-joined", format!("{} joined with {devices} device{plural}", names.node_called(&spec.name)))
        }
        Input::NodeSilent(node) => ("node-silent", format!("{} stopped responding", names.node(*node))),
        Input::NodeReturned(node) => ("node-returned", format!("{} responds again", names.node(*node))),
        Input::NodeFenced(node) => ("node-fenced", format!("{} is fenced", names.node(*node))),
        Input::NodeLeft(node) => ("node-left", format!("{} left for good{by}", names.node(*node))),
        Input::ForeignUse { node, shares, host } => {
            let used = shares.iter().filter(|&&share| share > 0).count();
            told.numbers.extend([("used".into(), used as i64), ("devices".into(), shares.len() as i64)]);
            let (all, node) = (shares.len(), names.node(*node));
            let mut text = format!("{used} of {all} devices of {node} are in use by others");
            if !host.is_none() {
                let amounts = [("cpu_milli", host.cpu_milli), ("memory_bytes", host.memory_bytes)];
                told.numbers.extend(amounts.map(|(name, amount)| (name.into(), amount as i64)));
                text += &format!(", and {host}");
            }
            ("foreign-use", text)
        }
        Input::DeviceHealth { node, ill } => {
            told.numbers.insert("unhealthy".into(), ill.len() as i64);
            let each: Vec<String> =
                ill.iter().map(|one| format!("device {} ({})", one.device, one.why)).collect();
            told.cause = (!ill.is_empty()).then(|| each.join(", "));
            let node = names.node(*node);
            let text = match ill.is_empty() {
                true => format!("all devices of {node} are healthy"),
                false => format!("unhealthy in {node}: {}", each.join(", ")),
            };
            ("device-health", text)
        }
        Input::Started(id) => {
            told.numbers.insert("attempt".into(), id.attempt.into());
            ("started", format!("{} is up", names.attempt(*id)))
        }
        Input::StartRefused { allocation: id, why } => {
            told.numbers.insert("attempt".into(), id.attempt.into());
            told.cause = Some(why.clone());
            ("start-refused", format!("{} could not be started: {why}", names.attempt(*id)))
        }
        Input::Resized { allocation: id, generation } => {
            told.numbers.insert("attempt".into(), id.attempt.into());
            told.numbers.insert("generation".into(), (*generation).into());
            ("resized", format!("{} was resized", names.attempt(*id)))
        }
        Input::ResizeRefused { allocation: id, generation, why } => {
            told.numbers.insert("attempt".into(), id.attempt.into());
            told.numbers.insert("generation".into(), (*generation).into());
            told.cause = Some(why.to_string());
            ("resize-refused", format!("{} could not be resized: {why}", names.attempt(*id)))
        }
        Input::OutputLost { allocation: id, bytes, .. } => {
            let numbers = [("attempt", id.attempt.into()), ("bytes", bytes.cast_signed())];
            told.numbers.extend(numbers.map(|(name, number)| (name.into(), number)));
            ("output-lost", format!("{bytes} bytes of the output of {} were lost", names.attempt(*id)))
        }
        Input::Progress(reports) => {
            told.numbers.insert("reports".into(), reports.len() as i64);
            let text = match &reports[..] {
                [report] => {
                    told.numbers.insert("attempt".into(), report.allocation.attempt.into());
                    format!("{} reports {}", names.attempt(report.allocation), report.sample)
                }
                _ => format!("{} jobs report progress", reports.len()),
            };
            ("progress", text)
        }
        Input::Ended { allocation: id, outcome, why } => {
            told.numbers.insert("attempt".into(), id.attempt.into());
            let code = match outcome {
                Outcome::Succeeded => Some(0),
                Outcome::Failed { code, .. } => Some(*code),
                Outcome::Stopped => None,
            };
            told.numbers.extend(code.map(|code| ("exit_code".into(), code.into())));
            let why = why.as_ref().map_or(String::new(), |why| format!(": {why}"));
            told.cause = Some(format!("{outcome}{why}"));
            ("ended", format!("{} {outcome}{why}", names.attempt(*id)))
        }
    };
    told
}

/// The job that an input is about, if it is about one that was there before.
fn subject(input: &Input) -> Option<JobId> {
    match input {
        Input::Cancel(job) | Input::Pause(job) | Input::Resume(job) => Some(*job),
        Input::Started(id)
        | Input::StartRefused { allocation: id, .. }
        | Input::Resized { allocation: id, .. }
        | Input::ResizeRefused { allocation: id, .. }
        | Input::OutputLost { allocation: id, .. }
        | Input::Ended { allocation: id, .. } => Some(id.ask.job),
        Input::Progress(reports) => match &reports[..] {
            [report] => Some(report.allocation.ask.job),
            _ => None,
        },
        _ => None,
    }
}

/// The attempt that an input is about, if it is about one.
fn attempt_of(input: &Input) -> Option<AllocationId> {
    match input {
        Input::Started(id)
        | Input::StartRefused { allocation: id, .. }
        | Input::OutputLost { allocation: id, .. }
        | Input::Ended { allocation: id, .. } => Some(*id),
        _ => None,
    }
}

/// Attempts that are named when this event is told.
pub fn attempts(event: &Event) -> Option<AllocationId> {
    match &event.fact {
        Fact::Accepted(input) => attempt_of(input),
        Fact::Planned(_) => None,
    }
}

/// `guarantee 2 h200, ceiling 4 h200, ceiling 64 cpus`.
fn quotas(tenant: &TenantSpec) -> String {
    let amount = |quota: &Quota, amount: u64| match Pool::named(&quota.kind) {
        Some(pool) => pool.words(amount.saturating_mul(pool.unit())),
        None => format!("{amount} {}", quota.kind),
    };
    let each = tenant.quotas.iter().flat_map(|quota| {
        let guarantee = (quota.guarantee > 0).then(|| u64::from(quota.guarantee));
        let guarantee = guarantee.map(|most| format!("guarantee {}", amount(quota, most)));
        guarantee.into_iter().chain(quota.ceiling.map(|most| format!("ceiling {}", amount(quota, most))))
    });
    match each.collect::<Vec<_>>() {
        none if none.is_empty() => "no quotas".into(),
        each => each.join(", "),
    }
}

fn node_of(input: &Input) -> Option<NodeId> {
    match input {
        Input::Drain(node)
        | Input::Undrain(node)
        | Input::NodeSilent(node)
        | Input::NodeReturned(node)
        | Input::NodeFenced(node)
        | Input::NodeLeft(node)
        | Input::ForeignUse { node, .. }
        | Input::DeviceHealth { node, .. } => Some(*node),
        _ => None,
    }
}

fn planned(plan: &Plan, names: &impl Names) -> Told {
    let listed = plan.moves.iter().take(LISTED);
    let changes: Vec<Change> = listed.map(|change| self::change(change, None, names)).collect();
    let mut words: Vec<String> = changes.iter().take(SPOKEN).map(|change| change.text.clone()).collect();
    match plan.moves.len().saturating_sub(SPOKEN) {
        0 => {}
        1 => words.push("and 1 more change".into()),
        more => words.push(format!("and {more} more changes")),
    }
    let job = |change: &Move| match change {
        Move::Start { ask, .. } => Some(ask.job),
        Move::Stop { allocation, .. } | Move::Resize { allocation, .. } => Some(allocation.ask.job),
        Move::Fence { .. } => None,
    };
    let first = plan.moves.first().and_then(job);
    let is_one = plan.moves.iter().all(|change| job(change) == first);
    let job = first.filter(|_| is_one);
    let tenant = job.and_then(|job| names.spec(job)).map(|spec| spec.tenant.clone());
    let mut numbers = BTreeMap::new();
    for change in &plan.moves {
        let name = match change {
            Move::Start { after, .. } if after.is_empty() => "starts",
            Move::Start { .. } => "promises",
            Move::Stop { .. } => "stops",
            Move::Resize { .. } => "resizes",
            Move::Fence { .. } => "fences",
        };
        *numbers.entry(name.into()).or_insert(0) += 1;
    }
    let (kind, text) = ("planned", words.join("; "));
    Told { kind, job, tenant, text, numbers, changes, ..Told::default() }
}

/// One change of a plan. What starts is called by its attempt, if that is known.
pub fn change(change: &Move, attempt: Option<u32>, names: &impl Names) -> Change {
    let tenant = |job: JobId| names.spec(job).map(|spec| spec.tenant.clone());
    match change {
        Move::Start { ask, placement, after } => {
            let who = match attempt {
                Some(attempt) => names.attempt(AllocationId { ask: *ask, attempt }),
                None => names.ask(*ask),
            };
            let places = places(&placement.grants, names);
            let (kind, text) = match after.is_empty() {
                true => ("start", format!("{who} starts on {places}")),
                false => ("promise", format!("{who} is promised {places}")),
            };
            let nodes = node_names(&placement.grants, names);
            let devices = placement.devices().count() as u32;
            let (ask, tenant) = (Some(*ask), tenant(ask.job));
            Change { kind, ask, tenant, nodes, devices, text, ..Change::default() }
        }
        Move::Stop { allocation, cause } => {
            let who = names.attempt(*allocation);
            let (word, by, text) = match cause {
                StopCause::Preempted { by, claim } => {
                    let rule = claim.map(|claim| {
                        let tenant = names.spec(by.job).map_or("its tenant", |spec| &spec.tenant);
                        format!(": {}", claim.told(tenant))
                    });
                    let rule = rule.unwrap_or_default();
                    let text = format!("{who} is preempted for {}{rule}", names.claimant(*by));
                    (claim.map_or("preempted", |claim| claim.word()), Some(*by), text)
                }
                StopCause::TimeLimit => {
                    ("time-limit", None, format!("{who} is stopped: it exceeded its time limit"))
                }
                StopCause::Yield => ("yield", None, format!("{who} is stopped by the policy")),
            };
            let (ask, tenant) = (Some(allocation.ask), tenant(allocation.ask.job));
            Change { kind: "stop", ask, tenant, cause: Some(word), by, text, ..Change::default() }
        }
        Move::Resize { allocation, placement, after, in_place } => {
            let who = names.attempt(*allocation);
            let members = match placement.members() {
                1 => "1 worker".into(),
                members => format!("{members} workers"),
            };
            let on = format!("{members} on {}", places(&placement.grants, names));
            let how = if *in_place { "is resized to" } else { "restarts with" };
            let text = match after.is_empty() {
                true => format!("{who} {how} {on}"),
                false => format!("{who} is promised {on}"),
            };
            let nodes = node_names(&placement.grants, names);
            let devices = placement.devices().count() as u32;
            let (ask, tenant) = (Some(allocation.ask), tenant(allocation.ask.job));
            Change { kind: "resize", ask, tenant, nodes, devices, text, ..Change::default() }
        }
        Move::Fence { node } => {
            let nodes = names.node_name(*node).map(Into::into).into_iter().collect();
            let text = format!("{} is fenced", names.node(*node));
            Change { kind: "fence", nodes, text, ..Change::default() }
        }
    }
}

/// Jobs that are named when this event is told.
pub fn jobs(event: &Event) -> BTreeSet<JobId> {
    match &event.fact {
        Fact::Accepted(input) => subject(input).into_iter().collect(),
        Fact::Planned(plan) => {
            let named = plan.moves.iter().take(LISTED).flat_map(|change| match change {
                Move::Start { ask, .. } => [Some(ask.job), None],
                Move::Stop { allocation, cause: StopCause::Preempted { by, .. } } => {
                    [Some(allocation.ask.job), Some(by.job)]
                }
                Move::Stop { allocation, .. } | Move::Resize { allocation, .. } => {
                    [Some(allocation.ask.job), None]
                }
                Move::Fence { .. } => [None, None],
            });
            named.flatten().collect()
        }
    }
}

/// The names of the nodes of these grants, in order of their numbers.
fn node_names(grants: &[Grant], names: &impl Names) -> Vec<String> {
    let mut nodes: Vec<NodeId> =
        grants.iter().filter_map(|grant| Some(names.locate(grant.device)?.0)).collect();
    nodes.sort_unstable();
    nodes.dedup();
    nodes.iter().filter_map(|&node| names.node_name(node).map(Into::into)).collect()
}

/// `n1[0-3,6] n2[0]`, `0.5 of n1[0]`; `n1` for members without devices.
pub fn places(grants: &[Grant], names: &impl Names) -> String {
    let name = |node: NodeId| names.node_name(node).unwrap_or("?").to_string();
    if grants.iter().all(Grant::is_of_host) {
        let mut nodes: Vec<NodeId> =
            grants.iter().filter_map(|grant| Some(names.locate(grant.device)?.0)).collect();
        nodes.dedup();
        return nodes.into_iter().map(name).collect::<Vec<_>>().join(" ");
    }
    let place = |grant: &Grant| {
        let (node, position) = names.locate(grant.device)?;
        Some((WHOLE - grant.share, node, position))
    };
    let mut places: Vec<(u16, NodeId, u32)> =
        grants.iter().filter(|grant| !grant.is_of_host()).filter_map(place).collect();
    places.sort_unstable();
    let groups = places.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1));
    let told = groups.map(|group| {
        let (missing, node, _) = group[0];
        let positions: Vec<u32> = group.iter().map(|place| place.2).collect();
        let runs = positions.chunk_by(|a, b| a + 1 == *b);
        let runs: Vec<String> = runs.map(|run| span(run[0], run[run.len() - 1])).collect();
        let part = match missing {
            0 => String::new(),
            missing => format!("{} of ", f64::from(WHOLE - missing) / f64::from(WHOLE)),
        };
        format!("{part}{}[{}]", name(node), runs.join(","))
    });
    told.collect::<Vec<_>>().join(" ")
}

/// `3`, or `3-7`.
pub fn span(first: u32, last: u32) -> String {
    if first == last { first.to_string() } else { format!("{first}-{last}") }
}
