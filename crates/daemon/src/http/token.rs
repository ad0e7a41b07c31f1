//! Who may come in: whoever brings the token that only the owner can read.

use super::{Desk, Trouble};
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::sync::Arc;

/// Lets a request through, or not.
pub(super) async fn check(State(desk): State<Arc<Desk>>, request: Request, next: Next) -> Response {
    let brought = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let brought = brought.and_then(|value| value.strip_prefix("Bearer "));
    if brought.is_some_and(|brought| is_same(brought.trim().as_bytes(), desk.token.as_bytes())) {
        return next.run(request).await;
    }
    let error = match brought {
        Some(_) => "this is not the server's token; set CONSORT_TOKEN to the one in its token file",
        None => "a token is needed; send it as `Authorization: Bearer TOKEN`",
    };
    let mut response = Trouble::said(StatusCode::UNAUTHORIZED, error).into_response();
    response.headers_mut().insert(header::WWW_AUTHENTICATE, header::HeaderValue::from_static("Bearer"));
    response
}

/// Compares in a time that tells nothing about where they differ.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && one.iter().zip(other).fold(0, |sum, (a, b)| sum | (a ^ b)) == 0
}
