//! What Slurm answers in JSON, whichever version of it.
//!
//! For: the few fields we need out of a hundred, from slurmrestd and from `--json` alike.
//! Promises: a number may be plain, absent, text or `{set, infinite, number}`; a list may be a list or text with commas;
//! a state may be one word or several. Fields that are missing or new do no harm.
//! Never: keeps anything that nobody asks for: an answer may be a hundred megabytes.

mod loose;
mod salvage;

pub use loose::Exit;
use serde::Deserialize;

/// One node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Node {
    /// Its name in Slurm.
    #[serde(deserialize_with = "loose::text")]
    pub name: String,
    /// Where it can be reached.
    #[serde(deserialize_with = "loose::text")]
    pub address: String,
    /// Processors.
    #[serde(deserialize_with = "loose::number")]
    pub cpus: u64,
    /// Allocated processors.
    #[serde(deserialize_with = "loose::number")]
    pub alloc_cpus: u64,
    /// Main memory, in mebibytes.
    #[serde(deserialize_with = "loose::number")]
    pub real_memory: u64,
    /// Allocated main memory, in mebibytes; older versions of the API do not report it.
    #[serde(deserialize_with = "loose::number")]
    pub alloc_memory: u64,
    /// What it has: `gpu:a100:4`.
    #[serde(deserialize_with = "loose::text")]
    pub gres: String,
    /// What is in somebody's hands.
    #[serde(deserialize_with = "loose::text")]
    pub gres_used: String,
    /// What its administrator calls it.
    #[serde(deserialize_with = "loose::words")]
    pub features: Vec<String>,
    /// The same, of those that count now.
    #[serde(deserialize_with = "loose::words")]
    pub active_features: Vec<String>,
    /// How it is.
    #[serde(deserialize_with = "loose::upper_words")]
    pub state: Vec<String>,
    /// What else there is to say about that.
    #[serde(deserialize_with = "loose::upper_words")]
    pub state_flags: Vec<String>,
    /// Why.
    #[serde(deserialize_with = "loose::text")]
    pub reason: String,
    /// Which partitions it is in.
    #[serde(deserialize_with = "loose::words")]
    pub partitions: Vec<String>,
}

/// One job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Job {
    /// Its number.
    #[serde(rename = "job_id", deserialize_with = "loose::number")]
    pub id: u64,
    /// The number of the first part of a job of several parts; 0 otherwise.
    #[serde(rename = "het_job_id", deserialize_with = "loose::number")]
    pub whole: u64,
    /// How it is: one state, and whatever goes with it.
    #[serde(rename = "job_state", deserialize_with = "loose::upper_words")]
    pub state: Vec<String>,
    /// Why it is so.
    #[serde(rename = "state_reason", deserialize_with = "loose::text")]
    pub reason: String,
    /// How it ended.
    #[serde(rename = "exit_code")]
    pub exit: Exit,
    /// How often Slurm began it anew.
    #[serde(rename = "restart_cnt", deserialize_with = "loose::number")]
    pub restarts: u64,
    /// Where the tag is.
    #[serde(deserialize_with = "loose::text")]
    pub comment: String,
    /// The number of its user, if it is told.
    #[serde(rename = "user_id", deserialize_with = "loose::some_number")]
    pub user: Option<u64>,
    /// The name of its user; the oldest version does not tell it.
    #[serde(deserialize_with = "loose::text")]
    pub user_name: String,
}

/// One partition.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Partition {
    /// Its name.
    #[serde(deserialize_with = "loose::text")]
    pub name: String,
    /// Its nodes; only older versions tell them as text.
    #[serde(deserialize_with = "loose::text")]
    pub nodes: String,
}

/// Something went wrong, or is worth knowing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Complaint {
    /// In words.
    #[serde(deserialize_with = "loose::text")]
    pub description: String,
    /// In Slurm's standard words.
    #[serde(deserialize_with = "loose::text")]
    pub error: String,
    /// Slurm's number of it; older versions have other words for it.
    #[serde(deserialize_with = "loose::number")]
    pub error_number: u64,
    #[serde(deserialize_with = "loose::number")]
    error_code: u64,
    #[serde(deserialize_with = "loose::number")]
    errno: u64,
}

impl Complaint {
    /// Slurm's number of it.
    pub fn number(&self) -> u64 {
        [self.error_number, self.error_code, self.errno].into_iter().find(|&number| number > 0).unwrap_or(0)
    }

    /// As a sentence.
    pub fn words(&self) -> String {
        match (self.description.trim(), self.error.trim()) {
            ("", "") => format!("error {}", self.number()),
            ("", error) => error.into(),
            (description, "") => description.into(),
            (description, error) if description.contains(error) => description.into(),
            (description, error) => format!("{error} ({description})"),
        }
    }
}

