//! Whether the machine as a whole ran out of memory.
//!
//! For: a worker without a limit of its own that the kernel kills is told from one that somebody killed.
//! Promises: blames memory only for a death by SIGKILL while the kernel counted such a death somewhere on the machine.
//! Never: is certain: the one who was counted may have been another.

/// How many the kernel killed for want of memory since boot; absent where it does not tell.
pub(super) fn deaths() -> Option<u64> {
    count(&std::fs::read_to_string("/proc/vmstat").ok()?)
}

fn count(vmstat: &str) -> Option<u64> {
    vmstat.lines().find_map(|line| line.strip_prefix("oom_kill "))?.trim().parse().ok()
}

/// Whether a worker that ended with this status did so because memory was short. A shell tells of what it ran by the
/// same number as of itself.
pub(super) fn was_short(code: i32, before: Option<u64>, after: impl FnOnce() -> Option<u64>) -> bool {
    code == 128 + libc::SIGKILL && before.zip(after()).is_some_and(|(before, after)| after > before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_death_is_counted_by_its_own_name() {
        assert_eq!(count("pgfault 7\noom_kill 3\noom_kill_other 9\n"), Some(3));
        assert_eq!(count("pgfault 7\n"), None);
    }

    #[test]
    fn only_a_kill_while_the_count_rose_is_blamed_on_memory() {
        assert!(was_short(137, Some(3), || Some(4)));
        assert!(!was_short(137, Some(3), || Some(3)));
        assert!(!was_short(137, None, || Some(4)));
        assert!(!was_short(1, Some(3), || Some(4)));
        assert!(!was_short(143, Some(3), || Some(4)));
    }
}
