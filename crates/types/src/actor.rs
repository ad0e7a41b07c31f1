//! Who caused an event, and from where.
//!
//! Kept beside the fact in the journal, for audits. No decision looks at it, and the state does not hold it.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// The cause of an event outside or inside the daemon.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Actor {
    /// A user of this machine, through the Unix socket.
    Socket(User),
    /// A client that sent the token, over TCP.
    Tcp {
        /// Its address.
        address: Arc<str>,
        /// Its user, if it runs on this machine and the kernel names the user.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        user: Option<User>,
    },
    /// The world that carries out the work: `local`, `slurm`.
    World(Arc<str>),
    /// The scheduler itself: plans, and what it is set up with when it starts.
    Scheduler,
}

/// A user, by the word of the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    /// The number.
    pub uid: u32,
    /// The name, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Arc<str>>,
}

impl Actor {
    /// Who: a user's name or number, or a part of the system.
    pub fn who(&self) -> String {
        match self {
            Actor::Socket(user) | Actor::Tcp { user: Some(user), .. } => user.to_string(),
            Actor::Tcp { user: None, .. } => "token".into(),
            Actor::World(name) => name.to_string(),
            Actor::Scheduler => "scheduler".into(),
        }
    }

    /// From where: `socket`, a TCP address, `world`, `scheduler`.
    pub fn origin(&self) -> &str {
        match self {
            Actor::Socket(_) => "socket",
            Actor::Tcp { address, .. } => address,
            Actor::World(_) => "world",
            Actor::Scheduler => "scheduler",
        }
    }

    /// Whether a person or a program of theirs asked for it.
    pub fn is_client(&self) -> bool {
        matches!(self, Actor::Socket(_) | Actor::Tcp { .. })
    }
}

impl fmt::Display for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => f.write_str(name),
            None => write!(f, "uid {}", self.uid),
        }
    }
}
