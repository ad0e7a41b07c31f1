//! What one look at a whole cluster costs the daemon.
//!
//! Answers are made from recorded ones, so that each node and each job has all the fields that Slurm writes, and are
//! served over a real socket by another thread. What is counted is the processor time of the asking thread alone: what
//! slurmrestd and the controller need is not ours. The second part is what the poller makes of two such answers while
//! half of all jobs are its own.
//!
//! ```text
//! cargo bench -p consort-slurm
//! ```

#[path = "../tests/recorded/served.rs"]
mod served;

use consort_slurm::census::{Census, OnDrain, Ours};
use consort_slurm::cluster::{self, Reading};
use consort_slurm::engine::rest::{Place, Rest, Token};
use consort_slurm::engine::{About, Engine, Trouble};
use consort_slurm::shapes::{Answer, Job, Node};
use consort_slurm::submission::Submission;
use consort_slurm::{Setup, SlurmWorld, Terms};
use consort_types::*;
use rustix::time::{ClockId, clock_gettime};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How often each is measured; the one in the middle is told.
const TIMES: usize = 5;
/// Begins the tag of our jobs.
const TAG: &str = "consort:bench";

fn main() {
    // `cargo test --benches` only wants to know whether it runs.
    let sizes: &[(usize, usize)] = match std::env::args().any(|word| word == "--bench") {
        true => &[(1_000, 4_000), (5_000, 20_000)],
        false => &[(10, 40)],
    };
    println!(
        "{:<9}{:>7}{:>8}{:>8}  {:>8}{:>8}{:>8}{:>8}{:>8}{:>9}{:>9}",
        "version", "nodes", "jobs", "MB", "probe", "nodes", "jobs", "find", "same", "1% new", "sweep"
    );
    for version in [38, 42] {
        for &(nodes, jobs) in sizes {
            sweep(version, nodes, jobs);
        }
    }
    println!(
        "\n{:<9}{:>7}{:>8}{:>8}  {:>14}{:>14}",
        "version", "nodes", "jobs", "ours", "first", "each sweep"
    );
    for &(nodes, jobs) in sizes {
        poller(42, nodes, jobs);
    }
    println!("\nmilliseconds of the asking thread's processor time; the middle one of {TIMES}");
}

/// Processor time of this thread, in milliseconds.
fn spent() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6
}

fn cost<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let before = spent();
    let made = work();
    (spent() - before, made)
}

fn middle(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

/// A recorded answer in three pieces: what is before its list, the objects of the list, and what is after.
fn pieces(version: u32, file: &str) -> (String, Vec<String>, String) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("recorded");
    let text = std::fs::read_to_string(folder.join(format!("v0.0.{version}/{file}.json"))).unwrap();
    let (head, rest) = text.split_once(&format!("\"{file}\": [\n")).unwrap();
    let (list, tail) = rest.split_once("\n  ]").unwrap();
    let objects = list.lines().map(|line| line.trim().trim_end_matches(',').to_owned()).collect();
    (format!("{head}\"{file}\": ["), objects, format!("]{tail}"))
}

fn name(nth: usize) -> String {
    format!("n{:05}", nth + 1)
}

/// All nodes; `new` of a hundred have one more device in somebody's hands.
fn nodes_answer(version: u32, count: usize, new: usize) -> Vec<u8> {
    let (head, objects, tail) = pieces(version, "nodes");
    let stem = if version < 39 { "n1" } else { "m1" };
    let each = |nth: usize| {
        let text =
            objects[0].replace(&format!("\"name\": \"{stem}\""), &format!("\"name\": \"{}\"", name(nth)));
        match nth % 100 < new {
            true => text.replace("00:1(IDX:0)", "00:2(IDX:0-1)"),
            false => text,
        }
    };
    let all: Vec<String> = (0..count).map(each).collect();
    format!("{head}{}{tail}", all.join(",")).into_bytes()
}

/// All jobs: as many of each of the recorded ones; those that run are ours.
fn jobs_answer(version: u32, count: usize, nodes: usize) -> Vec<u8> {
    let (head, objects, tail) = pieces(version, "jobs");
    let stem = if version < 39 { "n[1-2]" } else { "m[1-2]" };
    let each = |nth: usize| {
        // Every other one runs.
        let at = if nth.is_multiple_of(2) { 3 } else { [0, 1, 2, 4][nth / 2 % 4] };
        objects[at]
            .replace(&format!("\"job_id\": {}", at + 1), &format!("\"job_id\": {}", nth + 1))
            .replace("consort job=7 attempt=1", &format!("{TAG}:{}.0.0#1", nth + 1))
            .replace(stem, &name(nth % nodes))
    };
    let all: Vec<String> = (0..count).map(each).collect();
    format!("{head}{}{tail}", all.join(",")).into_bytes()
}

