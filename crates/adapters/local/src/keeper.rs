//! The one thread that starts, watches and ends.
//!
//! For: everything that may wait (folders, processes, clocks) happens here, one thing after another.
//! Promises: each allocation is advanced by one function that may be called at any time and as often as one likes; it
//! looks at what is, compares with what is wanted, and does the next thing.
//! Never: trusts its memory over the run folder where the two could differ.

mod advance;
mod member;

use crate::allocation::{Allocation, Departure, Member, State};
use crate::orders;
use crate::world::Setup;
use consort_agent::launch::{Known, Order, Slot, allocation_name, allocation_of};
use consort_agent::news::News;
use consort_types::{AllocationId, Desired, Input, Placement, Wanted};
use rustix::event::{Timespec, epoll};
use rustix::fd::OwnedFd;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// What the world hands over.
pub(crate) enum Message {
    Desire(Vec<Desired>),
    Forget(AllocationId),
    /// End what is not among these; the sender is dropped when it is gone.
    Clear(BTreeSet<AllocationId>, Sender<()>),
    /// End everything; the sender is dropped when it is gone.
    Halt(Sender<()>),
    Quit,
}

/// The token of the bell that says that there are messages. Workers are counted from 1.
const BELL: u64 = 0;

/// How soon something is looked at again that gives no sign: at first, and when it takes long.
const SOON: Duration = Duration::from_millis(2);
const LATER: Duration = Duration::from_millis(20);

/// The thread's own state.
pub(crate) struct Keeper {
    setup: Setup,
    soft_files: Option<u64>,
    inbox: Receiver<Message>,
    bell: Arc<OwnedFd>,
    news: Arc<News>,
    epoll: OwnedFd,
    allocations: BTreeMap<AllocationId, Allocation>,
    /// Whose shim it is that gave a sign.
    tokens: BTreeMap<u64, (AllocationId, usize)>,
    next_token: u64,
    restless: BTreeSet<AllocationId>,
    /// Folders that nobody needs any more; removed when there is nothing better to do.
    trash: Vec<PathBuf>,
    /// Those whose end somebody waits for.
    awaited: Vec<(Vec<AllocationId>, Sender<()>)>,
    /// The last shim left before its worker began, as the next may: until one has begun, none is reported started
    /// before it has taken its slot. What was reported started can only be stopped, and would be tried again at once.
    wary: bool,
    /// What was last found out about a job: the tasks of one array come one after another.
    known: Option<Known>,
}

