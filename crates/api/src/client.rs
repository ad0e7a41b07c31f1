//! A typed client: one method for each route. Blocking, for a command line and for tests.
//!
//! For: the command line. Promises: nothing is sent to a process of another user of this machine, and a token only to
//! the server it belongs to (see [`find`]); streams that break are taken up again where they broke; every error is one
//! sentence. Never: retries a request that changes something, since it cannot know whether the first one did.

use crate::routes::{MORE, NEXT};
use crate::shapes::{
    Acted, Device, EventLine, Explanation, Job, JobDetail, JobList, Node, Queue, QueueChange, Shutdown,
    State, Status, Submitted, Tenant, TenantChange, Workers, World,
};
use serde::de::DeserializeOwned;
use std::io::Read;
use std::time::Duration;

mod dial;
mod error;
mod events;
pub mod find;
mod http;
mod logs;
mod peer;
pub mod socket;

pub use error::ClientError;
pub use events::Events;
pub use find::{config_dir, server_path, socket_path, token_path};
pub use http::Client;
pub use logs::{Lines, Mark};

/// A world that does not answer is told as such once the daemon has given it up, way by way.
const SILENT_WORLD: Duration = Duration::from_secs(240);

type Result<T> = std::result::Result<T, ClientError>;

/// Which jobs are wanted.
#[derive(Clone, Debug, Default)]
pub struct JobQuery {
    /// Also what has ended.
    pub all: bool,
    /// At most this many, the newest.
    pub limit: Option<u64>,
    /// Only smaller ids.
    pub before: Option<u64>,
    /// Only in one of these states.
    pub states: Vec<State>,
    /// Only of this tenant.
    pub tenant: Option<String>,
    /// Only of this queue.
    pub queue: Option<String>,
    /// Only of this name.
    pub name: Option<String>,
}

/// Which nodes, or devices, are wanted.
#[derive(Clone, Debug, Default)]
pub struct PlaceQuery {
    /// Only this node, or devices of it.
    pub node: Option<String>,
    /// Only devices of this kind, or nodes with some.
    pub kind: Option<String>,
    /// Only in this state.
    pub state: Option<String>,
    /// Only behind this one: `n1`, or `n1[3]`.
    pub after: Option<String>,
    /// At most this many.
    pub limit: Option<u64>,
}

/// Which events are wanted.
#[derive(Clone, Debug, Default)]
pub struct EventQuery {
    /// From this position on; the latest when absent.
    pub from: Option<u64>,
    /// At most this many. Not for a stream.
    pub limit: Option<u64>,
    /// Only about this job.
    pub job: Option<u64>,
    /// Only about this tenant or its jobs.
    pub tenant: Option<String>,
    /// Only about this node.
    pub node: Option<String>,
    /// Only of these kinds.
    pub kinds: Vec<String>,
}

impl EventQuery {
    fn parameters(&self) -> [(&'static str, Option<String>); 6] {
        let number = |number: Option<u64>| number.map(|number| number.to_string());
        [
            ("from", number(self.from)),
            ("limit", number(self.limit)),
            ("job", number(self.job)),
            ("tenant", self.tenant.clone()),
            ("node", self.node.clone()),
            ("kind", Some(self.kinds.join(",")).filter(|kinds| !kinds.is_empty())),
        ]
    }
}

/// Which output is wanted.
#[derive(Clone, Debug, Default)]
pub struct LogQuery {
    /// Bytes to skip.
    pub from: u64,
    /// Stay until the job has ended.
    pub follow: bool,
    /// Every piece behind a [`Mark`].
    pub marks: bool,
    /// Which task of a bag or replica of a service.
    pub task: Option<u64>,
    /// Which worker.
    pub rank: Option<u64>,
    /// Which attempt; the last one when absent.
    pub attempt: Option<u64>,
    /// Attempts from this one on.
    pub since: Option<u64>,
    /// Only the last lines of each worker, as many as this.
    pub tail: Option<u64>,
}

/// Output on its way.
pub struct Log {
    /// The bytes.
    pub reader: Box<dyn Read + Send>,
    /// Where the next read begins; absent when following.
    pub next: Option<u64>,
}

/// Jobs that one request can be about.
pub const MOST_AT_ONCE: usize = 10_000;

/// What can be done to many jobs at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// End them.
    Cancel,
    /// Take back what they hold.
    Pause,
    /// Undo a pause.
    Resume,
}

impl Act {
    fn word(self) -> &'static str {
        match self {
            Act::Cancel => "cancel",
            Act::Pause => "pause",
            Act::Resume => "resume",
        }
    }
}

