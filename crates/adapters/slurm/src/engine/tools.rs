//! Slurm through its command-line tools.
//!
//! For: every site has them, whatever else it has.
//! Promises: what others wrote (names, comments) cannot pass for something else: nodes are read as JSON, jobs of our own
//! user row by row (`queue.rs`). A row that cannot be read harms no other. A submission holds a lock until Slurm has answered it, and keeps it if we die.
//! Never: leaves a tool running that takes too long.

pub mod queue;

use super::{About, Engine, Skipped, Trouble, is_unknown, unusable, version};
use crate::secret;
use crate::shapes::{Answer, Job, Node};
use crate::submission::Submission;
use consort_agent::owned;
use rustix::fs::FlockOperation;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// How long a tool may take. They give up themselves, mostly sooner.
const PATIENCE: Duration = Duration::from_secs(60);

/// The same for a submission; `sbatch` tries for long where Slurm has no room for more jobs.
const SUBMISSION: Duration = Duration::from_secs(90);

/// Where the tools are, and whom they talk to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Their folder; on the PATH when absent.
    pub folder: Option<PathBuf>,
    /// A `slurm.conf`; what `SLURM_CONF` says, or Slurm's own, when absent.
    pub conf: Option<PathBuf>,
}

/// The tools.
pub struct Tools {
    place: Place,
    about: About,
    uid: u32,
    skipped: Skipped,
    unread: Vec<String>,
    /// Held while a submission is under way, by us and by `sbatch`.
    lock: File,
}

impl Tools {
    /// Looks whether there are tools, and a controller behind them. `lock` is a file that every daemon of this data
    /// directory uses: whoever comes after one that died waits here until its last submission is over.
    pub fn probe(place: &Place, lock: &Path) -> Result<Self, Trouble> {
        let lock = open_lock(lock)?;
        let uid = rustix::process::getuid().as_raw();
        let mut tools = Self {
            place: place.clone(),
            about: About::default(),
            uid,
            skipped: Skipped::default(),
            unread: vec![],
            lock,
        };
        let told = tools.run("sinfo", &["--version"], &[])?;
        let release = told.split_whitespace().last().unwrap_or_default().to_owned();
        if let Some(words) = unusable(&release) {
            return Err(Trouble::Refused(words));
        }
        tools.about =
            About { how: "command-line tools".into(), release, user: format!("uid {uid}"), uid: Some(uid) };
        tools.ping()?;
        take(&tools.lock)?;
        Ok(tools)
    }

    fn command(&self, tool: &str) -> Command {
        let program = self.place.folder.as_ref().map_or_else(|| tool.into(), |folder| folder.join(tool));
        let mut command = Command::new(program);
        // What this process inherited must not become options of its tools: only how to reach Slurm is passed on.
        for (name, _) in std::env::vars_os() {
            let name_text = name.to_string_lossy();
            let is_option = ["SLURM_", "SBATCH_", "SQUEUE_", "SINFO_", "SCANCEL_", "SCONTROL_"]
                .iter()
                .any(|prefix| name_text.starts_with(prefix));
            if is_option && !["SLURM_CONF", "SLURM_JWT"].contains(&&*name_text) {
                command.env_remove(&name);
            }
        }
        self.aim(&mut command);
        command.env("LC_ALL", "C").current_dir("/").stdin(Stdio::null());
        command
    }

    /// `scontrol ping` says what it thinks in words and in its status, differently in different versions.
    fn ping(&self) -> Result<(), Trouble> {
        let mut command = self.command("scontrol");
        command.arg("ping");
        let output = finish("scontrol", command, PATIENCE)?;
        let told = String::from_utf8_lossy(&output.stdout);
        if told.lines().any(|line| line.trim_end().ends_with(" UP") || line.contains(" UP ")) {
            return Ok(());
        }
        if output.stderr.is_empty() {
            let words = "the controller of Slurm does not answer: `scontrol ping` says that it is down";
            return Err(Trouble::Away(words.into()));
        }
        Err(Trouble::Away(said_by("scontrol", &String::from_utf8_lossy(&output.stderr))))
    }

    fn aim(&self, command: &mut Command) {
        if let Some(conf) = &self.place.conf {
            command.env("SLURM_CONF", conf);
        }
    }

    fn run(&self, tool: &str, arguments: &[&str], more: &[String]) -> Result<String, Trouble> {
        let mut command = self.command(tool);
        command.args(arguments).args(more);
        let output = finish(tool, command, PATIENCE)?;
        judge(tool, &output).map(|told| String::from_utf8_lossy(told).into_owned())
    }

    fn queue(&mut self, more: &[String]) -> Result<Vec<Job>, Trouble> {
        let mark = secret::new().map_err(|error| Trouble::Away(format!("no random numbers: {error}")))?;
        let (user, format) = (self.uid.to_string(), queue::format(&mark));
        let mut command = self.command("squeue");
        command.args(["-h", "-a", "-t", "all", "-u", &user, "-O", &format]).args(more);
        let output = finish("squeue", command, PATIENCE)?;
        let (jobs, unread) = queue::read(judge("squeue", &output)?, &mark);
        if jobs.is_empty() && !unread.is_empty() {
            return Err(Trouble::Away("the output of squeue cannot be parsed".into()));
        }
        (self.skipped.jobs, self.unread) = (unread.len(), unread);
        Ok(jobs)
    }
}

