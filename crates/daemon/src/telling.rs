//! An event in words, for those who follow. Made from the event and the names of the nodes alone, so that an old one
//! reads as it did when it was new.

use consort_api::Moment;
use consort_api::shapes::EventLine;
use consort_types::*;

/// What nodes are called, in the order in which they first joined: that order is their number in events.
#[derive(Clone, Debug, Default)]
pub struct NodeNames(Vec<String>);

impl NodeNames {
    /// Of nodes that have joined, in order.
    pub fn new(names: Vec<String>) -> Self {
        Self(names)
    }

    /// Learns the name of a node that joins for the first time.
    pub fn learn(&mut self, event: &Event) {
        if let Fact::Accepted(Input::NodeJoined(spec)) = &event.fact
            && !self.0.contains(&spec.name)
        {
            self.0.push(spec.name.clone());
        }
    }

    fn of(&self, node: NodeId) -> String {
        self.0.get(node.index()).map_or_else(|| node.to_string(), |name| format!("node {name}"))
    }
}

/// One line about one event. A submission does not know which id it got, so that is an argument.
pub fn line(position: u64, event: &Event, submitted: Option<JobId>, names: &NodeNames) -> EventLine {
    let (kind, job, text) = match &event.fact {
        Fact::Planned(plan) => planned(plan, names),
        Fact::Accepted(Input::Submit(spec)) => {
            let id = submitted.map_or(String::new(), |job| format!("job {job} "));
            let text = format!("{id}{} was submitted by {} to queue {}", spec.name, spec.tenant, spec.queue);
            ("submitted", submitted, text)
        }
        Fact::Accepted(input) => accepted(input, names),
    };
    EventLine { position, at: Moment(event.at), kind: kind.into(), job: job.map(|job| job.0), text }
}

type Told = (&'static str, Option<JobId>, String);

fn accepted(input: &Input, names: &NodeNames) -> Told {
    let plain = |kind, text: String| (kind, None, text);
    let about = |kind, job: JobId, text: String| (kind, Some(job), text);
    match input {
        Input::Configure(_) => plain("configured", "the topology was set".into()),
        Input::SetKind(kind) => plain("kind-set", format!("kind {} is known", kind.name)),
        Input::SetTenant(tenant) => plain("tenant-set", format!("tenant {} was set", tenant.name)),
        Input::SetQueue(queue) => plain("queue-set", format!("queue {} was set", queue.name)),
        Input::Drain(node) => plain("node-drained", format!("{} takes no new work", names.of(*node))),
        Input::Undrain(node) => plain("node-undrained", format!("{} takes work again", names.of(*node))),
        Input::Submit(spec) => plain("submitted", format!("{} was submitted", spec.name)),
        Input::Cancel(job) => about("cancelled", *job, format!("job {job} is to end")),
        Input::Pause(job) => about("paused", *job, format!("job {job} was paused")),
        Input::Resume(job) => about("resumed", *job, format!("job {job} was resumed")),
        Input::NodeJoined(spec) => plain("node-joined", format!("node {} joined", spec.name)),
        Input::NodeSilent(node) => plain("node-silent", format!("{} is silent", names.of(*node))),
        Input::NodeReturned(node) => plain("node-returned", format!("{} is back", names.of(*node))),
        Input::NodeFenced(node) => plain("node-fenced", format!("{} is fenced", names.of(*node))),
        Input::ForeignUse { node, shares } => {
            let used = shares.iter().filter(|&&share| share > 0).count();
            let (all, node) = (shares.len(), names.of(*node));
            plain("foreign-use", format!("{used} of {all} devices of {node} are in use by others"))
        }
        Input::DeviceHealth { node, ill } => {
            let ill: Vec<String> =
                ill.iter().map(|one| format!("device {} ({})", one.device, one.why)).collect();
            let node = names.of(*node);
            let text = match ill.is_empty() {
                true => format!("all devices of {node} are well"),
                false => format!("of {node} are ill: {}", ill.join(", ")),
            };
            plain("device-health", text)
        }
        Input::Started(id) => {
            about("started", id.ask.job, format!("job {} is up, attempt {}", id.ask, id.attempt))
        }
        Input::StartRefused { allocation: id, why } => {
            about("start-refused", id.ask.job, format!("job {} could not be started: {why}", id.ask))
        }
        Input::OutputLost { allocation: id, bytes, since } => about(
            "output-lost",
            id.ask.job,
            format!(
                "{bytes} bytes of output of job {}, attempt {}, were lost from {} on",
                id.ask,
                id.attempt,
                Moment(*since)
            ),
        ),
        Input::Ended { allocation: id, outcome, why } => {
            let why = why.as_ref().map_or(String::new(), |why| format!(": {why}"));
            about("ended", id.ask.job, format!("job {} {outcome}, attempt {}{why}", id.ask, id.attempt))
        }
    }
}

fn planned(plan: &Plan, names: &NodeNames) -> Told {
    let mut words: Vec<String> = plan.moves.iter().take(3).map(|change| moved(change, names)).collect();
    if plan.moves.len() > 3 {
        words.push(format!("and {} more", plan.moves.len() - 3));
    }
    let job = |change: &Move| match change {
        Move::Start { ask, .. } => Some(ask.job),
        Move::Stop { allocation, .. } => Some(allocation.ask.job),
        Move::Fence { .. } => None,
    };
    let first = plan.moves.first().and_then(job);
    let is_one = plan.moves.iter().all(|change| job(change) == first);
    ("planned", first.filter(|_| is_one), words.join(", "))
}

fn moved(change: &Move, names: &NodeNames) -> String {
    match change {
        Move::Start { ask, placement, after } => {
            let devices = placement.devices().count();
            let plural = if devices == 1 { "" } else { "s" };
            let later = if after.is_empty() { "" } else { " once they are given back" };
            format!("job {ask} gets {devices} device{plural}{later}")
        }
        Move::Stop { allocation, cause: StopCause::Preempted { by } } => {
            format!("job {} gives way to job {by}", allocation.ask)
        }
        Move::Stop { allocation, cause: StopCause::TimeLimit } => {
            format!("job {} is at its time limit", allocation.ask)
        }
        Move::Stop { allocation, cause: StopCause::Yield } => format!("job {} gives way", allocation.ask),
        Move::Fence { node } => format!("{} is given up", names.of(*node)),
    }
}
