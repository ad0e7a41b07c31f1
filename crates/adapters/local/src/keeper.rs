//! The one thread that starts, watches and ends.
//!
//! For: everything that may wait (folders, processes, clocks) happens here, one thing after another.
//! Promises: each allocation is advanced by one function that may be called at any time and as often as one likes; it
//! looks at what is, compares with what is wanted, and does the next thing.
//! Never: trusts a file over a process, or over what a child of ours told us: jobs can write to files.

mod advance;
mod conclude;
mod member;

use crate::allocation::{Allocation, Departure, Member, State};
use crate::orders;
use crate::records::{self, Records};
use crate::world::{PROGRESS, Setup};
use consort_agent::launch::{
    Known, Order, Shims, Slot, allocation_name, allocation_of, record_name, recorded_in,
};
use consort_agent::news::News;
use consort_agent::process::{self, Crew, Identity};
use consort_agent::progress::{Faults, Reports};
use consort_agent::status::Started;
use consort_agent::untrusted::{self, Owners};
use consort_types::{AllocationId, Desired, Input, Placement, Sample, Wanted};
use rustix::event::{Timespec, epoll};
use rustix::fd::OwnedFd;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// What the world hands over.
pub(crate) enum Message {
    Desire(Vec<Desired>),
    Forget(AllocationId),
    Progress(AllocationId, Sample),
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

/// How many files are removed before other things are looked at again.
const AT_ONCE: u32 = 2000;

/// The thread's own state.
pub(crate) struct Keeper {
    setup: Setup,
    shims: Shims,
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
    records: Records,
    /// Shims and workers that were there when this world was opened, by the folder of their slot. Nobody but us starts
    /// any more of them.
    crews: BTreeMap<PathBuf, Crew>,
    /// Workers that were known when this world was opened.
    known_ranks: BTreeMap<AllocationId, BTreeSet<u32>>,
    /// Allocations whose folders and records nobody needs any more, with their workers; removed bit by bit when there is
    /// nothing better to do.
    trash: Vec<(AllocationId, Vec<u32>)>,
    /// Those whose end somebody waits for.
    awaited: Vec<(Vec<AllocationId>, Sender<()>)>,
    /// The last shim left before its worker began, as the next may: until one has begun, none is reported started
    /// before it has taken its slot. What was reported started can only be stopped, and would be tried again at once.
    wary: bool,
    /// What was last found out about a job: the tasks of one array come one after another.
    known: Option<Known>,
    reports: Reports,
}

impl Keeper {
    pub fn new(
        setup: Setup,
        records: Records,
        inbox: Receiver<Message>,
        bell: Arc<OwnedFd>,
        news: Arc<News>,
        faults: Faults,
    ) -> io::Result<Self> {
        let crews = process::crews(&setup.run_dir);
        let known_ranks = known_ranks(&records, &crews);
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &*bell, epoll::EventData::new_u64(BELL), epoll::EventFlags::IN)?;
        let reports = Reports::new(setup.base(), Owners::ours(), faults);
        Ok(Self {
            shims: Shims::new(setup.shim.clone()),
            reports,
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
            records,
            crews,
            known_ranks,
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
            let reports = self.reports.due();
            if !reports.is_empty() {
                self.tell(Input::Progress(reports));
            }
            let is_over = |id: &AllocationId| self.allocations.get(id).is_none_or(|found| found.done);
            self.awaited.retain(|(all, _)| !all.iter().all(is_over));
            self.remove_trash();
        }
    }

    /// Removes some of what nobody needs any more. A job may have left millions of files.
    fn remove_trash(&mut self) {
        let mut budget = AT_ONCE;
        while let Some((id, ranks)) = self.trash.pop() {
            let (base, name) = (&self.setup.run_dir, allocation_name(id));
            // What cannot be removed now is swept when the daemon next starts.
            let gone = untrusted::remove(base, Path::new(&name), &mut budget).unwrap_or(true)
                && ranks.iter().all(|&rank| {
                    let report = Path::new(PROGRESS).join(record_name(id, rank));
                    let _ = untrusted::remove(self.setup.base(), &report, &mut budget);
                    self.records.remove(id, rank, &mut budget)
                });
            if !gone {
                return self.trash.push((id, ranks));
            }
            self.crews.retain(|slot, _| !slot.starts_with(base.join(&name)));
            self.known_ranks.remove(&id);
        }
    }