/// An answer. Each has some of these. A list that is not there is not an empty list: nobody is gone because an answer
/// was cut short.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Answer {
    /// What went wrong.
    #[serde(deserialize_with = "loose::list")]
    pub errors: Vec<Complaint>,
    /// Nodes.
    #[serde(deserialize_with = "loose::some_list")]
    pub nodes: Option<Vec<Node>>,
    /// Jobs.
    #[serde(deserialize_with = "loose::some_list")]
    pub jobs: Option<Vec<Job>>,
    /// Partitions.
    #[serde(deserialize_with = "loose::some_list")]
    pub partitions: Option<Vec<Partition>>,
    /// The job that was just made.
    #[serde(deserialize_with = "loose::number")]
    pub job_id: u64,
    /// What came of each job that was to be ended; later versions do not call it an error.
    #[serde(deserialize_with = "loose::list")]
    pub status: Vec<Ending>,
    /// Who answers.
    #[serde(deserialize_with = "loose::or_default")]
    pub meta: Meta,
    /// Rows of lists that could not be read.
    #[serde(skip)]
    pub skipped: Vec<String>,
}

/// What came of a job that was to be ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Ending {
    /// Why it was not.
    #[serde(deserialize_with = "loose::or_default")]
    pub error: Why,
}

/// Why not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Why {
    /// Slurm's number of it; 0 for nothing.
    #[serde(deserialize_with = "loose::number")]
    pub code: u64,
    /// In Slurm's standard words.
    #[serde(deserialize_with = "loose::text")]
    pub string: String,
}

/// Who answers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Meta {
    /// Which Slurm.
    #[serde(alias = "Slurm", deserialize_with = "loose::or_default")]
    pub slurm: Release,
}

/// Which Slurm.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Release {
    /// `22.05.8`
    #[serde(deserialize_with = "loose::text")]
    pub release: String,
}

impl Answer {
    /// Reads one; in words why not.
    pub fn read(bytes: &[u8]) -> Result<Self, String> {
        let told = |why: &dyn std::fmt::Display| format!("cannot parse Slurm's answer: {why}");
        if bytes.iter().find(|byte| !byte.is_ascii_whitespace()) != Some(&b'{') {
            return Err(told(&"it is not an object"));
        }
        // One row that cannot be read is no reason to read nothing; what is slow about that is rarely needed.
        serde_json::from_slice(bytes).or_else(|error| salvage::read(bytes).ok_or_else(|| told(&error)))
    }

    /// The nodes that have a name, and how many rows there are beside.
    pub fn named_nodes(self) -> Result<(Vec<Node>, usize), String> {
        let skipped = self.skipped.len();
        kept(self.nodes()?, skipped, |node| !node.name.is_empty())
    }

    /// The jobs that have a number, and how many rows there are beside.
    pub fn numbered_jobs(self) -> Result<(Vec<Job>, usize), String> {
        let skipped = self.skipped.len();
        kept(self.jobs()?, skipped, |job| job.id > 0)
    }

    /// The nodes it tells of.
    pub fn nodes(self) -> Result<Vec<Node>, String> {
        self.nodes.ok_or_else(|| lacks("nodes"))
    }

    /// The jobs it tells of.
    pub fn jobs(self) -> Result<Vec<Job>, String> {
        self.jobs.ok_or_else(|| lacks("jobs"))
    }

    /// The names of the partitions it tells of.
    pub fn partitions(self) -> Result<Vec<String>, String> {
        let all = self.partitions.ok_or_else(|| lacks("partitions"))?;
        Ok(all.into_iter().map(|partition| partition.name).collect())
    }
}

/// An answer of which no row can be read says nothing, and above all not that there is nothing.
fn kept<T>(
    mut rows: Vec<T>,
    skipped: usize,
    is_good: impl Fn(&T) -> bool,
) -> Result<(Vec<T>, usize), String> {
    let all = rows.len() + skipped;
    rows.retain(is_good);
    let left_out = all - rows.len();
    match rows.is_empty() && all > 0 {
        true => Err(format!("none of the {all} rows of Slurm's answer can be parsed")),
        false => Ok((rows, left_out)),
    }
}

fn lacks(what: &str) -> String {
    format!("Slurm's answer has no list of {what}")
}

impl Job {
    /// The exit status as a shell would tell it.
    pub fn code(&self) -> i32 {
        self.exit.code()
    }

    /// Whether any of these words is part of its state.
    pub fn is(&self, words: &[&str]) -> bool {
        self.state.iter().any(|state| words.contains(&state.as_str()))
    }
}

impl Node {
    /// Whether any of these words is part of its state.
    pub fn is(&self, words: &[&str]) -> bool {
        self.state.iter().chain(&self.state_flags).any(|state| words.contains(&state.as_str()))
    }
}

#[cfg(test)]
mod tests;
