//! `consort cancel`, `pause` and `resume`: one request for each job that is named.

use super::server::{Server, job_id};
use super::wording;
use crate::failure::{Failure, note};
use crate::screen::{print, print_json};
use consort_api::shapes::Job;
use consort_api::{Client, ClientError};

/// What they all take.
#[derive(clap::Args)]
pub struct Args {
    /// Ids of jobs
    #[arg(value_name = "JOB", required = true, value_parser = job_id)]
    jobs: Vec<u64>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: Server,
}

macro_rules! command {
    ($name:ident, $about:literal, $examples:literal) => {
        #[doc = $about]
        #[derive(clap::Args)]
        #[command(after_help = $examples)]
        pub struct $name {
            #[command(flatten)]
            args: Args,
        }
    };
}
command!(
    Cancel,
    "End jobs, whatever they are doing",
    "Examples:\n  consort cancel 17\n  consort cancel 17 18 19"
);
command!(
    Pause,
    "Take back what jobs hold, and do not start them until they are resumed",
    "Examples:\n  consort pause 17\n  consort resume 17"
);
command!(Resume, "Undo a pause", "Examples:\n  consort pause 17\n  consort resume 17");

/// `consort cancel`.
pub fn cancel(command: &Cancel) -> Result<(), Failure> {
    each(&command.args, Client::cancel)
}

/// `consort pause`.
pub fn pause(command: &Pause) -> Result<(), Failure> {
    each(&command.args, Client::pause)
}

/// `consort resume`.
pub fn resume(command: &Resume) -> Result<(), Failure> {
    each(&command.args, Client::resume)
}

/// Does it to all of them, even when one refuses: the first that does decides how the command ends.
fn each(args: &Args, act: fn(&Client, u64) -> Result<Job, ClientError>) -> Result<(), Failure> {
    let client = args.server.client()?;
    let (mut jobs, mut refused) = (vec![], None);
    for &id in &args.jobs {
        match act(&client, id) {
            Ok(job) => {
                if !args.json {
                    let words = wording::subject(&job);
                    print(&format!("J{} is {}.\n", &words[1..], job.state))?;
                }
                jobs.push(job);
            }
            Err(error @ (ClientError::Problem(..) | ClientError::Garbled(_))) => match &refused {
                None => refused = Some(error),
                Some(_) => note(&format!("consort: {error}")),
            },
            Err(error) => return Err(error.into()),
        }
    }
    if args.json {
        print_json(&jobs)?;
    }
    refused.map_or(Ok(()), |error| Err(error.into()))
}