    fn wait(&self) -> Vec<u64> {
        let pause = self.restless.iter().filter_map(|id| self.allocations.get(id)?.restless).max();
        let pause = pause.map(|since| {
            let span = if since.elapsed() < 50 * SOON { SOON } else { LATER };
            Timespec { tv_sec: 0, tv_nsec: i64::from(span.subsec_nanos()) }
        });
        let pause =
            if self.trash.is_empty() { pause } else { Some(Timespec { tv_sec: 0, tv_nsec: 1_000_000 }) };
        let pause = pause.or_else(|| self.reports.next().and_then(|span| Timespec::try_from(span).ok()));
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
                        Wanted::Run { placement, .. } => self.run_desired(allocation, &placement),
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
                    None => self.trash.push((id, self.ranks(id).into_iter().collect())),
                }
                self.advance(id);
            }
            Message::Progress(id, sample) => drop(self.reports.hand_in(id, sample)),
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
        let is_known = self.setup.begun.contains(&id) || self.known_ranks.contains_key(&id);
        let orders = self.make_orders(id, placement);
        let needs_folder = orders.as_ref().is_ok_and(|orders| orders.iter().any(Order::needs_folder));
        let folder = if needs_folder { self.make_folder(id) } else { Ok(!self.has_folder(id)) };
        let (fresh, refused) = match folder {
            Ok(new) => (new && !is_known, None),
            // What runs already needs no folder.
            Err(_) if is_known => (false, None),
            Err(error) => {
                let folder = self.folder(id);
                (true, Some(format!("cannot create folder {}: {error}", folder.display())))
            }
        };
        let members = (0..size).map(|rank| {
            let slot = self.slot(id, rank);
            let fresh = fresh && !slot.is_recorded();
            Member::new(slot, fresh)
        });
        let mut allocation = Allocation::new(id, members.collect());
        allocation.refused = refused;
        // It was let go, whatever became of the file that said so.
        allocation.released = self.setup.begun.contains(&id);
        if allocation.refused.is_none() {
            match orders {
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
        orders::make(&self.setup, self.records.folder(), self.soft_files, id, placement, known)
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

    /// The folder of an allocation. True if it is new. A job may have moved the whole run folder away, or put something
    /// else in the place of this one.
    fn make_folder(&self, id: AllocationId) -> io::Result<bool> {
        let name = allocation_name(id);
        let (base, name) = (&self.setup.run_dir, Path::new(&name));
        let make = || untrusted::make_folder(base, name);
        make().or_else(|error| match error.kind() {
            io::ErrorKind::NotFound => std::fs::create_dir_all(base).and_then(|()| make()),
            io::ErrorKind::InvalidData => untrusted::remove(base, name, &mut 1).and_then(|_| make()),
            _ => Err(error),
        })
    }

    fn has_folder(&self, id: AllocationId) -> bool {
        untrusted::exists(&self.setup.run_dir, Path::new(&allocation_name(id)))
    }

    /// Whatever is found and is not desired is nobody's: folders, records and processes.
    fn clear(&mut self, desired: &BTreeSet<AllocationId>) -> Vec<AllocationId> {
        let reports = std::fs::read_dir(self.setup.base().join(PROGRESS)).into_iter().flatten().flatten();
        let mut budget = AT_ONCE;
        for report in reports {
            let of = report.file_name().to_str().and_then(recorded_in);
            if of.is_none_or(|(id, _)| !desired.contains(&id)) {
                let report = Path::new(PROGRESS).join(report.file_name());
                let _ = untrusted::remove(self.setup.base(), &report, &mut budget);
            }
        }
        let entries = std::fs::read_dir(&self.setup.run_dir).into_iter().flatten().flatten();
        let mut found: BTreeSet<AllocationId> =
            entries.filter_map(|entry| allocation_of(entry.file_name().to_str()?)).collect();
        found.extend(self.known_ranks.keys());
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
        self.ranks(id).into_iter().map(|rank| Member::new(self.slot(id, rank), false)).collect()
    }

    /// The workers of an allocation of which there is a folder, a record or a process.
    fn ranks(&self, id: AllocationId) -> BTreeSet<u32> {
        let name = allocation_name(id);
        let names = untrusted::list(&self.setup.run_dir, Path::new(&name), records::MOST as usize);
        let mut ranks: BTreeSet<u32> =
            names.unwrap_or_default().iter().filter_map(|name| records::rank_of(name)).collect();
        ranks.extend(self.known_ranks.get(&id).into_iter().flatten());
        ranks
    }

    fn slot(&self, id: AllocationId, rank: u32) -> Slot {
        Slot::new(&self.setup.run_dir, self.records.folder(), id, rank)
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
            if let Some((child, report)) = &mut watch.child {
                for record in report.records() {
                    member::note(&mut member.begun, &mut member.ended, &mut member.lost, record);
                }
                // A zombie still has its name.
                let unheard = member.begun.is_none().then(|| child.pid().as_raw_pid());
                let identity = unheard.and_then(Identity::of);
                member.left = member::reap(child);
                if member.begun.is_none() && (member.left.is_none() || member.ended.is_some()) {
                    // It ran its worker, as its status or its last words say, and its first words went elsewhere.
                    member.begun = identity.map(Started::by);
                }
                let in_vain = member.left.as_ref().is_some_and(|left| !left.again);
                self.wary |= member.begun.is_none() && in_vain;
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

fn known_ranks(records: &Records, crews: &BTreeMap<PathBuf, Crew>) -> BTreeMap<AllocationId, BTreeSet<u32>> {
    let crewed = crews.keys().filter_map(|slot| {
        let allocation = allocation_of(slot.parent()?.file_name()?.to_str()?)?;
        Some((allocation, records::rank_of(slot.file_name()?)?))
    });
    let mut known: BTreeMap<AllocationId, BTreeSet<u32>> = BTreeMap::new();
    for (allocation, rank) in records.all().into_iter().chain(crewed) {
        known.entry(allocation).or_default().insert(rank);
    }
    known
}

/// Each worker costs this process two descriptors. Gives back the limit that workers should have instead.
fn raise_open_files() -> Option<u64> {
    static BEFORE: OnceLock<Option<u64>> = OnceLock::new();
    *BEFORE.get_or_init(|| {
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        let raised = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).is_ok();
        current.filter(|_| raised)
    })
}
