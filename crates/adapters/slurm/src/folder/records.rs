//! What is written down about one attempt: by us, and by the job itself.
//!
//! Where jobs run as the daemon's own user, all of it can be changed by any of them. So every file is read as one that
//! a stranger wrote: bounded, without waiting, without following links. What is missing or makes no sense is no record,
//! and Slurm's word counts alone.

use super::Folder;
use crate::ended::{Record, Teller};
use crate::secret;
use consort_agent::untrusted::{self, Owners};
use consort_types::{AllocationId, Cause};
use std::fs;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::{Duration, SystemTime};

/// Longer than any of these files.
const MOST: u64 = 64;
/// A line for each rank.
const HOSTS: u64 = 1 << 22;
/// How much is read of the end of a log.
const TAIL: u64 = 1 << 14;

/// Somebody was about to submit an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intent {
    /// How long ago.
    pub ago: Duration,
    /// The secret in its tag; absent in intents of daemons that knew none.
    pub secret: Option<String>,
}

impl Folder {
    /// We are about to submit it. Returns the secret for its tag: the one of an earlier intent if there is one, because
    /// that submission may still be under way.
    pub fn intend(&self, id: AllocationId) -> io::Result<String> {
        let folder = self.of(id);
        let secret = match self.intent(id).and_then(|intent| intent.secret) {
            Some(secret) => secret,
            None => secret::new()?,
        };
        // Written anew also when it is the same: its age is that of the last try.
        let (new, path) = (folder.join("intent.new"), folder.join("intent"));
        let _ = fs::remove_file(&new);
        let mut file = fs::File::options().write(true).create_new(true).open(&new)?;
        writeln!(file, "{secret}")?;
        file.sync_data()?;
        fs::rename(new, path)?;
        Ok(secret)
    }

    /// The intent to submit it, if there was one.
    pub fn intent(&self, id: AllocationId) -> Option<Intent> {
        let folder = self.of(id);
        // Whatever stands in its place: something was intended.
        let at = fs::symlink_metadata(folder.join("intent")).ok()?.modified().ok();
        let ago = at.and_then(|at| SystemTime::now().duration_since(at).ok()).unwrap_or_default();
        let text = read(&folder, "intent", Owners::ours());
        let secret = text.map(|text| text.trim().to_owned()).filter(|text| secret::is_one(text));
        Some(Intent { ago, secret })
    }

    /// Notes the number Slurm gave it.
    pub fn note(&self, id: AllocationId, job: u64) {
        // Not worth failing for: the tag finds it again.
        let _ = super::own::write(&self.of(id).join("id"), &format!("{job}\n"), 0o600, None);
    }

    /// The number Slurm gave it, if that was noted.
    pub fn noted(&self, id: AllocationId) -> Option<u64> {
        let job = read(&self.of(id), "id", Owners::ours())?.trim().parse().ok()?;
        (job > 0).then_some(job)
    }

    /// Names of its nodes, as they were written down for its scripts. Absent where that cannot be read: then it may be
    /// anywhere.
    pub fn nodes(&self, id: AllocationId) -> Option<Vec<String>> {
        let text = untrusted::read(&self.of(id), Path::new("hosts"), Owners::ours(), HOSTS).ok()?;
        let mut names: Vec<String> = String::from_utf8(text).ok()?.lines().map(str::to_owned).collect();
        names.sort_unstable();
        names.dedup();
        (!names.is_empty()).then_some(names)
    }

    /// Whether it ever began.
    pub fn begun(&self, id: AllocationId) -> bool {
        fs::symlink_metadata(self.of(id).join("out/begun")).is_ok_and(|found| found.is_dir())
    }

    /// How it says that it ended.
    pub fn record(&self, id: AllocationId) -> Option<Record> {
        parse(&read(&self.of(id), "out/ended", self.theirs())?)
    }

    /// A worker that has not begun yet is not to, and one that ends from now on was asked to go.
    pub fn stop(&self, id: AllocationId) {
        // Where it cannot be written, the signal tells the same.
        let path = self.of(id).join("stop");
        let mode = if self.owner.is_some() { 0o644 } else { 0o600 };
        if let Err(error) = super::own::write(&path, "", mode, None) {
            tracing::debug!(path = %path.display(), %error, "no marker to stop");
        }
    }

    /// Whether it was asked to go, by us or by a daemon before us.
    pub fn stopped(&self, id: AllocationId) -> bool {
        fs::symlink_metadata(self.of(id).join("stop")).is_ok()
    }

    /// A network's file system may still believe that something is not there; making something there corrects it.
    pub fn look_closely(&self, id: AllocationId) {
        let path = self.of(id).join("out/.look");
        let made = fs::File::options().write(true).create_new(true).open(&path);
        if made.is_ok() {
            let _ = fs::remove_file(path);
        }
    }

    /// The last line of the output of Slurm and the batch script.
    pub fn said(&self, id: AllocationId) -> Option<String> {
        let mut file = untrusted::open(&self.of(id), Path::new("out/batch.log"), self.theirs()).ok()?;
        let length = file.metadata().ok()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(TAIL))).ok()?;
        let mut bytes = vec![];
        file.take(TAIL).read_to_end(&mut bytes).ok()?;
        let text = String::from_utf8_lossy(&bytes);
        let line = text.lines().rev().find(|line| !line.trim().is_empty())?;
        Some(line.trim().to_owned())
    }
}

fn read(folder: &Path, name: &str, owners: Owners) -> Option<String> {
    match untrusted::read(folder, Path::new(name), owners, MOST) {
        Ok(bytes) => String::from_utf8(bytes).ok(),
        Err(error) => {
            if error.kind() != io::ErrorKind::NotFound {
                tracing::debug!(folder = %folder.display(), name, %error, "not read");
            }
            None
        }
    }
}

/// `0 exit`, `3 exit`, `0 asked`, `127 not-run`.
pub fn parse(text: &str) -> Option<Record> {
    let (code, cause) = text.trim().split_once(' ')?;
    let code = code.parse().ok().filter(|code| (0..=255).contains(code))?;
    let teller = match cause {
        "srun" => Teller::Srun,
        "lost" => Teller::Nobody,
        _ => Teller::Worker,
    };
    let asked = cause == "asked";
    let cause = match cause {
        "not-run" => Cause::NotRun,
        "out-of-memory" => Cause::OutOfMemory,
        "device-memory" => Cause::DeviceMemory,
        _ => Cause::Exit,
    };
    Some(Record { code, cause, teller, asked })
}
