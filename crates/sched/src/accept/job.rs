//! Whether a submission makes sense, and whether this cluster could ever run it.

use super::{NAME, Verdict, features, host, refuse, span, text};
use crate::class::Class;
use crate::scheduler::Scheduler;
use crate::state::cluster::Level;
use consort_types::file::limits::{ROLES, STAGES};
use consort_types::*;

const SHAPES: usize = 16;
const MEMBERS: u32 = 1_000_000;
/// Asks of all living jobs together: each costs a few hundred bytes of memory.
const LIVING: u64 = 4_000_000;
const DEPENDENCIES: usize = 1024;

impl Scheduler {
    pub(super) fn accept_job(&self, spec: &JobSpec) -> Verdict {
        text("the name of the job", &spec.name, NAME)?;
        let who = format!("job {}", spec.name);
        self.accept_owner(spec, &who)?;
        self.accept_times(spec)?;
        self.accept_dependencies(spec, &who)?;
        if spec.stages.is_empty() || spec.stages.len() > STAGES {
            return refuse(
                Rule::OutOfRange,
                format!("{who} has {} stages", spec.stages.len()),
                format!("use 1 to {STAGES}"),
            );
        }
        let asks: u64 = spec.stages.iter().map(|stage| u64::from(stage.form.asks())).sum();
        if asks > u64::from(MEMBERS) {
            return refuse(
                Rule::OutOfRange,
                format!("{who} has {asks} tasks"),
                format!("split it: the limit is {MEMBERS}"),
            );
        }
        if self.state.jobs.asks() + asks > LIVING {
            let subject = format!("{who} has {asks} tasks, and {} are alive already", self.state.jobs.asks());
            return refuse(
                Rule::OutOfRange,
                subject,
                format!("wait until some have ended: the limit is {LIVING}"),
            );
        }
        for (index, stage) in spec.stages.iter().enumerate() {
            let who =
                if spec.stages.len() == 1 { who.clone() } else { format!("{who}, stage {}", stage.name) };
            self.accept_stage(spec, index, stage, &who)?;
        }
        Ok(())
    }

    fn accept_owner(&self, spec: &JobSpec, who: &str) -> Verdict {
        let Some(_) = self.state.ledger.find(&spec.tenant) else {
            let names: Vec<&str> =
                self.state.ledger.tenants.iter().map(|tenant| tenant.spec.name.as_str()).take(8).collect();
            let remedy = if names.is_empty() {
                "declare a tenant first".into()
            } else {
                format!("known tenants: {}", names.join(", "))
            };
            return refuse(Rule::UnknownName, format!("{who}: unknown tenant {}", spec.tenant), remedy);
        };
        let Some(queue) = self.state.queues.find(&spec.queue) else {
            let names: Vec<&str> =
                self.state.queues.list.iter().map(|queue| queue.name.as_str()).take(8).collect();
            let remedy = if names.is_empty() {
                "declare a queue first".into()
            } else {
                format!("known queues: {}", names.join(", "))
            };
            return refuse(Rule::UnknownName, format!("{who}: unknown queue {}", spec.queue), remedy);
        };
        let queue = self.state.queues.get(queue);
        if !queue.tenants.is_empty() && !queue.tenants.contains(&spec.tenant) {
            let subject = format!("{who}: tenant {} may not use queue {}", spec.tenant, queue.name);
            return refuse(Rule::NotAllowed, subject, format!("allowed: {}", queue.tenants.join(", ")));
        }
        Ok(())
    }

    fn accept_times(&self, spec: &JobSpec) -> Verdict {
        span("the estimate", spec.estimate.unwrap_or(Span::ZERO), Span::ZERO)?;
        span("the time limit", spec.time_limit.unwrap_or(Span::seconds(1)), Span(1))?;
        span("the restart cost", spec.restart_cost, Span::ZERO)?;
        span("the wait before a retry", spec.backoff, Span::ZERO)?;
        let deadline = spec.deadline.unwrap_or(self.state.now);
        if (deadline - self.state.now) > Span::CENTURY || (self.state.now - deadline) > Span::CENTURY {
            return refuse(
                Rule::OutOfRange,
                format!("the deadline {deadline} is out of range"),
                "use one within 100 years",
            );
        }
        Ok(())
    }