impl Engine for Tools {
    fn about(&self) -> &About {
        &self.about
    }

    fn nodes(&mut self) -> Result<Vec<Node>, Trouble> {
        // Since 23.02 `sinfo --json` tells of groups of nodes, and `scontrol` can tell of nodes.
        let told = match version(&self.about.release) >= Some((23, 2)) {
            true => self.run("scontrol", &["-a", "show", "nodes", "--json"], &[])?,
            false => self.run("sinfo", &["-a", "--json"], &[])?,
        };
        let (nodes, skipped) =
            Answer::read(told.as_bytes()).and_then(Answer::named_nodes).map_err(Trouble::Away)?;
        self.skipped.nodes = skipped;
        Ok(nodes)
    }

    fn jobs(&mut self) -> Result<Vec<Job>, Trouble> {
        self.queue(&[])
    }

    fn look(&mut self, ids: &[u64]) -> Result<Vec<Job>, Trouble> {
        // All of our own cost hardly more than a few of them; one alone is asked for where a list was no answer.
        let [id] = ids else { return self.queue(&[]) };
        match self.queue(&["-j".into(), id.to_string()]) {
            Err(Trouble::Refused(words)) if is_unknown(&words) => Ok(vec![]),
            other => other,
        }
    }

    fn skipped(&self) -> Skipped {
        self.skipped
    }

    fn unread(&self) -> &[String] {
        &self.unread
    }

    fn partitions(&mut self) -> Result<Vec<String>, Trouble> {
        let told = self.run("scontrol", &["-a", "show", "partition", "-o"], &[])?;
        let name =
            |line: &str| Some(line.split_whitespace().next()?.strip_prefix("PartitionName=")?.to_owned());
        Ok(told.lines().filter_map(name).collect())
    }

    fn topology(&mut self) -> Result<Option<String>, Trouble> {
        match self.run("scontrol", &["show", "topology"], &[]) {
            Ok(told) => Ok(Some(told)),
            Err(Trouble::Refused(_)) => Ok(None), // a cluster without one
            Err(trouble) => Err(trouble),
        }
    }

    fn submit(&mut self, submission: &Submission) -> Result<u64, Trouble> {
        let mut command = self.command("sbatch");
        // The lock goes along as its standard input, which it does not read: as long as it lives, nobody who comes
        // after us looks for the job in vain.
        let lock = self
            .lock
            .try_clone()
            .map_err(|error| Trouble::Away(format!("the lock on submissions: {error}")))?;
        command.args(submission.arguments()).stdin(Stdio::from(lock));
        // A job gets what sbatch has (`--export=ALL`): what is needed to find programs, and nothing else of ours. What
        // its submitter wants is in its script. Any other `--export` would load the login environment of the user, and
        // none keeps SLURM_JWT back, which the script removes.
        let kept = ["PATH", "SLURM_CONF", "SLURM_JWT", "LC_ALL", "HOME"];
        for (name, _) in std::env::vars_os() {
            if !kept.iter().any(|kept| name == *kept) {
                command.env_remove(name);
            }
        }
        self.aim(&mut command);
        let output = finish("sbatch", command, SUBMISSION).map_err(|trouble| match trouble {
            Trouble::Away(words) => Trouble::Unclear(words),
            other => other,
        })?;
        let told = String::from_utf8_lossy(judge("sbatch", &output)?);
        let id = told.trim().split(';').next().and_then(|id| id.parse().ok());
        id.ok_or_else(|| Trouble::Unclear(format!("sbatch printed {:?} instead of a job id", told.trim())))
    }

    fn signal(&mut self, id: u64, signal: i32) -> Result<(), Trouble> {
        self.run("scancel", &[&format!("--signal={signal}"), &id.to_string()], &[]).map(drop)
    }

    fn cancel(&mut self, id: u64) -> Result<(), Trouble> {
        self.run("scancel", &[&id.to_string()], &[]).map(drop)
    }

    fn straggles(&self) -> Duration {
        Duration::ZERO // whoever is behind us waits for the lock
    }
}

/// Opens a lock that no other user can hold: whoever can open a file, if only to read it, can lock it.
fn open_lock(path: &Path) -> Result<File, Trouble> {
    let opened = owned::open(path, File::options().create(true).truncate(false).write(true));
    let lock = opened.map_err(|refused| Trouble::Refused(refused.to_string()))?;
    let closed = owned::close_to_others(&lock);
    closed.map_err(|error| Trouble::Refused(format!("{}: {error}", path.display())))?;
    Ok(lock)
}

fn take(lock: &File) -> Result<(), Trouble> {
    rustix::fs::flock(lock, FlockOperation::LockExclusive)
        .map_err(|error| Trouble::Refused(format!("the lock on submissions: {error}")))
}

