//! A cluster of its own for each case: two nodes with two devices of one kind, on which the cases play, and two with one
//! of another. A gang of three is a heterogeneous job, one of two or four a plain one.
//!
//! Every worker begins by writing its number into a file, so that it can be seen who began and who is still there: all
//! nodes are this machine.

use consort_agent::launch::allocation_name;
use consort_contract::{Crew, Part, Stage, stage::WHILE};
use consort_slurm::census::OnDrain;
use consort_slurm::cluster::{self, Reading};
use consort_slurm::engine::Engine;
use consort_slurm::engine::tools::{Place, Tools};
use consort_slurm::layout::Portion;
use consort_slurm::{CAPABILITIES, Setup, SlurmWorld, Terms};
use consort_slurm_fixture::{Cluster, Make, Nodes};
use consort_types::*;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

pub struct Site {
    cluster: Cluster,
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

impl Site {
    pub fn new() -> Self {
        let nodes = |first, count, gres| Nodes { first, count, gres, features: "", cpus: 8, memory_mb: 8000 };
        let nodes = vec![nodes(1, 2, "gpu:a100:2"), nodes(3, 2, "gpu:mi300:1")];
        let cluster = Cluster::start(Make { nodes, ..Make::default() });
        std::fs::create_dir(cluster.folder().join("roll")).unwrap();
        Site { cluster, shelf: Arc::default(), began: Instant::now() }
    }

    fn shared(&self) -> PathBuf {
        self.cluster.folder().join("shared")
    }

    fn roll(&self) -> PathBuf {
        self.cluster.folder().join("roll")
    }

    fn engine(&self) -> Box<dyn Engine> {
        let place = Place { folder: None, conf: Some(self.cluster.conf().into()) };
        Box::new(Tools::probe(&place, &self.cluster.folder().join("lock")).unwrap())
    }

    fn reading(&self) -> Reading {
        Reading { partition: self.cluster.partition().into(), cpus: false, ..Reading::default() }
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
            Part::Runs => "exec sleep 120".into(),
            Part::Saves => "while :; do sleep 0.02; done".into(),
        };
        let begin = if part == Part::Saves { "trap 'exit 0' TERM; " } else { "" };
        let text = format!("{begin}echo $$ >> {}/$CONSORT_ALLOCATION; {end}", self.roll().display());
        let command = Command::Program(vec!["/bin/sh".into(), "-c".into(), text]);
        // More memory than any node has: Slurm will not have it.
        let memory_bytes = if part == Part::CannotStart { 1 << 44 } else { 16 << 20 };
        Work {
            stages: vec![StageWork { commands: vec![command], indices: vec![], variants: vec![] }],
            workdir: "/tmp".into(),
            image: None,
            env: vec![],
            inherited: vec![],
            grace: Grace { signal: 15, span: Span::seconds(5) },
            limits: Limits { memory_bytes: Some(memory_bytes), ..Limits::default() },
            output: Output::default(),
        }
    }
}

impl Stage for Site {
    type World = SlurmWorld;
    const CAPABILITIES: Capabilities = CAPABILITIES;
    const PATIENCE: Span = Span::seconds(90);
    // Slurm grants to all at once, and starts one after the other.
    const TOGETHER: bool = false;
    const FAILURE: i32 = 3;

    fn cluster(&self) -> Vec<Input> {
        let found = cluster::find(&self.engine().nodes().unwrap(), &self.reading());
        let mut inputs = vec![Input::Configure(Settings::default())];
        inputs.extend(cluster::kinds(&found).into_iter().map(Input::SetKind));
        inputs.push(Input::SetTenant(TenantSpec { name: "default".into(), quotas: vec![] }));
        let queue = QueueSpec { name: "default".into(), priority: 0, strict: false, tenants: vec![] };
        inputs.push(Input::SetQueue(queue));
        inputs.extend(found.into_iter().map(|node| Input::NodeJoined(node.spec)));
        inputs
    }

    fn shape() -> Shape {
        Shape::of("a100")
    }

    fn open(&mut self, desired: &[AllocationId]) -> SlurmWorld {
        let setup = Setup {
            shared: self.shared(),
            tag: "consort:test".into(),
            reading: self.reading(),
            on_drain: OnDrain::Move,
            terms: Terms::default(),
            portion: Portion::default(),
            poll: Duration::from_secs(1),
            patience: Duration::from_secs(60),
            works: self.shelf.clone(),
            wake: Arc::new(|| {}),
            beliefs: vec![],
        };
        let mut world = SlurmWorld::open(self.engine(), setup).unwrap();
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
        shelf.insert(job, (spec.clone(), Arc::new(self.work(part))));
    }

    fn now(&self) -> Time {
        Time(i64::try_from(self.began.elapsed().as_nanos()).unwrap())
    }

    fn pass(&mut self, world: Option<&SlurmWorld>, until: Time) {
        while self.now() < until && world.is_none_or(|world| world.next_at().is_none()) {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn crew(&self, allocation: AllocationId) -> Option<Crew> {
        let roll = std::fs::read_to_string(self.roll().join(allocation_name(allocation)));
        let roll: Vec<i32> =
            roll.unwrap_or_default().lines().map(|line| line.parse().expect("whole lines")).collect();
        let up = roll.iter().filter(|&&pid| is_there(pid)).count();
        Some(Crew { up, began: roll.len() })
    }

    fn complaints(&mut self) -> Vec<String> {
        let late = Instant::now() + Duration::from_secs(10);
        loop {
            let mut left: Vec<String> = std::fs::read_dir(self.shared().join("run"))
                .unwrap()
                .flatten()
                .map(|entry| format!("{} was settled and is left", entry.path().display()))
                .collect();
            let queue = self.cluster.run("squeue", &["-h", "-o", "%A %T %k"]);
            left.extend(queue.lines().map(|line| format!("Slurm still has {line}")));
            if left.is_empty() || Instant::now() > late {
                return left;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

fn is_there(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}
