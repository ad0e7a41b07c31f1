//! What a job runs, found once for all of its tasks.

use consort_types::{JobId, JobSpec, Work, Works};
use std::sync::Arc;

/// What a job runs. It never changes, so that it need not be read again for each of its tasks.
pub struct Known {
    /// Which job.
    pub job: JobId,
    /// What it asked for.
    pub spec: Arc<JobSpec>,
    /// What it runs.
    pub work: Arc<Work>,
}

impl Known {
    /// Asks; in words why it cannot be told.
    pub fn find(works: &dyn Works, job: JobId) -> Result<Self, String> {
        let found = works.find(job);
        let (spec, work) = found.map_err(|why| format!("cannot read the command of job {job}: {why}"))?;
        Ok(Self { job, spec, work })
    }

    /// What `last` holds if it is about this job, and asks otherwise: the tasks of one array come one after another.
    pub fn or_find<'a>(
        last: &'a mut Option<Self>,
        works: &dyn Works,
        job: JobId,
    ) -> Result<&'a Self, String> {
        match last.take().filter(|known| known.job == job) {
            Some(known) => Ok(last.insert(known)),
            None => Ok(last.insert(Self::find(works, job)?)),
        }
    }
}