fn reading() -> Reading {
    Reading { partition: "main".into(), ..Reading::default() }
}

fn sweep(version: u32, nodes: usize, jobs: usize) {
    let answers = [
        (
            "ping",
            std::fs::read(format!("{}/recorded/v0.0.{version}/ping.json", env!("CARGO_MANIFEST_DIR")))
                .unwrap(),
        ),
        ("nodes/", nodes_answer(version, nodes, 0)),
        ("jobs/", jobs_answer(version, jobs, nodes)),
    ];
    let megabytes = answers.iter().map(|(_, bytes)| bytes.len()).sum::<usize>() as f64 / 1e6;
    let answers = answers.map(|(path, bytes)| (path, Arc::<[u8]>::from(bytes)));
    let (folder, prefix) = (tempfile::tempdir().unwrap(), format!("/slurm/v0.0.{version}/"));
    let socket = folder.path().join("socket");
    served::serve(&socket, move |_, path| {
        let asked = path.strip_prefix(&prefix);
        let found = answers.iter().find(|(path, _)| asked == Some(path));
        found.map_or_else(|| (404, Arc::from(*b"{}")), |(_, bytes)| (200, bytes.clone()))
    });
    let later = Answer::read(&nodes_answer(version, nodes, 1)).unwrap().nodes().unwrap();
    let later = cluster::find(&later, &reading());
    let mut census = Census::new(OnDrain::Move);
    let mut first = 0;
    for (nth, found) in later.iter().enumerate() {
        census.joined(NodeId(nth as u32), DeviceId(first), &found.spec);
        first += found.spec.devices.iter().map(|group| group.count).sum::<u32>();
    }
    // One device of each node is ours.
    let each = first / nodes as u32;
    let grant = |nth: u32| Grant { device: DeviceId(nth * each), share: WHOLE, memory_bytes: 0 };
    let mut ours = Ours::default();
    ours.add(&(0..nodes as u32).map(grant).collect::<Vec<_>>(), true);

    let mut costs: [Vec<f64>; 7] = Default::default();
    for _ in 0..TIMES {
        let (probe, rest) = cost(|| Rest::probe(&Place::Unix(socket.clone()), Token::default()));
        let mut rest = rest.unwrap();
        let (asked, all) = cost(|| rest.nodes().unwrap());
        let (listed, queue) = cost(|| rest.jobs().unwrap());
        let (find, found) = cost(|| cluster::find(&all, &reading()));
        assert_eq!((found.len(), queue.len()), (nodes, jobs));
        census.compare(&found, &ours);
        let (same, inputs) = cost(|| census.compare(&found, &ours));
        assert!(inputs.is_empty(), "nothing is new");
        let (new, inputs) = cost(|| census.compare(&later, &ours));
        assert_eq!(inputs.len(), nodes.div_ceil(100));
        let total = asked + listed + find + new;
        for (all, one) in costs.iter_mut().zip([probe, asked, listed, find, same, new, total]) {
            all.push(one);
        }
    }
    let [probe, asked, listed, find, same, new, total] = costs.map(middle);
    println!(
        "v0.0.{version:<4}{nodes:>7}{jobs:>8}{megabytes:>8.1}  {probe:>8.2}{asked:>8.2}{listed:>8.2}{find:>8.2}{same:>8.2}{new:>9.2}{total:>9.2}"
    );
}

/// A Slurm that costs nothing, and that looks at the clock whenever it is asked: it runs in the poller's thread.
struct Prepared {
    nodes: Vec<Node>,
    jobs: Vec<Job>,
    about: About,
    costs: Arc<Mutex<Vec<f64>>>,
    /// What the poller has spent since the last sweep, and who asked when last.
    sum: f64,
    last: (std::thread::ThreadId, f64),
}

impl Prepared {
    /// Gives what was prepared, which is not the poller's cost.
    fn give<T: Clone>(&mut self, what: fn(&Self) -> &T) -> T {
        let asking = std::thread::current().id();
        let since = if self.last.0 == asking { self.last.1 } else { 0.0 };
        self.sum += spent() - since;
        let given = what(self).clone();
        self.last = (asking, spent());
        given
    }
}

