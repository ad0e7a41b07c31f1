//! The small process above each worker.
//!
//! ```text
//! daemon ──spawns──▶ shim ──▶ worker ──▶ its children, theirs, and so on
//!                     │ holds the lock of the slot, pumps the output, reaps, writes the last record
//! ```
//! For: workers outlive the daemon, and their endings are not lost while it is away.
//! Promises: runs its worker at most once, and alone; whatever the worker leaves behind becomes a child of the shim and
//! ends before the last record is written; SIGTERM means: ask the worker to go, and after its grace make it.
//! Never: depends on the daemon being there. Never blocks a worker because a log cannot be written.

mod confine;
mod contained;
mod descriptors;
mod fork_server;
mod groups;
mod log;
mod memory;
mod program;
mod signals;
mod watch;

use crate::launch::{Order, Slot};
use crate::process::{self, Identity};
use crate::status::{self, Claim, Exited, Held, Record, Started};
use confine::Confinement;
pub use confine::unenforced;
use log::Log;
use rustix::process::{Pid, getppid, set_child_subreaper};
use signals::Signals;
pub(crate) use signals::send_to;
use std::ffi::OsString;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Why a shim left without having run its worker. The daemon sees the number as the exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Left {
    /// It was called in a way it does not understand.
    Called = 2,
    /// The order could not be read.
    Order = 3,
    /// The records could not be read or written.
    Status = 4,
    /// Another shim has the slot, or had it.
    Taken = 5,
}

impl Left {
    /// What an exit status of a shim means.
    pub fn of(code: i32) -> Option<Self> {
        [Self::Called, Self::Order, Self::Status, Self::Taken].into_iter().find(|left| *left as i32 == code)
    }

    /// In words.
    pub fn why(self) -> &'static str {
        match self {
            Self::Called => "missing argument of the shim: the folder of a slot",
            Self::Order => "the shim cannot read its order",
            Self::Status => "the shim cannot write to its slot; is the disk full?",
            Self::Taken => "another shim owns the slot",
        }
    }
}

/// What the process does when it is called as a shim; `arguments` are what follows the word `shim`: the folder of a slot,
/// or nothing for a fork server.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ! {
    let mut arguments = arguments.into_iter();
    let code = match (arguments.next().or_else(fork_server::serve), arguments.next()) {
        (Some(folder), None) => run(Slot::at(folder)).err().map_or(0, |left| left as i32),
        _ => Left::Called as i32,
    };
    std::process::exit(code)
}

fn run(slot: Slot) -> Result<(), Left> {
    descriptors::close_inherited();
    // Before anything can be begun, so that no request to stop can hit us halfway: until here it kills us.
    let signals = Signals::hold().map_err(|_| Left::Called)?;
    let daemon = getppid();
    signals::lead_session();
    let _ = set_child_subreaper(Some(rustix::process::getpid()));
    let given = Order::given().or_else(|| Order::read(&slot.order()).ok().flatten());
    let order = given.ok_or(Left::Order)?;
    // Standard error is /dev/null, and the order need not stay in memory.
    let _ = rustix::stdio::dup2_stdin(std::io::stderr());
    let slot = &slot.recorded_as(&order);
    let mut held = match status::claim(slot.record()).map_err(|_| Left::Status)? {
        Claim::Ours(held) => held,
        Claim::Taken | Claim::Spent(_) => return Err(Left::Taken),
    };
    let confinement = Arc::new(Confinement::prepare(&order, slot));
    let started = Record::Started(Started {
        shim: Identity::own(&order.boot).ok_or(Left::Status)?,
        groups: confinement.groups().to_vec(),
        notes: confinement.notes().to_vec(),
        container: order.container.as_ref().map(|container| container.runtime),
    });
    held.append(&started).map_err(|_| Left::Status)?;
    report(&started);
    let mut log = Log::new(&order.log);
    for warning in confinement.warnings() {
        log.say(warning);
    }
    let exited = watch::live(slot, &order, &confinement, &signals, &mut log);
    log.finish();
    confinement.remove();
    if let Some(lost) = log.all_lost() {
        let lost = Record::Lost(lost);
        report(&lost);
        let _ = held.append(&lost); // the disk may be full
    }
    report(&Record::Exited(exited));
    write_down(&mut held, exited, daemon);
    Ok(())
}

/// Tells the daemon that started us, if it is still there, what is also in the record: our standard output is a pipe to
/// it. It believes these words before any file, because no job can have put them there.
fn report(record: &Record) {
    // Nobody may listen any more; the record is for those who come later.
    let _ = rustix::io::write(std::io::stdout(), &status::line(record));
}

/// Ends whatever a worker left when its shim died. True once nothing is left; until then it is to be called again, with
/// the same list of those who were killed and may not be gone yet.
///
/// A container is removed by its runtime, which takes its time: by a thread, once.
pub fn clear(
    left: &Started,
    slot: &Slot,
    dying: &mut Vec<Identity>,
    removal: &mut Option<JoinHandle<()>>,
) -> bool {
    let own = confine::own_groups(&left.groups, slot);
    let grouped = groups::kill_all(&own);
    dying.extend(process::kill_leftovers(Some(&left.shim), slot.folder()));
    dying.retain(Identity::is_alive);
    let mut nobody = grouped == 0 && dying.is_empty();
    if let (Some(runtime), true) = (left.container, nobody) {
        let folder = slot.folder().to_owned();
        let removal = removal
            .get_or_insert_with(|| std::thread::spawn(move || crate::containers::remove(runtime, &folder)));
        nobody = removal.is_finished();
    }
    if nobody {
        groups::remove(&own);
    }
    nobody
}

/// A full disk must not turn an ending into a death without a word, so it is tried for a while. What is left to the
/// daemon then is to see that the shim is gone.
///
/// While the daemon that started us is there it puts the ending into its own journal within moments, and waiting for
/// the disk here would only make every short job as slow as the disk. Once it is away nobody knows for how long.
fn write_down(held: &mut Held, exited: Exited, daemon: Option<Pid>) {
    for _ in 0..50 {
        if held.append(&Record::Exited(exited)).is_ok() {
            let is_there = daemon.is_some_and(|daemon| !daemon.is_init()) && getppid() == daemon;
            if !is_there {
                let _ = held.sync();
            }
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |span| span.as_millis() as u64)
}
