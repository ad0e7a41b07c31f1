//! A local world in a folder of its own, for tests with real processes.
//!
//! Every wait is bounded; a test that hangs fails instead.

use consort_agent::discover::{FoundDevice, Inventory};
use consort_agent::launch::{self, LogOrder, Order, ShimProgram, Slot};
use consort_agent::status::{self, Record, Started};
use consort_local::{LocalWorld, Setup};
use consort_types::{
    AllocationId, AskId, Command, Desired, DeviceId, Fill, Grace, Grant, Host, Input, JobId, JobSpec, Limits,
    NodeId, Outcome, Output, Placement, Shape, Span, StageWork, Time, WHOLE, Wanted, Work, Works, World,
};
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

type Kept = BTreeMap<JobId, (Arc<JobSpec>, Arc<Work>)>;

/// What was stored, and how often somebody asked.
#[derive(Default)]
pub struct Shelf(Mutex<Kept>, AtomicUsize);

impl Shelf {
    pub fn asked(&self) -> usize {
        self.1.load(Ordering::Relaxed)
    }
}

impl Works for Shelf {
    fn find(&self, job: JobId) -> Result<(Arc<JobSpec>, Arc<Work>), String> {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.lock().unwrap().get(&job).cloned().ok_or_else(|| "nobody stored it".into())
    }
}

pub struct House {
    pub folder: tempfile::TempDir,
    pub shelf: Arc<Shelf>,
    pub world: Option<LocalWorld>,
    pub shim: PathBuf,
    pub seen: Vec<Input>,
    /// What the journal knows to have been started.
    pub begun: BTreeSet<AllocationId>,
    wanted: BTreeSet<AllocationId>,
    next: u64,
}

pub fn sh(text: &str) -> Work {
    work(Command::Program(vec!["/bin/sh".into(), "-c".into(), text.into()]))
}

pub fn work(command: Command) -> Work {
    Work {
        stages: vec![StageWork { commands: vec![command], indices: vec![], variants: vec![] }],
        workdir: "/tmp".into(),
        image: None,
        env: vec![],
        inherited: vec![],
        grace: Grace { signal: 15, span: Span::seconds(5) },
        limits: Limits::default(),
        output: Output::default(),
    }
}

impl House {
    pub fn new() -> Self {
        let mut house = Self {
            folder: tempfile::tempdir().unwrap(),
            shelf: Arc::default(),
            world: None,
            shim: env!("CARGO_BIN_EXE_consort-local-shim").into(),
            seen: vec![],
            begun: BTreeSet::new(),
            wanted: BTreeSet::new(),
            next: 1,
        };
        house.open();
        house
    }