impl Engine for Prepared {
    fn about(&self) -> &About {
        &self.about
    }
    fn nodes(&mut self) -> Result<Vec<Node>, Trouble> {
        let nodes = self.give(|all| &all.nodes);
        self.costs.lock().unwrap().push(std::mem::take(&mut self.sum));
        Ok(nodes)
    }
    fn jobs(&mut self) -> Result<Vec<Job>, Trouble> {
        Ok(self.give(|all| &all.jobs))
    }
    fn look(&mut self, _: &[u64]) -> Result<Vec<Job>, Trouble> {
        self.jobs()
    }
    fn partitions(&mut self) -> Result<Vec<String>, Trouble> {
        Ok(vec!["main".into()])
    }
    fn topology(&mut self) -> Result<Option<String>, Trouble> {
        Ok(None)
    }
    fn submit(&mut self, _: &Submission) -> Result<u64, Trouble> {
        panic!("everything is there already")
    }
    fn signal(&mut self, _: u64, _: i32) -> Result<(), Trouble> {
        Ok(())
    }
    fn cancel(&mut self, _: u64) -> Result<(), Trouble> {
        Ok(())
    }
    fn straggles(&self) -> Duration {
        Duration::ZERO
    }
}

/// What the poller does between one answer and the next question.
fn poller(version: u32, nodes: usize, jobs: usize) {
    let folder = tempfile::tempdir().unwrap();
    let answered = Answer::read(&nodes_answer(version, nodes, 0)).unwrap().nodes().unwrap();
    let found = cluster::find(&answered, &reading());
    let costs = Arc::new(Mutex::new(vec![]));
    let engine = Prepared {
        nodes: answered,
        jobs: Answer::read(&jobs_answer(version, jobs, nodes)).unwrap().jobs().unwrap(),
        about: About::default(),
        costs: costs.clone(),
        sum: 0.0,
        last: (std::thread::current().id(), 0.0),
    };
    struct Nobody;
    impl Works for Nobody {
        fn find(&self, _: JobId) -> Result<(Arc<JobSpec>, Arc<Work>), String> {
            Err("nothing is submitted here".into())
        }
    }
    let setup = Setup {
        shared: folder.path().join("shared"),
        tag: TAG.into(),
        reading: reading(),
        on_drain: OnDrain::Move,
        terms: Terms::default(),
        portion: consort_slurm::layout::Portion::default(),
        poll: Duration::from_millis(200),
        patience: Duration::from_secs(60),
        works: Arc::new(Nobody),
        wake: Arc::new(|| {}),
        beliefs: vec![],
    };
    let mut world = SlurmWorld::open(Box::new(engine), setup).unwrap();
    let mut first = 0;
    for (nth, found) in found.iter().enumerate() {
        world.joined(NodeId(nth as u32), DeviceId(first), &found.spec);
        first += found.spec.devices.iter().map(|group| group.count).sum::<u32>();
    }
    let ours = (0..jobs).step_by(2).map(|nth| {
        let ask = AskId { job: JobId(nth as u64 + 1), stage: 0, task: 0 };
        let grant = Grant { device: DeviceId(nth as u32 % first), share: WHOLE, memory_bytes: 0 };
        let placement = Placement { fills: vec![Fill { shape: 0, count: 1 }], grants: vec![grant] };
        Desired {
            allocation: AllocationId { ask, attempt: 1 },
            wanted: Wanted::Run { placement, generation: 0 },
        }
    });
    let ours: Vec<Desired> = ours.collect();
    world.desire(Time(0), &ours);
    let (mut started, mut inputs) = (0, vec![]);
    // The first two tell what the poller does when it is told of everything.
    while costs.lock().unwrap().len() < TIMES + 3 {
        std::thread::sleep(Duration::from_millis(20));
        inputs.clear();
        world.observe(Time(0), &mut inputs);
        started += inputs.iter().filter(|input| matches!(input, Input::Started(_))).count();
    }
    assert_eq!(started, ours.len(), "each was found by its tag");
    let costs = costs.lock().unwrap();
    let (early, each) = (costs[1] + costs[2], middle(costs[3..].to_vec()));
    println!("v0.0.{version:<4}{nodes:>7}{jobs:>8}{:>8}  {early:>14.2}{each:>14.2}", ours.len());
}
