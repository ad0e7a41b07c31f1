//! Submissions arrive, and get the ids that the scheduler is going to give them.

use super::VirtualWorld;
use consort_types::*;
use std::sync::Arc;

impl VirtualWorld {
    pub(super) fn submit(&mut self, index: u32, inputs: &mut Vec<Input>) {
        let submission = &self.submissions[index as usize];
        let mut spec = submission.spec.clone();
        if !submission.after.is_empty() {
            let waits = |&(other, when)| self.job_of(other).map(|job| Dependency { job, when }).ok_or(other);
            match submission.after.iter().map(waits).collect::<Result<Vec<_>, usize>>() {
                Ok(after) => Arc::make_mut(&mut spec).after = after,
                Err(refused) => return self.withhold(index, refused),
            }
        }
        // Ids are handed out in order; a refusal takes this back.
        self.ids[index as usize] = Some(JobId(self.jobs.len() as u64 + 1));
        self.jobs.push(index);
        self.unanswered.push((spec.clone(), index));
        inputs.push(Input::Submit(spec));
    }

    /// Nobody submits what waits for something that was refused.
    fn withhold(&mut self, index: u32, refused: usize) {
        let (name, other) =
            (&self.submissions[index as usize].spec.name, &self.submissions[refused].spec.name);
        let subject = format!("job {name} waits for {other}, which was refused");
        self.withheld.push(Refusal::new(Rule::NotThere, subject, format!("fix {other} first")));
    }

    /// Why submissions were withheld, because of others that were refused.
    pub fn withheld(&self) -> &[Refusal] {
        &self.withheld
    }
}
