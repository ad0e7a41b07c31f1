//! What is desired to be gone is ended in Slurm and told once it is over, whatever became of its node; a job that only
//! looks like ours is left alone.

use consort_agent::launch::allocation_name;
use consort_slurm::census::OnDrain;
use consort_slurm::cluster::Reading;
use consort_slurm::engine::{About, Engine, Skipped, Trouble};
use consort_slurm::layout::Portion;
use consort_slurm::shapes::{Job, Node};
use consort_slurm::submission::Submission;
use consort_slurm::{Setup, SlurmWorld, Terms};
use consort_types::*;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

const TAG: &str = "consort:gone";

/// A Slurm as simple as can be. What it is told to end, ends when the test says so.
#[derive(Default)]
struct State {
    nodes: Vec<Node>,
    jobs: Vec<Job>,
    ended: Vec<u64>,
    skipped: Skipped,
    unread: Vec<String>,
    lists: u32,
    looked: Vec<u64>,
    sweeps: u32,
    /// The last answer was about one job alone, and could be read.
    alone: bool,
}

struct Simple(Arc<Mutex<State>>, About, Vec<String>);

impl Engine for Simple {
    fn about(&self) -> &About {
        &self.1
    }
    fn nodes(&mut self) -> Result<Vec<Node>, Trouble> {
        let mut state = self.0.lock().unwrap();
        state.sweeps += 1;
        Ok(state.nodes.clone())
    }
    fn jobs(&mut self) -> Result<Vec<Job>, Trouble> {
        let mut state = self.0.lock().unwrap();
        (state.alone, state.lists) = (false, state.lists + 1);
        self.2 = state.unread.clone();
        // Rows that cannot be read are not in a list; asked for alone, a job is found all the same.
        Ok(if state.skipped.jobs > 0 { vec![] } else { state.jobs.clone() })
    }
    fn look(&mut self, ids: &[u64]) -> Result<Vec<Job>, Trouble> {
        let [id] = ids else { return self.jobs() };
        let mut state = self.0.lock().unwrap();
        state.looked.push(*id);
        state.alone = true;
        Ok(state.jobs.iter().filter(|job| job.id == *id).cloned().collect())
    }
    fn skipped(&self) -> Skipped {
        let state = self.0.lock().unwrap();
        if state.alone { Skipped::default() } else { state.skipped }
    }
    fn unread(&self) -> &[String] {
        &self.2
    }
    fn partitions(&mut self) -> Result<Vec<String>, Trouble> {
        Ok(vec![])
    }
    fn topology(&mut self) -> Result<Option<String>, Trouble> {
        Ok(None)
    }
    fn submit(&mut self, _: &Submission) -> Result<u64, Trouble> {
        Err(Trouble::Refused("nothing is submitted here".into()))
    }
    fn signal(&mut self, id: u64, _: i32) -> Result<(), Trouble> {
        self.cancel(id)
    }
    fn cancel(&mut self, id: u64) -> Result<(), Trouble> {
        self.0.lock().unwrap().ended.push(id);
        Ok(())
    }
    fn straggles(&self) -> Duration {
        Duration::ZERO
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

fn job(number: u64, state: &str, comment: String) -> Job {
    Job { id: number, state: vec![state.into()], comment, ..Job::default() }
}

fn node(state: &str) -> Node {
    Node {
        name: "n1".into(),
        partitions: vec!["p".into()],
        gres: "gpu:a100:4".into(),
        cpus: 8,
        state: vec![state.into()],
        ..Node::default()
    }
}

fn open(shared: &Path, state: State) -> (SlurmWorld, Arc<Mutex<State>>) {
    let state = Arc::new(Mutex::new(state));
    let setup = Setup {
        shared: shared.into(),
        tag: TAG.into(),
        reading: Reading { partition: "p".into(), ..Reading::default() },
        on_drain: OnDrain::Move,
        terms: Terms::default(),
        portion: Portion::default(),
        poll: Duration::from_millis(50),
        patience: Duration::from_secs(60),
        works: Arc::new(Nobody),
        wake: Arc::new(|| {}),
        beliefs: vec![],
    };
    (SlurmWorld::open(Box::new(Simple(state.clone(), About::default(), vec![])), setup).unwrap(), state)
}

fn tagged(nth: u64, secret: &str) -> String {
    format!("{TAG}:{}{secret}", allocation_name(id(nth)))
}

fn run(nth: u64, device: u32) -> Desired {
    let grant = Grant { device: DeviceId(device), share: WHOLE, memory_bytes: 0 };
    let placement = Placement { fills: vec![Fill { shape: 0, count: 1 }], grants: vec![grant] };
    Desired { allocation: id(nth), wanted: Wanted::Run { placement, generation: 0 } }
}

fn gone(nth: u64) -> Desired {
    Desired { allocation: id(nth), wanted: Wanted::Gone }
}

/// Everything that is said until something fits.
fn until(world: &mut SlurmWorld, fits: impl Fn(&Input) -> bool) -> Vec<Input> {
    let (mut inputs, began) = (vec![], Instant::now());
    while !inputs.iter().any(&fits) {
        assert!(began.elapsed() < Duration::from_secs(20), "only {inputs:?}");
        std::thread::sleep(Duration::from_millis(5));
        world.observe(Time(0), &mut inputs);
    }
    inputs
}

fn until_ended(state: &Mutex<State>, job: u64) {
    let began = Instant::now();
    while !state.lock().unwrap().ended.contains(&job) {
        assert!(began.elapsed() < Duration::from_secs(20), "job {job} is not ended");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Given up by Slurm or by our own lease: the world is told `Gone`, ends the job, and says so only when it is over. Until
/// then the node does not join again, however well it looks.
#[test]
fn an_attempt_on_a_node_that_was_given_up_is_ended_and_its_end_is_told() {
    for (pending, given_up) in [("PENDING", "DOWN"), ("RUNNING", "UNKNOWN")] {
        let shared = tempfile::tempdir().unwrap();
        let jobs = vec![job(7, pending, tagged(1, ""))];
        let (mut world, state) =
            open(shared.path(), State { nodes: vec![node("IDLE")], jobs, ..State::default() });
        let spec = consort_slurm::cluster::find(
            &[node("IDLE")],
            &Reading { partition: "p".into(), ..Reading::default() },
        );
        world.joined(NodeId(0), DeviceId(0), &spec[0].spec);
        world.desire(Time(0), &[run(1, 0)]);
        state.lock().unwrap().nodes = vec![node(given_up)];
        let heard = until(&mut world, |input| matches!(input, Input::NodeFenced(_) | Input::NodeSilent(_)));
        assert!(!heard.iter().any(|input| input.ended().is_some()), "{heard:?}");
        world.desire(Time(0), &[gone(1)]);
        until_ended(&state, 7);
        // Slurm takes its time, and the node returns meanwhile.
        state.lock().unwrap().nodes = vec![node("IDLE")];
        let mut heard = vec![];
        let began = Instant::now();
        while began.elapsed() < Duration::from_millis(600) {
            std::thread::sleep(Duration::from_millis(5));
            world.observe(Time(0), &mut heard);
        }
        let is_early = |input: &Input| matches!(input, Input::NodeJoined(_)) || input.ended().is_some();
        assert!(!heard.iter().any(is_early), "job 7 still exists: {heard:?}");
        state.lock().unwrap().jobs = vec![job(7, "CANCELLED", tagged(1, ""))];
        let heard = until(&mut world, |input| input.ended().is_some());
        assert!(heard.contains(&Input::over(id(1), Outcome::Stopped)), "{heard:?}");
    }
}

/// Sweeps come as they come. Before the scheduler's nodes and desires are known every node looks new, and every job like a
/// stray; a node that joined then would lose what the scheduler knows of attempts that are left there.
#[test]
fn nothing_is_said_of_nodes_and_no_job_is_ended_before_the_world_is_introduced() {
    let shared = tempfile::tempdir().unwrap();
    let (mut world, state) = open(shared.path(), State { nodes: vec![node("IDLE")], ..State::default() });
    let sweeps = |state: &Mutex<State>| state.lock().unwrap().sweeps;
    let pass = |more: u32| {
        let (before, began) = (sweeps(&state), Instant::now());
        while sweeps(&state) < before + more {
            assert!(began.elapsed() < Duration::from_secs(20), "no sweep");
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    // A submission of an earlier life has just arrived.
    state.lock().unwrap().jobs = vec![job(7, "RUNNING", tagged(1, ""))];
    pass(3);
    let spec = consort_slurm::cluster::find(
        &[node("IDLE")],
        &Reading { partition: "p".into(), ..Reading::default() },
    );
    world.joined(NodeId(0), DeviceId(0), &spec[0].spec);
    pass(3);
    assert_eq!(state.lock().unwrap().ended, [0; 0], "job 7 may be desired");
    assert_eq!(world.next_at(), Some(Time(i64::MIN)), "it wants to be observed");
    world.desire(Time(0), &[gone(5)]);
    let heard = until(&mut world, |input| input.ended().is_some());
    assert_eq!(heard, [Input::over(id(5), Outcome::Stopped)]);
    until_ended(&state, 7);
    assert_eq!(world.next_at(), None);
}

/// The names of its nodes are all that is left of a placement. Where they cannot be read either, it may be on any node.
#[test]
fn an_attempt_of_which_nobody_knows_where_it_is_keeps_all_fenced_nodes_out() {
    let shared = tempfile::tempdir().unwrap();
    let jobs = vec![job(7, "RUNNING", tagged(1, ""))];
    let (mut world, state) =
        open(shared.path(), State { nodes: vec![node("DOWN")], jobs, ..State::default() });
    let spec = consort_slurm::cluster::find(
        &[node("IDLE")],
        &Reading { partition: "p".into(), ..Reading::default() },
    );
    world.joined(NodeId(0), DeviceId(0), &spec[0].spec);
    world.desire(Time(0), &[gone(1)]);
    until(&mut world, |input| matches!(input, Input::NodeFenced(_)));
    until_ended(&state, 7);
    state.lock().unwrap().nodes = vec![node("IDLE")];
    let (mut heard, before) = (vec![], state.lock().unwrap().sweeps);
    let began = Instant::now();
    while state.lock().unwrap().sweeps < before + 4 {
        assert!(began.elapsed() < Duration::from_secs(20), "no sweep");
        std::thread::sleep(Duration::from_millis(5));
        world.observe(Time(0), &mut heard);
    }
    assert_eq!(heard, [], "job 7 still exists");
    state.lock().unwrap().jobs = vec![job(7, "CANCELLED", tagged(1, ""))];
    let heard = until(&mut world, |input| matches!(input, Input::NodeJoined(_)));
    assert_eq!(heard[0], Input::over(id(1), Outcome::Stopped));
}

#[test]
fn the_end_of_an_attempt_that_nobody_knows_is_told_at_once() {
    let shared = tempfile::tempdir().unwrap();
    let (mut world, _) = open(shared.path(), State::default());
    for _ in 0..2 {
        world.desire(Time(0), &[gone(5)]);
        assert_eq!(
            until(&mut world, |input| input.ended().is_some()),
            [Input::over(id(5), Outcome::Stopped)]
        );
        world.settled(&[id(5)]);
    }
}

/// Writes what the script of a job writes at its end, and that there is something to read.
fn record(shared: &Path, nth: u64, text: &str) {
    let name = allocation_name(id(nth));
    let out = shared.join("run").join(&name).join("out");
    fs::create_dir_all(out.join("begun")).unwrap();
    fs::write(out.join("ended"), text).unwrap();
    fs::write(shared.join("signs").join(name), "").unwrap();
}

/// Slurm asks the workers of a job to go before it preempts it. What saves and leaves then is not done, and why it left is
/// Slurm's to say.
#[test]
fn work_that_slurm_asked_to_go_has_not_succeeded() {
    for (word, why) in [("PREEMPTED", "Slurm preempted job 7"), ("FAILED", "not by Consort")] {
        let shared = tempfile::tempdir().unwrap();
        let jobs = vec![job(7, "RUNNING", tagged(1, ""))];
        let (mut world, state) = open(shared.path(), State { jobs, ..State::default() });
        world.desire(Time(0), &[run(1, 0)]);
        until(&mut world, |input| *input == Input::Started(id(1)));
        state.lock().unwrap().jobs = vec![job(7, word, tagged(1, ""))];
        record(shared.path(), 1, "0 asked\n");
        let heard = until(&mut world, |input| input.ended().is_some());
        let [Input::Ended { outcome: Outcome::Stopped, why: Some(said), .. }] = &heard[..] else {
            panic!("{heard:?}")
        };
        assert!(said.contains(why), "{said}");
    }
}

/// A job can write its own record and go on. What may be tried again is told only once Slurm shows that the job is over;
/// one that goes on is ended.
#[test]
fn a_record_is_not_believed_while_the_job_runs() {
    let shared = tempfile::tempdir().unwrap();
    let jobs = |state: &str| vec![job(7, state, tagged(1, "")), job(8, state, tagged(2, ""))];
    let (mut world, state) = open(shared.path(), State { jobs: jobs("RUNNING"), ..State::default() });
    world.desire(Time(0), &[run(1, 0), run(2, 1)]);
    until(&mut world, |input| *input == Input::Started(id(2)));
    record(shared.path(), 1, "1 exit\n");
    record(shared.path(), 2, "0 exit\n");
    // Success is not tried again: it is told at once, and what goes on is a stray.
    let mut heard = until(&mut world, |input| input.ended().is_some());
    until_ended(&state, 7);
    until_ended(&state, 8);
    world.observe(Time(0), &mut heard);
    assert_eq!(heard, [Input::over(id(2), Outcome::Succeeded)], "job 7 still runs");
    state.lock().unwrap().jobs = jobs("CANCELLED");
    let heard = until(&mut world, |input| input.ended().is_some());
    assert_eq!(heard, [Input::over(id(1), Outcome::Failed { code: 1, cause: Cause::Exit })]);
}

/// Writes an intent as a daemon does that died before it noted the number of its job.
fn intend(shared: &Path, nth: u64, text: &str) {
    let folder = shared.join("run").join(allocation_name(id(nth)));
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("intent"), text).unwrap();
    let intent = fs::File::options().write(true).open(folder.join("intent")).unwrap();
    intent.set_modified(SystemTime::now() - Duration::from_secs(60)).unwrap();
}

#[test]
fn only_the_job_with_the_secret_of_the_attempt_is_ours() {
    let shared = tempfile::tempdir().unwrap();
    let (ours, other) = ("0123456789abcdef0123456789abcdef", "ffffffffffffffffffffffffffffffff");
    intend(shared.path(), 1, &format!("{ours}\n"));
    // Of a daemon that knew no secrets.
    intend(shared.path(), 2, "");
    let jobs = vec![
        job(3, "RUNNING", tagged(1, "")),
        job(4, "RUNNING", tagged(1, &format!(":{other}"))),
        job(5, "RUNNING", tagged(1, &format!(":{ours}"))),
        job(6, "RUNNING", tagged(1, &format!(":{ours}"))),
        job(7, "RUNNING", tagged(2, &format!(":{other}"))),
        job(8, "RUNNING", tagged(2, "")),
    ];
    let (mut world, state) = open(shared.path(), State { jobs, ..State::default() });
    world.desire(Time(0), &[run(1, 0), run(2, 1)]);
    until(&mut world, |input| *input == Input::Started(id(1)));
    world.desire(Time(0), &[gone(1), gone(2)]);
    until_ended(&state, 5);
    until_ended(&state, 8);
    let ended = state.lock().unwrap().ended.clone();
    assert!(ended.iter().all(|job| [5, 6, 8].contains(job)), "jobs of others were ended: {ended:?}");
}

/// A job that may have been submitted is looked for by its tag. It is not absent because its row could not be read; rows
/// of others do not matter.
#[test]
fn a_job_that_may_be_in_an_unreadable_row_is_not_submitted_again() {
    for wanted in [run(1, 0), gone(1)] {
        let shared = tempfile::tempdir().unwrap();
        let secret = "0123456789abcdef0123456789abcdef";
        intend(shared.path(), 1, secret);
        let unread = vec![format!("\u{fffd} RUNNING {}", tagged(1, secret))];
        let (mut world, state) = open(shared.path(), State { unread, ..State::default() });
        world.desire(Time(0), &[wanted]);
        let (mut heard, began) = (vec![], Instant::now());
        while began.elapsed() < Duration::from_millis(2500) {
            std::thread::sleep(Duration::from_millis(5));
            world.observe(Time(0), &mut heard);
        }
        assert_eq!(heard, [], "it may be there");
        let lists = state.lock().unwrap().lists;
        assert!(lists < 200, "Slurm was asked {lists} times");
        state.lock().unwrap().unread = vec!["somebody else's".into()];
        let heard = until(&mut world, |_| true);
        let is_told = |input: &Input| input.ended().is_some() || matches!(input, Input::StartRefused { .. });
        assert!(is_told(&heard[0]), "{heard:?}");
    }
}

/// A job is not over because its row could not be read.
#[test]
fn what_is_not_in_an_answer_with_unreadable_rows_may_still_be_there() {
    let shared = tempfile::tempdir().unwrap();
    let jobs = vec![job(7, "RUNNING", tagged(1, ""))];
    let (mut world, state) = open(shared.path(), State { jobs, ..State::default() });
    world.desire(Time(0), &[run(1, 0)]);
    until(&mut world, |input| *input == Input::Started(id(1)));
    state.lock().unwrap().skipped.jobs = 1;
    let mut heard = vec![];
    let began = Instant::now();
    while state.lock().unwrap().looked.iter().filter(|&&job| job == 7).count() < 4 {
        assert!(began.elapsed() < Duration::from_secs(20), "it is never asked for alone");
        std::thread::sleep(Duration::from_millis(5));
        world.observe(Time(0), &mut heard);
    }
    assert_eq!(world.board().unreadable(), 1);
    assert!(!heard.iter().any(|input| input.ended().is_some()), "{heard:?}");
    // Asked for alone and unknown, it is gone.
    state.lock().unwrap().jobs.clear();
    let heard = until(&mut world, |input| input.ended().is_some());
    assert!(matches!(&heard[..], [Input::Ended { outcome: Outcome::Stopped, .. }]), "{heard:?}");
}
