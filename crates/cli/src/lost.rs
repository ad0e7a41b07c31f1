//! Jobs that came to nothing, by name: refused at the door, or still there when nothing more could happen.

use crate::failure::one_line;
use crate::numbers::thousands;
use consort_sim::run::Outcome;
use consort_sim::workload::{Truth, Workload};

/// How many refusals, and how many names, are listed.
const NAMED: usize = 5;

/// The first refusals, one a line, each with its reason.
pub fn refusals(outcome: &Outcome) -> Vec<(&'static str, String)> {
    let refused = &outcome.refused;
    let mut lines: Vec<String> =
        refused.iter().take(NAMED).map(|refusal| one_line(&refusal.to_string())).collect();
    if refused.len() > NAMED {
        lines.push(format!("and {} more", thousands((refused.len() - NAMED) as u64)));
    }
    let name = |index| if index == 0 { "refused" } else { "" };
    lines.into_iter().enumerate().map(|(index, line)| (name(index), line)).collect()
}

/// The names of jobs that never ended, if there are any: services, and apart from them work that waits for ever.
pub fn never_ended(outcome: &Outcome, workload: &Workload) -> Option<String> {
    let there = outcome.stuck_submissions.iter().filter_map(|&index| workload.submissions.get(index));
    let (services, waiting): (Vec<_>, Vec<_>) =
        there.partition(|submission| submission.truth.lengths.contains(&Truth::FOREVER));
    let parts = [("services", services), ("pending", waiting)];
    let parts = parts.into_iter().filter(|(_, jobs)| !jobs.is_empty()).map(|(what, jobs)| {
        let names: Vec<String> = jobs.iter().take(NAMED).map(|job| one_line(&job.label)).collect();
        let more = match jobs.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {} more", thousands(more as u64)),
        };
        format!("{what}: {}{more}", names.join(", "))
    });
    Some(parts.collect::<Vec<_>>().join("; ")).filter(|text| !text.is_empty())
}
