//! Control groups, of both versions, for one worker.
//!
//! For: limits that the kernel keeps, and a word about who ran out of memory.
//! Promises: groups are made below the one this process is in or, in version 2, beside it, and taken away again; in version 2
//! one group has all controllers, because a process can be in one only. What cannot be had is told, not fatal.
//! Never: touches a group that it did not make, except to let its own children have a controller (version 2).

use consort_types::Limits;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The length over which processor time is counted.
const PERIOD_US: u64 = 100_000;

/// The groups of one worker.
#[derive(Debug, Default)]
pub(super) struct Groups {
    folders: Vec<PathBuf>,
    /// Whoever writes `0` into these joins.
    doors: Vec<File>,
    /// Where the kernel counts those it killed for want of memory.
    deaths: Option<PathBuf>,
}

/// A controller and where groups for it can be made.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Home {
    unified: bool,
    folder: PathBuf,
}

impl Groups {
    /// Makes groups for these limits. What could not be had comes back as (controller, why).
    pub fn make(name: &str, limits: &Limits) -> (Self, Vec<(&'static str, String)>) {
        let mut groups = Self::default();
        let mut missing = Vec::new();
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let settings = settings(limits);
        let wanted: Vec<&str> = settings.iter().map(|(controller, _)| *controller).collect();
        let unified = unified_home(&mounts, &own, &wanted);
        for (controller, settings) in settings {
            let shared = unified.clone().filter(|home| offers(&home.folder, controller));
            let made = match shared.or_else(|| first_home(&mounts, &own, controller)) {
                Some(home) => groups.add(controller, &home, name, &settings),
                None => Err(io::Error::other("no such controller on this machine")),
            };
            if let Err(error) = made {
                missing.push((controller, error.to_string()));
            }
        }
        (groups, missing)
    }

    fn add(&mut self, controller: &str, home: &Home, name: &str, settings: &Settings) -> io::Result<()> {
        let folder = home.folder.join(format!("consort-{name}"));
        if home.unified {
            let shared = fs::read_to_string(home.folder.join("cgroup.subtree_control"))?;
            if !shared.split_whitespace().any(|word| word == controller) {
                fs::write(home.folder.join("cgroup.subtree_control"), format!("+{controller}"))?;
            }
        }
        match fs::create_dir(&folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        if !self.folders.contains(&folder) {
            self.folders.push(folder.clone());
            self.doors.push(OpenOptions::new().write(true).open(folder.join("cgroup.procs"))?);
        }
        for (file, value) in if home.unified { &settings.second } else { &settings.first } {
            fs::write(folder.join(file), value)?;
        }
        if controller == "memory" {
            let file = if home.unified { "memory.events" } else { "memory.oom_control" };
            self.deaths = Some(folder.join(file));
        }
        Ok(())
    }

    /// Where they are.
    pub fn folders(&self) -> &[PathBuf] {
        &self.folders
    }

    /// What a child does to join them, between fork and exec: only writes to files that are open already.
    pub fn enter(&self) -> io::Result<()> {
        for door in &self.doors {
            rustix::io::write(door, b"0")?;
        }
        Ok(())
    }

    /// Whether there is a group in which they are counted.
    pub fn counts_deaths(&self) -> bool {
        self.deaths.is_some()
    }

    /// How many the kernel killed because memory was short.
    pub fn deaths(&self) -> u64 {
        let text = self.deaths.as_ref().and_then(|path| fs::read_to_string(path).ok()).unwrap_or_default();
        let count = text.lines().find_map(|line| line.strip_prefix("oom_kill "));
        count.and_then(|count| count.trim().parse().ok()).unwrap_or(0)
    }
}

/// Whether the kernel keeps this folder as a control group.
pub(super) fn is_group(folder: &Path) -> bool {
    const VERSION_ONE: u64 = 0x0027_e0eb;
    const VERSION_TWO: u64 = 0x6367_7270;
    rustix::fs::statfs(folder).is_ok_and(|found| matches!(found.f_type as u64, VERSION_ONE | VERSION_TWO))
}

/// Takes groups away. Those who died may linger in them for a moment.
pub(crate) fn remove(folders: &[PathBuf]) {
    for folder in folders {
        for _ in 0..50 {
            match fs::remove_dir(folder) {
                Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {
                    std::thread::sleep(Duration::from_millis(2));
                }
                _ => break,
            }
        }
    }
}

/// Kills everyone in these groups and says how many there were.
pub(crate) fn kill_all(folders: &[PathBuf]) -> usize {
    let lists = folders.iter().filter_map(|folder| fs::read_to_string(folder.join("cgroup.procs")).ok());
    let pids: Vec<i32> = lists
        .flat_map(|list| list.lines().filter_map(|line| line.parse().ok()).collect::<Vec<_>>())
        .collect();
    pids.iter().for_each(|&pid| crate::process::kill(pid));
    pids.len()
}

/// What is written where, for each version.
struct Settings {
    first: Vec<(&'static str, String)>,
    second: Vec<(&'static str, String)>,
}

fn settings(limits: &Limits) -> Vec<(&'static str, Settings)> {
    let mut all = Vec::new();
    if let Some(bytes) = limits.memory_bytes {
        let (first, second) = (bytes.to_string(), bytes.to_string());
        all.push((
            "memory",
            Settings { first: vec![("memory.limit_in_bytes", first)], second: vec![("memory.max", second)] },
        ));
    }
    if let Some(thousandths) = limits.cpu_thousandths {
        // The kernel knows nothing smaller than a thousandth of a second.
        let quota = (u64::from(thousandths) * PERIOD_US / 1000).max(1000);
        let first =
            vec![("cpu.cfs_period_us", PERIOD_US.to_string()), ("cpu.cfs_quota_us", quota.to_string())];
        all.push(("cpu", Settings { first, second: vec![("cpu.max", format!("{quota} {PERIOD_US}"))] }));
    }
    if let Some(count) = limits.processes {
        let value = vec![("pids.max", count.to_string())];
        all.push(("pids", Settings { first: value.clone(), second: value }));
    }
    all
}

/// Where a group of version 2 can be made by us that has most of these controllers: below the group we are in if no process
/// is in that one, or else beside it, where whoever delegates a group to us leaves room.
///
/// A group with processes must not share controllers with groups below it. The kernel does not refuse it for all of them:
/// where `cpu` or `pids` is shared, the groups below come to be but let nobody in (`domain invalid`).
fn unified_home(mounts: &str, own: &str, wanted: &[&str]) -> Option<Home> {
    let path = own.lines().find_map(|line| line.strip_prefix("0::"))?;
    let (point, root) = mounts.lines().find_map(|line| mount(line, None))?;
    let below = within(point, root, path);
    let beside = (below != Path::new(point)).then(|| below.parent().map(Path::to_owned)).flatten();
    let count = |folder: &Path| wanted.iter().filter(|controller| offers(folder, controller)).count();
    // The first of the best.
    let candidates = [Some(below), beside].into_iter().flatten().filter(|folder| is_inner(folder)).rev();
    let best = candidates.max_by_key(|folder| count(folder)).filter(|folder| count(folder) > 0)?;
    Some(Home { unified: true, folder: best })
}

/// Whether groups below this one can have its controllers: it is the topmost one, or no process is in it.
fn is_inner(folder: &Path) -> bool {
    let is_root = !folder.join("cgroup.type").exists();
    is_root || fs::read_to_string(folder.join("cgroup.procs")).is_ok_and(|pids| pids.trim().is_empty())
}

/// Whether a group of version 2 has this controller.
fn offers(folder: &Path, controller: &str) -> bool {
    fs::read_to_string(folder.join("cgroup.controllers"))
        .is_ok_and(|list| list.split_whitespace().any(|word| word == controller))
}

/// Where a group of version 1 of this controller can be made: below the one we are in.
fn first_home(mounts: &str, own: &str, controller: &str) -> Option<Home> {
    let path = own.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (names, path) = (parts.next()?, parts.next()?);
        names.split(',').any(|name| name == controller).then_some(path)
    })?;
    let (point, root) = mounts.lines().find_map(|line| mount(line, Some(controller)))?;
    Some(Home { unified: false, folder: within(point, root, path) })
}

/// A group, as it is seen below a place where its tree, or a part of it, is mounted.
fn within(point: &str, root: &str, path: &str) -> PathBuf {
    let inside = path.strip_prefix(root.trim_end_matches('/')).unwrap_or(path);
    match inside.trim_start_matches('/') {
        "" => PathBuf::from(point),
        inside => Path::new(point).join(inside),
    }
}

/// Where a line of the table mounts this controller of version 1, or else version 2, and which part of the tree is seen there.
fn mount<'a>(line: &'a str, controller: Option<&str>) -> Option<(&'a str, &'a str)> {
    let (before, after) = line.split_once(" - ")?;
    let mut after = after.split(' ');
    let (kind, options) = (after.next()?, after.nth(1)?);
    let fits = match controller {
        None => kind == "cgroup2",
        Some(controller) => kind == "cgroup" && options.split(',').any(|option| option == controller),
    };
    let mut fields = before.split(' ').skip(3);
    let (root, point) = (fields.next()?, fields.next()?);
    fits.then_some((point, root))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "31 25 0:27 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n\
        32 25 0:28 /box /sys/fs/cgroup/cpu rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct\n\
        33 25 0:29 / /nowhere/unified rw - cgroup2 cgroup2 rw\n";
    const OWN: &str = "4:memory:/a/b\n3:cpu,cpuacct:/box/c\n0::/\n";

    #[test]
    fn groups_are_made_below_our_own() {
        let home = |controller| first_home(MOUNTS, OWN, controller);
        let at = |folder: &str| Some(Home { unified: false, folder: folder.into() });
        assert_eq!(home("memory"), at("/sys/fs/cgroup/memory/a/b"));
        assert_eq!(home("cpu"), at("/sys/fs/cgroup/cpu/c"));
        assert_eq!(home("pids"), None);
    }

    #[test]
    fn in_version_two_a_group_with_all_controllers_is_made_below_or_beside() {
        let dir = tempfile::tempdir().unwrap();
        let mount = dir.path().display();
        let mounts = format!("33 25 0:29 / {mount} rw - cgroup2 cgroup2 rw\n");
        let fill = |folder: &str, file: &str, text: &str| {
            fs::create_dir_all(dir.path().join(folder)).unwrap();
            fs::write(dir.path().join(folder).join(file), text).unwrap();
        };
        for folder in ["service", "service/daemon"] {
            fill(folder, "cgroup.type", "domain\n");
            fill(folder, "cgroup.procs", "");
            fill(folder, "cgroup.controllers", "cpu memory\n");
        }
        let home = |folder: &str| Some(Home { unified: true, folder: dir.path().join(folder) });
        let found = |wanted: &[&str]| unified_home(&mounts, "0::/service/daemon\n", wanted);
        assert_eq!(found(&["memory", "cpu"]), home("service/daemon"));
        assert_eq!(found(&["pids"]), None);
        fill("service", "cgroup.controllers", "cpu memory pids\n");
        assert_eq!(found(&["memory", "pids"]), home("service"), "one group for both");
        fill("service/daemon", "cgroup.procs", "42\n");
        assert_eq!(found(&["cpu"]), home("service"), "the daemon itself is in its group");
        fill("service", "cgroup.procs", "1\n");
        assert_eq!(found(&["cpu"]), None, "nowhere without processes");
        fill("", "cgroup.controllers", "cpu\n");
        fill("", "cgroup.procs", "1\n42\n");
        assert_eq!(unified_home(&mounts, "0::/\n", &["cpu"]), home(""), "the topmost may have processes");
        assert_eq!(unified_home(&mounts, "0::/service\n", &["cpu"]), home(""));
        fill("service", "cgroup.procs", "");
        // Made of plain files, it shows what would be written where.
        let limits = Limits { memory_bytes: Some(4096), ..Limits::default() };
        fs::write(dir.path().join("service/cgroup.subtree_control"), "memory\n").unwrap();
        let group = dir.path().join("service/consort-x");
        fs::create_dir(&group).unwrap();
        fs::write(group.join("cgroup.procs"), "").unwrap();
        let mut groups = Groups::default();
        let (controller, settings) = &settings(&limits)[0];
        groups.add(controller, &home("service").unwrap(), "x", settings).unwrap();
        assert_eq!(fs::read_to_string(group.join("memory.max")).unwrap(), "4096");
        fs::write(group.join("memory.events"), "low 0\noom 3\noom_kill 2\n").unwrap();
        assert_eq!(groups.deaths(), 2);
    }

    #[test]
    fn processor_time_is_a_quota() {
        let limits = Limits { cpu_thousandths: Some(2500), processes: Some(7), ..Limits::default() };
        let all = settings(&limits);
        assert_eq!(all[0].1.second, [("cpu.max", "250000 100000".to_owned())]);
        assert_eq!(all[0].1.first[1], ("cpu.cfs_quota_us", "250000".to_owned()));
        assert_eq!(all[1].0, "pids");
        assert!(settings(&Limits::default()).is_empty());
    }
}
