//! `consort show`: a job in full.

use super::server::{Server, job_id};
use super::wording;
use crate::failure::{Failure, one_line};
use crate::numbers::{counted, decimal, duration, thousands};
use crate::screen::{Screen, print, print_json};
use crate::table::Table;
use consort_api::shapes::{Ask, AskedFor, JobDetail, Progress};
use consort_types::{Pool, Thousandths, memory_words};

const EXAMPLES: &str = "\
Examples:
  consort show 17
  consort show 17 --json | jq .asks";

/// Show all details of a job
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Job id
    #[arg(value_name = "JOB", value_parser = job_id)]
    job: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: Server,
}

/// Parts of a job that are listed one by one; the rest is counted.
const SHOWN: usize = 50;

/// Devices of an ended job that are listed.
const PLACES: usize = 16;

/// The command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let detail = args.server.client()?.job(args.job)?;
    if args.json {
        return print_json(&detail);
    }
    let screen = Screen::here();
    let about = facts(&detail);
    let pairs: Vec<(&str, String)> = about.iter().map(|(name, text)| (*name, one_line(text))).collect();
    let mut text = screen.bold(&format!("Job {} ({})", detail.job.id, one_line(&detail.job.name))) + "\n";
    text += &Table::pairs(["", ""], screen.width, &pairs).show(&screen);
    if !detail.asks.is_empty() {
        text += "\n";
        text += &asks(&detail.asks).show(&screen);
        let (listed, all) = (detail.asks.len() as u64, detail.parts.max(detail.asks.len() as u64));
        if let more @ 1.. = all.saturating_sub(SHOWN as u64) {
            let them = if listed < all {
                format!("the first {}", counted(listed, "part"))
            } else {
                "them all".into()
            };
            text += &screen.dim(&screen.prose(&format!("And {} more; --json has {them}.", thousands(more))));
        }
    }
    if !detail.story.is_empty() {
        text += "\n";
        text += &wording::story(&detail.story, &screen);
    }
    print(&text)
}

fn facts(detail: &JobDetail) -> Vec<(&'static str, String)> {
    let (job, now) = (&detail.job, wording::now());
    let mut facts = vec![("state", job.state.to_string())];
    let mut say = |name: &'static str, text: String| {
        if !text.is_empty() {
            facts.push((name, text));
        }
    };
    say("reason", job.reason.clone());
    say("exit code", job.exit_code.map(|code| code.to_string()).unwrap_or_default());
    say("tenant", job.tenant.clone());
    say("queue", format!("{}, priority {}, {}", job.queue, job.priority, job.qos));
    say("devices", job.devices.to_string());
    for asked in &job.asks_for {
        say("asks for", asks_for(asked, &job.asks_for));
    }
    if let Some(ran_on) = &detail.ran_on {
        let places = if ran_on.devices.is_empty() { &ran_on.nodes } else { &ran_on.devices };
        let (shown, more) = (places.len().min(PLACES), places.len().saturating_sub(PLACES));
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        say("ran on", format!("{}{more}", places[..shown].join(" ")));
    }
    say("submitted", wording::instant(job.submitted, now));
    say("started", job.started.map(|moment| wording::instant(moment, now)).unwrap_or_default());
    say("ended", job.ended.map(|moment| wording::instant(moment, now)).unwrap_or_default());
    let used = |ms: u64, words: String| if ms > 0 { words } else { String::new() };
    for ask in detail.asks.iter().take(SHOWN) {
        let part = if detail.asks.len() > 1 { format!("task {}: ", ask.task) } else { String::new() };
        say("progress", ask.progress.as_ref().map(|found| part + &progress(found)).unwrap_or_default());
    }
    say("reserved cpu time", used(job.used_cpu_ms, duration(job.used_cpu_ms as f64 / 1000.0)));
    let gib_seconds = job.used_memory_mib_ms as f64 / 1000.0 / 1024.0;
    let memory_time = match gib_seconds < 3600.0 {
        true => format!("{} GiB seconds", decimal(gib_seconds, 1)),
        false => format!("{} GiB hours", decimal(gib_seconds / 3600.0, 1)),
    };
    say("reserved memory", used(job.used_memory_mib_ms, memory_time));
    say("deadline", detail.deadline.map(|moment| wording::instant(moment, now)).unwrap_or_default());
    say("time limit", detail.time_limit_s.map(duration).unwrap_or_default());
    say("estimate", detail.estimate_s.map(duration).unwrap_or_default());
    let after: Vec<String> = detail.after.iter().map(u64::to_string).collect();
    say("after", after.join(", "));
    say(
        "attempts",
        format!(
            "{} ({}, {}, {} allowed)",
            job.attempts,
            counted(job.restarts.into(), "restart"),
            counted(job.preemptions.into(), "preemption"),
            match detail.retries {
                1 => "1 retry".into(),
                retries => format!("{retries} retries"),
            }
        ),
    );
    say("folder", detail.workdir.clone().unwrap_or_default());
    for command in &detail.command {
        say("runs", command.clone());
    }
    for log in &detail.logs {
        say("output", log.clone());
    }
    say("output lost", detail.output_lost.map(|lost| wording::lost(lost, now)).unwrap_or_default());
    facts
}

