//! The life of one worker, from its start to the last of its descendants.
//!
//! ```text
//! waiting ──go──▶ running ──main process ends──▶ clearing ──nobody left──▶ over
//!    │               │                              ▲
//!    └──stop──▶ over └──stop──▶ leaving ──grace over, or group empty──┘
//! ```
//! For: one loop over signals, output and one deadline.
//! Promises: "over" means that no process of the worker exists: the shim is the reaper of all its descendants, so
//! "no child left" says exactly that. In *leaving* those who were asked to go have their whole grace, even if the main
//! process goes before them (a shell does, while what it runs is still saving its work).
//! Never: looks through all processes of the machine unless somebody has to be killed, or was asked to go and takes
//! long. Never signals the group by its number once the main process is reaped: the number may be somebody else's then.

use crate::containers::{Call, Container};
use crate::launch::{Order, Slot};
use crate::oom;
use crate::process;
use crate::shim::confine::{Confinement, file_limit};
use crate::shim::contained::Contained;
use crate::shim::descriptors::Descriptors;
use crate::shim::log::Log;
use crate::shim::memory;
use crate::shim::program::{self, NotRun};
use crate::shim::signals::{self, Signals};
use crate::status::Exited;
use crate::untrusted;
use consort_types::{Cause, memory_words};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often those are looked at who give no sign when they go.
const GLANCE: Duration = Duration::from_millis(20);

/// How often it is made sure that a group that is there is still the worker's; that takes a look at all processes.
const LOOK: Duration = Duration::from_secs(1);

/// What a container is given where there is no limit of open files: the kernel knows no more.
const MOST_FILES: u64 = 1 << 20;

/// Runs the worker of an order to its end.
pub(super) fn live(
    slot: &Slot,
    order: &Order,
    confinement: &Arc<Confinement>,
    signals: &Signals,
    log: &mut Log<'_>,
) -> Exited {
    let ended = |code, cause, stopped| Exited { code, cause, stopped, at_ms: super::now_ms() };
    match if order.together { wait_for_others(slot, signals) } else { Word::Go } {
        Word::Go => {}
        Word::Stop => return ended(0, Cause::NotRun, true),
        Word::Never => {
            log.say("the folder of this attempt was removed before all its workers had begun");
            return ended(126, Cause::NotRun, false);
        }
    }
    let before = memory::deaths();
    match start(slot, order, confinement) {
        Ok((main, output)) => {
            let mut life = Life::new(order, slot, main, output);
            let status = life.run(signals, log);
            let (code, mut cause) = judge(status);
            let short = confinement.ran_out_of_memory() || ran_out_inside(order, slot, code);
            if let Some(container) = &order.container {
                container.remove(slot.folder());
            }
            if code != 0 && short {
                cause = Cause::OutOfMemory;
                log.say(&over_memory(order));
            } else if !confinement.counts_memory()
                && !life.asked_first
                && memory::was_short(code, before, memory::deaths)
            {
                cause = Cause::OutOfMemory;
                log.say("the worker was killed while this machine was out of memory");
            } else if code != 0 && !life.asked_first && oom::is_told(log.tail()) {
                cause = Cause::DeviceMemory;
            }
            ended(code, cause, life.asked_first)
        }
        Err(NotRun { code, why }) => {
            log.say(&why);
            ended(code, Cause::NotRun, false)
        }
    }
}

/// Whether its container ran out of memory, where the runtime counts that.
fn ran_out_inside(order: &Order, slot: &Slot, code: i32) -> bool {
    let container = order.container.as_ref().filter(|container| code != 0 && container.runtime.owns_groups());
    container.is_some_and(|container| container.ran_out_of_memory(slot.folder()))
}

/// What the workers of a gang wait for.
enum Word {
    /// The gang is whole.
    Go,
    /// Told to stop first.
    Stop,
    /// The folder is gone, so no word will ever come. The daemon removes it only after all shims have ended, so a worker
    /// of the gang did it: a failure, or such a gang would be started again without end.
    Never,
}

/// Waits until the gang is whole.
fn wait_for_others(slot: &Slot, signals: &Signals) -> Word {
    let (go, folder) = (slot.go(), slot.folder());
    let mut pause = Duration::from_millis(1);
    loop {
        if is_there(&go) {
            return Word::Go;
        }
        if !is_there(folder) {
            return Word::Never;
        }
        let mut fds = [PollFd::from_borrowed_fd(signals.fd(), PollFlags::IN)];
        let _ = poll(&mut fds, Some(&timespec(pause)));
        if signals.read().stop {
            return Word::Stop;
        }
        pause = (pause * 2).min(Duration::from_millis(16));
    }
}

