//! Which process is which, and what is left of one.
//!
//! For: a process that is found again after a restart of ours, or after its own death, is the one we meant.
//! Promises: a process is named by its number, its birth and the boot it was born in, which together are never
//! reused; a zombie counts as gone.
//! Never: signals a process that it cannot tie to the allocation it was asked about.

use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};
use std::fs;
use std::sync::OnceLock;

/// One process, for as long as the machine is up and afterwards.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// Its number.
    pub pid: i32,
    /// When it was born, in ticks since boot.
    pub born: u64,
    /// In which boot.
    pub boot: String,
}

impl Identity {
    /// The process that asks, born in the boot it was told.
    pub fn own(boot: &str) -> Option<Self> {
        let pid = rustix::process::getpid().as_raw_pid();
        Some(Self { pid, born: look(pid)?.born, boot: boot.to_owned() })
    }

    /// Whether it is still there, and no zombie.
    pub fn is_alive(&self) -> bool {
        self.boot == boot() && look(self.pid).is_some_and(|found| found.born == self.born && !found.is_over())
    }
}

/// The name of this boot. Empty where the kernel does not tell; then births alone have to do.
pub fn boot() -> &'static str {
    static BOOT: OnceLock<String> = OnceLock::new();
    BOOT.get_or_init(|| {
        fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
    })
}

/// What the kernel says of one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Found {
    state: u8,
    parent: i32,
    session: i32,
    born: u64,
}

impl Found {
    fn is_over(self) -> bool {
        matches!(self.state, b'Z' | b'X' | b'x')
    }
}

fn look(pid: i32) -> Option<Found> {
    parse(&fs::read(format!("/proc/{pid}/stat")).ok()?)
}

/// The name of a program may hold spaces and brackets, so that fields are counted from the last bracket.
fn parse(stat: &[u8]) -> Option<Found> {
    let end = stat.iter().rposition(|&byte| byte == b')')?;
    let rest = std::str::from_utf8(stat.get(end + 2..)?).ok()?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().take(20).collect();
    Some(Found {
        state: *fields.first()?.as_bytes().first()?,
        parent: fields.get(1)?.parse().ok()?,
        session: fields.get(3)?.parse().ok()?,
        born: fields.get(19)?.parse().ok()?,
    })
}

/// Kills every descendant of this process. Says how many it found: none of them may have been there long enough to
/// have died, so that the caller looks again.
pub fn kill_descendants() -> usize {
    let all = all();
    let mut tree = vec![rustix::process::getpid().as_raw_pid()];
    let mut next = 0;
    while let Some(&parent) = tree.get(next) {
        tree.extend(all.iter().filter(|(_, found)| found.parent == parent).map(|&(pid, _)| pid));
        next += 1;
    }
    for &pid in &tree[1..] {
        kill(pid);
    }
    tree.len() - 1
}

/// What a worker left behind when its shim died: kills it. Says how many there were; the caller looks again until
/// there are none.
///
/// The kernel does not give a number to a new process while it still names a session, so whoever is in the session
/// of the dead shim is of that worker, unless it says otherwise itself.
pub fn kill_leftovers(shim: &Identity, allocation: &str, rank: u32) -> usize {
    if shim.boot != boot() {
        return 0;
    }
    let marks = [format!("CONSORT_ALLOCATION={allocation}"), format!("CONSORT_RANK={rank}")];
    let reused = look(shim.pid).is_some_and(|found| found.born != shim.born);
    let mut killed = 0;
    for (pid, found) in all() {
        if found.is_over() || found.born < shim.born || pid == rustix::process::getpid().as_raw_pid() {
            continue;
        }
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let mut variables = environment.split(|&byte| byte == 0);
        let marked = marks.iter().all(|mark| variables.clone().any(|one| one == mark.as_bytes()));
        let foreign = !marked && variables.any(|one| one.starts_with(b"CONSORT_ALLOCATION="));
        if marked || (found.session == shim.pid && !reused && !foreign) {
            kill(pid);
            killed += 1;
        }
    }
    killed
}

fn all() -> Vec<(i32, Found)> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(|pid| Some((pid, look(pid)?))).collect()
}

/// One that is gone already needs no signal.
pub(crate) fn kill(pid: i32) {
    if let Some(pid) = Pid::from_raw(pid) {
        let _ = kill_process(pid, Signal::KILL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_brackets_do_not_confuse() {
        let stat = b"42 (a) (b c) S 7 42 40 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 8123 9 9";
        let found = Found { state: b'S', parent: 7, session: 40, born: 8123 };
        assert_eq!(parse(stat), Some(found));
        assert_eq!(parse(b"42 (x"), None);
        assert_eq!(parse(b"42 (x) S 1 2"), None);
    }

    #[test]
    fn a_process_knows_itself_and_nobody_from_another_boot() {
        let own = Identity::own(boot()).unwrap();
        assert!(own.is_alive());
        assert!(!Identity { boot: "another".into(), ..own.clone() }.is_alive());
        assert!(!Identity { born: own.born + 1, ..own }.is_alive());
    }
}