/// `1,200 of 5,000 steps, 3.2 steps a second; about 19m left, saved at 1,000; reported 8s ago`.
fn progress(found: &Progress) -> String {
    let mut text = found.text.clone();
    let left = found.left_s.map(|left| format!("about {} left", duration(left)));
    let saved = found.saved.map(|saved| format!("saved at {}", decimal(saved, 1)));
    let more: Vec<String> = [left, saved].into_iter().flatten().collect();
    if !more.is_empty() {
        text += &format!("; {}", more.join(", "));
    }
    text + &format!("; reported {} ago", duration(wording::ago(found.at, wording::now()).max(0.0)))
}

/// `2 workers with 4 devices of h200 or mi300x each, 8 cpus, 64 GiB of host memory`.
fn asks_for(asked: &AskedFor, all: &[AskedFor]) -> String {
    let part = match all {
        [_] => String::new(),
        _ if all.iter().all(|other| other.stage == asked.stage) => format!("{}: ", asked.role),
        _ => format!("{}, {}: ", asked.stage, asked.role),
    };
    let kinds =
        if asked.kinds.is_empty() { String::new() } else { format!(" of {}", asked.kinds.join(" or ")) };
    let (one, each) = (asked.workers == 1 && asked.most_workers == 1, " each");
    let share = f64::from(asked.share_thousandths) / 1000.0;
    let devices = match (asked.devices, asked.share_thousandths) {
        (0, _) => "no devices".into(),
        (1, share_thousandths) if share_thousandths < 1000 => format!("{share} of a device{kinds}"),
        (devices, _) => format!("{}{kinds}", counted(devices.into(), "device")),
    };
    let mut words = match (one, asked.workers == asked.most_workers) {
        (true, _) => devices,
        (false, true) => format!("{} with {devices}{each}", counted(asked.workers.into(), "worker")),
        (false, false) => format!("{} to {} workers with {devices}{each}", asked.workers, asked.most_workers),
    };
    if asked.tasks > 1 {
        words = format!("{} of {words}", counted(asked.tasks.into(), "task"));
    }
    let mut more = vec![];
    if asked.device_memory_bytes > 0 {
        more.push(format!("{} of device memory", memory_words(asked.device_memory_bytes)));
    }
    let hosts = [(Pool::Cpu, asked.cpu_thousandths), (Pool::Memory, asked.memory_bytes)];
    more.extend(hosts.into_iter().filter(|(_, amount)| *amount > 0).map(|(pool, amount)| pool.words(amount)));
    if !asked.precision.is_empty() {
        more.push(format!("precision {}", asked.precision.join(" or ")));
    }
    more.extend(asked.image.as_ref().map(|image| format!("image {image}")));
    let more: String = more.iter().map(|more| format!(", {more}")).collect();
    format!("{part}{words}{more}")
}

fn asks(asks: &[Ask]) -> Table {
    let now = wording::now();
    let shown = &asks[..asks.len().min(SHOWN)];
    let each = |show: &dyn Fn(&Ask) -> String| shown.iter().map(show).collect::<Vec<_>>();
    let mut table = Table::default();
    table.text("stage", 1, each(&|ask| one_line(&ask.stage)));
    table.numbers("task", 0, each(&|ask| ask.task.to_string()));
    table.text("state", 0, each(&|ask| ask.state.to_string()));
    table.numbers("attempt", 3, each(&|ask| ask.attempt.to_string()));
    table.numbers(
        "since",
        2,
        each(&|ask| ask.since.map_or("-".into(), |since| duration(wording::ago(since, now)))),
    );
    table.text("devices", 0, each(&|ask| one_line(&ask.devices.join(" "))));
    if shown.iter().any(|ask| ask.cpu_thousandths > 0) {
        table.numbers("cpus", 3, each(&|ask| Thousandths(ask.cpu_thousandths).to_string()));
    }
    if shown.iter().any(|ask| ask.memory_bytes > 0) {
        table.numbers("memory", 3, each(&|ask| wording::bytes(ask.memory_bytes)));
    }
    if shown.iter().any(|ask| ask.variant.is_some()) {
        table.text("variant", 3, each(&|ask| one_line(ask.variant.as_deref().unwrap_or("-"))));
    }
    if shown.iter().any(|ask| ask.precision.is_some()) {
        table.text("precision", 3, each(&|ask| one_line(ask.precision.as_deref().unwrap_or("-"))));
    }
    table.text("reason", 0, each(&|ask| one_line(&ask.reason)));
    if shown.iter().any(|ask| ask.engine.is_some()) {
        table.long_text("engine", 20, each(&|ask| one_line(ask.engine.as_deref().unwrap_or_default())));
    }
    table
}
