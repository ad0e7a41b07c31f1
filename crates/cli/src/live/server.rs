//! Which server is meant, and what its answers mean for the exit code.

use crate::failure::{Failure, note};
use consort_api::client::PlaceQuery;
use consort_api::{Client, ClientError};

/// The flag that every command of this folder has.
#[derive(clap::Args)]
#[command(next_help_heading = "Server")]
pub struct Server {
    /// Address of the server: http://HOST:PORT or unix:/path [default: CONSORT_URL, or the local server]
    #[arg(long, value_name = "URL")]
    server: Option<String>,
}

impl Server {
    /// A client of it.
    pub fn client(&self) -> Result<Client, Failure> {
        Client::find(self.server.as_deref()).map_err(Failure::from)
    }
}

/// What a command needs that has others below it: how to show, and which server to ask.
#[derive(clap::Args)]
pub struct Look {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// The server.
    #[command(flatten)]
    pub server: Server,
}

/// Which nodes, or devices, a list shows; the server picks them.
#[derive(clap::Args)]
pub struct Pick {
    /// Only of this kind of device
    #[arg(long)]
    kind: Option<String>,
    /// Only those after this one, the last of the previous page
    #[arg(long, value_name = "LAST")]
    after: Option<String>,
    /// At most N
    #[arg(long, value_name = "N", value_parser = super::jobs::number)]
    limit: Option<u64>,
}

impl Pick {
    /// Refuses an unknown kind, after a list turned out to be empty. Returns whether anything was filtered by.
    pub fn check(&self, client: &Client) -> Result<bool, Failure> {
        self.kind.iter().try_for_each(|name| super::filters::kind(client, name))?;
        Ok(self.kind.is_some())
    }

    /// As it is asked.
    pub fn query(&self, state: Option<impl ToString>) -> PlaceQuery {
        let (kind, after) = (self.kind.clone(), self.after.clone());
        let state = state.map(|state| state.to_string());
        PlaceQuery { node: None, kind, state, after, limit: self.limit }
    }
}

/// That a list was cut, and how to go on, on standard error.
pub fn tell_more(more: bool, last: Option<String>) {
    if let (true, Some(last)) = (more, last) {
        note(&format!("consort: there are more; --after '{last}' shows the next"));
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        let sentence = error.to_string();
        match error {
            ClientError::Address(_) => Failure::Request(sentence),
            ClientError::Problem(status, _) if status < 500 => Failure::Request(sentence),
            ClientError::Problem(..)
            | ClientError::Unreachable(_)
            | ClientError::Denied(_)
            | ClientError::Garbled(_) => Failure::Outside(sentence),
        }
    }
}

/// The id of a job, as an argument.
pub fn job_id(text: &str) -> Result<u64, String> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| digits).ok_or_else(|| "expected the id of a job like 17".into())
}

/// A length of time, as an argument.
pub fn span(text: &str) -> Result<consort_types::Span, String> {
    consort_types::file::value::span(text).map_err(|expected| format!("expected {expected}"))
}
