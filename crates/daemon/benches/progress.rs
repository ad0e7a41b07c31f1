//! What the reports of ten thousand running jobs cost: bytes of the journal, processor time, and a restart.
//!
//! An hour of simulated time passes through the code that ships: every job writes a sample every ten seconds, whose speed wanders
//! by up to 10 % and jumps by 20 % four times an hour; samples are condensed as an agent does, accepted, applied and committed to a
//! journal on disk, one batch for every ten seconds. Then the journal is opened anew, as after `kill -9`.
//!
//! ```text
//! cargo bench -p consort-daemon --bench progress
//! ```

use consort_agent::progress::{BEAT, Condenser, QUICKEST, parse};
use consort_daemon::journal::{Batch, Journal, snapshot};
use consort_sched::{Scheduler, stock};
use consort_types::*;
use rustix::time::{ClockId, clock_gettime};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Seconds between two samples of one job.
const STEP: u64 = 10;
/// Weight of events after which the daemon writes a snapshot.
const SNAPSHOT: u64 = 50_000;

fn main() {
    // `cargo test --benches` only wants to know whether it runs.
    let (jobs, seconds) = match std::env::args().any(|word| word == "--bench") {
        true => (10_000, 3_600),
        false => (16, 120),
    };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().canonicalize().expect("a folder");
    let open = || {
        Journal::open(&path, stock::standard().policy(), Capabilities::default(), false).expect("a journal")
    };
    let (mut journal, recovered) = open();
    let mut scheduler = recovered.scheduler;
    fill(&mut journal, &mut scheduler, jobs);
    let before = size(&path);
    let (reports, cpu) = report(&mut journal, &mut scheduler, &path, jobs, seconds);
    let bytes = size(&path) - before;
    drop(journal); // as a crash would: without a last snapshot
    let began = (Instant::now(), cpu_now());
    let (_, again) = open();
    assert_eq!(again.scheduler.state_hash(), scheduler.state_hash(), "nothing is lost");
    let day = bytes as f64 * 86_400.0 / seconds as f64 / f64::from(1 << 30);
    println!("jobs {jobs}, simulated {seconds} s, reports {reports}");
    println!("journal, extrapolated to a day: {day:.2} GiB (bar 2)");
    println!(
        "processor time for a report: {:.1} us (bar 50)",
        cpu.as_secs_f64() * 1e6 / reports.max(1) as f64
    );
    println!(
        "restart: {:.2} s, {:.2} s of processor time (bar 2)",
        began.0.elapsed().as_secs_f64(),
        (cpu_now() - began.1).as_secs_f64()
    );
}

/// A cluster that is just large enough, and one running job for each device.
fn fill(journal: &mut Journal, scheduler: &mut Scheduler, jobs: u32) {
    let mut batch = Batch::default();
    let say = |scheduler: &mut Scheduler, batch: &mut Batch, input: Input| {
        let event = scheduler.accept(Time::ZERO, input).expect("in order");
        scheduler.apply(&event);
        batch.events.push(event);
    };
    say(scheduler, &mut batch, Input::SetKind(KindSpec::named("a")));
    say(scheduler, &mut batch, Input::SetTenant(TenantSpec { name: "default".into(), quotas: vec![] }));
    let queue = QueueSpec { name: "default".into(), priority: 0, strict: false, tenants: vec![] };
    say(scheduler, &mut batch, Input::SetQueue(queue));
    for node in 0..jobs.div_ceil(8) {
        let devices = vec![DeviceGroup { kind: "a".into(), count: 8, island: 0 }];
        let spec = NodeSpec { name: format!("n{node}"), devices, ..NodeSpec::default() };
        say(scheduler, &mut batch, Input::NodeJoined(spec));
    }
    for job in 0..jobs {
        // Twenty jobs of each name.
        let spec = JobSpec::gang(format!("train-{}", job / 20), 1, Shape::of("a"));
        say(scheduler, &mut batch, Input::Submit(Arc::new(spec)));
    }
    let plan = Event::new(Time::ZERO, Fact::Planned(scheduler.plan(Time::ZERO)));
    scheduler.apply(&plan);
    batch.events.push(plan);
    for job in 0..jobs {
        say(scheduler, &mut batch, Input::Started(attempt(job)));
    }
    journal.commit(&batch).expect("room");
    journal.acknowledge().expect("room");
}

/// Lets all jobs report. How many reports there were, and what they cost from the sample to the disk.
fn report(
    journal: &mut Journal,
    scheduler: &mut Scheduler,
    path: &Path,
    jobs: u32,
    seconds: u64,
) -> (usize, Duration) {
    let stretch = jobs.max(1_000);
    let (quickest, beat) = (QUICKEST * stretch / 1_000, BEAT * stretch / 1_000);
    let (quickest, beat) = (quickest.min(Duration::from_secs(60)), beat.min(Duration::from_secs(600)));
    let mut condensers: Vec<Condenser> = (0..jobs).map(|_| Condenser::default()).collect();
    let mut done = vec![0.0; jobs as usize];
    let (mut dice, mut reports, mut cpu, mut behind) = (1u64, 0, Duration::ZERO, 0);
    for second in (0..=seconds).step_by(STEP as usize) {
        let texts: Vec<String> = (0..jobs as usize)
            .map(|job| {
                dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let jump = if (second / 900 + job as u64).is_multiple_of(2) { 1.0 } else { 1.2 };
                let rate = jump * (0.9 + 0.2 * (dice >> 33) as f64 / f64::from(1u32 << 31));
                done[job] += rate * STEP as f64;
                format!(r#"{{"done": {:.3}, "total": 100000, "unit": "step", "batch": 256}}"#, done[job])
            })
            .collect();
        let (now, began) = (Duration::from_secs(second), cpu_now());
        let mut all = vec![];
        for (job, (text, condenser)) in texts.iter().zip(&mut condensers).enumerate() {
            condenser.add(now, parse(text.as_bytes()).expect("progress"));
            let sample = condenser.take(now, quickest, beat);
            all.extend(sample.map(|sample| Report { allocation: attempt(job as u32), sample }));
        }
        reports += all.len();
        if !all.is_empty() {
            let at = Time::ZERO + Span::seconds(second as i64);
            let event = scheduler.accept(at, Input::Progress(all)).expect("they run");
            scheduler.apply(&event);
            behind += snapshot::weight(&event);
            journal.commit(&Batch { events: vec![event], ..Batch::default() }).expect("room");
            journal.acknowledge().expect("room");
        }
        cpu += cpu_now() - began;
        if behind >= SNAPSHOT {
            behind = 0;
            snapshot::write(path, &scheduler.save(), journal.identity()).expect("room");
        }
    }
    (reports, cpu)
}

fn attempt(job: u32) -> AllocationId {
    AllocationId { ask: AskId::whole(JobId(u64::from(job) + 1)), attempt: 1 }
}

/// Bytes of all files.
fn size(path: &Path) -> u64 {
    let entries = std::fs::read_dir(path).expect("a folder").flatten();
    entries.filter_map(|entry| Some(entry.metadata().ok()?.len())).sum()
}

fn cpu_now() -> Duration {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}
