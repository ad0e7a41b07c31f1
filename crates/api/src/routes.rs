//! Everything that can be asked, in one table.
//!
//! The daemon serves it, the client calls it, and the OpenAPI document is made from it. A path names what it is about
//! in braces; every such name is among the parameters (a test).

use crate::shapes::{
    Acted, Device, EventLine, Explanation, Job, JobDetail, JobList, Node, Queue, QueueChange, Reported,
    Shutdown, Status, Submitted, Tenant, TenantChange, World,
};
use schemars::{JsonSchema, Schema, SchemaGenerator};

/// The header of an answer that was cut, because there was more than the limit.
pub const MORE: &str = "x-consort-more";
/// The header with the offset at which the next read of a log begins.
pub const NEXT: &str = "x-consort-next";

/// One thing that can be asked.
pub struct Route {
    /// How.
    pub method: Method,
    /// Where; names in braces are parameters.
    pub path: &'static str,
    /// In one line.
    pub summary: &'static str,
    /// Whether a token is needed.
    pub auth: bool,
    /// What it takes, beside the body.
    pub parameters: &'static [Parameter],
    /// What it takes as a body.
    pub body: Option<Content>,
    /// What it answers when all is well.
    pub answer: Content,
    /// What may become of it. Those below 300 carry the answer, the others a [`Problem`](crate::shapes::Problem).
    pub statuses: &'static [u16],
}

/// How something is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Look.
    Get,
    /// Do.
    Post,
    /// Make it so.
    Put,
}

/// A part of a path, or of what follows the question mark.
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// What it does.
    pub about: &'static str,
    /// What it may be.
    pub value: Value,
}

/// What a parameter may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// A whole number, not negative.
    Number,
    /// `true` or `false`; there without a value means `true`.
    Flag,
    /// Text.
    Text,
}

/// What a body holds.
#[derive(Clone, Copy)]
pub enum Content {
    /// A shape, as JSON.
    Json(Make),
    /// A job file, as JSON or YAML.
    JobFile,
    /// Events, as a JSON array or as a stream.
    Events(Make),
    /// Bytes, as they come.
    Text,
    /// Any JSON.
    Document,
}

/// Makes the schema of a shape.
pub type Make = fn(&mut SchemaGenerator) -> Schema;

fn one<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

fn many<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<Vec<T>>()
}

const fn number(name: &'static str, about: &'static str) -> Parameter {
    Parameter { name, about, value: Value::Number }
}

const fn flag(name: &'static str, about: &'static str) -> Parameter {
    Parameter { name, about, value: Value::Flag }
}

const fn text(name: &'static str, about: &'static str) -> Parameter {
    Parameter { name, about, value: Value::Text }
}

const ID: Parameter = number("id", "the id of a job");
const NAME: Parameter = text("name", "the name");

/// Looks at something.
const fn get(path: &'static str, summary: &'static str, answer: Content) -> Route {
    Route {
        method: Method::Get,
        path,
        summary,
        auth: true,
        parameters: &[],
        body: None,
        answer,
        statuses: &[200, 401, 503],
    }
}

/// Does something to a job.
const fn act(path: &'static str, summary: &'static str) -> Route {
    Route {
        method: Method::Post,
        parameters: &[ID],
        statuses: &[200, 401, 404, 409, 503],
        ..get(path, summary, Content::Json(one::<Job>))
    }
}

/// Does something to many jobs at once: nothing is planned between the first and the last.
const fn act_on_all(path: &'static str, summary: &'static str) -> Route {
    Route {
        method: Method::Post,
        body: Some(Content::Json(one::<JobList>)),
        statuses: &[200, 400, 401, 408, 413, 503],
        ..get(path, summary, Content::Json(many::<Acted>))
    }
}

/// Does something to a node.
const fn tend(path: &'static str, summary: &'static str) -> Route {
    Route {
        method: Method::Post,
        parameters: &[NAME],
        statuses: &[200, 401, 404, 409, 503],
        ..get(path, summary, Content::Json(one::<Node>))
    }
}

/// What anybody may ask.
const fn open(path: &'static str, summary: &'static str, answer: Content) -> Route {
    Route { auth: false, statuses: &[200, 503], ..get(path, summary, answer) }
}

