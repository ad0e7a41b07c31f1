//! The parts of a request, taken so that one that cannot be read is answered like everything else that went wrong.

use super::Trouble;
use super::seats::Visitor;
use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, QueryRejection};
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use consort_types::Actor;
use serde::de::DeserializeOwned;
use std::time::Duration;

/// How long a body may take to come.
const BODY: Duration = Duration::from_secs(30);

/// The name in a path: an id, a node, a queue.
pub(super) struct Named(pub String);

/// What follows the question mark.
pub(super) struct Asked<T>(pub T);

/// The body, all of it.
pub(super) struct Whole(pub Bytes);

/// Who sent the request, for the journal.
pub(super) struct Sender(pub Actor);

impl<S: Send + Sync> FromRequestParts<S> for Sender {
    type Rejection = Trouble;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Trouble> {
        let visitor = parts.extensions.get::<Visitor>();
        visitor.map(|visitor| Self(visitor.actor())).ok_or_else(Trouble::busy)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Named {
    type Rejection = Trouble;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Trouble> {
        let found = Path::<String>::from_request_parts(parts, state).await;
        // What is not text is the name of nothing.
        let unknown = |_| Trouble::not_there(format!("{} is not a name; names are UTF-8", parts.uri.path()));
        found.map(|Path(name)| Self(name)).map_err(unknown)
    }
}

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Asked<T> {
    type Rejection = Trouble;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Trouble> {
        let found = Query::<T>::from_request_parts(parts, state).await;
        let unreadable = |error: QueryRejection| Trouble::unreadable(query_error(&error.body_text()));
        found.map(|Query(asked)| Self(asked)).map_err(unreadable)
    }
}

/// What is wrong with a query, in our words: `state: unknown value foo, expected one of up, draining`.
fn query_error(text: &str) -> String {
    let text = text.strip_prefix("Failed to deserialize query string: ").unwrap_or(text);
    let plain = |text: &str| text.replace("` or `", ", ").replace('`', "");
    if let Some((_, unknown)) = text.split_once("unknown field `")
        && let Some((field, known)) = unknown.split_once("`, expected ")
    {
        let known = plain(known.strip_prefix("one of ").unwrap_or(known));
        return format!("unknown query parameter {field}, expected one of {known}");
    }
    let (field, wrong) = text.split_once(": ").unwrap_or(("query", text));
    if let Some((_, unknown)) = wrong.split_once("unknown variant `")
        && let Some((value, known)) = unknown.split_once("`, expected ")
    {
        let known = plain(known.strip_prefix("one of ").unwrap_or(known));
        return format!("{field}: unknown value {value}, expected one of {known}");
    }
    match wrong.contains("digit") || wrong.contains("number too") || wrong.contains("cannot parse integer") {
        true => format!("{field}: expected a whole number"),
        false => format!("{field}: {wrong}"),
    }
}

impl<S: Send + Sync> FromRequest<S> for Whole {
    type Rejection = Trouble;

    async fn from_request(request: Request, state: &S) -> Result<Self, Trouble> {
        let refused = |error: BytesRejection| match error.status() {
            StatusCode::PAYLOAD_TOO_LARGE => {
                let most = super::LARGEST >> 20;
                Trouble::said(
                    error.status(),
                    format!("the request is larger than {most} MiB; send less at once"),
                )
            }
            status => Trouble::said(status, error.body_text()),
        };
        let whole = tokio::time::timeout(BODY, Bytes::from_request(request, state)).await;
        let late = |_| {
            Trouble::said(StatusCode::REQUEST_TIMEOUT, "timeout while reading the request; send it again")
        };
        whole.map_err(late)?.map(Self).map_err(refused)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::Uri;
    use consort_api::shapes::NodeState;
    use serde::Deserialize;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code)]
    struct Query {
        state: Option<NodeState>,
        limit: Option<usize>,
    }

    #[test]
    fn queries_are_refused_in_our_words() {
        for (query, words) in [
            ("state=foo", "state: unknown value foo, expected one of up, draining, suspect, fenced"),
            ("limit=abc", "limit: expected a whole number"),
            ("limit=-1", "limit: expected a whole number"),
            ("limit=99999999999999999999", "limit: expected a whole number"),
            ("before=n1", "unknown query parameter before, expected one of state, limit"),
        ] {
            let uri: Uri = format!("/v1/nodes?{query}").parse().expect("a path");
            let error = axum::extract::Query::<Query>::try_from_uri(&uri).expect_err(query);
            assert_eq!(query_error(&error.body_text()), words);
        }
    }
}
