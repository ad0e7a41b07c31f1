//! Work is believed after this: names, numbers, sizes, and that nobody waits for himself.
//!
//! Promises to name the first thing wrong in the order of the file, and a whole circle of tasks where there is one.

use super::refusal::Refusal;
use super::work::{Data, Task, Work};
use crate::fabric::Link;
use std::collections::BTreeSet;

/// Most tasks.
pub const TASKS: usize = 20_000;
/// Most devices.
pub const DEVICES: usize = 256;
/// Most edges.
pub const EDGES: usize = 500_000;
/// Most pairs of a task and a device.
pub const TIMES: usize = 1_000_000;

/// Refuses what makes no sense.
pub fn check(work: &Work) -> Result<(), Refusal> {
    sizes(work)?;
    unique("task", work.tasks.iter().map(|task| &*task.name))?;
    unique("device", work.devices.iter().map(|device| &*device.name))?;
    work.tasks.iter().try_for_each(|task| check_task(work, task))?;
    links(work)?;
    for edge in &work.edges {
        let beyond = [edge.from, edge.to].into_iter().find(|&index| index >= work.tasks.len());
        if let Some(index) = beyond {
            return Err(Refusal::NoSuchTask { index, tasks: work.tasks.len() });
        }
        let (from, to) = (&work.tasks[edge.from].name, &work.tasks[edge.to].name);
        not_negative(edge.bytes, || format!("what {from} hands to {to}"))?;
    }
    circle(work).map_or(Ok(()), |tasks| Err(Refusal::Circle { tasks }))
}

fn sizes(work: &Work) -> Result<(), Refusal> {
    let (tasks, devices, edges) = (work.tasks.len(), work.devices.len(), work.edges.len());
    for (what, found) in [("task", tasks), ("device", devices)] {
        if found == 0 {
            return Err(Refusal::Empty { what });
        }
    }
    for (what, found, most) in [
        ("tasks", tasks, TASKS),
        ("devices", devices, DEVICES),
        ("edges", edges, EDGES),
        ("pairs of a task and a device", tasks * devices, TIMES),
    ] {
        if found > most {
            return Err(Refusal::TooMany { what, found, most });
        }
    }
    Ok(())
}

fn unique<'a>(what: &'static str, names: impl Iterator<Item = &'a str>) -> Result<(), Refusal> {
    let mut seen = BTreeSet::new();
    for name in names {
        if !seen.insert(name) {
            return Err(Refusal::Twice { what, name: name.into() });
        }
    }
    Ok(())
}

fn check_task(work: &Work, task: &Task) -> Result<(), Refusal> {
    let (name, expected) = (&task.name, work.devices.len());
    let missing = |what: &str, found| Refusal::Missing { what: format!("{what} of {name}"), found, expected };
    if task.time_s.len() != expected {
        return Err(missing("times", task.time_s.len()));
    }
    if !task.spread_s.is_empty() && task.spread_s.len() != expected {
        return Err(missing("spreads", task.spread_s.len()));
    }
    for (device, time) in work.devices.iter().zip(&task.time_s) {
        not_negative(time.unwrap_or(0.0), || format!("the time of {name} on {}", device.name))?;
    }
    for (device, &spread) in work.devices.iter().zip(&task.spread_s) {
        not_negative(spread, || format!("the spread of the time of {name} on {}", device.name))?;
    }
    if task.time_s.iter().all(Option::is_none) {
        return Err(Refusal::NowhereToRun { task: name.clone() });
    }
    task.reads.iter().try_for_each(|data| check_data(work, name, data))
}

fn check_data(work: &Work, task: &str, data: &Data) -> Result<(), Refusal> {
    not_negative(data.bytes, || format!("the size of {}, which {task} reads,", data.name))?;
    let known = |name: &String| {
        work.devices.iter().any(|device| device.name == *name || (device.host == *name && !name.is_empty()))
    };
    match data.cached_on.iter().find(|name| !known(name)) {
        Some(name) => {
            Err(Refusal::Unknown { what: "device or host", name: name.clone(), by: data.name.clone() })
        }
        None => Ok(()),
    }
}

fn links(work: &Work) -> Result<(), Refusal> {
    let expected = work.devices.len();
    let rows = std::iter::once(work.links.len()).chain(work.links.iter().map(Vec::len));
    if let Some(found) = rows.into_iter().find(|&found| found != expected) {
        return Err(Refusal::Missing { what: "rows or columns of links".into(), found, expected });
    }
    let name = |index: usize| &work.devices[index].name;
    for (from, row) in work.links.iter().enumerate() {
        for (to, link) in row.iter().enumerate().filter(|&(to, _)| to != from) {
            link.map_or(Ok(()), |link| {
                check_link(link, || format!("the link from {} to {}", name(from), name(to)))
            })?;
        }
    }
    work.store.map_or(Ok(()), |link| check_link(link, || "the link to the store".into()))
}

