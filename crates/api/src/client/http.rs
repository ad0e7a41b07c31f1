//! Requests and answers, untyped: addresses, tokens, timeouts, and statuses that become errors.

use super::dial::{Dialer, Distrust, Trust};
use super::{ClientError, Result};
use crate::shapes::Problem;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::Read;
use std::path::PathBuf;
use std::time::Duration;
use ureq::unversioned::resolver::DefaultResolver;
use ureq::{Agent, Body, Error, http::Response};

/// How long an ordinary answer may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long a connection is kept for the next request.
const IDLE: Duration = Duration::from_secs(5);
/// Bytes of an answer that is read whole.
const LIMIT: u64 = 1 << 30;

type Parameters<'a> = [(&'a str, Option<String>)];

/// A client of one server.
#[derive(Clone, Debug)]
pub struct Client {
    /// As it was named: `http://host:port` or `unix:/path`.
    url: String,
    /// What paths are put behind.
    base: String,
    token: Option<String>,
    agent: Agent,
}

/// A good answer.
pub(super) struct Answer {
    url: String,
    response: Response<Body>,
}

impl Client {
    /// A client of the server at `http://host:port` or `unix:/path`, with the token that it wants over TCP. Nothing is
    /// sent to a process that is known to be another user's.
    pub fn new(url: impl Into<String>, token: Option<String>) -> Self {
        Self::trusting(url, token, Trust::Named)
    }

    pub(super) fn trusting(url: impl Into<String>, token: Option<String>, trust: Trust) -> Self {
        let url = url.into();
        let socket = url.strip_prefix("unix:").map(PathBuf::from);
        // A request over a socket names this machine as its host, by a number that needs no lookup.
        let base = if socket.is_some() { "http://127.0.0.1".into() } else { url.clone() };
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            // A proxy would have to be trusted with the token, and cannot reach this machine anyway.
            .proxy(None)
            .user_agent(concat!("consort/", env!("CARGO_PKG_VERSION")))
            // Less than the server keeps a silent connection, so that none is used while it is being closed.
            .max_idle_age(IDLE)
            .build();
        let agent = Agent::with_parts(config, Dialer { socket, trust }, DefaultResolver::default());
        Self { url, base, token, agent }
    }

    /// Where the server is.
    pub fn url(&self) -> &str {
        &self.url
    }

    pub(super) fn look<T: DeserializeOwned>(&self, path: &str) -> Result<T> {
        self.get(path, &[], "application/json")?.json()
    }

    pub(super) fn get(&self, path: &str, parameters: &Parameters<'_>, accept: &str) -> Result<Answer> {
        self.fetch(path, parameters, accept, Some(PATIENCE), None)
    }

    /// For answers that may take so long.
    pub(super) fn get_within(
        &self,
        path: &str,
        parameters: &Parameters<'_>,
        within: Duration,
    ) -> Result<Answer> {
        self.fetch(path, parameters, "application/json", Some(within.saturating_add(PATIENCE)), None)
    }

    /// For answers that may never end, and may be silent for this long.
    pub(super) fn stream(
        &self,
        path: &str,
        parameters: &Parameters<'_>,
        accept: &str,
        silence: Option<Duration>,
    ) -> Result<Answer> {
        self.fetch(path, parameters, accept, None, silence)
    }

    fn fetch(
        &self,
        path: &str,
        parameters: &Parameters<'_>,
        accept: &str,
        within: Option<Duration>,
        silence: Option<Duration>,
    ) -> Result<Answer> {
        let mut request = self.agent.get(self.address(path, parameters)).header("accept", accept);
        if let Some(token) = &self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let request = request.config().timeout_global(within).timeout_per_read(silence).build();
        self.judge(request.call())
    }

