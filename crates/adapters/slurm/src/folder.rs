//! The folder that the daemon and all nodes see.
//!
//! For: what is to be run lies here for nodes to read, and what came of it lies here for us.
//! Promises: what belongs to an attempt lies in one folder, which is removed once its end is settled; logs stay. Jobs that
//! run as another user can read and write what is theirs, and nothing else.
//! Never: is the only place where something is known that Slurm could also tell, except how a job ended that Slurm has
//! already forgotten.

use crate::ended::{Record, Teller};
use crate::script::Making;
use consort_agent::launch::{allocation_name, allocation_of};
use consort_types::{AllocationId, Cause};
use rustix::fs::{Gid, Uid};
use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The folder.
#[derive(Clone, Debug)]
pub struct Folder {
    shared: PathBuf,
    /// Whose jobs these are, where it is not us.
    owner: Option<u32>,
}

impl Folder {
    /// Makes what is not there. `uid` is whose jobs these are, if that is known.
    pub fn open(shared: &Path, uid: Option<u32>) -> io::Result<Self> {
        let owner = uid.filter(|&uid| uid != rustix::process::geteuid().as_raw());
        let told = |error: io::Error| {
            io::Error::new(error.kind(), format!("the shared folder {}: {error}", shared.display()))
        };
        DirBuilder::new().recursive(true).mode(0o755).create(shared).map_err(told)?;
        let shared = shared.canonicalize().map_err(told)?;
        let folder = Self { shared, owner };
        // Ours, and open only as far as jobs of another user need it: whoever could write there could lead us astray.
        let (through, into) = if owner.is_some() { (0o711, 0o1733) } else { (0o700, 0o700) };
        for (name, mode) in [("run", through), ("logs", through), ("signs", into)] {
            let path = folder.shared.join(name);
            folder.make(&path).map_err(told)?;
            fs::set_permissions(&path, Permissions::from_mode(mode)).map_err(told)?;
        }
        Ok(folder)
    }

    /// Where it is.
    pub fn shared(&self) -> &Path {
        &self.shared
    }

