//! The seam: desires in, inputs out.
//!
//! For: the loop that owns the scheduler, which must not wait for a disk or a process.
//! Promises: `desire` hands over and returns; what has happened waits in order until `observe` takes it; `wake` is called
//! whenever something new waits.
//! Never: ends a worker because this value is dropped: workers outlive the daemon, and the next world finds them.

use crate::keeper::{Keeper, Message};
use crate::records::Records;
use consort_agent::containers::Containers;
use consort_agent::discover::Inventory;
use consort_agent::health::HealthWatch;
use consort_agent::launch::{Order, ShimProgram, Slot, record_name};
use consort_agent::news::{News, locked};
use consort_agent::progress::{self, Faults};
use consort_agent::{owned, words};
use consort_types::{
    AllocationId, Capabilities, Desired, Illness, Input, NodeId, Resize, Sample, Time, Works, World,
};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::OwnedFd;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// What a local world needs to know.
#[derive(Clone)]
pub struct Setup {
    /// Where the folders of running allocations are. Belongs to this world alone; must survive a restart of the daemon.
    pub run_dir: PathBuf,
    /// Where shims write what became of their workers. Belongs to this world alone, must survive a restart of the daemon,
    /// and must not lie in the run folder, of which jobs know their part.
    pub record_dir: PathBuf,
    /// Allocations that were reported started by an earlier daemon, according to the journal. If nothing is known of one
    /// of them, it is lost, and not to be started.
    pub begun: BTreeSet<AllocationId>,
    /// Where logs go that nobody named a file for.
    pub log_dir: PathBuf,
    /// How a shim is called.
    pub shim: ShimProgram,
    /// What runs workers in images.
    pub containers: Arc<Containers>,
    /// What this machine has.
    pub inventory: Arc<Inventory>,
    /// What the scheduler calls this machine.
    pub node: NodeId,
    /// The scheduler's number of this machine's first device.
    pub first_device: u32,
    /// Whoever knows what jobs run.
    pub works: Arc<dyn Works>,
    /// Variables by which a worker can report progress over HTTP; none where nobody listens.
    pub channel: Arc<dyn Fn(AllocationId) -> Vec<(String, String)> + Send + Sync>,
    /// Called, from another thread, when there is something to observe.
    pub wake: Arc<dyn Fn() + Send + Sync>,
}

/// The folder beside that of running allocations in which workers without a folder of their own report progress. Making
/// one for each would cost a short task a fifth of its time.
pub(crate) const PROGRESS: &str = "progress";

impl Setup {
    /// The folder above that of running allocations, below which all files of progress lie.
    pub(crate) fn base(&self) -> &Path {
        self.run_dir.parent().unwrap_or(Path::new("/"))
    }

    /// The file in which a worker reports progress, below the base.
    pub(crate) fn progress(&self, allocation: AllocationId, rank: u32, order: &Order) -> PathBuf {
        let slot = Slot::new(&self.run_dir, &self.record_dir, allocation, rank);
        match order.needs_folder() {
            true => slot.folder().strip_prefix(self.base()).unwrap_or(slot.folder()).join(progress::FILE),
            false => Path::new(PROGRESS).join(record_name(allocation, rank)),
        }
    }
}

/// One machine.
pub struct LocalWorld {
    messages: Sender<Message>,
    bell: Arc<OwnedFd>,
    news: Arc<News>,
    faults: Faults,
    node: NodeId,
    thread: Option<JoinHandle<()>>,
    health: Option<HealthWatch>,
    kept_ill: Arc<Mutex<Vec<Illness>>>,
}

impl LocalWorld {
    /// Opens the run folder. Nothing is started, stopped or reported before something is desired.
    pub fn open(mut setup: Setup) -> io::Result<Self> {
        let told = |what: &str, path: &Path, error: io::Error| {
            io::Error::new(
                error.kind(),
                format!("cannot create the {what} folder {}: {error}", path.display()),
            )
        };
        // Shims work elsewhere, so that a path from here would lead them astray.
        setup.run_dir = owned::make(&setup.run_dir).map_err(io::Error::other)?;
        owned::make(&setup.base().join(PROGRESS)).map_err(io::Error::other)?;
        std::fs::create_dir_all(&setup.log_dir).map_err(|error| told("log", &setup.log_dir, error))?;
        setup.log_dir = setup.log_dir.canonicalize()?;
        let news = Arc::new(News::new(setup.wake.clone()));
        let bell = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let (messages, inbox) = channel();
        let node = setup.node;
        let records = Records::open(&setup.record_dir, &setup.run_dir)
            .map_err(|error| told("record", &setup.record_dir, error))?;
        let faults = Faults::default();
        let mut keeper = Keeper::new(setup, records, inbox, bell.clone(), news.clone(), faults.clone())?;
        let thread =
            Some(std::thread::Builder::new().name("local-world".into()).spawn(move || keeper.run())?);
        let (health, kept_ill) = (None, Arc::default());
        Ok(Self { messages, bell, news, faults, node, thread, health, kept_ill })
    }

    /// Takes progress that a job reports by a request, from any thread.
    pub fn reporter(&self) -> Reporter {
        Reporter { messages: self.messages.clone(), bell: self.bell.clone() }
    }

