//! `consort cancel`, `pause` and `resume`: one request for all jobs that are named, so that cancelling one does not start
//! the next.

use super::server::{Server, job_id};
use super::wording;
use crate::failure::{Failure, note};
use crate::screen::{print, print_json};
use consort_api::ClientError;
use consort_api::client::{Act, Client};
use consort_api::shapes::{Job, State};

/// What they all take.
#[derive(clap::Args)]
pub struct Args {
    /// Job ids
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
    "Cancel jobs, pending or running",
    "Examples:\n  consort cancel 17\n  consort cancel 17 18 19"
);
command!(
    Pause,
    "Pause jobs: stop them, free their devices, and do not start them until they are resumed",
    "Examples:\n  consort pause 17\n  consort resume 17"
);
command!(Resume, "Resume paused jobs", "Examples:\n  consort pause 17\n  consort resume 17");

/// `consort cancel`.
pub fn cancel(command: &Cancel) -> Result<(), Failure> {
    act(&command.args, Act::Cancel)
}

/// `consort pause`.
pub fn pause(command: &Pause) -> Result<(), Failure> {
    act(&command.args, Act::Pause)
}

/// `consort resume`.
pub fn resume(command: &Resume) -> Result<(), Failure> {
    act(&command.args, Act::Resume)
}

fn act(args: &Args, act: Act) -> Result<(), Failure> {
    let (jobs, refused) = to_all(&args.server.client()?, act, &args.jobs)?;
    if args.json {
        print_json(&jobs)?;
    } else {
        for job in &jobs {
            print(&format!("J{} is {}.\n", &wording::subject(job)[1..], job.state))?;
        }
    }
    refused.map_or(Ok(()), |error| Err(error.into()))
}

/// Whether a job could not be cancelled because it has ended, or is about to: then there is nothing left to do. Cancelling a
/// job also ends those that wait for it, and these may stand further down the same list.
fn is_over(client: &Client, error: &ClientError, id: u64) -> bool {
    match error {
        ClientError::Problem(404 | 409, _) => client
            .job(id)
            .is_ok_and(|detail| detail.job.state.has_ended() || detail.job.state == State::Stopping),
        _ => false,
    }
}

/// Does it to all of them, even when one refuses: the first refusal is returned and decides how the command ends, the
/// others are printed.
pub fn to_all(client: &Client, act: Act, ids: &[u64]) -> Result<(Vec<Job>, Option<ClientError>), Failure> {
    let (mut jobs, mut refused) = (vec![], None);
    for (&id, result) in ids.iter().zip(client.act_on_all(act, ids)?) {
        match (result, &refused) {
            (Ok(job), _) => jobs.push(job),
            (Err(error), _) if act == Act::Cancel && is_over(client, &error, id) => {
                note(&format!("consort: {error}"));
            }
            (Err(error), None) => refused = Some(error),
            (Err(error), Some(_)) => note(&format!("consort: {error}")),
        }
    }
    Ok((jobs, refused))
}
