//! Everything that went wrong, in one shape: a status and one sentence.

use crate::fault::Fault;
use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use consort_api::shapes::Problem;
use consort_types::file::ReadError;
use consort_types::{Refusal, Rule};

/// A status and what is said.
#[derive(Debug)]
pub struct Trouble {
    status: StatusCode,
    problem: Problem,
}

impl Trouble {
    /// As one of several results: its status, and what is said.
    pub fn parts(self) -> (u16, Problem) {
        (self.status.as_u16(), self.problem)
    }

    /// Only a sentence.
    pub fn said(status: StatusCode, error: impl Into<String>) -> Self {
        Self { status, problem: Problem::said(error) }
    }

    /// The request itself cannot be read.
    pub fn unreadable(error: impl Into<String>) -> Self {
        Self::said(StatusCode::BAD_REQUEST, error)
    }

    /// There is no such job, node or place.
    pub fn not_there(error: impl Into<String>) -> Self {
        Self::said(StatusCode::NOT_FOUND, error)
    }

    /// Too much at once, or on the way out.
    pub fn busy() -> Self {
        Self::said(
            StatusCode::SERVICE_UNAVAILABLE,
            "the server is starting or stopping; try again in a moment",
        )
    }

    /// All seats of the owner are taken.
    pub fn crowded() -> Self {
        let error = "too many connections are open; close some, or try again in a moment";
        Self::said(StatusCode::SERVICE_UNAVAILABLE, error)
    }

    /// No room on the disk.
    pub fn full() -> Self {
        let error =
            "the disk of the journal is full and nothing new is accepted; free some space, then try again";
        Self::said(StatusCode::SERVICE_UNAVAILABLE, error)
    }

    /// No room on the disk for what was accepted already.
    pub fn kept() -> Self {
        let error = "the disk of the journal is full: the request is kept in memory and carried out once there is room; \
                     free some space";
        Self::said(StatusCode::SERVICE_UNAVAILABLE, error)
    }

    /// The outside broke.
    pub fn fault(fault: Fault) -> Self {
        Self::said(StatusCode::SERVICE_UNAVAILABLE, fault.to_string())
    }

    /// The scheduler says no.
    pub fn refused(refusal: Refusal) -> Self {
        let status = match refusal.rule {
            Rule::NotThere => StatusCode::NOT_FOUND,
            Rule::Stale | Rule::WrongState | Rule::InUse => StatusCode::CONFLICT,
            _ => StatusCode::UNPROCESSABLE_ENTITY,
        };
        let rule = serde_json::to_value(refusal.rule).ok();
        let rule = rule.and_then(|rule| rule.as_str().map(str::to_string));
        Self { status, problem: Problem { rule, ..Problem::said(refusal.to_string()) } }
    }

    /// A field of what was sent asks for what this server will not do.
    pub fn misplaced(field: &str, error: impl Into<String>) -> Self {
        let problem = Problem { field: Some(field.into()), ..Problem::said(error) };
        Self { status: StatusCode::UNPROCESSABLE_ENTITY, problem }
    }

    /// What was sent is not a job file.
    pub fn file(error: &ReadError) -> Self {
        let place = |number: u64| Some(number).filter(|&number| number > 0);
        let field = error.message.split('`').nth(1).filter(|_| error.message.starts_with('`'));
        let problem = Problem {
            line: place(error.line),
            column: place(error.column),
            field: field.map(str::to_string),
            ..Problem::said(error.to_string())
        };
        Self { status: StatusCode::BAD_REQUEST, problem }
    }
}

impl IntoResponse for Trouble {
    fn into_response(self) -> Response {
        (self.status, Json(self.problem)).into_response()
    }
}

/// Nothing is served there.
pub(super) async fn no_such_place(uri: axum::http::Uri) -> Trouble {
    Trouble::not_there(format!("not found: {}; /openapi.json lists all paths", uri.path()))
}

/// Something is served there, but not like this.
pub(super) async fn no_such_way(method: axum::http::Method, uri: axum::http::Uri) -> Trouble {
    let error = format!("method {method} is not allowed for {}; /openapi.json lists the methods", uri.path());
    Trouble::said(StatusCode::METHOD_NOT_ALLOWED, error)
}