    /// What is wrong with files of progress, kept up to date.
    pub fn faults(&self) -> Faults {
        self.faults.clone()
    }

    /// Whatever is found in the run folder and is not among these is nobody's. It is ended and removed without a report;
    /// returns once no process of it is left, because its devices look free.
    pub fn clear_all_but(&mut self, desired: impl IntoIterator<Item = AllocationId>) {
        let (gone, all_gone) = channel::<()>();
        self.send(Message::Clear(desired.into_iter().collect(), gone));
        let _ = all_gone.recv(); // nobody sends: the other end is dropped when it is done
    }

    /// Ends all work and waits until it is gone. Nothing is forgotten: a world that is opened later, and told that it is
    /// still desired, reports that it was stopped.
    pub fn halt(&mut self) {
        let (gone, all_gone) = channel::<()>();
        self.send(Message::Halt(gone));
        let _ = all_gone.recv();
    }

    /// These are ill whatever anybody reports, such as devices that are missing: they are part of every later report.
    /// Reports nothing itself.
    pub fn keep_ill(&mut self, ill: Vec<Illness>) {
        *locked(&self.kept_ill) = ill;
    }

    /// Watches the devices from now on, and reports those that fall ill or get well. Nothing happens where there is
    /// nothing that can be watched.
    ///
    /// `known` is what the scheduler believes at this moment: a critical error of which an earlier daemon told stays
    /// until the device was reset, and one that was lost is well once it answers.
    pub fn watch_health(
        &mut self,
        inventory: &Inventory,
        nvidia_library: Option<PathBuf>,
        every: Duration,
        known: Vec<Illness>,
    ) {
        let (news, node, kept) = (self.news.clone(), self.node, self.kept_ill.clone());
        let is_kept = |device| locked(&kept).iter().any(|other| other.device == device);
        let known = known.into_iter().filter(|one| !is_kept(one.device)).collect();
        let report = move |ill| news.push(Input::DeviceHealth { node, ill: all_ill(&kept, ill) });
        self.health = HealthWatch::start(inventory, nvidia_library, every, known, report);
    }

    fn send(&self, message: Message) {
        let alive = self.messages.send(message).is_ok();
        // Everything would hang without a word if this went unnoticed; the journal brings us back.
        assert!(alive, "the thread of the local world is gone");
        let _ = rustix::io::write(&*self.bell, &1u64.to_ne_bytes());
    }
}

/// Takes progress that a job reports by a request.
pub struct Reporter {
    messages: Sender<Message>,
    bell: Arc<OwnedFd>,
}

impl Reporter {
    /// Of an attempt that is known to be meant by the one who reports. Nothing happens if it does not run.
    pub fn report(&self, allocation: AllocationId, sample: Sample) {
        if self.messages.send(Message::Progress(allocation, sample)).is_ok() {
            let _ = rustix::io::write(&*self.bell, &1u64.to_ne_bytes());
        }
    }
}

/// Each device once, in order, in words that the scheduler takes. What is kept says more than what was seen.
fn all_ill(kept: &Mutex<Vec<Illness>>, seen: Vec<Illness>) -> Vec<Illness> {
    let mut all: BTreeMap<u32, Arc<str>> = seen.into_iter().map(|one| (one.device, one.why)).collect();
    all.extend(locked(kept).iter().map(|one| (one.device, one.why.clone())));
    let said = |why: &str| match words::printable(why) {
        why if why.is_empty() => "no reason given".into(),
        why => why,
    };
    all.into_iter().map(|(device, why)| Illness { device, why: said(&why).into() }).collect()
}

/// What this world is able to do.
pub const CAPABILITIES: Capabilities =
    Capabilities { resize: Resize::Restart, counts_hosts: true, ..Capabilities::ALL };

impl World for LocalWorld {
    fn capabilities(&self) -> Capabilities {
        CAPABILITIES
    }

    fn desire(&mut self, _now: Time, changes: &[Desired]) {
        if !changes.is_empty() {
            self.send(Message::Desire(changes.to_vec()));
        }
    }

    fn settled(&mut self, ended: &[AllocationId]) {
        for &allocation in ended {
            self.send(Message::Forget(allocation));
        }
    }

    fn next_at(&self) -> Option<Time> {
        self.news.next_at()
    }

    fn observe(&mut self, _now: Time, inputs: &mut Vec<Input>) {
        self.news.take(inputs);
        let alive = self.thread.as_ref().is_some_and(|thread| !thread.is_finished());
        assert!(alive, "the thread of the local world is gone");
    }
}

impl Drop for LocalWorld {
    fn drop(&mut self) {
        let _ = self.messages.send(Message::Quit);
        let _ = rustix::io::write(&*self.bell, &1u64.to_ne_bytes());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_ill_is_in_every_report() {
        let ill = |device, why: &str| Illness { device, why: why.into() };
        let kept = Mutex::new(vec![ill(5, "is missing"), ill(1, "is\nmissing")]);
        let all = all_ill(&kept, vec![ill(1, "fell off the bus"), ill(3, "")]);
        assert_eq!(all, [ill(1, "is missing"), ill(3, "no reason given"), ill(5, "is missing")]);
        assert_eq!(all_ill(&kept, vec![]).len(), 2);
    }
}
