//! What can go wrong between a client and a server, a sentence each.

use super::dial::Distrust;
use crate::shapes::Problem;
use std::fmt;

/// Why a request was not answered as hoped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientError {
    /// The address of the server makes no sense.
    Address(String),
    /// Nobody answers there.
    Unreachable(String),
    /// The token is missing or wrong.
    Denied(String),
    /// The server said no, with this status.
    Problem(u16, Problem),
    /// What answered is not our server, or not of our time.
    Garbled(String),
}

impl ClientError {
    /// Nobody answers at this address.
    pub(super) fn unreachable(url: &str, why: impl fmt::Display) -> Self {
        let remedy = "start it with `consort up`, or name another with --server URL or CONSORT_URL";
        ClientError::Unreachable(format!("cannot reach the server at {url} ({why}); {remedy}"))
    }

    /// A process listens there to which nothing was sent.
    pub(super) fn distrusted(url: &str, why: Distrust) -> Self {
        let remedy = match why {
            Distrust::Stranger(_) => "start your own server with `consort up`",
            Distrust::Unknown => {
                "name the server and its token together, with --server URL and CONSORT_TOKEN"
            }
        };
        ClientError::Unreachable(format!("{why}, at {url}, and the token is not sent there; {remedy}"))
    }

    /// Something else than a Consort server answers at this address.
    pub(super) fn garbled(url: &str, what: impl fmt::Display) -> Self {
        ClientError::Garbled(format!(
            "unexpected answer from {url} ({what}); check the address, and that client and server have the same version"
        ))
    }
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClientError::Address(sentence)
            | ClientError::Unreachable(sentence)
            | ClientError::Denied(sentence)
            | ClientError::Garbled(sentence) => f.write_str(sentence),
            ClientError::Problem(_, problem) => f.write_str(&problem.error),
        }
    }
}

impl std::error::Error for ClientError {}
