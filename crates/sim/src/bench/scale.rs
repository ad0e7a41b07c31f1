//! What deciding costs, from a hundred nodes to ten thousand: nothing is simulated, everything is timed.
//!
//! The definition, all of it from seed 1: N nodes with 8 devices, four kinds, racks of 16 nodes, blocks of 8 racks; 300
//! classes of requests from 50 tenants at three priorities; the fair order and best fit, nothing taken back. A request of
//! up to 8 devices is one member that has them all on one node; a wider one has members of 8. Times are CPU time.
//!
//! Instructions are counted over the same code: callgrind counts while `counted` runs and `count` says which part is over.

mod stream;

use super::{BenchError, Progress, Row, Scenario};
use crate::report::{Column, Report, peak_rss_mib};
use consort_sched::{Policy, Saved, Scheduler, stock};
use consort_types::*;
use cpu_time::ThreadTime;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;
use stream::Stream;

pub(super) const SCALE: Scenario = Scenario {
    name: "plan-scale",
    about: "CPU time of a decision on 100, 1,000 and 10,000 nodes of 8 devices, full and with five waiting jobs a node",
    cases: &["100", "1000", "10000"],
    more_cases: &[],
    policies: &["fair"],
    takes_any: false,
    needs_data: false,
};

const SEED: u64 = 1;
/// Pairs of one completion and one arrival.
const PAIRS: u64 = 10_000;

/// What a case of ten thousand nodes must not exceed; decisions must not be fewer.
const BARS: [(&str, f64); 8] = [
    ("cold_ms", 500.0),
    ("incremental_ms_p99", 2.0),
    ("fill_decisions_per_s", 50_000.0),
    ("never_ms", 1.0),
    ("reason_ms", 2.0),
    ("clone_ms", 20.0),
    ("recover_ms", 2_000.0),
    ("peak_rss_mib", 1_024.0),
];

pub(super) fn run(cases: &[String], progress: &mut Progress<'_>) -> Result<Vec<Row>, BenchError> {
    let mut rows: Vec<Row> = vec![];
    for case in cases {
        let nodes = case.parse().expect("one of the cases");
        rows.push(row(nodes, PAIRS, progress, &mut |_, _| {}));
    }
    let p99 = |rows: &[Row], case: &str| {
        rows.iter().find(|row| row.case == case).and_then(|row| row.figure("incremental_ms_p99"))
    };
    if let (Some(less), Some(more)) = (p99(&rows, "1000"), p99(&rows, "10000"))
        && more > 2.0 * less
        && let Some(row) = rows.iter_mut().find(|row| row.case == "10000")
    {
        row.misses.push(format!("incremental_ms_p99 is {more:.3}, more than twice the {less:.3} at 1000"));
    }
    Ok(rows)
}

/// Hears that a part is over, and how often it did what it does.
type Over<'a> = dyn FnMut(&str, u64) + 'a;

/// One case with as many pairs as wanted, for whoever counts rather than times: `over` is called after each part.
pub fn count(nodes: u32, pairs: u64, over: &mut Over<'_>) {
    row(nodes, pairs, &mut |_, _, _| {}, over);
}

