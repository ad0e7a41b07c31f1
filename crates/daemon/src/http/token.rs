//! Who may come in: a process of our user, by the word of the kernel, or whoever brings the token that only the owner
//! can read.

use super::seats::Visitor;
use super::{Desk, Trouble};
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::sync::Arc;
use tokio::sync::Semaphore;

/// Lets a request through, or not.
pub(super) async fn check(State(desk): State<Arc<Desk>>, request: Request, next: Next) -> Response {
    let visitor = request.extensions().get::<Visitor>().cloned();
    if visitor.as_ref().is_some_and(Visitor::is_owner) {
        return next.run(request).await;
    }
    let brought = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    // The name of a scheme has no case (RFC 9110, section 11.1).
    let scheme = |value: &&str| value.get(..7).is_some_and(|scheme| scheme.eq_ignore_ascii_case("Bearer "));
    let brought = brought.filter(scheme).map(|value| &value[7..]);
    if brought.is_some_and(|brought| is_same(brought.trim().as_bytes(), desk.token.as_bytes())) {
        return match visitor.map_or(Ok(()), |visitor| visitor.admit()) {
            Ok(()) => next.run(request).await,
            Err(_) => Trouble::crowded().into_response(),
        };
    }
    let error = match brought {
        Some(_) => "wrong token; set CONSORT_TOKEN to the one in the server's token file",
        None => "missing token; send it as `Authorization: Bearer TOKEN`",
    };
    let mut response = Trouble::said(StatusCode::UNAUTHORIZED, error).into_response();
    response.headers_mut().insert(header::WWW_AUTHENTICATE, header::HeaderValue::from_static("Bearer"));
    response
}

/// Requests of guests that are worked on at once. They cost the loop a look each, and the owner waits behind them.
static GUESTS: Semaphore = Semaphore::const_new(2);

/// Takes the requests that need no token in turns, unless they are the owner's.
pub(super) async fn in_turn(request: Request, next: Next) -> Response {
    let is_seated = request.extensions().get::<Visitor>().is_some_and(Visitor::is_seated);
    let _turn = if is_seated { None } else { GUESTS.acquire().await.ok() };
    next.run(request).await
}

/// A guest is answered once: many questions over one connection would be worked on before those who come later.
pub(super) async fn once(request: Request, next: Next) -> Response {
    let visitor = request.extensions().get::<Visitor>().cloned();
    let mut response = next.run(request).await;
    if visitor.is_some_and(|visitor| !visitor.is_seated()) {
        response.headers_mut().insert(header::CONNECTION, header::HeaderValue::from_static("close"));
    }
    response
}

/// Compares in a time that tells nothing about where they differ.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && one.iter().zip(other).fold(0, |sum, (a, b)| sum | (a ^ b)) == 0
}