    pub(super) fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        parameters: &Parameters<'_>,
        body: Option<&impl Serialize>,
    ) -> Result<T> {
        self.send(self.agent.post(self.address(path, parameters)), body)
    }

    pub(super) fn put<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T> {
        self.send(self.agent.put(self.address(path, &[])), Some(body))
    }

    fn send<T: DeserializeOwned>(
        &self,
        request: ureq::RequestBuilder<ureq::typestate::WithBody>,
        body: Option<&impl Serialize>,
    ) -> Result<T> {
        let mut request = request.header("accept", "application/json");
        if let Some(token) = &self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let request = request.config().timeout_global(Some(PATIENCE)).build();
        let sent = match body {
            Some(body) => {
                let bytes = serde_json::to_vec(body).expect("plain data");
                request.header("content-type", "application/json").send(&bytes[..])
            }
            None => request.send_empty(),
        };
        self.judge(sent)?.json()
    }

    fn address(&self, path: &str, parameters: &Parameters<'_>) -> String {
        let mut address = format!("{}{path}", self.base);
        let given = parameters.iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
        for (index, (name, value)) in given.enumerate() {
            address.push(if index == 0 { '?' } else { '&' });
            address.push_str(&format!("{name}={}", escaped(value)));
        }
        address
    }

    fn judge(&self, sent: std::result::Result<Response<Body>, Error>) -> Result<Answer> {
        let response = sent.map_err(|error| fault(&self.url, &error))?;
        let status = response.status().as_u16();
        let mut answer = Answer { url: self.url.clone(), response };
        if (200..300).contains(&status) {
            return Ok(answer);
        }
        let bytes = answer.bytes()?;
        let problem = serde_json::from_slice::<Problem>(&bytes).ok();
        Err(match (status, problem) {
            (401, problem) => {
                let said = problem.map_or("the token is missing or wrong".into(), |problem| problem.error);
                ClientError::Denied(format!(
                    "{} denied access: {said}; set CONSORT_TOKEN, or run as the user who started the server",
                    self.url
                ))
            }
            (status, Some(problem)) => ClientError::Problem(status, problem),
            (status, None) => {
                ClientError::garbled(&self.url, format_args!("status {status} without a reason"))
            }
        })
    }
}

impl Answer {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.response.headers().get(name)?.to_str().ok()
    }

    pub(super) fn json<T: DeserializeOwned>(mut self) -> Result<T> {
        let bytes = self.bytes()?;
        serde_json::from_slice(&bytes).map_err(|error| ClientError::garbled(&self.url, error))
    }

    pub(super) fn text(mut self) -> Result<String> {
        Ok(String::from_utf8_lossy(&self.bytes()?).into_owned())
    }

    /// The bytes as they come, for as long as they come.
    pub(super) fn reader(self) -> Box<dyn Read + Send> {
        Box::new(self.response.into_body().into_with_config().limit(u64::MAX).reader())
    }

    fn bytes(&mut self) -> Result<Vec<u8>> {
        let body = self.response.body_mut().with_config().limit(LIMIT);
        body.read_to_vec().map_err(|error| fault(&self.url, &error))
    }
}

/// What a broken exchange is called.
fn fault(url: &str, error: &Error) -> ClientError {
    match error {
        Error::Io(error) => {
            use std::io::ErrorKind::*;
            if let Some(distrust) = error.get_ref().and_then(|inner| inner.downcast_ref::<Distrust>()) {
                return ClientError::distrusted(url, *distrust);
            }
            match error.kind() {
                NotFound => ClientError::unreachable(url, "no such socket"),
                ConnectionRefused => ClientError::unreachable(url, "connection refused"),
                ConnectionReset | BrokenPipe | UnexpectedEof | ConnectionAborted => {
                    ClientError::unreachable(url, "the connection broke")
                }
                TimedOut | WouldBlock => ClientError::unreachable(url, "no answer in time"),
                _ => ClientError::unreachable(url, error),
            }
        }
        Error::HostNotFound => ClientError::unreachable(url, "no such host"),
        Error::Timeout(_) => ClientError::unreachable(url, "no answer in time"),
        Error::ConnectionFailed => ClientError::unreachable(url, "no connection"),
        Error::BadUri(_) | Error::Http(_) => {
            ClientError::Address(format!("`{url}` is not a server address; check it"))
        }
        other => ClientError::garbled(url, other),
    }
}

/// Text as a part of an address.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b',' => {
                escaped.push(byte.into())
            }
            _ => escaped.push_str(&format!("%{byte:02X}")),
        }
    }
    escaped
}
