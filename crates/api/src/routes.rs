//! Everything that can be asked, in one table.
//!
//! The daemon serves it, the client calls it, and the OpenAPI document is made from it. A path names what it is about
//! in braces; every such name is among the parameters (a test).

use crate::shapes::{
    Acted, Device, EventLine, Explanation, Job, JobDetail, JobList, Node, Queue, QueueChange, Shutdown,
    Status, Submitted, Tenant, TenantChange, World,
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
            flag("all", "also what has ended"),
            number("limit", "at most so many, the newest; 1,000 unless told otherwise"),
            number("before", "only jobs with a smaller id"),
            text("state", "only jobs in this state, or in one of several with commas between them"),
            text("tenant", "only jobs of this tenant"),
            text("queue", "only jobs of this queue"),
            text("name", "only jobs of this name"),
        ],
        statuses: &[200, 400, 401, 503],
        ..get("/v1/jobs", "List jobs, the newest last", Content::Json(many::<Job>))
    },
    Route {
        parameters: &[ID],
        statuses: &[200, 401, 404, 503],
        ..get("/v1/jobs/{id}", "Show a job in full", Content::Json(one::<JobDetail>))
    },
    Route {
        parameters: &[ID],
        statuses: &[200, 401, 404, 503],
        ..get("/v1/jobs/{id}/explain", "Say why a job is where it is", Content::Json(one::<Explanation>))
    },
    act("/v1/jobs/{id}/cancel", "End a job, whatever it is doing"),
    act("/v1/jobs/{id}/pause", "Take back what a job holds and do not start it until it is resumed"),
    act("/v1/jobs/{id}/resume", "Undo a pause"),
    act_on_all("/v1/jobs/cancel", "End many jobs at once"),
    act_on_all("/v1/jobs/pause", "Pause many jobs at once"),
    act_on_all("/v1/jobs/resume", "Undo many pauses at once"),
    Route {
        parameters: &[
            ID,
            number("timeout_ms", "answer after so long at the latest; 30,000 unless told otherwise"),
        ],
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
                "skip so many bytes; only of one worker, chosen by task and rank where there are several",
            ),
            flag("follow", "stay until the job has ended"),
            number("task", "which task of a bag or replica of a service"),
            number("rank", "which worker"),
            number("attempt", "which attempt; the last one unless told otherwise"),
            number("since", "attempts from this one on"),
            number("tail", "how many of the last lines of each worker; all of them without it"),
            flag("marks", "every piece as it was written, behind a line of JSON that says where it is from"),
        ],
        statuses: &[200, 400, 401, 404, 503],
        ..get("/v1/jobs/{id}/logs", "Read what a job has written", Content::Text)
    },
    get("/v1/nodes", "List nodes", Content::Json(many::<Node>)),
    tend("/v1/nodes/{name}/drain", "Give a node no new work"),
    tend("/v1/nodes/{name}/undrain", "Use a drained node again"),
    get("/v1/world", "Ask the world how it is; may wait for it", Content::Json(one::<World>)),
    get("/v1/devices", "List devices", Content::Json(many::<Device>)),
    get("/v1/queues", "List queues", Content::Json(many::<Queue>)),
    Route {
        method: Method::Put,
        parameters: &[NAME],
        body: Some(Content::Json(one::<QueueChange>)),
        statuses: &[200, 400, 401, 408, 413, 422, 503],
        ..get("/v1/queues/{name}", "Make a queue, or change it", Content::Json(one::<Queue>))
    },
    get("/v1/tenants", "List tenants", Content::Json(many::<Tenant>)),
    Route {
        method: Method::Put,
        parameters: &[NAME],
        body: Some(Content::Json(one::<TenantChange>)),
        statuses: &[200, 400, 401, 408, 413, 422, 503],
        ..get("/v1/tenants/{name}", "Make a tenant, or change its quotas", Content::Json(one::<Tenant>))
    },
    Route {
        parameters: &[
            number("from", "the first position that is wanted; the latest events when absent"),
            flag("follow", "stay and tell what happens"),
            text(
                "seen",
                "when the event before `from` happened; a stream is refused if that is another event now",
            ),
            number(
                "limit",
                "at most so many; 100 of the latest, or 1,000 from a position, unless told otherwise",
            ),
        ],
        statuses: &[200, 400, 401, 409, 503],
        ..get(
            "/v1/events",
            "List what happened; a stream when text/event-stream is accepted",
            Content::Events(many::<EventLine>),
        )
    },
    Route {
        parameters: &[flag("state_hash", "add the hash of the state; takes a pass over all jobs")],
        statuses: &[200, 400, 401, 503],
        ..get("/v1/status", "Say how the server is", Content::Json(one::<Status>))
    },
    Route {
        method: Method::Post,
        body: Some(Content::Json(one::<Shutdown>)),
        statuses: &[202, 400, 401, 408, 503],
        ..get("/v1/shutdown", "Ask the server to go", Content::Json(one::<Status>))
    },
    open("/metrics", "Figures for Prometheus", Content::Text),
    open("/healthz", "Say whether the process is alive", Content::Text),
    open("/readyz", "Say whether requests are taken", Content::Text),
    open("/openapi.json", "This document", Content::Document),
];