/// All of it.
pub const ALL: &[Route] = &[
    Route {
        method: Method::Post,
        body: Some(Content::JobFile),
        statuses: &[201, 400, 401, 408, 413, 422, 503],
        ..get("/v1/jobs", "Submit a job", Content::Json(one::<Submitted>))
    },
    Route {
        parameters: &[
            flag("all", "include jobs that have ended"),
            number("limit", "at most this many jobs, the newest; 1,000 by default"),
            number("before", "only jobs with a smaller id"),
            text("state", "only jobs in these states, separated by commas"),
            text("tenant", "only jobs of this tenant"),
            text("queue", "only jobs of this queue"),
            text("name", "only jobs with this name"),
        ],
        statuses: &[200, 400, 401, 503],
        ..get("/v1/jobs", "List jobs, newest last", Content::Json(many::<Job>))
    },
    Route {
        parameters: &[ID],
        statuses: &[200, 401, 404, 503],
        ..get("/v1/jobs/{id}", "Show all details of a job", Content::Json(one::<JobDetail>))
    },
    Route {
        parameters: &[ID],
        statuses: &[200, 401, 404, 503],
        ..get(
            "/v1/jobs/{id}/explain",
            "Explain why a job is pending, and what would let it start",
            Content::Json(one::<Explanation>),
        )
    },
    act("/v1/jobs/{id}/cancel", "Cancel a job, pending or running"),
    act(
        "/v1/jobs/{id}/pause",
        "Pause a job: stop it, free its devices, and do not start it until it is resumed",
    ),
    act("/v1/jobs/{id}/resume", "Resume a paused job"),
    act_on_all("/v1/jobs/cancel", "Cancel many jobs at once"),
    act_on_all("/v1/jobs/pause", "Pause many jobs at once"),
    act_on_all("/v1/jobs/resume", "Resume many jobs at once"),
    Route {
        parameters: &[ID, number("timeout_ms", "answer after this time at the latest; 30,000 by default")],
        statuses: &[200, 202, 400, 401, 404, 503],
        ..get(
            "/v1/jobs/{id}/wait",
            "Wait until a job has ended: 200 when it has, 202 when not yet",
            Content::Json(one::<Job>),
        )
    },
    Route {
        parameters: &[
            ID,
            number(
                "from",
                "skip this many bytes; for one worker only, chosen with task and rank if there are several",
            ),
            flag("follow", "follow the output until the job has ended"),
            number("task", "task of a bag, or replica of a service"),
            number("rank", "rank of the worker"),
            number("attempt", "attempt; the last one by default"),
            number("since", "attempts from this one on"),
            number("tail", "number of lines from the end, per worker; all lines by default"),
            flag("marks", "every piece as it was written, after a line of JSON that names its worker"),
        ],
        statuses: &[200, 400, 401, 404, 503],
        ..get("/v1/jobs/{id}/logs", "Read the output of a job", Content::Text)
    },
    Route {
        parameters: &[
            text("node", "only this node"),
            text("kind", "only nodes with devices of this kind"),
            text("state", "only nodes in this state"),
            text("after", "only nodes after this one, the last of the previous page"),
            number("limit", "at most this many; all by default"),
        ],
        statuses: &[200, 400, 401, 503],
        ..get("/v1/nodes", "List nodes", Content::Json(many::<Node>))
    },
    tend("/v1/nodes/{name}/drain", "Drain a node: no new jobs start there"),
    tend("/v1/nodes/{name}/undrain", "Undrain a node"),
    tend("/v1/nodes/{name}/remove", "Remove a node that is lost for good; answers with the node as it was"),
    get(
        "/v1/world",
        "Check the backend that runs jobs; may wait for its answer",
        Content::Json(one::<World>),
    ),
    Route {
        parameters: &[
            text("node", "only devices of this node"),
            text("kind", "only devices of this kind"),
            text("state", "only devices in this state"),
            text("after", "only devices after this one, the last of the previous page, as `n1[3]`"),
            number("limit", "at most this many; all by default"),
        ],
        statuses: &[200, 400, 401, 503],
        ..get("/v1/devices", "List devices", Content::Json(many::<Device>))
    },
    Route {
        parameters: &[
            text("after", "only queues after this one, the last of the previous page"),
            number("limit", "at most this many; all by default"),
        ],
        statuses: &[200, 400, 401, 503],
        ..get("/v1/queues", "List queues", Content::Json(many::<Queue>))
    },
    Route {
        method: Method::Put,
        parameters: &[NAME],
        body: Some(Content::Json(one::<QueueChange>)),
        statuses: &[200, 400, 401, 408, 413, 422, 503],
        ..get("/v1/queues/{name}", "Create a queue, or change it", Content::Json(one::<Queue>))
    },
    Route {
        parameters: &[
            text("after", "only tenants after this one, the last of the previous page"),
            number("limit", "at most this many; all by default"),
        ],
        statuses: &[200, 400, 401, 503],
        ..get("/v1/tenants", "List tenants", Content::Json(many::<Tenant>))
    },
    Route {
        method: Method::Put,
        parameters: &[NAME],
        body: Some(Content::Json(one::<TenantChange>)),
        statuses: &[200, 400, 401, 408, 413, 422, 503],
        ..get("/v1/tenants/{name}", "Create a tenant, or change its quotas", Content::Json(one::<Tenant>))
    },
    Route {
        parameters: &[
            number("from", "first position to return; the latest events by default"),
            flag("follow", "follow: stream new events"),
            text(
                "seen",
                "when the event before `from` happened; a stream is refused if that is another event now",
            ),
            number("limit", "at most this many events; by default the latest 100, or 1,000 from a position"),
            number(
                "job",
                "only events about this job, among the last or next 100,000, as with the other filters",
            ),
            text("tenant", "only events about this tenant or its jobs"),
            text("node", "only events about this node"),
            text("kind", "only events of these kinds, separated by commas"),
        ],
        statuses: &[200, 400, 401, 409, 503],
        ..get(
            "/v1/events",
            "List events; a stream if text/event-stream is accepted",
            Content::Events(many::<EventLine>),
        )
    },
    Route {
        parameters: &[flag("state_hash", "include the hash of the state; visits all jobs")],
        statuses: &[200, 400, 401, 503],
        ..get("/v1/status", "Show the state of the server", Content::Json(one::<Status>))
    },
    Route {
        method: Method::Post,
        body: Some(Content::Json(one::<Shutdown>)),
        statuses: &[202, 400, 401, 408, 503],
        ..get("/v1/shutdown", "Stop the server", Content::Json(one::<Status>))
    },
    Route {
        method: Method::Post,
        auth: true,
        body: Some(Content::Document),
        statuses: &[202, 400, 401, 408, 413, 503],
        ..open(
            "/v1/progress",
            "Report progress of a running job, with the token in its CONSORT_PROGRESS_TOKEN",
            Content::Json(one::<Reported>),
        )
    },
    open("/metrics", "Metrics for Prometheus", Content::Text),
    open("/healthz", "Liveness: the process is alive", Content::Text),
    open("/readyz", "Readiness: requests are accepted", Content::Text),
    open("/openapi.json", "This document", Content::Document),
];