    /// A folder of ours. One that is there already must be one, and no way to somewhere else.
    fn make(&self, path: &Path) -> io::Result<()> {
        match DirBuilder::new().mode(if self.owner.is_some() { 0o711 } else { 0o700 }).create(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                match fs::symlink_metadata(path)?.is_dir() {
                    true => Ok(()),
                    false => Err(io::Error::other(format!("{} is no folder", path.display()))),
                }
            }
            made => made,
        }
    }

    /// A folder that jobs write to.
    fn make_theirs(&self, path: &Path) -> io::Result<()> {
        self.make(path)?;
        fs::set_permissions(path, Permissions::from_mode(0o700))?;
        self.hand_over(path)
    }

    fn hand_over(&self, path: &Path) -> io::Result<()> {
        let Some(owner) = self.owner else { return Ok(()) };
        let told = |error: rustix::io::Errno| {
            let words =
                format!("{} cannot be given to uid {owner}, who runs the jobs: {error}", path.display());
            io::Error::new(io::ErrorKind::PermissionDenied, words)
        };
        rustix::fs::chown(path, Some(Uid::from_raw(owner)), None::<Gid>).map_err(told)
    }

    fn of(&self, id: AllocationId) -> PathBuf {
        self.shared.join("run").join(allocation_name(id))
    }

    /// Where the script of an attempt lies.
    pub fn script(&self, id: AllocationId) -> PathBuf {
        self.of(id).join("batch.sh")
    }

    /// Where its own words go.
    pub fn log(&self, id: AllocationId) -> PathBuf {
        self.of(id).join("out/batch.log")
    }

    /// Puts everything there that nodes need. The script that Slurm starts.
    pub fn write(&self, making: &Making<'_>) -> io::Result<String> {
        let (id, folder) = (making.allocation, self.of(making.allocation));
        self.make(&folder)?;
        self.make_theirs(&folder.join("out"))?;
        if making.work.output.path.is_none() {
            self.make_theirs(&self.shared.join("logs").join(id.ask.job.0.to_string()))?;
        }
        let task = making.task().map_err(io::Error::other)?;
        let batch = making.batch();
        self.put(&folder.join("task.sh"), &task, 0o600)?;
        self.put(&folder.join("hosts"), &making.hosts(), 0o600)?;
        for (role, text) in making.scripts() {
            self.put(&folder.join(format!("script.{role}")), &text, 0o700)?;
        }
        self.put(&folder.join("batch.sh"), &batch, 0o700)?;
        Ok(batch)
    }

    fn put(&self, path: &Path, text: &str, mode: u32) -> io::Result<()> {
        fs::write(path, text)?;
        fs::set_permissions(path, Permissions::from_mode(mode))?;
        self.hand_over(path)
    }

    /// We are about to submit it.
    pub fn intend(&self, id: AllocationId) -> io::Result<()> {
        fs::write(self.of(id).join("intent"), "")
    }

    /// How long ago somebody was about to submit it, if so.
    pub fn intended(&self, id: AllocationId) -> Option<Duration> {
        let at = fs::metadata(self.of(id).join("intent")).ok()?.modified().ok()?;
        Some(SystemTime::now().duration_since(at).unwrap_or_default())
    }

    /// The number Slurm gave it.
    pub fn note(&self, id: AllocationId, job: u64) {
        // Not worth failing for: the tag finds it again.
        let _ = fs::write(self.of(id).join("id"), format!("{job}\n"));
    }

    /// The number Slurm gave it, if that was noted.
    pub fn noted(&self, id: AllocationId) -> Option<u64> {
        fs::read_to_string(self.of(id).join("id")).ok()?.trim().parse().ok()
    }

    /// Whether it ever began.
    pub fn begun(&self, id: AllocationId) -> bool {
        self.of(id).join("out/begun").is_dir()
    }

    /// How it says that it ended.
    pub fn record(&self, id: AllocationId) -> Option<Record> {
        let text = read_theirs(&self.of(id).join("out/ended"), 64)?;
        let (code, cause) = text.trim().split_once(' ')?;
        let code = code.parse().ok()?;
        let teller = match cause {
            "srun" => Teller::Srun,
            "lost" => Teller::Nobody,
            _ => Teller::Worker,
        };
        let cause = match cause {
            "not-run" => Cause::NotRun,
            "out-of-memory" => Cause::OutOfMemory,
            _ => Cause::Exit,
        };
        Some(Record { code, cause, teller })
    }

    /// Whoever has not begun yet is not to.
    pub fn stop(&self, id: AllocationId) {
        let _ = fs::write(self.of(id).join("stop"), "");
    }

    /// Whether it was told to go.
    pub fn stopped(&self, id: AllocationId) -> bool {
        self.of(id).join("stop").exists()
    }

    /// A network's file system may still believe that something is not there; making something there corrects it.
    pub fn look_closely(&self, id: AllocationId) {
        let path = self.of(id).join("out/.look");
        let made = fs::File::options().write(true).create_new(true).open(&path);
        if made.is_ok() {
            let _ = fs::remove_file(path);
        }
    }

    /// The last line of what Slurm and the script had to say.
    pub fn said(&self, id: AllocationId) -> Option<String> {
        let text = read_theirs(&self.log(id), 1 << 20)?;
        let line = text.lines().rev().find(|line| !line.trim().is_empty())?;
        Some(line.trim().to_owned())
    }

    /// Attempts to which something happened. Each is told once.
    pub fn signs(&self) -> Vec<AllocationId> {
        let entries = fs::read_dir(self.shared.join("signs")).into_iter().flatten().flatten();
        let mut all = vec![];
        for entry in entries {
            if let Some(id) = entry.file_name().to_str().and_then(allocation_of) {
                all.push(id);
            }
            let _ = fs::remove_file(entry.path());
        }
        all
    }

    /// All attempts that have a folder.
    pub fn all(&self) -> Vec<AllocationId> {
        let entries = fs::read_dir(self.shared.join("run")).into_iter().flatten().flatten();
        entries.filter_map(|entry| allocation_of(entry.file_name().to_str()?)).collect()
    }

    /// Nobody needs it any more.
    pub fn remove(&self, id: AllocationId) {
        let _ = fs::remove_dir_all(self.of(id));
    }
}

/// The beginning of a file that somebody else wrote: a plain one, not a way to another, and never waited for.
fn read_theirs(path: &Path, most: u64) -> Option<String> {
    use rustix::fs::{Mode, OFlags};
    use std::io::Read;
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = fs::File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?);
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = vec![];
    file.take(most).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