impl Client {
    /// Submits a job file.
    pub fn submit(&self, job: &serde_json::Value) -> Result<Submitted> {
        self.post("/v1/jobs", &[], Some(job))
    }

    /// Jobs, the newest last, and whether there are more than the limit.
    pub fn jobs(&self, query: &JobQuery) -> Result<(Vec<Job>, bool)> {
        let states = query.states.iter().map(|state| state.word()).collect::<Vec<_>>().join(",");
        let parameters = [
            ("all", query.all.then(|| "true".to_string())),
            ("limit", query.limit.map(|limit| limit.to_string())),
            ("before", query.before.map(|before| before.to_string())),
            ("state", Some(states).filter(|states| !states.is_empty())),
            ("tenant", query.tenant.clone()),
            ("queue", query.queue.clone()),
            ("name", query.name.clone()),
        ];
        let answer = self.get("/v1/jobs", &parameters, "application/json")?;
        let more = answer.header(MORE).is_some_and(|value| value == "true");
        Ok((answer.json()?, more))
    }

    /// One job in full.
    pub fn job(&self, id: u64) -> Result<JobDetail> {
        self.look(&format!("/v1/jobs/{id}"))
    }

    /// Why a job is where it is.
    pub fn explain(&self, id: u64) -> Result<Explanation> {
        self.look(&format!("/v1/jobs/{id}/explain"))
    }

    /// Ends a job.
    pub fn cancel(&self, id: u64) -> Result<Job> {
        self.post(&format!("/v1/jobs/{id}/cancel"), &[], None::<&()>)
    }

    /// Does the same to many jobs. Those of one request are done together, so that none of them starts because another
    /// one ended; at most [`MOST_AT_ONCE`] go into a request. In the order of the ids, one result for each.
    pub fn act_on_all(&self, act: Act, ids: &[u64]) -> Result<Vec<Result<Job>>> {
        let mut results = Vec::with_capacity(ids.len());
        for ids in ids.chunks(MOST_AT_ONCE) {
            let list = JobList { jobs: ids.to_vec() };
            let acted: Vec<Acted> = self.post(&format!("/v1/jobs/{}", act.word()), &[], Some(&list))?;
            results.extend(acted.into_iter().map(|one| match (one.job, one.problem) {
                (Some(job), None) => Ok(job),
                (_, problem) => Err(ClientError::Problem(one.status, problem.unwrap_or_default())),
            }));
        }
        Ok(results)
    }

    /// Takes back what a job holds.
    pub fn pause(&self, id: u64) -> Result<Job> {
        self.post(&format!("/v1/jobs/{id}/pause"), &[], None::<&()>)
    }

    /// Undoes a pause.
    pub fn resume(&self, id: u64) -> Result<Job> {
        self.post(&format!("/v1/jobs/{id}/resume"), &[], None::<&()>)
    }

    /// Waits until a job has ended, or for so long; the job then says whether it has.
    pub fn wait(&self, id: u64, timeout: Duration) -> Result<Job> {
        let parameters = [("timeout_ms", Some(timeout.as_millis().to_string()))];
        self.get_within(&format!("/v1/jobs/{id}/wait"), &parameters, timeout)?.json()
    }

    /// What a job has written.
    pub fn logs(&self, id: u64, query: &LogQuery) -> Result<Log> {
        let number = |number: Option<u64>| number.map(|number| number.to_string());
        let parameters = [
            ("from", number(Some(query.from).filter(|from| *from > 0))),
            ("follow", query.follow.then(|| "true".to_string())),
            ("marks", query.marks.then(|| "true".to_string())),
            ("task", number(query.task)),
            ("rank", number(query.rank)),
            ("attempt", number(query.attempt)),
            ("since", number(query.since)),
            ("tail", number(query.tail)),
        ];
        // A job may be silent for as long as it likes.
        let answer = self.stream(&format!("/v1/jobs/{id}/logs"), &parameters, "text/plain", None)?;
        let next = answer.header(NEXT).and_then(|value| value.parse().ok());
        Ok(Log { reader: answer.reader(), next })
    }

    /// Nodes.
    pub fn nodes(&self) -> Result<Vec<Node>> {
        Ok(self.nodes_like(&PlaceQuery::default())?.0)
    }

    /// Some nodes, and whether there are more than the limit.
    pub fn nodes_like(&self, query: &PlaceQuery) -> Result<(Vec<Node>, bool)> {
        self.places("/v1/nodes", query)
    }

