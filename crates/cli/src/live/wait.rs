//! `consort wait`: until jobs have ended.

use super::server::{Server, job_id, span};
use super::wording;
use crate::failure::Failure;
use crate::screen::{print, print_json};
use consort_api::shapes::Job;
use consort_api::{Client, ClientError};
use consort_types::Span;
use std::time::{Duration, Instant};

const EXAMPLES: &str = "\
Examples:
  consort wait 17
  consort wait 17 18 19 --timeout 2h && consort submit report.yaml

The exit code is that of the job; of several jobs, that of the first that did
not succeed; 124 if the timeout expired.";

/// Wait until jobs have ended
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Job ids
    #[arg(value_name = "JOB", required = true, value_parser = job_id)]
    jobs: Vec<u64>,
    /// Timeout, such as 90s or 2h
    #[arg(long, value_name = "TIME", value_parser = span)]
    timeout: Option<Span>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: Server,
}

/// The status when the time ran out: what `timeout` of coreutils ends with.
const TIMED_OUT: u8 = 124;
/// How long the server is asked to hold one answer.
const HOLD: Duration = Duration::from_secs(30);
/// How long a server that went away is waited for.
const PATIENCE: Duration = Duration::from_secs(60);
/// A server that answers sooner than this although it was asked to hold is not asked again at once.
const SOON: Duration = Duration::from_millis(20);

/// The command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let client = args.server.client()?;
    let end = args.timeout.map(|span| Instant::now() + Duration::from_nanos(span.0.max(0) as u64));
    let (mut jobs, mut code) = (vec![], 0);
    for &id in &args.jobs {
        let job = until_ended(&client, id, end)?;
        let ended = job.state.has_ended();
        if !args.json {
            print(&sentence(&job))?;
        }
        let status = if ended { wording::status(&job) } else { TIMED_OUT };
        code = if code == 0 { status } else { code };
        jobs.push(job);
    }
    if args.json {
        print_json(&jobs)?;
    }
    verdict(code)
}

/// `Job 17 (train) succeeded after 2m.`
pub fn sentence(job: &Job) -> String {
    let words = match job.state.has_ended() {
        true => wording::ending(job),
        false => format!("{} is still {}", wording::subject(job), job.state),
    };
    format!("J{}.\n", words.strip_prefix('j').unwrap_or(&words))
}

/// A status as the end of a command.
pub fn verdict(status: u8) -> Result<(), Failure> {
    if status == 0 { Ok(()) } else { Err(Failure::Status(status)) }
}

/// The job, once it has ended or the time has come. A server that restarts meanwhile is waited for.
pub fn until_ended(client: &Client, id: u64, end: Option<Instant>) -> Result<Job, Failure> {
    // Only a server that has answered before is worth waiting for.
    let (mut answered, mut silent) = (false, Instant::now());
    loop {
        let asked = Instant::now();
        let left = end.map(|end| end.saturating_duration_since(asked));
        match client.wait(id, left.map_or(HOLD, |left| left.min(HOLD))) {
            Ok(job) if job.state.has_ended() => return Ok(job),
            Ok(job) if left.is_some_and(|left| left.is_zero()) => return Ok(job),
            Ok(_) => {
                (answered, silent) = (true, Instant::now());
                if asked.elapsed() < SOON {
                    std::thread::sleep(SOON);
                }
            }
            Err(ClientError::Unreachable(_) | ClientError::Problem(503, _))
                if answered && silent.elapsed() < PATIENCE && left.is_none_or(|left| !left.is_zero()) =>
            {
                std::thread::sleep(Duration::from_millis(500));
            }
            Err(error) => return Err(error.into()),
        }
    }
}