fn is_there(path: &Path) -> bool {
    let (base, name) = untrusted::rooted(path);
    untrusted::exists(base, name)
}

/// What is said of a worker that the kernel killed at its limit.
fn over_memory(order: &Order) -> String {
    let asked = Some(order.asked.memory_bytes).filter(|&bytes| bytes > 0);
    match order.limits.memory_bytes.or(asked) {
        Some(bytes) => {
            let limit = memory_words(bytes);
            format!("the worker was killed at its memory limit of {limit}; ask for more with `mem` or --mem")
        }
        None => "the worker was killed at its memory limit; ask for more with `mem` or --mem".into(),
    }
}

/// A path for people to read: characters that cannot be seen are written out.
fn printable(path: &str) -> String {
    use consort_types::file::value::is_hidden;
    let shown = |letter: char| match is_hidden(letter) {
        true => letter.escape_unicode().to_string(),
        false => letter.into(),
    };
    path.chars().map(shown).collect()
}

fn start(slot: &Slot, order: &Order, confinement: &Arc<Confinement>) -> Result<(Pid, OwnedFd), NotRun> {
    let words = program::words(order, slot)?;
    std::env::set_current_dir(&order.workdir).map_err(|error| {
        NotRun::new(
            126,
            format!(
                "cannot work in {}: {error}; make the folder, or name another",
                printable(&order.workdir)
            ),
        )
    })?;
    let broken = |error: io::Error| NotRun::new(126, format!("the worker could not be set up: {error}"));
    let (output, input) = pipe_with(PipeFlags::CLOEXEC).map_err(|error| broken(error.into()))?;
    let (words, env) = match &order.container {
        None => (words, order.env.clone()),
        Some(container) => (inside(container, order, slot, words)?, container.environment(order)),
    };
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).env_clear().envs(env);
    command.env(process::MARK, slot.folder());
    if order.container.is_some() {
        // Podman's monitor leaves a file there when memory ran out, and that is not the job's folder.
        command.current_dir(slot.folder());
    }
    command.stdin(Stdio::null()).stdout(input.try_clone().map_err(broken)?).stderr(input).process_group(0);
    let child = spawn(command, confinement.clone()).map_err(|error| program::explain(&words[0], &error))?;
    Ok((Pid::from_raw(child).ok_or_else(|| NotRun::new(126, "the worker has no number"))?, output))
}

/// What runs these words in a container.
fn inside(
    container: &Container,
    order: &Order,
    slot: &Slot,
    words: Vec<String>,
) -> Result<Vec<String>, NotRun> {
    let script = slot.script();
    let limits = file_limit(order);
    let hard = limits.maximum.unwrap_or(MOST_FILES);
    let call = Call {
        slot: slot.folder(),
        script: order.is_script().then_some(&*script),
        words,
        files: (limits.current.unwrap_or(hard), hard),
        limits: &order.limits.or_asked(&order.asked),
    };
    container.words(order, call).map_err(|why| NotRun::new(126, why))
}

#[allow(unsafe_code)]
fn spawn(mut command: Command, confinement: Arc<Confinement>) -> io::Result<i32> {
    let shim = rustix::process::getpid();
    let descriptors = Descriptors::open();
    let dress = move || {
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
        // Whoever died before that line can send no signal any more.
        if rustix::process::getppid() != Some(shim) {
            return Err(io::Error::other("the shim is gone"));
        }
        signals::release_all();
        confinement.enter()?;
        descriptors.close_on_exec();
        Ok(())
    };
    // SAFETY: between fork and exec only system calls are made, on memory that was ready before.
    unsafe { command.pre_exec(dress) };
    Ok(command.spawn()?.id() as i32)
}

/// As a shell would tell it.
fn judge(status: WaitStatus) -> (i32, Cause) {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => (code, Cause::Exit),
        (None, signal) => (128 + signal.unwrap_or(0), Cause::Signal),
    }
}

fn timespec(span: Duration) -> Timespec {
    Timespec { tv_sec: span.as_secs() as i64, tv_nsec: i64::from(span.subsec_nanos()) }
}

struct Life<'a> {
    order: &'a Order,
    contained: Option<Contained<'a>>,
    main: Pid,
    output: Option<OwnedFd>,
    ended: Option<WaitStatus>,
    /// When grace is over; nobody was asked to go while absent.
    deadline: Option<Instant>,
    /// Whether it was asked to go while the main process was there.
    asked_first: bool,
    /// When it was last made sure that what is left of the group is ours.
    looked: Option<Instant>,
    /// Nobody is a child of ours any more.
    empty: bool,
    buffer: Vec<u8>,
}