impl Keeper {
    pub fn new(
        setup: Setup,
        inbox: Receiver<Message>,
        bell: Arc<OwnedFd>,
        news: Arc<News>,
    ) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &*bell, epoll::EventData::new_u64(BELL), epoll::EventFlags::IN)?;
        Ok(Self {
            setup,
            soft_files: raise_open_files(),
            inbox,
            bell,
            news,
            epoll,
            allocations: BTreeMap::new(),
            tokens: BTreeMap::new(),
            next_token: BELL + 1,
            restless: BTreeSet::new(),
            trash: Vec::new(),
            awaited: Vec::new(),
            wary: false,
            known: None,
        })
    }

    pub fn run(&mut self) {
        loop {
            let signs = self.wait();
            if signs.contains(&BELL) {
                let _ = rustix::io::read(&*self.bell, &mut [0; 8]);
                while let Ok(message) = self.inbox.try_recv() {
                    if matches!(message, Message::Quit) {
                        return;
                    }
                    self.take(message);
                }
            }
            for token in signs {
                if let Some((id, rank)) = self.tokens.remove(&token) {
                    self.shim_left(id, rank);
                    self.advance(id);
                }
            }
            for id in self.restless.clone() {
                self.advance(id);
            }
            let is_over = |id: &AllocationId| self.allocations.get(id).is_none_or(|found| found.done);
            self.awaited.retain(|(all, _)| !all.iter().all(is_over));
            for folder in self.trash.drain(..) {
                // What cannot be removed now is swept when the daemon next starts.
                let _ = std::fs::remove_dir_all(folder);
            }
        }
    }

    fn wait(&self) -> Vec<u64> {
        let pause = self.restless.iter().filter_map(|id| self.allocations.get(id)?.restless).max();
        let pause = pause.map(|since| {
            let span = if since.elapsed() < 50 * SOON { SOON } else { LATER };
            Timespec { tv_sec: 0, tv_nsec: i64::from(span.subsec_nanos()) }
        });
        let mut events = [const { std::mem::MaybeUninit::uninit() }; 256];
        match epoll::wait(&self.epoll, &mut events, pause.as_ref()) {
            Ok((events, _)) => events.iter().map(|event| event.data.u64()).collect(),
            Err(_) => Vec::new(),
        }
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::Desire(changes) => {
                for Desired { allocation, wanted } in changes {
                    match wanted {
                        Wanted::Run(placement) => self.run_desired(allocation, &placement),
                        Wanted::Gone => self.gone_desired(allocation),
                    }
                }
            }
            Message::Forget(id) => {
                match self.allocations.get_mut(&id) {
                    Some(allocation) => {
                        allocation.forgotten = true;
                        allocation.gone_is_desired = true;
                    }
                    None => self.trash.push(self.folder(id)),
                }
                self.advance(id);
            }
            Message::Clear(desired, gone) => {
                let others = self.clear(&desired);
                self.awaited.push((others, gone));
            }
            Message::Halt(gone) => {
                let all: Vec<AllocationId> = self.allocations.keys().copied().collect();
                all.iter().for_each(|&id| self.gone_desired(id));
                self.awaited.push((all, gone));
            }
            Message::Quit => {}
        }
    }

    fn run_desired(&mut self, id: AllocationId, placement: &Placement) {
        if self.allocations.contains_key(&id) {
            return;
        }
        let size: u32 = placement.fills.iter().map(|fill| fill.count).sum();
        let (fresh, refused) = match std::fs::create_dir(self.folder(id)) {
            Ok(()) => (true, None),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => (false, None),
            Err(error) => {
                let folder = self.folder(id);
                (true, Some(format!("the folder {} cannot be made: {error}", folder.display())))
            }
        };
        let members = (0..size).map(|rank| Member::new(Slot::new(&self.setup.run_dir, id, rank), fresh));
        let mut allocation = Allocation::new(id, members.collect());
        allocation.refused = refused;
        if allocation.refused.is_none() {
            match self.make_orders(id, placement) {
                Ok(orders) => allocation.orders = orders,
                // Those that run already need no orders; for the others this is the reason.
                Err(why) => {
                    let left = Departure::for_good(why);
                    allocation.members.iter_mut().for_each(|member| member.left = Some(left.clone()));
                }
            }
        }
        self.allocations.insert(id, allocation);
        self.advance(id);
    }

    fn make_orders(&mut self, id: AllocationId, placement: &Placement) -> Result<Vec<Order>, String> {
        let known = Known::or_find(&mut self.known, &*self.setup.works, id.ask.job)?;
        orders::make(&self.setup, self.soft_files, id, placement, known)
    }

    fn gone_desired(&mut self, id: AllocationId) {
        if !self.allocations.contains_key(&id) {
            let members = self.members_on_disk(id);
            self.allocations.insert(id, Allocation::new(id, members));
        }
        if let Some(allocation) = self.allocations.get_mut(&id) {
            allocation.gone_is_desired = true;
        }
        self.advance(id);
    }

    /// Whoever is in the run folder and is not desired is nobody's.
    fn clear(&mut self, desired: &BTreeSet<AllocationId>) -> Vec<AllocationId> {
        let entries = std::fs::read_dir(&self.setup.run_dir).into_iter().flatten().flatten();
        let found: Vec<AllocationId> =
            entries.filter_map(|entry| allocation_of(entry.file_name().to_str()?)).collect();
        let others =
            found.into_iter().filter(|id| !desired.contains(id) && !self.allocations.contains_key(id));
        let others: Vec<AllocationId> = others.collect();
        for &id in &others {
            let mut allocation = Allocation::new(id, self.members_on_disk(id));
            allocation.gone_is_desired = true;
            allocation.forgotten = true;
            self.allocations.insert(id, allocation);
            self.advance(id);
        }
        others
    }

    fn members_on_disk(&self, id: AllocationId) -> Vec<Member> {
        let entries = std::fs::read_dir(self.folder(id)).into_iter().flatten().flatten();
        let mut ranks: Vec<u32> =
            entries.filter_map(|entry| entry.file_name().to_str()?.strip_prefix('w')?.parse().ok()).collect();
        ranks.sort_unstable();
        ranks.into_iter().map(|rank| Member::new(Slot::new(&self.setup.run_dir, id, rank), false)).collect()
    }

    fn folder(&self, id: AllocationId) -> PathBuf {
        self.setup.run_dir.join(allocation_name(id))
    }

    /// A shim that was watched is gone.
    fn shim_left(&mut self, id: AllocationId, rank: usize) {
        let Some(allocation) = self.allocations.get_mut(&id) else { return };
        let Some(member) = allocation.members.get_mut(rank) else { return };
        if let State::Watched(watch) = &mut member.state {
            let _ = epoll::delete(&self.epoll, &watch.pidfd);
            if let Some(child) = &mut watch.child {
                member.left = member::reap(child);
                self.wary |= member.left.as_ref().is_some_and(|left| !left.again);
            }
            member.state = State::Unsettled;
        }
    }

    fn look_again(&mut self, id: AllocationId, again: bool) {
        let Some(allocation) = self.allocations.get_mut(&id) else { return };
        if again {
            allocation.restless.get_or_insert_with(Instant::now);
            self.restless.insert(id);
        } else {
            allocation.restless = None;
            self.restless.remove(&id);
        }
    }

    fn tell(&self, input: Input) {
        self.news.push(input);
    }
}

/// Each worker costs this process one descriptor. Gives back the limit that workers should have instead.
fn raise_open_files() -> Option<u64> {
    static BEFORE: OnceLock<Option<u64>> = OnceLock::new();
    *BEFORE.get_or_init(|| {
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        let raised = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).is_ok();
        current.filter(|_| raised)
    })
}