fn row(nodes: u32, pairs: u64, progress: &mut Progress<'_>, over: &mut Over<'_>) -> Row {
    let began = ThreadTime::now();
    let mut house = House::new(nodes);
    counted(|| {
        house.fill_up();
        house.queue(5 * nodes as usize);
    });
    over("queue", house.stream.drawn);
    let times = Column::of((0..pairs).map(|pair| {
        if pair.is_multiple_of(256) {
            progress(&format!("plan-scale {nodes}"), pair, pairs);
        }
        house.pair()
    }));
    over("pairs", pairs);
    let mut part = |name, (times, ms): (u64, f64)| {
        over(name, times);
        ms
    };
    let (never, reason) = (part("never", house.never()), part("reason", house.reason()));
    let (clone, recover) = (part("clone", house.copies()), part("recover", house.recover()));
    let cold = part("cold", house.cold());
    let mut report = Report::of("fair", SEED, &[]);
    report.jobs = house.stream.drawn;
    (report.plan_calls, report.events) = (house.plans, house.events);
    let plans = Column::of(std::mem::take(&mut house.plan_ms).into_iter());
    (report.plan_cpu_ms_p50, report.plan_cpu_ms_p99) = (plans.at(0.5), plans.at(0.99));
    report.state_hash = house.scheduler.state_hash();
    drop(house);
    let (decisions, time) = fill(nodes);
    over("fill", decisions);
    (report.cpu_s, report.peak_rss_mib) = (began.elapsed().as_secs_f64(), peak_rss_mib());
    let mut more = vec![
        ("cold_ms", cold),
        ("incremental_ms_p50", times.at(0.5)),
        ("incremental_ms_p99", times.at(0.99)),
        ("fill_decisions_per_s", decisions as f64 / time * 1e3),
        ("never_ms", never),
        ("reason_ms", reason),
        ("clone_ms", clone),
        ("recover_ms", recover),
    ];
    more.extend(report.peak_rss_mib.map(|mib| ("peak_rss_mib", mib)));
    let bars = if nodes == 10_000 { &BARS[..] } else { &[] };
    let misses = bars.iter().filter_map(|&(metric, bar)| {
        let &(_, found) = more.iter().find(|(name, _)| *name == metric)?;
        let is_missed = if metric == "fill_decisions_per_s" { found < bar } else { found > bar };
        is_missed.then(|| format!("{metric} is {found:.2}, the bar is {bar}"))
    });
    let (misses, is_barred) = (misses.collect(), !bars.is_empty());
    let (case, policy) = (nodes.to_string(), "fair".to_string());
    Row { case, policy, seed: SEED, report, anchor: None, misses, jobs: vec![], more, is_barred }
}