    fn accept_dependencies(&self, spec: &JobSpec, who: &str) -> Verdict {
        if spec.after.len() > DEPENDENCIES {
            let subject = format!("{who} waits for {} jobs", spec.after.len());
            return refuse(Rule::OutOfRange, subject, format!("wait for at most {DEPENDENCIES}"));
        }
        for (index, dependency) in spec.after.iter().enumerate() {
            if !(JobId(1)..self.state.jobs.next_id()).contains(&dependency.job) {
                let subject = format!("{who} waits for unknown job {}", dependency.job);
                return refuse(Rule::NotThere, subject, "submit that job first");
            }
            if spec.after[..index].iter().any(|other| other.job == dependency.job) {
                return refuse(
                    Rule::Malformed,
                    format!("{who} waits for job {} twice", dependency.job),
                    "name it once",
                );
            }
        }
        Ok(())
    }

    fn accept_stage(&self, spec: &JobSpec, index: usize, stage: &StageSpec, who: &str) -> Verdict {
        text("the name of a stage", &stage.name, NAME)?;
        if stage.form.asks() == 0 {
            return refuse(Rule::OutOfRange, format!("{who} has no tasks"), "use at least one");
        }
        for &before in &stage.after {
            let Some(other) = spec.stages[..index].get(usize::from(before)) else {
                return refuse(
                    Rule::Malformed,
                    format!("{who} waits for itself or a later stage"),
                    "list stages in the order in which they run",
                );
            };
            if matches!(other.form, Form::Service { .. }) {
                let subject = format!("{who} waits for the end of service {}, which never ends", other.name);
                return refuse(Rule::Malformed, subject, "let them run side by side");
            }
        }
        if stage.roles.is_empty() || stage.roles.len() > ROLES {
            return refuse(
                Rule::OutOfRange,
                format!("{who} has {} roles", stage.roles.len()),
                format!("use 1 to {ROLES}"),
            );
        }
        if self.state.classes.known_to_fit(&stage.roles, self.state.cluster.make) {
            return self.accept_ceiling(spec, stage, who);
        }
        stage.roles.iter().try_for_each(|role| self.accept_role(role, who))?;
        let class = Class::compile(&stage.roles, &self.state.cluster).expect("every name was looked at");
        self.accept_capacity(&class, stage, who)?;
        self.accept_ceiling(spec, stage, who)
    }

