//! Slurm is asked as little as will do: what a crowd of attempts needs to know is asked once.

use consort_agent::launch::allocation_name;
use consort_slurm::census::OnDrain;
use consort_slurm::cluster::Reading;
use consort_slurm::engine::{About, Engine, Trouble};
use consort_slurm::layout::Portion;
use consort_slurm::shapes::{Job, Node};
use consort_slurm::submission::Submission;
use consort_slurm::{Setup, SlurmWorld, Terms};
use consort_types::*;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

const TAG: &str = "consort:thrift";

/// A Slurm without nodes that writes down what it was asked.
struct Asked {
    jobs: Arc<Mutex<Vec<Job>>>,
    about: About,
    log: Arc<Mutex<Vec<String>>>,
}

impl Asked {
    fn note(&self, what: impl Into<String>) {
        self.log.lock().unwrap().push(what.into());
    }
}

impl Engine for Asked {
    fn about(&self) -> &About {
        &self.about
    }
    fn nodes(&mut self) -> Result<Vec<Node>, Trouble> {
        Ok(vec![])
    }
    fn jobs(&mut self) -> Result<Vec<Job>, Trouble> {
        self.note("all jobs");
        Ok(self.jobs.lock().unwrap().clone())
    }
    fn look(&mut self, ids: &[u64]) -> Result<Vec<Job>, Trouble> {
        self.note(format!("jobs {ids:?}"));
        Ok(self.jobs.lock().unwrap().iter().filter(|job| ids.contains(&job.id)).cloned().collect())
    }
    fn partitions(&mut self) -> Result<Vec<String>, Trouble> {
        Ok(vec![])
    }
    fn topology(&mut self) -> Result<Option<String>, Trouble> {
        Ok(None)
    }
    fn submit(&mut self, _: &Submission) -> Result<u64, Trouble> {
        Err(Trouble::Refused("no".into()))
    }
    fn signal(&mut self, _: u64, _: i32) -> Result<(), Trouble> {
        Ok(())
    }
    fn cancel(&mut self, _: u64) -> Result<(), Trouble> {
        Ok(())
    }
    fn straggles(&self) -> Duration {
        Duration::from_millis(300)
    }
}

struct Nobody;

impl Works for Nobody {
    fn find(&self, _: JobId) -> Result<(Arc<JobSpec>, Arc<Work>), String> {
        Err("nobody stored it".into())
    }
}

fn id(nth: u64) -> AllocationId {
    AllocationId { ask: AskId { job: JobId(nth), stage: 0, task: 0 }, attempt: 1 }
}

fn run(nth: u64) -> Desired {
    let placement = Placement { fills: vec![], grants: vec![] };
    Desired { allocation: id(nth), wanted: Wanted::Run { placement, generation: 0 } }
}

fn open(shared: &Path, jobs: &Arc<Mutex<Vec<Job>>>) -> (SlurmWorld, Arc<Mutex<Vec<String>>>) {
    let log = Arc::new(Mutex::new(vec![]));
    let engine = Asked { jobs: jobs.clone(), about: About::default(), log: log.clone() };
    let setup = Setup {
        shared: shared.into(),
        tag: TAG.into(),
        reading: Reading::default(),
        on_drain: OnDrain::Move,
        terms: Terms::default(),
        portion: Portion::default(),
        poll: Duration::from_secs(60),
        patience: Duration::from_secs(60),
        works: Arc::new(Nobody),
        wake: Arc::new(|| {}),
        beliefs: vec![],
    };
    (SlurmWorld::open(Box::new(engine), setup).unwrap(), log)
}

/// What is said until this many things were said.
fn said(world: &mut SlurmWorld, count: usize) -> Vec<Input> {
    let (mut inputs, began) = (vec![], Instant::now());
    while inputs.len() < count {
        assert!(began.elapsed() < Duration::from_secs(20), "only {inputs:?}");
        std::thread::sleep(Duration::from_millis(5));
        world.observe(Time(0), &mut inputs);
    }
    inputs
}

#[test]
fn one_list_answers_all_whose_submission_may_have_been_lost() {
    let shared = tempfile::tempdir().unwrap();
    for nth in 1..=50 {
        let folder = shared.path().join("run").join(allocation_name(id(nth)));
        fs::create_dir_all(&folder).unwrap();
        let intent = fs::File::create(folder.join("intent")).unwrap();
        intent.set_modified(SystemTime::now() - Duration::from_secs(60)).unwrap();
    }
    let (mut world, log) = open(shared.path(), &Arc::default());
    world.desire(Time(0), &(1..=50).map(run).collect::<Vec<_>>());
    let inputs = said(&mut world, 50);
    assert!(inputs.iter().all(|input| matches!(input, Input::StartRefused { .. })), "{inputs:?}");
    // At the start, and before the first of them would have been submitted again.
    assert_eq!(*log.lock().unwrap(), ["all jobs", "all jobs"]);
}

/// Writes what the script of a job writes at its end, and that there is something to read.
fn record(shared: &Path, nth: u64, text: &str) {
    let name = allocation_name(id(nth));
    let out = shared.join("run").join(&name).join("out");
    fs::create_dir_all(out.join("begun")).unwrap();
    fs::write(out.join("ended"), text).unwrap();
    fs::write(shared.join("signs").join(name), "").unwrap();
}

#[test]
fn a_sign_is_read_without_asking_slurm() {
    let job = |nth: u64| Job {
        id: nth,
        state: vec!["RUNNING".into()],
        comment: format!("{TAG}:{}", allocation_name(id(nth))),
        ..Job::default()
    };
    let shared = tempfile::tempdir().unwrap();
    let jobs = Arc::new(Mutex::new((1..=50).map(job).collect::<Vec<_>>()));
    let (mut world, log) = open(shared.path(), &jobs);
    world.desire(Time(0), &(1..=50).map(run).collect::<Vec<_>>());
    let inputs = said(&mut world, 50);
    assert!(inputs.iter().all(|input| matches!(input, Input::Started(_))), "{inputs:?}");
    log.lock().unwrap().clear();
    record(shared.path(), 7, "0 exit\n");
    let inputs = said(&mut world, 1);
    assert_eq!(inputs, [Input::over(id(7), Outcome::Succeeded)]);
    assert_eq!(*log.lock().unwrap(), Vec::<String>::new());
    // After what may be tried again, one look at that job shows that it is over; the next sweep is a minute away.
    jobs.lock().unwrap()[8].state = vec!["FAILED".into()];
    record(shared.path(), 9, "3 exit\n");
    let inputs = said(&mut world, 1);
    assert_eq!(inputs, [Input::over(id(9), Outcome::Failed { code: 3, cause: Cause::Exit })]);
    assert_eq!(*log.lock().unwrap(), ["jobs [9]"]);
}
