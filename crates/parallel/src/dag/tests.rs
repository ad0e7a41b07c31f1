//! What the tests of this room share.

mod random;

use super::draft::Schedule;
use super::heft::heft;
use super::peft::{optimistic_costs, peft};
use super::problem::Problem;
use super::rank::{self, Means};
use super::work::{Device, Edge, Task, Work};
use super::{Ask, Plan, plan};
use crate::answer::Answer;
use crate::fabric::Link;

/// Tasks `t0`, `t1`, ... with a time on each of the devices `d0`, `d1`, ...; a byte takes a second everywhere.
pub fn work(times: &[&[f64]], edges: &[(usize, usize, f64)]) -> Work {
    let devices = times[0].len();
    let task = |(index, times): (usize, &&[f64])| Task {
        name: format!("t{index}"),
        time_s: times.iter().map(|&time| Some(time)).collect(),
        ..Task::default()
    };
    Work {
        tasks: times.iter().enumerate().map(task).collect(),
        edges: edges.iter().map(|&(from, to, bytes)| edge(from, to, bytes)).collect(),
        devices: (0..devices)
            .map(|index| Device { name: format!("d{index}"), ..Device::default() })
            .collect(),
        links: Work::joined(devices, Link { bandwidth: 1.0, latency_s: 0.0 }),
        store: None,
    }
}

/// A short way to write one.
pub fn edge(from: usize, to: usize, bytes: f64) -> Edge {
    Edge { from, to, bytes }
}

/// The example printed in the paper about HEFT (Topcuoglu, Hariri, Wu 2002).
fn printed() -> Work {
    let times: [[f64; 3]; 10] = [
        [14.0, 16.0, 9.0],
        [13.0, 19.0, 18.0],
        [11.0, 13.0, 19.0],
        [13.0, 8.0, 17.0],
        [12.0, 13.0, 10.0],
        [13.0, 16.0, 9.0],
        [7.0, 15.0, 11.0],
        [5.0, 11.0, 14.0],
        [18.0, 12.0, 20.0],
        [21.0, 7.0, 16.0],
    ];
    let rows: Vec<&[f64]> = times.iter().map(|row| &row[..]).collect();
    work(
        &rows,
        &[
            (0, 1, 18.0),
            (0, 2, 12.0),
            (0, 3, 9.0),
            (0, 4, 11.0),
            (0, 5, 14.0),
            (1, 7, 19.0),
            (1, 8, 16.0),
            (2, 6, 23.0),
            (3, 7, 27.0),
            (3, 8, 23.0),
            (4, 8, 13.0),
            (5, 7, 15.0),
            (6, 9, 17.0),
            (7, 9, 11.0),
            (8, 9, 13.0),
        ],
    )
}

/// A stencil of 3 by 4 cells on four like devices: everything on a diagonal is equally urgent, and devices tie as well.
/// In the edges other cells come first than among the tasks; the reference of the benchmark goes by the tasks.
#[test]
fn equal_urgency_falls_to_the_task_that_is_first_among_the_tasks() {
    // Cells 01 11 10 02 13 21 22 23 00 20 03 12.
    let edges = [
        (8, 2),
        (10, 4),
        (0, 3),
        (11, 4),
        (8, 0),
        (6, 7),
        (5, 6),
        (11, 6),
        (0, 1),
        (4, 7),
        (1, 11),
        (9, 5),
        (3, 11),
        (2, 1),
        (3, 10),
        (2, 9),
        (1, 5),
    ];
    let edges: Vec<(usize, usize, f64)> = edges.iter().map(|&(from, to)| (from, to, 0.02)).collect();
    let problem = Problem::new(&work(&[&[5.0; 4][..]; 12], &edges), 0.0).unwrap();
    let made = heft(&problem, &Means::new(&problem)).unwrap();
    assert!((made.length - 30.04).abs() < 1e-9, "{}", made.length);
}