/// Waits until the last submission is over of a daemon before us that used the tools.
pub fn await_submissions(lock: &Path) -> Result<(), Trouble> {
    take(&open_lock(lock)?)
}

/// Waits for a tool; one that takes too long is ended.
fn finish(tool: &str, mut command: Command, patience: Duration) -> Result<Output, Trouble> {
    let spawned = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = spawned.map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            Trouble::Refused(format!("{tool} not found: are Slurm's tools installed and on the PATH?"))
        }
        _ => Trouble::Away(format!("{tool} cannot be started: {error}")),
    })?;
    let readers = (drain(child.stdout.take()), drain(child.stderr.take()));
    let status = wait(&mut child, patience);
    let text = |reader: std::thread::JoinHandle<Vec<u8>>| reader.join().unwrap_or_default();
    let (stdout, stderr) = (text(readers.0), text(readers.1));
    match status {
        Ok(Some(status)) => Ok(Output { status, stdout, stderr }),
        Ok(None) => Err(Trouble::Away(format!("{tool} did not answer within {} s", patience.as_secs()))),
        Err(error) => Err(Trouble::Away(format!("{tool}: {error}"))),
    }
}

fn wait(child: &mut Child, patience: Duration) -> std::io::Result<Option<std::process::ExitStatus>> {
    let (late, mut pause) = (Instant::now() + patience, Duration::from_micros(500));
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() > late {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

fn drain(pipe: Option<impl Read + Send + 'static>) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = vec![];
        if let Some(mut pipe) = pipe {
            let _ = pipe.read_to_end(&mut bytes);
        }
        bytes
    })
}

/// What tools say when it is not about what they were asked.
const AWAY: &[&str] = &[
    "Unable to contact slurm controller",
    "Connection refused",
    "Zero Bytes were transmitted or received",
    "Communication connection failure",
    "communication connection failure",
    "Slurm backup controller in standby mode",
    "Unable to connect to slurm daemon",
    "Can't connect to munge",
    "Munge encode failed",
    "Resource temporarily unavailable",
    "temporarily unable",
];

/// The same, when it may have been done all the same.
const UNCLEAR: &[&str] = &["Socket timed out", "Transport endpoint is not connected", "timed out"];

fn judge<'a>(tool: &str, output: &'a Output) -> Result<&'a [u8], Trouble> {
    if output.status.success() {
        return Ok(&output.stdout);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let words = said_by(tool, &said);
    let any = |list: &[&str]| list.iter().any(|text| said.contains(text));
    Err(match () {
        _ if any(UNCLEAR) => Trouble::Unclear(words),
        _ if any(AWAY) => Trouble::Away(words),
        _ if output.status.code().is_none() => Trouble::Unclear(format!("{tool} was killed")),
        _ => Trouble::Refused(words),
    })
}

/// `sbatch: error: Batch job submission failed: Invalid partition` without the names of those who pass it on.
fn said_by(tool: &str, said: &str) -> String {
    let clean = |line: &str| {
        let line = line.trim();
        let line = line.strip_prefix(&format!("{tool}: ")).unwrap_or(line);
        let line = line.strip_prefix("error: ").or_else(|| line.strip_prefix("fatal: ")).unwrap_or(line);
        line.strip_prefix("Batch job submission failed: ").unwrap_or(line).to_owned()
    };
    let lines: Vec<String> = said.lines().map(clean).filter(|line| !line.is_empty()).collect();
    match &lines[..] {
        [] => format!("{tool} failed without a word"),
        lines => lines.join("; "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tools_say_is_passed_on_without_their_names() {
        let said = "sbatch: error: Memory specification can not be satisfied\nsbatch: error: Batch job submission failed: Requested node configuration is not available\n";
        assert_eq!(
            said_by("sbatch", said),
            "Memory specification can not be satisfied; Requested node configuration is not available"
        );
        assert_eq!(said_by("squeue", "\n"), "squeue failed without a word");
    }

    /// Whoever can open the lock can hold it, and then nothing starts.
    #[test]
    fn the_lock_is_closed_to_others() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let place = Place { folder: Some(folder.path().into()), conf: None };
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let (new, old, link) =
            (folder.path().join("new"), folder.path().join("old"), folder.path().join("link"));
        assert!(Tools::probe(&place, &new).is_err());
        std::fs::write(&old, "").unwrap();
        std::fs::set_permissions(&old, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(Tools::probe(&place, &old).is_err());
        assert_eq!((mode(&new), mode(&old)), (0o600, 0o600));
        std::os::unix::fs::symlink(&old, &link).unwrap();
        let told = Tools::probe(&place, &link).err().map(|trouble| trouble.to_string());
        assert!(told.as_ref().is_some_and(|told| told.contains("is a link")), "{told:?}");
    }

    #[test]
    fn no_tools_is_one_sentence() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place { folder: Some(folder.path().into()), conf: None };
        let Err(trouble) = Tools::probe(&place, &folder.path().join("lock")) else {
            panic!("there is nothing")
        };
        assert_eq!(trouble.to_string(), "sinfo not found: are Slurm's tools installed and on the PATH?");
    }
}
