//! Where tasks can run at all, links considered.
//!
//! A device is of no use for a task when nobody who feeds it, or whom it feeds, has a device that can talk to it. Such
//! places are shut out until nothing changes (arc consistency, Mackworth 1977). A task without a place is a proof that
//! there is no plan; the opposite is not proven here.

use super::problem::Problem;
use super::refusal::Refusal;
use super::work::Work;

/// Most looks at a pair of places of two tasks: beyond, the planners find out for themselves.
const LOOKS: usize = 50_000_000;

/// Shuts out what is of no use; refuses where nothing is left.
pub fn shut_out(work: &Work, problem: &mut Problem) -> Result<(), Refusal> {
    let mut looks = 0;
    let mut has_changed = !problem.is_joined();
    while has_changed && looks < LOOKS {
        has_changed = false;
        for task in 0..problem.tasks {
            for at in 0..problem.after.of(task).len() {
                let next = problem.after.of(task)[at].0 as usize;
                looks += problem.devices * problem.devices;
                has_changed |= revise(work, problem, task, next)?;
            }
        }
    }
    Ok(())
}

fn revise(work: &Work, problem: &mut Problem, task: usize, next: usize) -> Result<bool, Refusal> {
    let devices = problem.devices;
    let from: Vec<usize> = problem.places(task).collect();
    let to: Vec<usize> = problem.places(next).collect();
    let talks = |from: usize, to: usize| problem.pairs[from * devices + to].0.is_finite();
    let no_sender: Vec<usize> =
        from.iter().copied().filter(|&from| !to.iter().any(|&to| talks(from, to))).collect();
    let no_reader: Vec<usize> =
        to.iter().copied().filter(|&to| !from.iter().any(|&from| talks(from, to))).collect();
    if no_sender.len() == from.len() || no_reader.len() == to.len() {
        let device = |index: usize| work.devices[index].name.clone();
        return Err(Refusal::Apart {
            from: work.tasks[task].name.clone(),
            from_device: device(from[0]),
            to: work.tasks[next].name.clone(),
            to_device: device(to[0]),
        });
    }
    no_sender.iter().for_each(|device| problem.time[task * devices + device] = f64::INFINITY);
    no_reader.iter().for_each(|device| problem.time[next * devices + device] = f64::INFINITY);
    Ok(!no_sender.is_empty() || !no_reader.is_empty())
}

#[cfg(test)]
mod tests {
    use super::super::tests::work;
    use super::*;

    #[test]
    fn what_cannot_talk_is_shut_out_along_the_chain() {
        // d0 - d1 talk, d2 is alone; t2 runs only on d0.
        let mut work = work(&[&[1.0; 3], &[1.0; 3], &[1.0; 3]], &[(0, 1, 0.0), (1, 2, 0.0)]);
        for (from, to) in [(0, 2), (2, 0), (1, 2), (2, 1)] {
            work.links[from][to] = None;
        }
        work.tasks[2].time_s = vec![Some(1.0), None, None];
        let mut problem = Problem::new(&work, 0.0).unwrap();
        shut_out(&work, &mut problem).unwrap();
        assert!(problem.places(0).eq([0, 1]) && problem.places(1).eq([0, 1]));
        work.tasks[0].time_s = vec![None, None, Some(1.0)];
        let mut problem = Problem::new(&work, 0.0).unwrap();
        let said = shut_out(&work, &mut problem).unwrap_err().to_string();
        assert!(said.contains("no link joins d2 and d0"), "{said}");
    }
}