fn check_link(link: Link, what: impl Fn() -> String) -> Result<(), Refusal> {
    // An endless bandwidth is allowed: then only the latency counts.
    if link.bandwidth.is_nan() || link.bandwidth <= 0.0 {
        let what = format!("the bandwidth of {}", what());
        return Err(Refusal::BadNumber { what, value: link.bandwidth, expected: "above zero" });
    }
    not_negative(link.latency_s, || format!("the latency of {}", what()))
}

/// Larger numbers could add up to what is no number.
const LARGEST: f64 = 1e150;

fn not_negative(value: f64, what: impl FnOnce() -> String) -> Result<(), Refusal> {
    match (0.0..=LARGEST).contains(&value) {
        true => Ok(()),
        false => Err(Refusal::BadNumber { what: what(), value, expected: "finite and not negative" }),
    }
}

/// Tasks that wait for each other, in order, the first once more at the end.
fn circle(work: &Work) -> Option<Vec<String>> {
    let mut feeds = vec![vec![]; work.tasks.len()];
    let mut waits_for = vec![0u32; work.tasks.len()];
    for edge in &work.edges {
        feeds[edge.from].push(edge.to);
        waits_for[edge.to] += 1;
    }
    let mut ready: Vec<usize> = (0..work.tasks.len()).filter(|&task| waits_for[task] == 0).collect();
    while let Some(task) = ready.pop() {
        for &next in &feeds[task] {
            waits_for[next] -= 1;
            if waits_for[next] == 0 {
                ready.push(next);
            }
        }
    }
    // Whoever is left waits for somebody who is left: going backwards must come round.
    let mut waits_on = vec![usize::MAX; work.tasks.len()];
    for edge in work.edges.iter().rev().filter(|edge| waits_for[edge.from] > 0 && waits_for[edge.to] > 0) {
        waits_on[edge.to] = edge.from;
    }
    let mut here = (0..work.tasks.len()).find(|&task| waits_for[task] > 0)?;
    let mut visited = vec![false; work.tasks.len()];
    while !visited[here] {
        visited[here] = true;
        here = waits_on[here];
    }
    let first = here;
    let mut backwards = vec![first];
    while waits_on[here] != first {
        here = waits_on[here];
        backwards.push(here);
    }
    backwards.push(first);
    Some(backwards.iter().rev().map(|&task| work.tasks[task].name.clone()).collect())
}

#[cfg(test)]
mod tests {
    use super::super::tests::{edge, work};
    use super::*;

    fn said(work: &Work) -> String {
        check(work).unwrap_err().to_string()
    }

    #[test]
    fn a_circle_is_named_in_order() {
        let mut work = work(&[&[1.0], &[1.0], &[1.0], &[1.0]], &[(0, 1, 0.0), (1, 2, 0.0), (2, 1, 0.0)]);
        assert_eq!(said(&work), "the tasks t1, t2, t1 form a cycle; break it");
        work.edges = vec![edge(3, 3, 0.0)];
        assert_eq!(said(&work), "the tasks t3, t3 form a cycle; break it");
        // What only waits for a circle is not in it.
        work.edges = vec![edge(2, 3, 0.0), edge(1, 2, 0.0), edge(2, 1, 0.0)];
        assert_eq!(said(&work), "the tasks t1, t2, t1 form a cycle; break it");
    }

    #[test]
    fn numbers_and_names_are_checked() {
        let fine = work(&[&[1.0, 2.0], &[1.0, 2.0]], &[(0, 1, 5.0)]);
        assert_eq!(check(&fine), Ok(()));
        let with = |change: &dyn Fn(&mut Work)| {
            let mut work = fine.clone();
            change(&mut work);
            said(&work)
        };
        assert!(with(&|w| w.tasks[0].time_s[1] = Some(f64::NAN)).contains("the time of t0 on d1 is NaN"));
        assert!(with(&|w| w.tasks[0].time_s[1] = Some(-1.0)).contains("-1"));
        assert!(with(&|w| w.tasks[0].time_s = vec![None, None]).contains("no device can run the task t0"));
        assert!(with(&|w| w.tasks[1].time_s.truncate(1)).contains("1 times of t1, expected 2"));
        assert!(with(&|w| w.tasks[1].name = "t0".into()).contains("duplicate task t0"));
        assert!(with(&|w| w.devices[1].name = "d0".into()).contains("duplicate device d0"));
        assert!(with(&|w| w.edges[0].to = 7).contains("task number 7 of 2"));
        assert!(with(&|w| w.edges[0].bytes = f64::INFINITY).contains("what t0 hands to t1"));
        assert!(with(&|w| w.links[0].clear()).contains("links"));
        assert!(with(&|w| w.devices.clear()).contains("missing device"));
        let data = Data { name: "set".into(), bytes: 1.0, cached_on: vec!["moon".into()] };
        assert!(
            with(&|w| w.tasks[0].reads.push(data.clone())).contains("set names unknown device or host moon")
        );
        assert!(
            with(&|w| w.links[0][1].as_mut().unwrap().bandwidth = 0.0)
                .contains("the link from d0 to d1 is 0")
        );
    }
}
