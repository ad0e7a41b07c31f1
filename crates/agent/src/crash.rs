//! Places at which this process may be made to die, so that tests can see what a restart makes of it.
//!
//! For: a crash between any two steps can be asked for by name instead of being hoped for.
//! Promises: costs one relaxed load while neither variable is set. With `CONSORT_CRASH_AT=name:N` the process gets
//! SIGKILL, which nothing can soften, the N-th time that point is passed. With `CONSORT_CRASH_TRACE=file` the name of
//! the last point passed stands at the beginning of that file, padded to [`WIDTH`] bytes.
//! Never: does anything else at a point, so that a build that is tested is the build that is shipped.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// How many bytes a name takes in the trace.
pub const WIDTH: usize = 32;

const UNKNOWN: u8 = 0;
const OFF: u8 = 1;
const ON: u8 = 2;

static MODE: AtomicU8 = AtomicU8::new(UNKNOWN);
static HOOK: OnceLock<Hook> = OnceLock::new();

struct Hook {
    at: Option<(String, u64)>,
    passed: AtomicU64,
    trace: Option<File>,
}

/// A place at which this process may be made to die.
#[inline]
pub fn point(name: &str) {
    if MODE.load(Ordering::Relaxed) != OFF {
        pass(name);
    }
}

#[cold]
fn pass(name: &str) {
    let hook = HOOK.get_or_init(read);
    let on = hook.at.is_some() || hook.trace.is_some();
    MODE.store(if on { ON } else { OFF }, Ordering::Relaxed);
    if let Some(trace) = &hook.trace {
        let mut line = [b' '; WIDTH];
        let name = &name.as_bytes()[..name.len().min(WIDTH)];
        line[..name.len()].copy_from_slice(name);
        // A trace that cannot be written is a test that will say so itself.
        let _ = trace.write_all_at(&line, 0);
    }
    if let Some((at, count)) = &hook.at
        && at == name
        && hook.passed.fetch_add(1, Ordering::Relaxed) + 1 == *count
    {
        let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    }
}

fn read() -> Hook {
    let at = std::env::var("CONSORT_CRASH_AT").ok().and_then(|text| parse(&text));
    let trace = std::env::var_os("CONSORT_CRASH_TRACE")
        .and_then(|path| OpenOptions::new().create(true).truncate(false).write(true).open(path).ok());
    Hook { at, passed: AtomicU64::new(0), trace }
}

/// `name:N`, or `name` alone for the first time.
fn parse(text: &str) -> Option<(String, u64)> {
    let (name, count) = text.rsplit_once(':').unwrap_or((text, "1"));
    Some((name.to_owned(), count.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_is_named_with_a_count() {
        assert_eq!(parse("before-spawn:3"), Some(("before-spawn".into(), 3)));
        assert_eq!(parse("before-spawn"), Some(("before-spawn".into(), 1)));
        assert_eq!(parse("before-spawn:x"), None);
    }

    #[test]
    fn a_point_that_nobody_asked_for_does_nothing() {
        point("nowhere");
        assert_eq!(MODE.load(Ordering::Relaxed), OFF);
    }
}
