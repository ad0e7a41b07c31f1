//! Which process is which, and what is left of one.
//!
//! For: a process that is found again after a restart of ours, or after its own death, is the one we meant.
//! Promises: a process is named by its number, its birth and the boot it was born in, which together are never
//! reused; a zombie counts as gone.
//! Never: signals a process that it cannot tie to the allocation it was asked about; believes what a process of another
//! user carries in its environment.

use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
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

    /// A process of this boot, be it a zombie.
    pub fn of(pid: i32) -> Option<Self> {
        Some(Self { pid, born: look(pid)?.born, boot: boot().to_owned() })
    }

    /// Kills this process and no other that may have got its number since.
    pub fn kill(&self) {
        let pid = Pid::from_raw(self.pid);
        let held = pid.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        // Only now is it certain whom the descriptor names.
        if let Some(held) = held.filter(|_| self.is_alive()) {
            let _ = pidfd_send_signal(&held, Signal::KILL);
        }
    }

    /// Sends a signal by its number to this process and no other that may have got its number since.
    pub(crate) fn signal(&self, signal: i32) {
        let pid = Pid::from_raw(self.pid);
        let held = pid.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        if let Some(held) = held.filter(|_| self.is_alive()) {
            crate::shim::send_to(&held, signal);
        }
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

/// A shim carries the folder of its slot under this name, and no worker does.
pub const SHIM_MARK: &str = "CONSORT_SHIM";

/// What a worker left behind when its shim died: kills it, and says who it was; the caller looks again until there is
/// nobody, since a process may fork before it is killed. One that is dying has lost its environment and may still hold
/// its devices, so that those who were killed have to be waited for by name.
///
/// The kernel does not give a number to a new process while it still names a session, so whoever is in the session
/// of the dead shim is of that worker, unless it says otherwise itself. While anybody lives under the number of the shim,
/// the session is not looked at: the number may belong to a new process, or a job may have written it into a record. Where
/// the shim is not known, the mark alone decides.
pub fn kill_leftovers(shim: Option<&Identity>, slot: &Path) -> Vec<Identity> {
    if shim.is_some_and(|shim| shim.boot != boot()) {
        return Vec::new();
    }
    let is_dead =
        |shim: &Identity| look(shim.pid).is_none_or(|found| found.born == shim.born && found.is_over());
    let (session, born) = (shim.filter(|&shim| is_dead(shim)), shim.map_or(0, |shim| shim.born));
    let own = rustix::process::getpid().as_raw_pid();
    let others =
        all().into_iter().filter(|(pid, found)| !found.is_over() && found.born >= born && *pid != own);
    let left = others.filter(|(pid, found)| {
        let of_session = session.is_some_and(|shim| found.session == shim.pid);
        value_of(*pid, MARK).map_or(of_session, |own| own == slot)
    });
    let left = left.map(|(pid, found)| Identity { pid, born: found.born, boot: boot().to_owned() });
    left.inspect(Identity::kill).collect()
}

/// A process inside a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Inside {
    pub identity: Identity,
    pub parent: i32,
    /// Signals for which it has a handler, or which it ignores; one bit each, from 1.
    pub handled: u64,
}

/// The processes of the container of a slot, without those that are dead: its init process, and all others, the oldest
/// first. Absent while there is none. They are those in the namespace of the one that carries the mark of the slot and is
/// number 1 inside.
pub(crate) fn inside(slot: &Path) -> Option<(Inside, Vec<Inside>)> {
    let all: Vec<(i32, Found)> = all().into_iter().filter(|(_, found)| !found.is_over()).collect();
    let space = |pid: i32| fs::read_link(format!("/proc/{pid}/ns/pid")).ok();
    let is_init =
        |pid: i32| number_inside(pid) == Some(1) && value_of(pid, MARK).is_some_and(|own| own == slot);
    let own = space(rustix::process::getpid().as_raw_pid());
    let init = all.iter().find(|(pid, _)| space(*pid) != own && is_init(*pid))?.0;
    let here = space(init)?;
    let mut members: Vec<Inside> = all
        .into_iter()
        .filter(|(pid, _)| space(*pid).as_ref() == Some(&here))
        .map(|(pid, found)| Inside {
            identity: Identity { pid, born: found.born, boot: boot().to_owned() },
            parent: found.parent,
            handled: status_of(pid, "SigCgt:").unwrap_or(0) | status_of(pid, "SigIgn:").unwrap_or(0),
        })
        .collect();
    members.sort_by_key(|member| (member.identity.born, member.identity.pid));
    let place = members.iter().position(|member| member.identity.pid == init)?;
    let init = members.remove(place);
    Some((init, members))
}

/// The number of a process in the innermost namespace it is in.
fn number_inside(pid: i32) -> Option<i32> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
    line.split_whitespace().last()?.parse().ok()
}

fn status_of(pid: i32, field: &str) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(field))?;
    u64::from_str_radix(line.trim(), 16).ok()
}

/// The processes of one slot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Crew {
    /// Its shim. There may be several for a moment; one of them has the lock.
    pub shims: Vec<Identity>,
    /// Processes of its worker.
    pub workers: Vec<Identity>,
}

/// All shims and workers of this user whose slots are below a folder, by the folder of their slot. They are known by
/// what they carry in their environment since they were started, and not by anything that is written in a file.
pub fn crews(run_dir: &Path) -> BTreeMap<PathBuf, Crew> {
    let mut crews: BTreeMap<PathBuf, Crew> = BTreeMap::new();
    for (pid, found) in all() {
        if found.is_over() || pid == rustix::process::getpid().as_raw_pid() {
            continue;
        }
        let identity = Identity { pid, born: found.born, boot: boot().to_owned() };
        if let Some(slot) = value_of(pid, SHIM_MARK).filter(|slot| slot.starts_with(run_dir)) {
            crews.entry(slot).or_default().shims.push(identity);
        } else if let Some(slot) = value_of(pid, MARK).filter(|slot| slot.starts_with(run_dir)) {
            crews.entry(slot).or_default().workers.push(identity);
        }
    }
    crews
}

