//! Slurm through its command-line tools.
//!
//! For: every site has them, whatever else it has.
//! Promises: what others wrote (names, comments) cannot pass for something else: nodes are read as JSON, jobs of our own
//! user in columns of fixed width. A submission holds a lock until Slurm has answered it, and keeps it if we die.
//! Never: leaves a tool running that takes too long.

use super::{About, Engine, Trouble, unusable, version};
use crate::shapes::{Answer, Job, Node};
use crate::submission::Submission;
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

/// Columns of `squeue`, and how wide they are.
const COLUMNS: [(&str, usize); 7] = [
    ("JobID", 20),
    ("HetJobID", 20),
    ("State", 24),
    ("exit_code", 16),
    ("RestartCnt", 12),
    ("Reason", 60),
    ("Comment", 100),
];

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
    /// Held while a submission is under way, by us and by `sbatch`.
    lock: File,
}

impl Tools {
    /// Looks whether there are tools, and a controller behind them. `lock` is a file that every daemon of this data
    /// directory uses: whoever comes after one that died waits here until its last submission is over.
    pub fn probe(place: &Place, lock: &Path) -> Result<Self, Trouble> {
        let opened = File::options().create(true).truncate(false).write(true).open(lock);
        let lock = opened.map_err(|error| Trouble::Refused(format!("{}: {error}", lock.display())))?;
        let uid = rustix::process::getuid().as_raw();
        let mut tools = Self { place: place.clone(), about: About::default(), uid, lock };
        let told = tools.run("sinfo", &["--version"], &[])?;
        let release = told.split_whitespace().last().unwrap_or_default().to_owned();
        if let Some(words) = unusable(&release) {
            return Err(Trouble::Refused(words));
        }
        tools.about =
            About { how: "command-line tools".into(), release, user: format!("uid {uid}"), uid: Some(uid) };
        tools.ping()?;
        rustix::fs::flock(&tools.lock, FlockOperation::LockExclusive)
            .map_err(|error| Trouble::Refused(format!("the lock on submissions: {error}")))?;
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
        judge(tool, &output)
    }

    /// `squeue --json` cannot be asked for less than everything; columns can.
    fn queue(&self, more: &[String]) -> Result<Vec<Job>, Trouble> {
        let columns: Vec<String> = COLUMNS.iter().map(|(name, width)| format!("{name}:{width}")).collect();
        let (user, columns) = (self.uid.to_string(), columns.join(","));
        let told = self.run("squeue", &["-h", "-a", "-t", "all", "-u", &user, "-O", &columns], more)?;
        told.lines().filter(|line| !line.trim().is_empty()).map(row).collect()
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
        Answer::read(told.as_bytes()).and_then(Answer::nodes).map_err(Trouble::Away)
    }

    fn jobs(&mut self) -> Result<Vec<Job>, Trouble> {
        self.queue(&[])
    }

    fn look(&mut self, _ids: &[u64]) -> Result<Vec<Job>, Trouble> {
        // Asking for one that is gone is an error; all of our own cost hardly more.
        self.queue(&[])
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
        // What a job inherits is in its script; here only what is needed to find programs.
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
        let told = judge("sbatch", &output)?;
        let id = told.trim().split(';').next().and_then(|id| id.parse().ok());
        id.ok_or_else(|| Trouble::Unclear(format!("sbatch answered {:?} instead of a number", told.trim())))
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

/// Waits for a tool; one that takes too long is ended.
fn finish(tool: &str, mut command: Command, patience: Duration) -> Result<Output, Trouble> {
    let spawned = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = spawned.map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            Trouble::Refused(format!("there is no {tool} here: are Slurm's tools installed and on the PATH?"))
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

fn judge(tool: &str, output: &Output) -> Result<String, Trouble> {
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
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

/// One job, from columns of fixed width.
fn row(line: &str) -> Result<Job, Trouble> {
    let letters: Vec<char> = line.chars().collect();
    let (mut at, mut values) = (0, vec![]);
    for (_, width) in COLUMNS {
        let end = (at + width).min(letters.len());
        let value: String = letters.get(at..end).unwrap_or_default().iter().collect();
        values.push(value.trim().to_owned());
        at += width;
    }
    let [id, whole, state, exit, restarts, reason, comment] = &values[..] else {
        unreachable!("seven columns")
    };
    let number = |text: &str| text.parse::<u64>().unwrap_or(0);
    let id = id.parse().map_err(|_| Trouble::Away(format!("squeue wrote {line:?}, which is no job")))?;
    let status = match exit.split_once(':') {
        Some((code, signal)) => (number(code) << 8) | number(signal),
        None => number(exit),
    };
    Ok(Job {
        id,
        whole: number(whole),
        state: vec![state.to_uppercase()],
        reason: reason.clone(),
        exit: crate::shapes::Exit::of(status),
        restarts: number(restarts),
        comment: comment.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_squeue() {
        let line = format!(
            "{:<20}{:<20}{:<24}{:<16}{:<12}{:<60}{:<100}",
            "1260", "N/A", "FAILED", "768", "0", "NonZeroExitCode", "consort:1f:12.0.0#1"
        );
        let job = row(&line).unwrap();
        assert_eq!((job.id, job.whole, job.code(), job.restarts), (1260, 0, 3, 0));
        assert!(job.is(&["FAILED"]));
        assert_eq!(job.comment, "consort:1f:12.0.0#1");
        assert_eq!(row(&line.replace("768", "0:9")).unwrap().code(), 137);
        assert!(matches!(row("slurm_load_jobs error"), Err(Trouble::Away(_))));
    }

    #[test]
    fn what_tools_say_is_passed_on_without_their_names() {
        let said = "sbatch: error: Memory specification can not be satisfied\nsbatch: error: Batch job submission failed: Requested node configuration is not available\n";
        assert_eq!(
            said_by("sbatch", said),
            "Memory specification can not be satisfied; Requested node configuration is not available"
        );
        assert_eq!(said_by("squeue", "\n"), "squeue failed without a word");
    }

    #[test]
    fn no_tools_is_one_sentence() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place { folder: Some(folder.path().into()), conf: None };
        let Err(trouble) = Tools::probe(&place, &folder.path().join("lock")) else {
            panic!("there is nothing")
        };
        assert_eq!(
            trouble.to_string(),
            "there is no sinfo here: are Slurm's tools installed and on the PATH?"
        );
    }
}