    fn accept_role(&self, role: &Role, who: &str) -> Verdict {
        text("the name of a role", &role.name, NAME)?;
        let Count { min, max } = role.count;
        if min == 0 || max > MEMBERS || min > max {
            let subject = format!("{who} asks for {min} to {max} members");
            return refuse(Rule::OutOfRange, subject, format!("use a range within 1 to {MEMBERS}"));
        }
        if role.shapes.is_empty() || role.shapes.len() > SHAPES {
            return refuse(
                Rule::OutOfRange,
                format!("{who} accepts {} shapes", role.shapes.len()),
                format!("use 1 to {SHAPES}"),
            );
        }
        for shape in &role.shapes {
            if (shape.devices == 0 && shape.host.is_none()) || shape.devices > MEMBERS {
                return refuse(
                    Rule::OutOfRange,
                    format!("{who} asks for {} devices a member", shape.devices),
                    "use at least one",
                );
            }
            self.accept_host(shape, who)?;
            if shape.share == 0 || shape.share > WHOLE {
                return refuse(
                    Rule::OutOfRange,
                    format!("{who} asks for {} thousandths of a device", shape.share),
                    format!("use 1 to {WHOLE}"),
                );
            }
            if shape.share < WHOLE && (shape.devices != 1 || shape.within.is_some() || shape.prefer.is_some())
            {
                let subject =
                    format!("{who} asks for a share of several devices, or of devices close together");
                return refuse(
                    Rule::Malformed,
                    subject,
                    "ask for a share of one device, or for whole devices",
                );
            }
            if shape.share < WHOLE && !self.capabilities.shares {
                return refuse(
                    Rule::NeverFits,
                    format!("{who} asks for a share of a device"),
                    "this world grants whole devices only",
                );
            }
            if let Some(kind) =
                shape.kind.as_ref().filter(|kind| self.state.cluster.kind_meant(kind).is_none())
            {
                return refuse(
                    Rule::UnknownName,
                    format!("{who} asks for unknown kind {kind}"),
                    self.kinds_remedy(),
                );
            }
            let cluster = &self.state.cluster;
            let kind = shape.kind.as_ref().and_then(|kind| cluster.kind_meant(kind));
            if shape.memory_bytes > 0 && kind.is_some_and(|kind| cluster.is_processors(kind)) {
                let asked = memory_words(shape.memory_bytes);
                let subject = format!(
                    "{who} asks for {asked} of device memory with kind {CPU}, and processors have none of their own"
                );
                return refuse(Rule::NeverFits, subject, "use `mem` for memory of the host");
            }
            let levels = || shape.within.iter().chain(&shape.prefer);
            if let Some(level) = levels().find(|level| self.state.cluster.level(level).is_none()) {
                let mut names: Vec<&str> =
                    self.state.cluster.settings.levels.iter().map(|level| level.name.as_str()).collect();
                names.push("node");
                names.extend((self.capabilities.grain == Grain::Device).then_some("island"));
                let subject = format!("{who}: unknown level or link {level} in `within` or `prefer`");
                return refuse(Rule::UnknownName, subject, format!("known: {}", names.join(", ")));
            }
            let level = |name: &Option<String>| name.as_ref().and_then(|name| self.state.cluster.level(name));
            if let (Some(within), Some(prefer)) = (&shape.within, &shape.prefer)
                && level(&shape.prefer) <= level(&shape.within)
            {
                let subject =
                    format!("{who} prefers one {prefer}, which is not tighter than the required {within}");
                return refuse(Rule::Malformed, subject, "prefer a tighter level, or leave it out");
            }
            features(who, &shape.features)?;
            if let Some(name) = shape.features.iter().find(|name| !self.is_feature(name)) {
                return refuse(
                    Rule::UnknownName,
                    format!("{who} asks for feature {name}, which no node has"),
                    self.features_remedy(),
                );
            }
            let is_inside = |level: &&String| self.state.cluster.level(level) == Some(Level::Island);
            if let Some(level) = levels().find(is_inside)
                && self.capabilities.grain == Grain::Node
            {
                return refuse(
                    Rule::NeverFits,
                    format!(
                        "{who} must be within one {level}, but the cluster manager chooses the devices of a node itself"
                    ),
                    "ask for node or a wider level",
                );
            }
        }
        Ok(())
    }

    /// What is asked for of hosts makes sense, and some node accounts for it.
    fn accept_host(&self, shape: &Shape, who: &str) -> Verdict {
        host(who, &shape.host)?;
        let is_bare = *shape
            == Shape { devices: 0, host: shape.host, features: shape.features.clone(), ..Shape::any() };
        if shape.devices == 0 && !is_bare {
            let subject =
                format!("{who} asks for no devices, but names a kind, share, memory or level for them");
            return refuse(Rule::Malformed, subject, "leave those out, or ask for devices");
        }
        for (pool, name) in Pool::ALL.into_iter().zip(["processors", "memory"]) {
            let mut nodes = self.state.cluster.nodes.iter();
            let is_asked = pool.of(&shape.host) > 0 && !self.capabilities.counts_hosts;
            if is_asked && !nodes.any(|node| node.pool(pool).is_some()) {
                let subject =
                    format!("{who} asks for {name} of the host, but no node reports how much it has");
                return refuse(Rule::NeverFits, subject, "leave it out: it is not accounted for here");
            }
        }
        Ok(())
    }

    fn is_feature(&self, name: &String) -> bool {
        self.state.cluster.nodes.iter().any(|node| node.spec.features.contains(name))
    }

    fn features_remedy(&self) -> String {
        let known = self.state.cluster.features.iter().filter(|name| self.is_feature(name));
        let mut known: Vec<&str> = known.map(String::as_str).collect();
        known.sort_unstable();
        match &known[..] {
            [] => "no node has features; leave `features` out".into(),
            known => format!("known features: {}", known.join(", ")),
        }
    }
}
