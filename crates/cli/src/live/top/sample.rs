//! Everything on the page, asked for at one moment.

use consort_api::client::JobQuery;
use consort_api::shapes::{Device, Job, Status};
use consort_api::{Client, ClientError};

/// More jobs than a user scrolls through.
const JOBS: u64 = 500;

/// What the server said.
#[derive(Clone, Debug)]
pub struct Sample {
    pub status: Status,
    pub devices: Vec<Device>,
    pub jobs: Vec<Job>,
    /// There are more jobs than these.
    pub more: bool,
}

/// Asks.
pub fn take(client: &Client) -> Result<Sample, ClientError> {
    let status = client.status()?;
    let devices = client.devices()?;
    let (jobs, more) = client.jobs(&JobQuery { limit: Some(JOBS), ..JobQuery::default() })?;
    Ok(Sample { status, devices, jobs, more })
}
