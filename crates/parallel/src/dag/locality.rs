//! Data that lies somewhere already: a task is cheaper where it is.
//!
//! What a device or its host has costs nothing to read. Elsewhere the task first fetches it, over the fastest link from
//! anybody who has it or from the store, one piece after the other, and holds its device meanwhile. Simplified: what is
//! fetched is not there for the next task. It does badly where many tasks on one device read the same data from afar.

use super::problem::Problem;
use super::refusal::Refusal;
use super::work::{Data, Work};

/// Adds the time for reading to every time.
pub fn add_reading(work: &Work, problem: &mut Problem) -> Result<(), Refusal> {
    for (task, described) in work.tasks.iter().enumerate() {
        for data in &described.reads {
            for device in 0..problem.devices {
                let fetch = fetching(work, problem, data, device);
                problem.time[task * problem.devices + device] += fetch;
            }
            if problem.places(task).next().is_none() {
                let (task, data) = (described.name.clone(), data.name.clone());
                return Err(Refusal::OutOfReach { task, data });
            }
        }
    }
    Ok(())
}

fn fetching(work: &Work, problem: &Problem, data: &Data, device: usize) -> f64 {
    let here = &work.devices[device];
    let has = |other: &super::work::Device| {
        data.cached_on.iter().any(|name| *name == other.name || (*name == other.host && !name.is_empty()))
    };
    if has(here) {
        return 0.0;
    }
    let stored = work.store.map_or(f64::INFINITY, |link| link.latency_s + data.bytes / link.bandwidth);
    let owners = (0..problem.devices).filter(|&other| has(&work.devices[other]));
    owners.map(|other| problem.transfer(data.bytes, other, device)).fold(stored, f64::min)
}

#[cfg(test)]
mod tests {
    use super::super::tests::work;
    use super::*;
    use crate::fabric::Link;

    #[test]
    fn a_task_is_cheaper_where_its_data_is() {
        let mut work = work(&[&[1.0, 1.0, 1.0]], &[]);
        work.devices[0].host = "h".into();
        work.devices[1].host = "h".into();
        let data = Data { name: "set".into(), bytes: 4.0, cached_on: vec!["h".into()] };
        work.tasks[0].reads = vec![data.clone()];
        assert_eq!(Problem::new(&work, 0.0).unwrap().time, [1.0, 1.0, 5.0]);
        work.tasks[0].reads[0].cached_on = vec!["d2".into()];
        assert_eq!(Problem::new(&work, 0.0).unwrap().time, [5.0, 5.0, 1.0]);
        work.tasks[0].reads[0].cached_on.clear();
        assert!(Problem::new(&work, 0.0).unwrap_err().to_string().contains("t0 reads set"));
        work.store = Some(Link { bandwidth: 2.0, latency_s: 1.0 });
        assert_eq!(Problem::new(&work, 0.0).unwrap().time, [4.0, 4.0, 4.0]);
    }
}