    /// Gives a node no new work.
    pub fn drain(&self, name: &str) -> Result<Node> {
        self.post(&format!("/v1/nodes/{}/drain", http::escaped(name)), &[], None::<&()>)
    }

    /// Uses a drained node again.
    pub fn undrain(&self, name: &str) -> Result<Node> {
        self.post(&format!("/v1/nodes/{}/undrain", http::escaped(name)), &[], None::<&()>)
    }

    /// Forgets a node that is lost for good. Answers with the node as it was.
    pub fn remove_node(&self, name: &str) -> Result<Node> {
        self.post(&format!("/v1/nodes/{}/remove", http::escaped(name)), &[], None::<&()>)
    }

    /// How the world is reached and what it is like, asked anew; may take as long as the world does.
    pub fn world(&self) -> Result<World> {
        self.get_within("/v1/world", &[], SILENT_WORLD)?.json()
    }

    /// Devices.
    pub fn devices(&self) -> Result<Vec<Device>> {
        Ok(self.devices_like(&PlaceQuery::default())?.0)
    }

    /// Some devices, and whether there are more than the limit.
    pub fn devices_like(&self, query: &PlaceQuery) -> Result<(Vec<Device>, bool)> {
        self.places("/v1/devices", query)
    }

    fn places<T: DeserializeOwned>(&self, path: &str, query: &PlaceQuery) -> Result<(Vec<T>, bool)> {
        let parameters = [
            ("node", query.node.clone()),
            ("kind", query.kind.clone()),
            ("state", query.state.clone()),
            ("after", query.after.clone()),
            ("limit", query.limit.map(|limit| limit.to_string())),
        ];
        let answer = self.get(path, &parameters, "application/json")?;
        let more = answer.header(MORE).is_some_and(|value| value == "true");
        Ok((answer.json()?, more))
    }

    /// Queues.
    pub fn queues(&self) -> Result<Vec<Queue>> {
        self.look("/v1/queues")
    }

    /// Makes a queue, or changes it.
    pub fn set_queue(&self, name: &str, change: &QueueChange) -> Result<Queue> {
        self.put(&format!("/v1/queues/{}", http::escaped(name)), change)
    }

    /// Tenants.
    pub fn tenants(&self) -> Result<Vec<Tenant>> {
        self.look("/v1/tenants")
    }

    /// Makes a tenant, or changes its quotas.
    pub fn set_tenant(&self, name: &str, change: &TenantChange) -> Result<Tenant> {
        self.put(&format!("/v1/tenants/{}", http::escaped(name)), change)
    }

    /// What happened, from a position on.
    pub fn events(&self, from: Option<u64>, limit: Option<u64>) -> Result<Vec<EventLine>> {
        self.events_like(&EventQuery { from, limit, ..EventQuery::default() })
    }

    /// Some of what happened.
    pub fn events_like(&self, query: &EventQuery) -> Result<Vec<EventLine>> {
        self.get("/v1/events", &query.parameters(), "application/json")?.json()
    }

    /// What happens, as it happens. Broken connections are taken up again at the next position.
    pub fn follow_events(&self, from: Option<u64>) -> Result<Events> {
        self.follow_events_like(EventQuery { from, ..EventQuery::default() })
    }

    /// Some of what happens.
    pub fn follow_events_like(&self, query: EventQuery) -> Result<Events> {
        Events::open(self.clone(), EventQuery { limit: None, ..query })
    }

    /// How the server is, without the hash of its state.
    pub fn status(&self) -> Result<Status> {
        self.look("/v1/status")
    }

    /// How the server is, with the hash of its state, which takes the longer the more jobs there are.
    pub fn status_with_hash(&self) -> Result<Status> {
        self.look("/v1/status?state_hash=true")
    }

    /// Asks the server to go.
    pub fn shutdown(&self, workers: Workers) -> Result<Status> {
        self.post("/v1/shutdown", &[], Some(&Shutdown { workers }))
    }

    /// Figures for Prometheus.
    pub fn metrics(&self) -> Result<String> {
        self.get("/metrics", &[], "text/plain")?.text()
    }

    /// Whether requests are taken.
    pub fn is_ready(&self) -> bool {
        self.get("/readyz", &[], "text/plain").is_ok()
    }

    /// Whether the process is alive.
    pub fn is_alive(&self) -> bool {
        self.get("/healthz", &[], "text/plain").is_ok()
    }

    /// The document that describes all this.
    pub fn openapi(&self) -> Result<serde_json::Value> {
        self.look("/openapi.json")
    }
}
