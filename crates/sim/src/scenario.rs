//! Small stories in plain text, with an expected ending.
//!
//! One file, one story: a title, what is there, what happens, and what is expected, in words that the tool itself
//! writes. So an expectation is reviewed as prose, and renewed by one command when a decision was changed on purpose.
//!
//! ```text
//! A gang waits for all of its devices
//! Eight devices are free, but b needs sixteen at once, so it holds none of them meanwhile.
//!
//! cluster   2 nodes, each 8 h200, nvlink inside
//! at 0s     submit a: tenant red, gang of 8 h200, needs nvlink, runs 1h
//! at 1s     submit b: tenant blue, gang of 16 h200, runs 10m
//! expect    a runs on n1[0-7]
//!           b waits: needs 16 h200, 8 free, 8 held by a until about 1h
//! finally   a ended: succeeded at 1h
//!           b ended: succeeded at 1h10m
//! ```
//! The first paragraph is the title, and at least one thing is expected. A line that begins with `#` is a comment; an indented line continues the
//! statement above it.
//!
//! | statement | says |
//! |---|---|
//! | `levels site rack` | levels of the topology above the node, outermost first |
//! | `cluster 2 nodes, each 8 h200 with 141GiB and 2 cpu, islands of 4, nvlink inside, pcie across, rack r1, features ib and nvme` | nodes `n1`, `n2` and so on; further lines add more; also `lease 30s`, `margin 10s` |
//! | `policy las` | a policy, `las/spread` with a placement; without it, the default one |
//! | `tenant red: guarantee 8 h200, ceiling 12 h200, ceiling 64 cpus, ceiling 512GiB mem` | a tenant; without any such line, tenants need not be declared |
//! | `queue urgent: priority 10, strict, for red and blue` | a queue; likewise |
//! | `world starts take 10s, stops take 30s, endings take 5s, cannot preempt, cannot share, cannot pick, counts hosts` | what the world is like; also `resizes in place` or `resizes by restart`, and `resizes take 20s` |
//! | `at 5s ACT` | what happens when; in order of time |
//! | `expect`, `expect tenants`, `expect events` | what is so once everything up to the last `at` has happened |
//! | `finally`, `finally tenants`, `finally events` | the same when nothing can happen any more |
//!
//! Acts: `submit NAME: CLAUSES`; `pause`, `resume`, `cancel` a job; `node n1 dies`, `is cut off for 20s`, `comes back`,
//! `leaves`, `drains`, `undrains`; `new node n9 like n1`; `others use n1[0-3]`, `others use 0.5 of n1[0]`,
//! `others use n1, cpus 8, ram 16GiB`, `others leave n1`; `unhealthy n1[2]: fell off the bus`, `healthy n1` (both replace
//! what was reported of the node before); news from nowhere
//! (`started a#1`, `refused a#1`, `ended a#1 failed`, `ended a#1 stopped: node n3 is down`, `ended a#1 cancelled`,
//! `silent n1`, `returned n1`, `fenced n1`, `joined n1`); `refuse the next 2 starts of a`, `refuse the next resize of a`; `tenant ...` and `queue ...` as above; `crash the controller`; `plan` (only lets
//! time pass until then).
//!
//! Clauses: `gang of 2 to 4 x 8 h200 or x 4 mi300x within rack and 2 cpu` (members, devices for each, alternatives,
//! further roles); `bag of 10 tasks of 1 t4, share 0.5, memory 4GiB, feature ib`; `service of 2 replicas of 1 t4`;
//! `stage train is gang of 8 h200, after stage prepare`; `tenant red`, `queue urgent`, `priority 5`, `best-effort`,
//! `guaranteed`; `runs 2h` (the truth; one hour if nothing is said), `estimate 1h` (the truth if nothing is said),
//! `no estimate`; `limit 3h`, `retries 2`, `backoff 10s`, `restart costs 5m`, `fails twice`, `after a`,
//! `after a failed and b ended`, `deadline 2h`.

mod chronicle;
mod expectation;
mod play;
mod read;
mod story;
mod tell;
mod words;

use crate::workload::ReadError;
use crate::workload::read_error::InFile;
use consort_sched::Registry;

/// What came of a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Played {
    /// What the file expects, block by block.
    pub expected: String,
    /// What happened, told the same way.
    pub actual: String,
    /// The whole file, with its expectations replaced by what happened.
    pub blessed: String,
}

impl Played {
    /// Whether everything happened as expected.
    pub fn passed(&self) -> bool {
        self.expected == self.actual
    }
}

/// Reads a story without playing it, which is quick however long the story would run. `file` is what errors call it.
pub fn read_only(file: &str, text: &str) -> Result<(), ReadError> {
    read::read(text, &Registry::stock()).in_file(file).map(drop)
}

/// Plays a scenario under a stock policy. `file` is what errors call it.
pub fn play(file: &str, text: &str) -> Result<Played, ReadError> {
    play_under(&Registry::stock(), file, text)
}

/// The same where the story may name any of these policies.
pub fn play_under(policies: &Registry, file: &str, text: &str) -> Result<Played, ReadError> {
    let story = read::read(text, policies).in_file(file)?;
    let told = play::play(&story, play::Crashes::AsWritten).in_file(file)?;
    Ok(expectation::compare(text, &story, &told))
}

/// The same, and after every instant the controller crashes and is rebuilt from its journal. Nothing may change.
pub fn play_crashing(file: &str, text: &str) -> Result<Played, ReadError> {
    let story = read::read(text, &Registry::stock()).in_file(file)?;
    let told = play::play(&story, play::Crashes::AfterEveryStep).in_file(file)?;
    Ok(expectation::compare(text, &story, &told))
}