fn policy() -> Arc<dyn Policy> {
    stock::find("fair/best-fit").expect("it is there").policy()
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// What a part is about, and nothing around it. Callgrind knows it by its name, and two of them inside each other would
/// switch its counter off again.
#[inline(never)]
fn counted<T>(what: impl FnOnce() -> T) -> T {
    black_box(what())
}

/// CPU milliseconds of something, and what it gave.
fn timed<T>(what: impl FnOnce() -> T) -> (f64, T) {
    let began = ThreadTime::now();
    let result = counted(what);
    (ms(began.elapsed()), result)
}

/// The middle one of several tries.
fn middle(tries: u64, once: impl Fn() -> f64) -> f64 {
    Column::of((0..tries).map(|_| once())).at(0.5)
}

/// A scheduler, what is submitted to it, and when what runs will end.
struct House {
    scheduler: Scheduler,
    stream: Stream,
    now: Time,
    ends: BinaryHeap<Reverse<(Time, AllocationId)>>,
    events: u64,
    plans: u64,
    plan_ms: Vec<f64>,
}

impl House {
    fn new(nodes: u32) -> Self {
        let scheduler = Scheduler::new(policy(), Capabilities::default());
        let (stream, now, ends) = (Stream::new(SEED, nodes), Time::ZERO, BinaryHeap::new());
        let mut house = House { scheduler, stream, now, ends, events: 0, plans: 0, plan_ms: vec![] };
        for input in house.stream.cluster().inputs() {
            house.tell(input);
        }
        house
    }

    fn tell(&mut self, input: Input) {
        let event = self.scheduler.accept(self.now, input).expect("the stream is in order");
        self.scheduler.apply(&event);
        self.events += 1;
    }

    fn submit(&mut self) {
        let spec = self.stream.draw();
        self.tell(Input::Submit(spec));
    }

    /// One plan, carried out at once. Returns how much it started.
    fn plan(&mut self) -> usize {
        // Not `timed`: whoever plans here is counted as a whole.
        let began = ThreadTime::now();
        let plan = self.scheduler.plan(self.now);
        self.plan_ms.push(ms(began.elapsed()));
        self.plans += 1;
        let starts = plan.moves.len();
        if !plan.is_empty() {
            self.events += 1;
            self.scheduler.apply(&Event::new(self.now, Fact::Planned(plan)));
        }
        for desired in self.scheduler.take_desires() {
            self.tell(Input::Started(desired.allocation));
            let length = self.stream.length(desired.allocation.ask.job);
            self.ends.push(Reverse((self.now + length, desired.allocation)));
        }
        starts
    }

    /// Submits until a whole batch finds no room.
    fn fill_up(&mut self) {
        let batch = (self.stream.nodes / 20).max(10);
        loop {
            (0..batch).for_each(|_| self.submit());
            if self.plan() == 0 {
                return;
            }
        }
    }

    fn queue(&mut self, waiting: usize) {
        while self.scheduler.view().waiting_count() < waiting {
            self.submit();
        }
        self.plan();
    }

    fn end(&mut self, allocation: AllocationId) {
        self.tell(Input::over(allocation, Outcome::Succeeded));
        self.scheduler.take_ended();
    }

    /// One completion and one arrival, each followed by a plan and what it sets off. CPU milliseconds of both.
    fn pair(&mut self) -> f64 {
        let Some(Reverse((at, allocation))) = self.ends.pop() else { return 0.0 };
        self.now = at;
        let spec = self.stream.draw();
        timed(|| {
            self.end(allocation);
            self.plan();
            self.tell(Input::Submit(spec));
            self.plan();
        })
        .0
    }

    /// Jobs that no cluster of this make could hold: too many, too close together. How many answers, and the slowest.
    fn never(&self) -> (u64, f64) {
        let refusal = |spec: &Arc<JobSpec>| {
            let answer = timed(|| self.scheduler.accept(self.now, Input::Submit(spec.clone())));
            assert!(matches!(&answer.1, Err(refusal) if refusal.rule == Rule::NeverFits), "{:?}", answer.1);
            answer.0
        };
        let jobs = self.stream.hopeless();
        let slowest = jobs.iter().map(|spec| middle(11, || refusal(spec))).fold(0.0, f64::max);
        (11 * jobs.len() as u64, slowest)
    }

    /// Why a job waits, for jobs from everywhere in the queue. How many answers, and the slowest.
    fn reason(&mut self) -> (u64, f64) {
        let waiting: Vec<JobId> = self.scheduler.view().waiting().map(|ask| ask.job).collect();
        let asked = waiting.iter().step_by((waiting.len() / 32).max(1));
        let (now, reading) = (self.now, self.scheduler.reading());
        let answer = |&job: &JobId| {
            let (time, told) = timed(|| reading.explain(now, job));
            let told = told.expect("it waits").asks.remove(0).1;
            assert!(matches!(told, Reason::NoRoom { .. }), "{told}");
            time
        };
        (3 * asked.len() as u64, asked.map(|job| middle(3, || answer(job))).fold(0.0, f64::max))
    }

    fn copies(&self) -> (u64, f64) {
        (11, middle(11, || timed(|| self.scheduler.clone()).0))
    }

    /// A snapshot as the daemon writes it, and a scheduler that goes on from it.
    fn recover(&self) -> (u64, f64) {
        let hash = self.scheduler.state_hash();
        let once = || {
            let saved = self.scheduler.save();
            let bytes = postcard::to_stdvec(&saved).expect("a state is plain data");
            assert_eq!(saved.state_hash(), hash);
            drop(saved);
            let saved: Saved = postcard::from_bytes(&bytes).expect("it was just written");
            assert_eq!(saved.state_hash(), hash);
            Scheduler::restore(policy(), Capabilities::default(), saved)
        };
        (3, middle(3, || timed(once).0))
    }

    /// Everything that holds a device of one node in twenty ends; then one plan with nothing remembered.
    fn cold(&mut self) -> (u64, f64) {
        let view = self.scheduler.view();
        let is_freed = |grant: &Grant| view.locate(grant.device).0.0.is_multiple_of(20);
        let holders = view.granted().filter_map(|ask| view.ask(ask));
        let freed: Vec<AllocationId> =
            holders.filter(|ask| ask.grants().iter().any(is_freed)).map(|ask| ask.allocation()).collect();
        freed.into_iter().for_each(|allocation| self.end(allocation));
        let (time, plan) = timed(|| {
            self.scheduler.drop_caches();
            self.scheduler.plan(self.now)
        });
        assert!(!plan.is_empty(), "there is room for somebody");
        (1, time)
    }
}

/// An empty cluster and as many jobs of one device, of any kind, as it has devices. Decisions of one plan, and its time.
fn fill(nodes: u32) -> (u64, f64) {
    let mut house = House::new(nodes);
    for _ in 0..8 * nodes {
        let spec = house.stream.draw_single();
        house.tell(Input::Submit(spec));
    }
    let (time, plan) = timed(|| house.scheduler.plan(house.now));
    assert_eq!(plan.moves.len(), 8 * nodes as usize, "there is a device for everybody");
    (plan.moves.len() as u64, time)
}
