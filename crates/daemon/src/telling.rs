//! Events and stories in the shapes that clients get. The sentences are those of `consort_types::narrate`.

use consort_api::Moment;
use consort_api::shapes::{EventActor, EventChange, EventLine, StoryLine};
use consort_types::directory::Nodes;
use consort_types::narrate::{self, Change, Names};
use consort_types::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What is needed to tell events that were read from the journal: nodes as they are now, and the jobs they name.
pub struct Known {
    /// The nodes.
    pub nodes: Arc<Nodes>,
    /// The jobs.
    pub jobs: BTreeMap<JobId, Arc<JobSpec>>,
    /// What attempts held, as far as that is known.
    pub placed: BTreeMap<AllocationId, Arc<[Grant]>>,
}

impl Names for Known {
    fn spec(&self, job: JobId) -> Option<&JobSpec> {
        self.jobs.get(&job).map(|spec| &**spec)
    }

    fn node_name(&self, node: NodeId) -> Option<&str> {
        self.nodes.name(node)
    }

    fn locate(&self, device: DeviceId) -> Option<(NodeId, u32)> {
        self.nodes.locate(device)
    }

    fn grants(&self, id: AllocationId) -> Option<&[Grant]> {
        self.placed.get(&id).map(|grants| &**grants)
    }
}

/// One line about one event. A submission does not know which id it got, so that is an argument.
pub fn line(position: u64, event: &Event, submitted: Option<JobId>, names: &impl Names) -> EventLine {
    let told = narrate::event(event, submitted, names);
    let actor = |actor: &Actor| EventActor { who: actor.who(), from: actor.origin().into() };
    EventLine {
        position,
        at: Moment(event.at),
        kind: told.kind.into(),
        job: told.job.map(|job| job.0),
        text: told.text,
        tenant: told.tenant,
        node: told.node,
        cause: told.cause,
        numbers: told.numbers.into_iter().map(|(name, number)| (name.into(), number)).collect(),
        changes: told.changes.into_iter().map(change).collect(),
        actor: event.actor.as_ref().map(actor),
    }
}

fn change(change: Change) -> EventChange {
    EventChange {
        kind: change.kind.into(),
        job: change.ask.map(|ask| ask.job.0),
        ask: change.ask.map(|ask| ask.to_string()),
        tenant: change.tenant,
        nodes: change.nodes,
        devices: change.devices,
        cause: change.cause.map(Into::into),
        by: change.by.map(|by| by.job.0),
        text: change.text,
    }
}

/// What happened to a job.
pub fn story(story: &Story, spec: &JobSpec) -> Vec<StoryLine> {
    let line = |entry: &StoryEntry| {
        let by = match &entry.what {
            Happened::Preempted { by, .. } => Some(by.job.0),
            _ => None,
        };
        let node = match &entry.what {
            Happened::NodeLost { node } | Happened::DeviceUnhealthy { node, .. } => Some(node.to_string()),
            _ => None,
        };
        let (at, kind) = (Moment(entry.at), entry.kind().into());
        let (ask, attempt, text) = (entry.ask.to_string(), entry.attempt, entry.told(spec));
        StoryLine { at, kind, ask, attempt, by, node, text }
    };
    story.entries().iter().map(line).collect()
}
