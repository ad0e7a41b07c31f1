//! Progress that running jobs report: read from files they write, condensed, and handed on.
//!
//! A worker finds a path in `CONSORT_PROGRESS` and writes one JSON object into that file, as often as it likes, replacing what
//! was there. The file is read through [`crate::untrusted`]: whatever a job puts in its place is refused, never followed, and
//! at most [`LONGEST`] bytes are read. The agent stamps what it reads with the attempt, so that a job cannot report for
//! another one.
//!
//! Reports are condensed for each attempt: the first at once, then at most one in [`QUICKEST`], when the rate changed by 5 %
//! or something else did, and one in [`BEAT`] in any case while work goes on. With more than [`MANY`] attempts both spans
//! grow in proportion, up to a minute and ten minutes, so that a change of rate is known within a minute on any cluster.

mod condense;
mod parse;

pub use parse::parse;

use crate::news::locked;
use crate::untrusted::{self, Owners};
pub use condense::Condenser;
use consort_types::{AllocationId, Report, Sample};
use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

/// Longest file of progress that is read, in bytes.
pub const LONGEST: u64 = 64 << 10;
/// Shortest time between two reports of one attempt.
pub const QUICKEST: Duration = Duration::from_secs(10);
/// Longest time between two reports of an attempt whose work goes on.
pub const BEAT: Duration = Duration::from_secs(60);
/// Attempts up to which these hold.
const MANY: u32 = 1_000;
/// How often files are looked at.
const LOOK: Duration = Duration::from_secs(2);

/// The name of the file of progress in a worker's folder.
pub const FILE: &str = "progress";

/// All attempts that may report. The part of a world that turns files and requests into reports.
pub struct Reports {
    base: PathBuf,
    owners: Owners,
    attempts: BTreeMap<AllocationId, Attempt>,
    faults: Faults,
    looked: Instant,
    start: Instant,
}

/// What is wrong with files of progress just now, for people who ask about an attempt.
#[derive(Clone, Default)]
pub struct Faults(Arc<Mutex<BTreeMap<AllocationId, String>>>);

impl Faults {
    /// Why the progress of an attempt cannot be read, if that is so.
    pub fn of(&self, id: AllocationId) -> Option<String> {
        locked(&self.0).get(&id).map(|why| format!("its progress cannot be read: {why}"))
    }
}

struct Attempt {
    /// Files of its workers, in order of rank. The first that reports speaks for all.
    files: Vec<File>,
    condenser: Condenser,
}

struct File {
    name: PathBuf,
    /// What tells whether it was written since: modification time, length and inode.
    seen: Option<(SystemTime, u64, u64)>,
    /// What is wrong with it.
    fault: Option<String>,
}

impl Reports {
    /// Files lie below `base`, which no job can replace, and belong to `owners`. What is wrong with one is kept in `faults`.
    pub fn new(base: &Path, owners: Owners, faults: Faults) -> Self {
        let now = Instant::now();
        let (base, attempts) = (base.to_path_buf(), BTreeMap::new());
        Self { base, owners, attempts, faults, looked: now, start: now }
    }

    /// An attempt runs. `names` are the files of its workers, relative to the base, in order of rank.
    pub fn begin(&mut self, id: AllocationId, names: impl IntoIterator<Item = PathBuf>) {
        let file = |name| File { name, seen: None, fault: None };
        let files = names.into_iter().map(file).collect();
        self.attempts.insert(id, Attempt { files, condenser: Condenser::default() });
    }

    /// An attempt reports by another way than its file. False if it does not run.
    pub fn hand_in(&mut self, id: AllocationId, sample: Sample) -> bool {
        let now = self.start.elapsed();
        let Some(attempt) = self.attempts.get_mut(&id) else { return false };
        attempt.condenser.add(now, sample);
        true
    }

    /// An attempt is over. Its last report, if there is anything in it that was not reported.
    pub fn end(&mut self, id: AllocationId) -> Option<Report> {
        let mut attempt = self.attempts.remove(&id)?;
        locked(&self.faults.0).remove(&id);
        attempt.look(&self.base, self.owners, self.start.elapsed());
        let sample = attempt.condenser.rest(self.start.elapsed())?;
        Some(Report { allocation: id, sample })
    }

    /// When files are to be looked at again; never while nothing runs.
    pub fn next(&self) -> Option<Duration> {
        (!self.attempts.is_empty()).then(|| LOOK.saturating_sub(self.looked.elapsed()))
    }

    /// Looks at all files if it is time, and returns the reports that are due.
    pub fn due(&mut self) -> Vec<Report> {
        if self.next() != Some(Duration::ZERO) {
            return vec![];
        }
        self.looked = Instant::now();
        let (now, many) = (self.start.elapsed(), self.attempts.len() as u32);
        let stretch = many.max(MANY);
        let quickest = (QUICKEST * stretch / MANY).min(Duration::from_secs(60));
        let beat = (BEAT * stretch / MANY).min(Duration::from_secs(600));
        let mut reports = vec![];
        for (&id, attempt) in &mut self.attempts {
            if attempt.look(&self.base, self.owners, now) {
                let fault = attempt.files.iter().find_map(|file| file.fault.clone());
                let mut faults = locked(&self.faults.0);
                match fault {
                    Some(why) => drop(faults.insert(id, why)),
                    None => drop(faults.remove(&id)),
                }
            }
            let sample = attempt.condenser.take(now, quickest, beat);
            reports.extend(sample.map(|sample| Report { allocation: id, sample }));
        }
        reports
    }
}

impl Attempt {
    /// Adds what its workers wrote since the last look. Whether what is wrong with their files changed.
    fn look(&mut self, base: &Path, owners: Owners, now: Duration) -> bool {
        let (mut is_heard, mut is_changed) = (false, false);
        for file in &mut self.files {
            let before = file.fault.clone();
            if let Some((sample, ago)) = file.look(base, owners) {
                let sample = if is_heard { peaks(&sample) } else { sample };
                self.condenser.add(now.saturating_sub(ago), sample);
            }
            is_heard |= file.seen.is_some() && file.fault.is_none();
            is_changed |= before != file.fault;
        }
        is_changed
    }
}

/// What a worker adds to the report of a lower rank.
fn peaks(sample: &Sample) -> Sample {
    Sample { memory_bytes: sample.memory_bytes, power_mw: sample.power_mw, ..Sample::default() }
}

impl File {
    /// A sample that was not read before, and how long ago it was written.
    fn look(&mut self, base: &Path, owners: Owners) -> Option<(Sample, Duration)> {
        let found = untrusted::open(base, &self.name, owners).and_then(|file| {
            let data = file.metadata()?;
            Ok((data.modified()?, data.len(), data.ino()))
        });
        let seen = match found {
            Ok(seen) if self.seen == Some(seen) => return None,
            Ok(seen) => seen,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => {
                self.fault = Some(error.to_string());
                return None;
            }
        };
        self.seen = Some(seen);
        let bytes = untrusted::read(base, &self.name, owners, LONGEST).map_err(|error| error.to_string());
        if bytes.as_ref().is_ok_and(|bytes| bytes.iter().all(u8::is_ascii_whitespace)) {
            return None; // being written just now
        }
        match bytes.and_then(|bytes| parse(&bytes)) {
            Ok(sample) => {
                self.fault = None;
                Some((sample, seen.0.elapsed().unwrap_or_default().min(LOOK)))
            }
            Err(why) => {
                self.fault = Some(why);
                None
            }
        }
    }
}

#[cfg(test)]
mod tests;