    /// Puts a script in the place of the shim, which may call the real one: `$SHIM "$1"`.
    pub fn shim_script(&mut self, text: &str) {
        let path = self.path("shim.sh");
        let shim = env!("CARGO_BIN_EXE_consort-local-shim");
        std::fs::write(&path, format!("#!/bin/sh\nSHIM={shim}\n{text}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        self.shim = path;
        self.open();
    }

    pub fn open(&mut self) {
        self.try_open().unwrap();
    }

    pub fn try_open(&mut self) -> std::io::Result<()> {
        let device = |index: u32| FoundDevice {
            kind: "slice".into(),
            identity: index.to_string(),
            index,
            ..FoundDevice::default()
        };
        self.world = None;
        let opened = LocalWorld::open(Setup {
            run_dir: self.run_dir(),
            record_dir: self.record_dir(),
            begun: self.begun.clone(),
            log_dir: self.folder.path().join("logs"),
            channel: Arc::new(|_| vec![]),
            shim: ShimProgram {
                program: self.shim.clone(),
                arguments: vec![],
                // Scripts are called for each slot.
                forks: self.shim.extension().is_none(),
            },
            containers: Default::default(),
            inventory: Arc::new(Inventory::new("here", (0..4).map(device).collect(), vec![])),
            node: NodeId(0),
            first_device: 0,
            works: self.shelf.clone(),
            wake: Arc::new(|| {}),
        });
        self.world = Some(opened?);
        Ok(())
    }

    pub fn run_dir(&self) -> PathBuf {
        self.folder.path().join("run")
    }

    pub fn record_dir(&self) -> PathBuf {
        self.folder.path().join("records")
    }

    pub fn store(&mut self, size: u32, work: Work) -> AllocationId {
        let job = JobId(self.next);
        self.next += 1;
        let spec = JobSpec::gang("test", size, Shape::any());
        self.shelf.0.lock().unwrap().insert(job, (Arc::new(spec), Arc::new(work)));
        AllocationId { ask: AskId::whole(job), attempt: 1 }
    }

    /// Leaves an order in a folder, as older versions did.
    pub fn leave_order(&self, id: AllocationId, folder: &Path, record: Option<&Path>, command: Command) {
        let order = Order {
            allocation: launch::allocation_name(id),
            rank: 0,
            boot: consort_agent::process::boot().into(),
            command,
            env: vec![],
            workdir: "/tmp".into(),
            limits: Limits::default(),
            asked: Default::default(),
            cpus: vec![],
            soft_files: None,
            grace: Grace::default(),
            log: LogOrder {
                path: self.path("older.log"),
                rotate_bytes: 0,
                keep: 0,
                named: false,
                within: None,
            },
            record: record.map(Into::into),
            together: false,
            container: None,
        };
        std::fs::create_dir_all(folder).unwrap();
        std::fs::write(folder.join("launch.json"), serde_json::to_vec(&order).unwrap()).unwrap();
    }

    /// Lets a job that was stored ask for a part of the machine.
    pub fn ask_of_host(&mut self, id: AllocationId, host: Host) {
        let mut kept = self.shelf.0.lock().unwrap();
        let spec = Arc::make_mut(&mut kept.get_mut(&id.ask.job).unwrap().0);
        spec.stages[0].roles[0].shapes[0].host = host;
    }

    /// Gives a job that was stored something else to run.
    pub fn replace(&mut self, id: AllocationId, work: Work) {
        self.shelf.0.lock().unwrap().get_mut(&id.ask.job).unwrap().1 = Arc::new(work);
    }

    /// A daemon that returns with its journal: what was wanted before was reported started.
    pub fn reopen(&mut self) {
        self.begun = self.wanted.clone();
        if self.try_open().is_ok() {
            return;
        }
        // What is no folder is not used and not removed: its owner has to see to it.
        let broken = [self.run_dir(), self.record_dir()].into_iter().find(|folder| !is_folder(folder));
        std::fs::remove_file(broken.expect("nothing else keeps it from opening")).unwrap();
        self.open();
    }

    /// The processes of shims of this house.
    pub fn shims(&self) -> Vec<i32> {
        let crews = consort_agent::process::crews(&self.run_dir());
        crews.into_values().flat_map(|crew| crew.shims).map(|shim| shim.pid).collect()
    }

    pub fn want(&mut self, allocation: AllocationId, size: u32) {
        let grant = |device| Grant { device: DeviceId(device), share: WHOLE, memory_bytes: 0 };
        let placement =
            Placement { fills: vec![Fill { shape: 0, count: size }], grants: (0..size).map(grant).collect() };
        self.wanted.insert(allocation);
        self.desire(allocation, Wanted::Run { placement, generation: 0 });
    }

    pub fn desire(&mut self, allocation: AllocationId, wanted: Wanted) {
        self.world.as_mut().unwrap().desire(Time::ZERO, &[Desired { allocation, wanted }]);
    }

    pub fn start(&mut self, size: u32, work: Work) -> AllocationId {
        let allocation = self.store(size, work);
        self.want(allocation, size);
        allocation
    }

    pub fn stop(&mut self, allocation: AllocationId) {
        self.desire(allocation, Wanted::Gone);
    }

    /// Waits for an input that fits.
    pub fn expect(&mut self, what: &str, fits: impl Fn(&Input) -> bool) -> Input {
        let late = Instant::now() + Duration::from_secs(20);
        loop {
            if let Some(found) = self.seen.iter().position(&fits) {
                return self.seen.remove(found);
            }
            assert!(Instant::now() < late, "{what} did not come; seen {:?}", self.seen);
            std::thread::sleep(Duration::from_millis(2));
            self.look();
        }
    }

    pub fn look(&mut self) {
        self.world.as_mut().unwrap().observe(Time::ZERO, &mut self.seen);
    }

    pub fn started(&mut self, id: AllocationId) {
        self.expect("Started", |input| *input == Input::Started(id));
    }

    pub fn ended(&mut self, id: AllocationId) -> Outcome {
        let ended = self
            .expect("Ended", |input| matches!(input, Input::Ended { allocation, .. } if *allocation == id));
        let Input::Ended { outcome, .. } = ended else { unreachable!() };
        outcome
    }

    /// Whether an ending was told and not yet taken.
    pub fn has_ended(&self, id: AllocationId) -> bool {
        self.seen.iter().any(|input| input.ended() == Some(id))
    }

    pub fn refused(&mut self, id: AllocationId) -> String {
        let fits =
            |input: &Input| matches!(input, Input::StartRefused { allocation, .. } if *allocation == id);
        let Input::StartRefused { why, .. } = self.expect("StartRefused", fits) else { unreachable!() };
        why
    }

    pub fn run(&mut self, work: Work) -> (Outcome, String) {
        let id = self.start(1, work);
        self.started(id);
        let outcome = self.ended(id);
        (outcome, self.log(id, 0))
    }

    pub fn log(&self, id: AllocationId, rank: u32) -> String {
        let path = launch::log_path(&self.folder.path().join("logs"), id, rank);
        std::fs::read_to_string(path).unwrap_or_default()
    }

    pub fn slot(&self, id: AllocationId, rank: u32) -> Slot {
        Slot::new(&self.run_dir(), &self.record_dir(), id, rank)
    }

    /// Who runs a worker, once somebody does.
    pub fn shim_of(&self, id: AllocationId, rank: u32) -> Started {
        within("a shim", || {
            let records = status::read(self.slot(id, rank).record()).ok()?;
            records
                .into_iter()
                .find_map(|record| if let Record::Started(one) = record { Some(one) } else { None })
        })
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

/// Waits for something that has to come.
pub fn within<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let late = Instant::now() + Duration::from_secs(20);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < late, "{what} did not come");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The number that a worker wrote into a file.
pub fn pid_in(path: &std::path::Path) -> i32 {
    within("a number", || std::fs::read_to_string(path).ok()?.strip_suffix('\n')?.parse().ok())
}

fn is_folder(path: &std::path::Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|data| data.is_dir())
}

pub fn is_there(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}
