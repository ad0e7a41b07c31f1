//! The plan as a job file: one stage for each task, in the order of the plan.
//!
//! A stage waits for the stages of the tasks it waits for, and for the one before it on its device, so that devices are
//! shared as planned. It asks for one device of the planned kind. Simplified: which device of a kind it gets is for the
//! scheduler to say, so data may have to travel more than planned. A task without a command only says that it ran.

use super::plan::{Placed, Plan};
use super::refusal::Refusal;
use super::work::{Task, Work};
use consort_types::file::limits::{self, STAGES};
use std::collections::BTreeMap;
use std::fmt::Write;

/// A text that `consort submit` reads.
pub fn job(name: &str, work: &Work, plan: &Plan, seconds: f64) -> Result<String, Refusal> {
    if plan.tasks.len() > STAGES {
        return Err(Refusal::TooManyStages { tasks: plan.tasks.len(), most: STAGES });
    }
    let index: BTreeMap<&str, usize> =
        work.tasks.iter().enumerate().map(|(at, task)| (&*task.name, at)).collect();
    let mut waits_for = vec![vec![]; work.tasks.len()];
    for edge in &work.edges {
        waits_for[edge.to].push(&*work.tasks[edge.from].name);
    }
    let mut text = format!("name: {}\n", quoted(name));
    // Whole milliseconds: an estimate need not be better.
    let _ = writeln!(text, "estimate: {}ms", (seconds * 1000.0).ceil().clamp(1.0, 3e12) as u64);
    text.push_str("stages:\n");
    let mut last_on: BTreeMap<&str, &str> = BTreeMap::new();
    for placed in &plan.tasks {
        let Some(&at) = index.get(&*placed.task) else { continue };
        let mut after = waits_for[at].clone();
        after.extend(last_on.insert(&placed.device, &placed.task));
        after.sort_unstable();
        after.dedup();
        stage(&mut text, placed, &work.tasks[at], kind(work, &placed.device), &after);
    }
    Ok(text)
}

fn kind<'a>(work: &'a Work, device: &str) -> &'a str {
    work.devices.iter().find(|known| known.name == device).map_or("", |device| &device.kind)
}

fn stage(text: &mut String, placed: &Placed, task: &Task, kind: &str, after: &[&str]) {
    let _ = writeln!(text, "  - name: {}", quoted(&placed.task));
    if !after.is_empty() {
        let after: Vec<String> = after.iter().map(|name| quoted(name)).collect();
        let _ = writeln!(text, "    after: [{}]", after.join(", "));
    }
    text.push_str("    devices: 1\n");
    if !kind.is_empty() {
        let _ = writeln!(text, "    kind: {}", quoted(kind));
    }
    if task.memory_bytes > 0 && task.memory_bytes <= limits::MEMORY_BYTES {
        let _ = writeln!(text, "    memory: {}B", task.memory_bytes);
    }
    let run = match task.run.is_empty() {
        true => format!("echo '{}'", task.name.replace('\'', "'\\''")),
        false => task.run.clone(),
    };
    let _ = writeln!(text, "    run: {}", quoted(&run));
}

/// JSON's quotes are YAML's double quotes.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::super::tests::work;
    use super::super::{Ask, plan};
    use super::*;
    use consort_types::file::job::{self as job_file, Around};

    #[test]
    fn what_is_written_is_a_job_that_can_be_submitted() {
        let mut work = work(
            &[&[2.0, 3.0], &[2.0, 3.0], &[4.0, 1.0], &[4.0, 1.0]],
            &[(0, 1, 0.5), (0, 2, 0.0), (0, 2, 0.0)],
        );
        work.tasks[1].name = "it's \"b\": {}\\ #".into();
        work.tasks[0].run = "python load.py \\\n  --all\n".into();
        work.tasks[3].memory_bytes = 5 << 30;
        work.devices[1].kind = "h200".into();
        let answer = plan(&work, &Ask::default()).unwrap();
        let text = job("my plan", &work, &answer.plan, answer.objective).unwrap();
        let read = job_file::read(
            "plan.yaml",
            &text,
            &Around { now: consort_types::time::Time::ZERO, workdir: "/w" },
        )
        .unwrap();
        assert_eq!((&*read.spec.name, read.spec.stages.len()), ("my plan", 4));
        let order: Vec<&str> = read.spec.stages.iter().map(|stage| &*stage.name).collect();
        let planned: Vec<&str> = answer.plan.tasks.iter().map(|placed| &*placed.task).collect();
        assert_eq!(order, planned);
        for (position, placed) in answer.plan.tasks.iter().enumerate() {
            let stage = &read.spec.stages[position];
            let before =
                answer.plan.tasks[..position].iter().rposition(|other| other.device == placed.device);
            assert!(before.is_none_or(|before| stage.after.contains(&(before as u16))), "{text}");
        }
    }

    #[test]
    fn more_stages_than_a_job_may_have_are_refused() {
        let times = vec![&[1.0][..]; STAGES + 1];
        let work = work(&times, &[]);
        let answer = plan(&work, &Ask { patience: 0.0, ..Ask::default() }).unwrap();
        let said = job("x", &work, &answer.plan, 1.0).unwrap_err().to_string();
        assert!(said.starts_with("the plan has 257 tasks and a job at most 256 stages; "), "{said}");
    }
}
