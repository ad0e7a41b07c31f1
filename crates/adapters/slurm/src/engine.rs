//! How Slurm is reached.
//!
//! For: everything above speaks to one trait, and does not know whether a socket or a command line is behind it.
//! Promises: every call ends; what went wrong is one of three kinds of trouble, because each asks for something else.
//! Never: tries again by itself: the poller knows when that is safe.

pub mod rest;
pub mod tools;

use crate::shapes::{Job, Node};
use crate::submission::Submission;
use std::fmt;
use std::time::Duration;

/// Slurm, however it is reached.
pub trait Engine: Send {
    /// How, for people.
    fn about(&self) -> &About;

    /// All nodes of the cluster.
    fn nodes(&mut self) -> Result<Vec<Node>, Trouble>;

    /// All jobs that may be ours, those that ended lately included.
    fn jobs(&mut self) -> Result<Vec<Job>, Trouble>;

    /// These jobs, as far as Slurm still knows them; perhaps others too.
    fn look(&mut self, ids: &[u64]) -> Result<Vec<Job>, Trouble>;

    /// Rows of the last answers that could not be read. A job or node that is not in such an answer may still exist.
    fn skipped(&self) -> Skipped {
        Skipped::default()
    }

    /// The text of rows of the last answer about jobs that could not be read and may be about jobs of our user.
    fn unread(&self) -> &[String] {
        &[]
    }

    /// The names of all partitions.
    fn partitions(&mut self) -> Result<Vec<String>, Trouble>;

    /// Lines of topology.conf as Slurm understood them, if it can be asked.
    fn topology(&mut self) -> Result<Option<String>, Trouble>;

    /// Makes a job. Its number.
    fn submit(&mut self, submission: &Submission) -> Result<u64, Trouble>;

    /// Sends a signal to all workers of a job, not to its script.
    fn signal(&mut self, id: u64, signal: i32) -> Result<(), Trouble>;

    /// Ends a job.
    fn cancel(&mut self, id: u64) -> Result<(), Trouble>;

    /// How long after its sender died a submission may still arrive.
    fn straggles(&self) -> Duration;
}

/// How Slurm is reached, for people.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// `REST v0.0.38 at unix:/run/slurmrestd.sock`, `command-line tools`
    pub how: String,
    /// `22.05.8`
    pub release: String,
    /// Whose jobs these are: two ways of reaching Slurm may act as two users.
    pub user: String,
    /// The number of that user, where it is known.
    pub uid: Option<u32>,
}

/// Rows that could not be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Skipped {
    /// In the last answer about nodes.
    pub nodes: usize,
    /// In the last answer about jobs.
    pub jobs: usize,
}

/// Whether Slurm says that there is no such job.
fn is_unknown(words: &str) -> bool {
    let words = words.to_lowercase();
    words.contains("invalid job id") || words.contains("unknown job") || words.contains("unable to find job")
}

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// Nobody answered: try again later. Nothing was done.
    Away(String),
    /// Slurm said no, and will say so again.
    Refused(String),
    /// Nobody knows whether it was done.
    Unclear(String),
}

impl Trouble {
    /// In words.
    pub fn words(&self) -> &str {
        let (Trouble::Away(words) | Trouble::Refused(words) | Trouble::Unclear(words)) = self;
        words
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words())
    }
}

impl std::error::Error for Trouble {}

/// The major part of a release: `22.05.8` is 22 and 5.
pub fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(['.', '-', '~']).map(|word| word.parse::<u32>().ok());
    Some((numbers.next()??, numbers.next()??))
}

/// Older ones cannot tell in JSON how they are.
pub const OLDEST: (u32, u32) = (21, 8);

/// In one sentence why this release is of no use, if so.
pub fn unusable(release: &str) -> Option<String> {
    match version(release) {
        Some(found) if found >= OLDEST => None,
        Some(_) => {
            Some(format!("Slurm {release} is too old: Consort needs {}.{:02} or later", OLDEST.0, OLDEST.1))
        }
        None => Some(format!("unknown release of Slurm: {release:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases() {
        assert_eq!(version("22.05.8"), Some((22, 5)));
        assert_eq!(version("24.11.5-1"), Some((24, 11)));
        assert_eq!(unusable("22.05.8"), None);
        assert_eq!(unusable("20.11.4").unwrap(), "Slurm 20.11.4 is too old: Consort needs 21.08 or later");
        assert!(unusable("").unwrap().contains("unknown release"));
    }
}