impl<'a> Life<'a> {
    fn new(order: &'a Order, slot: &'a Slot, main: Pid, output: OwnedFd) -> Self {
        let contained = order.container.as_ref().map(|_| Contained::of(slot));
        let buffer = vec![0; 64 << 10];
        let output = Some(output);
        Self {
            order,
            contained,
            main,
            output,
            ended: None,
            deadline: None,
            asked_first: false,
            looked: None,
            empty: false,
            buffer,
        }
    }

    fn run(&mut self, signals: &Signals, log: &mut Log<'_>) -> WaitStatus {
        loop {
            let (news, printed) = self.wait(signals);
            if printed {
                self.pump(log);
            }
            let news = if news { signals.read() } else { signals::News::default() };
            if news.child || self.ended.is_some() {
                self.reap();
            }
            if let (Some(status), true) = (self.ended, self.empty) {
                while self.output.is_some() && self.is_readable() {
                    self.pump(log);
                }
                return status;
            }
            if news.stop && self.deadline.is_none() {
                self.ask_to_go();
            }
            if let Some(contained) = &mut self.contained {
                contained.look();
            }
            if self.is_to_be_killed() {
                // Unreaped it keeps its number, be it dead by now.
                if self.ended.is_none() {
                    let _ = rustix::process::kill_process_group(self.main, Signal::KILL);
                }
                process::kill_descendants();
            }
        }
    }

    /// Whether there are signals, and whether there is output.
    fn wait(&self, signals: &Signals) -> (bool, bool) {
        let left = self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let late = left.is_some_and(|left| left.is_zero());
        let holds = self.contained.as_ref().is_some_and(Contained::holds);
        let timeout = if self.ended.is_some() || late || holds { Some(GLANCE) } else { left };
        let timeout = timeout.map(timespec);
        let mut fds = vec![PollFd::from_borrowed_fd(signals.fd(), PollFlags::IN)];
        fds.extend(self.output.as_ref().map(|output| PollFd::new(output, PollFlags::IN)));
        let _ = poll(&mut fds, timeout.as_ref());
        (!fds[0].revents().is_empty(), fds.get(1).is_some_and(|fd| !fd.revents().is_empty()))
    }

    fn is_readable(&self) -> bool {
        let Some(output) = &self.output else { return false };
        let mut fds = [PollFd::new(output, PollFlags::IN)];
        poll(&mut fds, Some(&timespec(Duration::ZERO))).is_ok_and(|count| count > 0)
    }

    fn pump(&mut self, log: &mut Log<'_>) {
        let Some(output) = &self.output else { return };
        match rustix::io::read(output, &mut self.buffer) {
            Ok(0) => self.output = None,
            Ok(length) => log.print(&self.buffer[..length]),
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
            Err(_) => self.output = None,
        }
    }

    fn reap(&mut self) {
        loop {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == self.main => self.ended = Some(status),
                Ok(Some(_)) => {}
                Ok(None) => return,
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => {
                    self.empty = true;
                    return;
                }
            }
        }
    }

    fn ask_to_go(&mut self) {
        self.asked_first = self.ended.is_none();
        let span = u64::try_from(self.order.grace.span.0).unwrap_or(0);
        self.deadline = Some(Instant::now() + Duration::from_nanos(span));
        let signal = self.order.grace.signal;
        let is_asked = self.contained.as_mut().is_some_and(|contained| contained.ask(signal));
        // The client of a runtime ends by it, and with it the container that is not there yet.
        if self.asked_first && !is_asked {
            signals::send_to_group(self.main, signal);
        }
    }

    fn is_to_be_killed(&mut self) -> bool {
        match (self.deadline, self.ended) {
            (Some(deadline), _) if Instant::now() >= deadline => true,
            // Asked to go, and its main process went: the rest of the group keeps its grace.
            (Some(_), Some(_)) => !self.asked_first || !self.is_group_left(),
            (None, Some(_)) => true,
            (_, None) => false,
        }
    }

    /// Whether somebody is left in the group whose main process is gone. Its number is nobody else's while somebody is;
    /// after that it may be given away, so that a yes is looked into once in a while.
    fn is_group_left(&mut self) -> bool {
        if rustix::process::test_kill_process_group(self.main).is_err() {
            return false;
        }
        if self.looked.is_some_and(|looked| looked.elapsed() < LOOK) {
            return true;
        }
        self.looked = Some(Instant::now());
        process::has_descendant_in(self.main.as_raw_pid())
    }
}
