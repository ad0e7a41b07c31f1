//! Which process is which, and what is left of one.
//!
//! For: a process that is found again after a restart of ours, or after its own death, is the one we meant.
//! Promises: a process is named by its number, its birth and the boot it was born in, which together are never
//! reused; a zombie counts as gone.
//! Never: signals a process that it cannot tie to the allocation it was asked about.

use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

/// One process, for as long as the machine is up and afterwards.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    group: i32,
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
        group: fields.get(2)?.parse().ok()?,
        session: fields.get(3)?.parse().ok()?,
        born: fields.get(19)?.parse().ok()?,
    })
}

/// Kills every descendant of this process. Says how many it found: none of them may have been there long enough to
/// have died, so that the caller looks again.
pub fn kill_descendants() -> usize {
    let found = descendants();
    found.iter().for_each(|&(pid, _)| kill(pid));
    found.len()
}

/// Whether a descendant of this process, and no zombie, is in a process group. Unlike a signal to that group it cannot
/// take a stranger for one of ours once the number of the group was given to somebody else.
pub fn has_descendant_in(group: i32) -> bool {
    descendants().iter().any(|(_, found)| found.group == group && !found.is_over())
}

fn descendants() -> Vec<(i32, Found)> {
    let all = all();
    let own = rustix::process::getpid().as_raw_pid();
    let mut tree: Vec<(i32, Found)> = Vec::new();
    let (mut parent, mut next) = (own, 0);
    loop {
        tree.extend(all.iter().filter(|(_, found)| found.parent == parent));
        let Some(&(pid, _)) = tree.get(next) else { return tree };
        (parent, next) = (pid, next + 1);
    }
}

/// Everything a worker runs carries the folder of its slot under this name, unless it takes pains to lose it.
pub const MARK: &str = "CONSORT_SLOT";

/// What a worker left behind when its shim died: kills it, and says who it was; the caller looks again until there is
/// nobody. One that is dying has lost its environment and may still hold its devices, so that those who were killed
/// have to be waited for by name.
///
/// The kernel does not give a number to a new process while it still names a session, so whoever is in the session
/// of the dead shim is of that worker, unless it says otherwise itself.
pub fn kill_leftovers(shim: &Identity, slot: &Path) -> Vec<Identity> {
    if shim.boot != boot() {
        return Vec::new();
    }
    let prefix = [MARK.as_bytes(), b"="].concat();
    let mark = [&prefix, slot.as_os_str().as_encoded_bytes()].concat();
    let reused = look(shim.pid).is_some_and(|found| found.born != shim.born);
    let mut killed = Vec::new();
    for (pid, found) in all() {
        if found.is_over() || found.born < shim.born || pid == rustix::process::getpid().as_raw_pid() {
            continue;
        }
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let marked = environment.split(|&byte| byte == 0).find(|one| one.starts_with(&prefix));
        let of_session = found.session == shim.pid && !reused;
        if marked.map_or(of_session, |own| own == mark) {
            kill(pid);
            killed.push(Identity { pid, born: found.born, boot: shim.boot.clone() });
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
        let found = Found { state: b'S', parent: 7, group: 42, session: 40, born: 8123 };
        assert_eq!(parse(stat), Some(found));
        assert_eq!(parse(b"42 (x"), None);
        assert_eq!(parse(b"42 (x) S 1 2"), None);
    }

    #[test]
    fn only_descendants_are_found_in_a_group() {
        use std::os::unix::process::CommandExt;
        let mut child = std::process::Command::new("sleep").arg("60").process_group(0).spawn().unwrap();
        let group = child.id() as i32;
        assert!(has_descendant_in(group));
        assert!(!has_descendant_in(1));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!has_descendant_in(group));
    }

    #[test]
    fn a_process_knows_itself_and_nobody_from_another_boot() {
        let own = Identity::own(boot()).unwrap();
        assert!(own.is_alive());
        assert!(!Identity { boot: "another".into(), ..own.clone() }.is_alive());
        assert!(!Identity { born: own.born + 1, ..own }.is_alive());
    }
}
