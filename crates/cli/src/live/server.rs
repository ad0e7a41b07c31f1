//! Which server is meant, and what its answers mean for the exit code.

use crate::failure::Failure;
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
