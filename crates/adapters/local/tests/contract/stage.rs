//! A machine of four devices in a folder of its own.
//!
//! Every worker begins by writing its number into a file, so that it can be seen who began and who is still there.

use consort_agent::discover::{FoundDevice, Inventory};
use consort_agent::launch::{ShimProgram, Sight, Slot, allocation_name};
use consort_contract::{Crew, Part, Stage, stage::WHILE};
use consort_local::{LocalWorld, Setup};
use consort_types::{
    AllocationId, AskId, Capabilities, Command, Grace, Input, JobId, JobSpec, Limits, NodeId, Output,
    QueueSpec, Settings, Span, StageWork, TenantSpec, Time, Work, Works, World,
};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const DEVICES: u32 = 4;

pub struct Machine {
    folder: tempfile::TempDir,
    inventory: Arc<Inventory>,
    shelf: Arc<Shelf>,
    began: Instant,
}

type Kept = BTreeMap<JobId, (Arc<JobSpec>, Arc<Work>)>;

#[derive(Default)]
struct Shelf(Mutex<Kept>);

impl Works for Shelf {
    fn find(&self, job: JobId) -> Result<(Arc<JobSpec>, Arc<Work>), String> {
        self.0.lock().unwrap().get(&job).cloned().ok_or_else(|| "nobody stored it".into())
    }
}

impl Machine {
    pub fn new() -> Self {
        let device = |index: u32| FoundDevice {
            kind: "slice".into(),
            identity: index.to_string(),
            index,
            ..FoundDevice::default()
        };
        Machine {
            folder: tempfile::tempdir().unwrap(),
            inventory: Arc::new(Inventory::new("here", (0..DEVICES).map(device).collect(), vec![])),
            shelf: Arc::default(),
            began: Instant::now(),
        }
    }

    fn run_dir(&self) -> PathBuf {
        self.folder.path().join("run")
    }

    fn record_dir(&self) -> PathBuf {
        self.folder.path().join("records")
    }

    fn slot(&self, allocation: AllocationId, rank: u32) -> Slot {
        Slot::new(&self.run_dir(), &self.record_dir(), allocation, rank)
    }

    fn roll(&self) -> PathBuf {
        self.folder.path().join("roll")
    }

    fn work(&self, part: Part) -> Work {
        let while_seconds = WHILE.as_seconds();
        let end = match part {
            Part::Ends | Part::CannotStart => format!("sleep {while_seconds}"),
            Part::Fails(attempts) => {
                format!(
                    "sleep {while_seconds}; [ $CONSORT_ATTEMPT -gt {attempts} ] || exit {}",
                    Self::FAILURE
                )
            }
            Part::Runs => "exec sleep 60".into(),
            Part::Saves => "while :; do sleep 0.02; done".into(),
        };
        let begin = if part == Part::Saves { "trap 'exit 0' TERM; " } else { "" };
        let text = format!("{begin}echo $$ >> {}/$CONSORT_ALLOCATION; {end}", self.roll().display());
        let command = Command::Program(vec!["/bin/sh".into(), "-c".into(), text]);
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
}

impl Stage for Machine {
    type World = LocalWorld;
    const CAPABILITIES: Capabilities = consort_local::CAPABILITIES;
    const FAILURE: i32 = 3;

    fn cluster(&self) -> Vec<Input> {
        let mut inputs = vec![Input::Configure(Settings::default())];
        inputs.extend(self.inventory.kinds().into_iter().map(Input::SetKind));
        inputs.push(Input::SetTenant(TenantSpec { name: "default".into(), quotas: vec![] }));
        let queue = QueueSpec { name: "default".into(), priority: 0, strict: false, tenants: vec![] };
        inputs.push(Input::SetQueue(queue));
        inputs.push(Input::NodeJoined(self.inventory.node_spec()));
        inputs
    }

    fn open(&mut self, desired: &[AllocationId]) -> LocalWorld {
        std::fs::create_dir_all(self.roll()).unwrap();
        let mut world = LocalWorld::open(Setup {
            run_dir: self.run_dir(),
            record_dir: self.record_dir(),
            begun: Default::default(),
            log_dir: self.folder.path().join("logs"),
            channel: Arc::new(|_| vec![]),
            shim: ShimProgram {
                program: env!("CARGO_BIN_EXE_consort-local-shim").into(),
                arguments: vec![],
                forks: true,
            },
            containers: Default::default(),
            inventory: self.inventory.clone(),
            node: NodeId(0),
            first_device: 0,
            works: self.shelf.clone(),
            wake: Arc::new(|| {}),
        })
        .unwrap();
        world.clear_all_but(desired.iter().copied());
        world
    }

    fn prepare(&mut self, job: JobId, spec: &Arc<JobSpec>, part: Part) {
        let mut shelf = self.shelf.0.lock().unwrap();
        // Only a journal that lost its end gives a name again; what bore it before does not count.
        if shelf.remove(&job).is_some() {
            for entry in std::fs::read_dir(self.roll()).unwrap().flatten() {
                if entry.file_name().to_str().unwrap().starts_with(&format!("{job}.")) {
                    std::fs::remove_file(entry.path()).unwrap();
                }
            }
        }
        let wide = spec.stages[0].roles[0].count.max;
        if part != Part::CannotStart || wide > 1 {
            shelf.insert(job, (spec.clone(), Arc::new(self.work(part))));
        }
        if part == Part::CannotStart && wide > 1 {
            // A file stands where the folder of the second worker should be; the others can be started.
            let id = AllocationId { ask: AskId::whole(job), attempt: 1 };
            let folder = self.slot(id, 1).folder().to_owned();
            std::fs::create_dir_all(folder.parent().unwrap()).unwrap();
            std::fs::write(folder, "").unwrap();
        }
    }

    fn now(&self) -> Time {
        Time(i64::try_from(self.began.elapsed().as_nanos()).unwrap())
    }

    fn pass(&mut self, world: Option<&LocalWorld>, until: Time) {
        while self.now() < until && world.is_none_or(|world| world.next_at().is_none()) {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn crew(&self, allocation: AllocationId) -> Option<Crew> {
        let roll = std::fs::read_to_string(self.roll().join(allocation_name(allocation)));
        let roll: Vec<i32> =
            roll.unwrap_or_default().lines().map(|line| line.parse().expect("whole lines")).collect();
        let is_held = |rank: &u32| matches!(self.slot(allocation, *rank).look(), Ok(Sight::Live(_)));
        let held = (0..2 * DEVICES).filter(is_held).count();
        let there = roll.iter().filter(|&&pid| is_there(pid)).count();
        Some(Crew { up: held.max(there), began: roll.len() })
    }

    fn complaints(&mut self) -> Vec<String> {
        // Folders of what was settled are removed when there is nothing better to do.
        let late = Instant::now() + Duration::from_secs(10);
        loop {
            let left: Vec<String> = [self.run_dir(), self.record_dir()]
                .iter()
                .flat_map(|folder| std::fs::read_dir(folder).unwrap().flatten())
                .filter(|entry| entry.file_name() != "boot")
                .map(|entry| format!("{} was settled and is left", entry.path().display()))
                .collect();
            if left.is_empty() || Instant::now() > late {
                return left;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

fn is_there(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}
