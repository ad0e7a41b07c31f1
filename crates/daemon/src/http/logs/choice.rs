//! Which workers of a job are wanted, and what they are called beside each other. Decided by what the job asked for,
//! not by what has written so far: a name never appears or changes in the middle.

use super::super::Trouble;
use consort_types::{JobId, JobSpec, StageSpec, Work};

/// Which workers are wanted.
#[derive(Clone, Debug, Default)]
pub(super) struct Choice {
    pub task: Option<u32>,
    pub rank: Option<u32>,
    pub attempt: Option<u32>,
    /// Attempts from this one on; the last one unless told otherwise.
    pub since: Option<u32>,
    /// Whether there is more than one of them.
    pub several: bool,
}

impl Choice {
    /// A choice among the workers of a job; refused when it can never be any of them.
    pub fn among(self, id: JobId, spec: &JobSpec, work: &Work) -> Result<Self, Trouble> {
        if let Some(task) = self.task {
            let tasks: Vec<u32> =
                (0..).zip(&spec.stages).flat_map(|(at, stage)| tasks(at, stage, work)).collect();
            if !tasks.contains(&task) {
                let error = format!("job {id} has no task {task}; there {}", told("task", tasks));
                return Err(Trouble::not_there(error));
            }
        }
        let most = spec.stages.iter().map(workers).max().unwrap_or(0);
        if let Some(rank) = self.rank.filter(|&rank| rank >= most) {
            let error = format!("job {id} has no rank {rank}; there {}", told("rank", (0..most).collect()));
            return Err(Trouble::not_there(error));
        }
        if self.attempt.is_some() && work.output.path.is_some() {
            let error = format!("all attempts of job {id} write to the same files; leave out the attempt");
            return Err(Trouble::not_there(error));
        }
        let mut chosen = 0;
        for (at, stage) in (0..).zip(&spec.stages) {
            let asks = match self.task {
                None => stage.form.asks(),
                Some(task) => u32::from(tasks(at, stage, work).any(|other| other == task)),
            };
            let ranks = match self.rank {
                None => workers(stage),
                Some(rank) => u32::from(rank < workers(stage)),
            };
            let (by_task, by_rank) = told_apart(work);
            let files = |count: u32, apart: bool| u64::from(if apart { count } else { count.min(1) });
            chosen += files(asks, by_task) * files(ranks, by_rank);
        }
        let is_one_file = work.output.path.is_some() && told_apart(work) == (false, false);
        Ok(Self { several: chosen > 1 && !is_one_file, ..self })
    }

    /// Whether this file is wanted.
    pub fn admits(&self, work: &Work, stage: u16, task: u32, rank: u32, attempt: u32) -> bool {
        self.task.is_none_or(|wanted| wanted == index(work, stage, task))
            && self.rank.is_none_or(|wanted| wanted == rank)
            && self.attempt.is_none_or(|wanted| wanted == attempt)
    }

    /// What the lines of a worker are told behind; nothing when there is only one.
    pub fn name(&self, spec: &JobSpec, work: &Work, stage: u16, task: u32, rank: u32) -> String {
        let Some(shape) = spec.stages.get(usize::from(stage)).filter(|_| self.several) else {
            return String::new();
        };
        let (by_task, by_rank) = told_apart(work);
        let mut words = vec![];
        if spec.stages.len() > 1 && work.output.path.is_none() {
            words.push(shape.name.clone());
        }
        if shape.form.asks() > 1 && by_task {
            words.push(format!("task {}", index(work, stage, task)));
        }
        if workers(shape) > 1 && by_rank {
            words.push(format!("rank {rank}"));
        }
        match words.is_empty() {
            true => format!("[task {}] ", index(work, stage, task)),
            false => format!("[{}] ", words.join(" ")),
        }
    }
}

/// Whether the files of tasks have names of their own, and those of workers of one task.
fn told_apart(work: &Work) -> (bool, bool) {
    let has = |letter: &str| work.output.path.as_ref().is_none_or(|path| path.contains(letter));
    (has("%a"), has("%t"))
}

/// A task as its owner counts.
pub(super) fn index(work: &Work, stage: u16, task: u32) -> u32 {
    let indices = work.stages.get(usize::from(stage)).map_or(&[][..], |stage| &stage.indices);
    indices.get(task as usize).copied().unwrap_or(task)
}

fn tasks(at: u16, stage: &StageSpec, work: &Work) -> impl Iterator<Item = u32> {
    let indices = work.stages.get(usize::from(at)).map(|stage| stage.indices.clone()).unwrap_or_default();
    (0..stage.form.asks()).map(move |task| indices.get(task as usize).copied().unwrap_or(task))
}

/// How many workers a task has at most.
fn workers(stage: &StageSpec) -> u32 {
    stage.roles.iter().map(|role| role.count.max).sum()
}

/// `is only task 0`, `are tasks 0-4, 7`.
pub(super) fn told(what: &str, mut numbers: Vec<u32>) -> String {
    numbers.sort_unstable();
    numbers.dedup();
    let runs = numbers.chunk_by(|one, other| one + 1 == *other).map(|run| match run {
        [one] => one.to_string(),
        [one, other] => format!("{one}, {other}"),
        [first, .., last] => format!("{first}-{last}"),
        [] => String::new(),
    });
    let mut runs: Vec<String> = runs.collect();
    if runs.len() > 10 {
        runs.truncate(10);
        runs.push("and others".into());
    }
    match numbers.len() {
        1 => format!("is only {what} {}", runs.join("")),
        _ => format!("are {what}s {}", runs.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_told_in_runs() {
        assert_eq!(told("task", vec![0]), "is only task 0");
        assert_eq!(told("rank", vec![0, 1]), "are ranks 0, 1");
        assert_eq!(told("task", vec![7, 0, 1, 2, 3]), "are tasks 0-3, 7");
    }
}