/// Whether a living process is the shim of this slot: a number that somebody wrote into a file may be anybody's.
/// Shims of older versions carry no mark; they are known by the slot they were called with.
pub fn is_shim_of(identity: &Identity, slot: &Path) -> bool {
    let is_self = identity.pid == rustix::process::getpid().as_raw_pid();
    if is_self || !identity.is_alive() || !is_of_this_user(identity.pid) {
        return false;
    }
    let marked = value_of(identity.pid, SHIM_MARK).or_else(|| {
        let called = fs::read(format!("/proc/{}/cmdline", identity.pid)).ok()?;
        let last = called.strip_suffix(b"\0")?.rsplit(|&byte| byte == 0).next()?;
        Some(PathBuf::from(OsStr::from_bytes(last)))
    });
    marked.is_some_and(|marked| is_same_slot(&marked, slot))
}

/// Whether both name one slot: the same folder, or the same attempt and worker in a data directory that was moved since
/// the shim was started.
fn is_same_slot(marked: &Path, slot: &Path) -> bool {
    let worker = |path: &Path| Some((path.parent()?.file_name()?.to_owned(), path.file_name()?.to_owned()));
    marked == slot || (worker(marked).is_some() && worker(marked) == worker(slot) && !marked.exists())
}

/// Root can read what anybody carries, and anybody can carry anything.
fn is_of_this_user(pid: i32) -> bool {
    let us = rustix::process::geteuid().as_raw();
    fs::metadata(format!("/proc/{pid}")).is_ok_and(|found| found.uid() == us)
}

/// A variable in the environment that a process of this user was started with.
fn value_of(pid: i32, name: &str) -> Option<PathBuf> {
    if !is_of_this_user(pid) {
        return None;
    }
    let prefix = [name.as_bytes(), b"="].concat();
    let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
    let value = environment.split(|&byte| byte == 0).find_map(|one| one.strip_prefix(&prefix[..]))?;
    Some(PathBuf::from(OsStr::from_bytes(value)))
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
    fn shims_are_known_by_what_they_carry_and_not_by_a_number() {
        let sleep = |mark: &str, slot: &str| {
            std::process::Command::new("sleep").arg("60").env(mark, slot).spawn().unwrap()
        };
        let slots = format!("/nowhere-{}", std::process::id());
        let (here, there) = (format!("{slots}/1.0.0#1/w0"), format!("{slots}/2.0.0#1/w0"));
        let mut children = [sleep(SHIM_MARK, &here), sleep(MARK, &here), sleep(MARK, "/elsewhere/w0")];
        let [shim, worker, _] = children.each_ref().map(|child| Identity::of(child.id() as i32).unwrap());
        let until = std::time::Instant::now() + std::time::Duration::from_secs(20);
        // Until it runs another program a child carries the environment of this one.
        while crews(Path::new(&slots)).get(Path::new(&here)).is_none_or(|crew| crew.workers.is_empty()) {
            assert!(std::time::Instant::now() < until);
        }
        let crew = Crew { shims: vec![shim.clone()], workers: vec![worker.clone()] };
        assert_eq!(crews(Path::new(&slots)), BTreeMap::from([(PathBuf::from(&here), crew)]));
        assert!(is_shim_of(&shim, Path::new(&here)) && !is_shim_of(&shim, Path::new(&there)));
        assert!(is_shim_of(&shim, Path::new("/moved/1.0.0#1/w0")), "there is nothing at the old place");
        assert!(!is_shim_of(&worker, Path::new(&here)));
        assert!(!is_shim_of(&Identity::own(boot()).unwrap(), Path::new(&here)));
        assert!(!is_shim_of(&Identity { born: shim.born + 1, ..shim }, Path::new(&here)));
        for child in &mut children {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    #[test]
    fn what_another_user_carries_is_not_believed() {
        use std::os::unix::process::CommandExt;
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: what_another_user_carries_is_not_believed needs root, to be another user");
            return;
        }
        let slots = format!("/nobody-{}", std::process::id());
        let slot = PathBuf::from(format!("{slots}/1.0.0#1/w0"));
        let sleep = |mark: &str, uid: u32| {
            let mut command = std::process::Command::new("sleep");
            command.arg("60").env(mark, &slot).uid(uid).spawn().unwrap()
        };
        let mut children = [sleep(SHIM_MARK, 65534), sleep(MARK, 65534), sleep(MARK, 0)];
        let [shim, worker, ours] = children.each_ref().map(|child| Identity::of(child.id() as i32).unwrap());
        let crew = Crew { shims: vec![], workers: vec![ours.clone()] };
        assert_eq!(crews(Path::new(&slots)), BTreeMap::from([(slot.clone(), crew)]));
        assert!(!is_shim_of(&shim, &slot));
        assert_eq!(kill_leftovers(None, &slot), [ours]);
        assert!(worker.is_alive());
        for child in &mut children {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    #[test]
    fn a_process_knows_itself_and_nobody_from_another_boot() {
        let own = Identity::own(boot()).unwrap();
        assert!(own.is_alive());
        assert!(!Identity { boot: "another".into(), ..own.clone() }.is_alive());
        assert!(!Identity { born: own.born + 1, ..own }.is_alive());
    }
}