#[test]
fn the_printed_example_comes_out_as_printed() {
    let problem = Problem::new(&printed(), 0.0).unwrap();
    let means = Means::new(&problem);
    let rank = rank::upward(&problem, &means);
    assert!((rank[0] - 108.0).abs() < 1e-9 && (rank[9] - 44.0 / 3.0).abs() < 1e-9);
    assert_eq!(rank::by_urgency(&problem, &rank), [0, 3, 2, 1, 4, 5, 8, 6, 7, 9]);
    let length = |made: Result<Schedule, usize>| made.unwrap().length;
    assert_eq!(length(heft(&problem, &means)), 80.0);
    assert_eq!(length(peft(&problem, &means)), 85.0);
    assert_eq!(optimistic_costs(&problem, &means)[..3], [48.0, 38.0, 53.0]);
    let answer = plan(&printed(), &Ask::default()).unwrap();
    assert_eq!((answer.objective, answer.bound, &*answer.bound_by), (73.0, 73.0, "search was exhaustive"));
    assert_eq!(answer.plan.one_device.unwrap().seconds, 127.0);
}

fn refused(work: &Work) -> String {
    plan(work, &Ask::default()).unwrap_err().to_string()
}

#[test]
fn what_fits_nowhere_is_refused_with_what_would_do() {
    let mut small = work(&[&[1.0, 1.0]], &[]);
    small.tasks[0].memory_bytes = 40 << 30;
    small.devices[0].memory_bytes = Some(16 << 30);
    small.devices[1].memory_bytes = Some(24 << 30);
    let said = refused(&small);
    assert!(said.contains("t0 needs 40 GiB") && said.contains("d1, has 24 GiB"), "{said}");
    let mut held = work(&[&[1.0, 1.0], &[1.0, 1.0], &[1.0, 1.0]], &[]);
    held.tasks.iter_mut().for_each(|task| (task.memory_bytes, task.is_held) = (6, true));
    held.devices.iter_mut().for_each(|device| device.memory_bytes = Some(10));
    assert!(refused(&held).contains("no way was found to fit all tasks into memory"));
    held.devices[1].memory_bytes = Some(7);
    assert!(refused(&held).contains("hold 18 bytes of memory and all devices have 17 bytes"));
}

#[test]
fn devices_that_cannot_talk_are_planned_apart_or_refused() {
    // Each device can do everything, but they cannot talk: one does it all.
    let mut apart = work(&[&[1.0, 2.0], &[1.0, 2.0], &[1.0, 2.0]], &[(0, 1, 1.0), (0, 2, 1.0)]);
    (apart.links[0][1], apart.links[1][0]) = (None, None);
    assert_eq!(plan(&apart, &Ask::default()).unwrap().objective, 3.0);
    // A task of its own may go to the other side.
    apart.edges.pop();
    assert_eq!(plan(&apart, &Ask::default()).unwrap().objective, 2.0);
    apart.tasks[0].time_s[1] = None;
    apart.tasks[1].time_s[0] = None;
    let said = refused(&apart);
    assert!(said.contains("t0 feeds t1, and no link joins d0 and d1"), "{said}");
}

#[test]
fn a_late_quantile_moves_work_away_from_what_varies() {
    let mut varied = work(&[&[10.0, 11.0]], &[]);
    varied.tasks[0].spread_s = vec![5.0, 0.0];
    let on = |ask: &Ask| -> Answer<Plan> { plan(&varied, ask).unwrap() };
    assert_eq!(on(&Ask::default()).plan.tasks[0].device, "d0");
    let late = on(&Ask { quantile: Some(0.9), ..Ask::default() });
    assert_eq!((&*late.plan.tasks[0].device, late.objective), ("d1", 11.0));
}

#[test]
fn only_what_is_wanted_is_planned_and_parallel_edges_are_one() {
    let twice = work(&[&[1.0, 9.0], &[9.0, 1.0], &[5.0, 5.0]], &[(0, 1, 1.0), (0, 1, 2.0), (0, 2, 0.0)]);
    let answer = plan(&twice, &Ask { want: vec!["t1".into()], ..Ask::default() }).unwrap();
    assert_eq!(answer.objective, 1.0 + 3.0 + 1.0);
    assert!(
        answer.assumed.iter().any(|sentence| sentence.contains("1 task that is not needed is left out: t2"))
    );
    assert!(answer.assumed.iter().any(|sentence| sentence.contains("1 edge beside another")));
    let said = plan(&twice, &Ask { want: vec!["t9".into()], ..Ask::default() }).unwrap_err().to_string();
    assert!(said.contains("t9"), "{said}");
}
