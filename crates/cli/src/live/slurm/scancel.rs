//! `consort scancel`: ends jobs by id, or all that fit.

use super::squeue::{Codes, code};
use crate::failure::Failure;
use crate::live::act::to_all;
use crate::live::server::{Server, job_id};
use consort_api::client::{Act, JobQuery};

const EXAMPLES: &str = "\
Examples:
  consort scancel 17 18
  consort scancel -u red -t PD              all pending jobs of a tenant
  consort scancel -n sweep";

/// Cancel jobs, like Slurm's scancel
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Job ids
    #[arg(value_name = "JOB", value_parser = job_id, required_unless_present_any = ["user", "partition", "name", "state"])]
    jobs: Vec<u64>,
    /// Jobs of this tenant
    #[arg(long, short)]
    user: Option<String>,
    /// Jobs of this queue
    #[arg(long, short)]
    partition: Option<String>,
    /// Jobs with this name
    #[arg(long, short)]
    name: Option<String>,
    /// Jobs in these states: PD, R and so on
    #[arg(long, short = 't', value_parser = code)]
    state: Option<Codes>,
    #[command(flatten)]
    server: Server,
}

/// The command. Silent when all is well, as Slurm's is.
pub fn run(args: &Args) -> Result<(), Failure> {
    let client = args.server.client()?;
    let chosen =
        args.user.is_some() || args.partition.is_some() || args.name.is_some() || args.state.is_some();
    let mut ids = args.jobs.clone();
    if chosen {
        let query = JobQuery {
            states: args.state.as_ref().map(|codes| codes.0.clone()).unwrap_or_default(),
            tenant: args.user.clone(),
            queue: args.partition.clone(),
            name: args.name.clone(),
            limit: Some(1_000_000),
            ..JobQuery::default()
        };
        let (jobs, _) = client.jobs(&query)?;
        let fits = |id: &u64| args.jobs.is_empty() || args.jobs.contains(id);
        ids = jobs.into_iter().filter(|job| !job.state.has_ended()).map(|job| job.id).filter(fits).collect();
    }
    let (_, refused) = to_all(&client, Act::Cancel, &ids)?;
    refused.map_or(Ok(()), |error| Err(error.into()))
}
