//! The hash of the state at the last event of each golden directory, pinned for every layout of the state.
//!
//! `golden/hashes` has one line for each: the layout, the directory, the hash. Two programs with the same layout must agree
//! on it, or one of them would throw away the snapshots of the other; and a state that changes without notice is a bug.

use crate::story::GOLDEN;
use consort_sched::LAYOUT;
use std::fs;
use std::path::{Path, PathBuf};

fn path() -> PathBuf {
    Path::new(GOLDEN).join("hashes")
}

/// Compares with the pinned line of this layout, or with `CONSORT_BLESS=hash` pins it.
pub fn judge(name: &str, hash: u64, blessing: &str) {
    let text = fs::read_to_string(path()).unwrap_or_default();
    let key = format!("{LAYOUT} {name} ");
    let line = format!("{key}{hash:016x}");
    let pinned = text.lines().find(|line| line.starts_with(&key));
    if pinned == Some(&line) {
        return;
    }
    let repin = "CONSORT_BLESS=hash cargo test -p consort-daemon --test golden_journals -- --test-threads 1";
    if blessing.is_empty() {
        match pinned {
            Some(pinned) => panic!(
                "the state of {name} has another hash than is pinned for layout {LAYOUT}:\n  pinned {pinned}\n  now    {line}\n\
                 If the state is laid out differently on purpose, raise `LAYOUT` in crates/sched/src/saved.rs and pin the \
                 new layout: {repin}"
            ),
            None => panic!("no hash of {name} is pinned for layout {LAYOUT}; pin it with {repin}\n  {line}"),
        }
    }
    assert!(
        pinned.is_none(),
        "layout {LAYOUT} is pinned already; raise `LAYOUT`, or where it was never released take its lines out of \
         golden/hashes first"
    );
    let mut lines: Vec<&str> = text.lines().chain([line.as_str()]).collect();
    lines.sort_by_key(|line| {
        line.split(' ').next().and_then(|layout| layout.parse::<u32>().ok()).unwrap_or(0)
    });
    fs::write(path(), lines.join("\n") + "\n").expect("a file is written");
}
