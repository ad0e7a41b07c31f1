//! Whom a request believes to speak to: this machine, by a name that never leaves it.
//!
//! A page in a browser may point a name of its own at 127.0.0.1 and then read what is served here; what it cannot do is
//! send another `Host` than that name.

use super::Trouble;
use axum::extract::Request;
use axum::http::{StatusCode, Version, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::net::IpAddr;

/// Lets a request through, or not.
pub(super) async fn check(request: Request, next: Next) -> Response {
    match judge(&request) {
        None => next.run(request).await,
        Some(trouble) => trouble.into_response(),
    }
}

fn judge(request: &Request) -> Option<Trouble> {
    let hosts = request.headers().get_all(header::HOST);
    let named = hosts.iter().map(|host| host.to_str().unwrap_or("?")).chain(request.uri().host());
    let mut names = named.peekable();
    // HTTP/1.0 has no such header, and no browser speaks it.
    if names.peek().is_none() && request.version() > Version::HTTP_10 {
        return Some(Trouble::unreadable(
            "missing Host header, required by HTTP/1.1; send `Host: localhost`",
        ));
    }
    let other = names.find(|host| !is_here(host))?;
    let error = format!("unexpected Host {other}; use localhost or a loopback address, also behind a proxy");
    Some(Trouble::said(StatusCode::MISDIRECTED_REQUEST, error))
}

/// Whether a host, with or without a port, is this machine and no other.
fn is_here(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !name.ends_with(':') => name,
        _ => host,
    };
    let inside = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
    let name = inside.unwrap_or(name).trim_end_matches('.');
    name.eq_ignore_ascii_case("localhost")
        || name.parse().is_ok_and(|address: IpAddr| address.to_canonical().is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_never_leave_this_machine_are_ours() {
        for host in ["localhost", "LOCALHOST:7467", "127.0.0.1", "127.8.9.1:1", "[::1]:80", "[::1]", "::1"] {
            assert!(is_here(host), "{host}");
        }
        for host in
            ["", "x", "evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "10.0.0.1:80", "?"]
        {
            assert!(!is_here(host), "{host}");
        }
    }
}
