//! Clean-up before planning: what nobody wants is left out, chains are tried as one task each.
//!
//! *Pruning* needs the user's word: only what a wanted task waits for, directly or not, is planned. *Parallel edges* are
//! one transfer of their sum: the problem is built so. *Chains* (each task feeds only the next, which is fed only by it)
//! may be fused when all members run on one device without anything in between; that saves every transfer inside, and
//! hurts where another task should have gone in between, or where members want different devices. Since nobody can tell
//! beforehand, the fused work gives one more candidate, and never replaces the work itself.

use super::draft::{Draft, Schedule};
use super::heft;
use super::problem::Problem;
use super::rank::{self, Means};
use super::refusal::Refusal;
use super::work::{Edge, Work};
use std::collections::BTreeSet;

/// The work that wanted tasks need, and the names of what is left out. `None` when nothing is named: then everything
/// is wanted.
pub fn pruned(work: &Work, want: &[String]) -> Result<Option<(Work, Vec<String>)>, Refusal> {
    if want.is_empty() {
        return Ok(None);
    }
    let mut needed = vec![false; work.tasks.len()];
    let mut next = vec![];
    for name in want {
        let index = work.tasks.iter().position(|task| task.name == *name);
        let by = "the list of wanted tasks".to_string();
        next.push(index.ok_or_else(|| Refusal::Unknown { what: "task", name: name.clone(), by })?);
    }
    let mut before = vec![vec![]; work.tasks.len()];
    for edge in work.edges.iter().filter(|edge| edge.to < needed.len()) {
        before[edge.to].push(edge.from);
    }
    while let Some(task) = next.pop() {
        if !std::mem::replace(&mut needed[task], true) {
            next.extend(before[task].iter().copied().filter(|&other| other < needed.len()));
        }
    }
    let mut index = vec![usize::MAX; needed.len()];
    let mut kept = Work { tasks: vec![], edges: vec![], ..work.clone() };
    let mut left_out = vec![];
    for (old, task) in work.tasks.iter().enumerate() {
        match needed[old] {
            true => {
                index[old] = kept.tasks.len();
                kept.tasks.push(task.clone());
            }
            false => left_out.push(task.name.clone()),
        }
    }
    let both = |edge: &&Edge| {
        edge.from < needed.len() && edge.to < needed.len() && needed[edge.from] && needed[edge.to]
    };
    kept.edges = work
        .edges
        .iter()
        .filter(both)
        .map(|edge| Edge { from: index[edge.from], to: index[edge.to], ..*edge })
        .collect();
    Ok(Some((kept, left_out)))
}

/// How many edges join two tasks that another edge joins already.
pub fn parallel_edges(work: &Work) -> usize {
    let pairs: BTreeSet<(usize, usize)> = work.edges.iter().map(|edge| (edge.from, edge.to)).collect();
    work.edges.len() - pairs.len()
}

/// HEFT on the work with every chain as one task; `None` without chains, or where the fused tasks fit nowhere.
pub fn fused(problem: &Problem) -> Option<Schedule> {
    if problem.room.is_some() {
        return None;
    }
    let chains = chains(problem);
    if chains.len() == problem.tasks {
        return None;
    }
    let devices = problem.devices;
    let mut chain_of = vec![0; problem.tasks];
    let mut time = Vec::with_capacity(chains.len() * devices);
    for (index, chain) in chains.iter().enumerate() {
        chain.iter().for_each(|&task| chain_of[task] = index);
        time.extend(
            (0..devices).map(|device| chain.iter().map(|&task| problem.time(task, device)).sum::<f64>()),
        );
        if time[index * devices..].iter().all(|time| time.is_infinite()) {
            return None;
        }
    }
    let mut edges = vec![];
    for task in 0..problem.tasks {
        for &(next, bytes) in problem.after.of(task) {
            let pair = (chain_of[task], chain_of[next as usize]);
            if pair.0 != pair.1 {
                edges.push((pair.0, pair.1, bytes));
            }
        }
    }
    let mut small = Problem::of_parts(chains.len(), devices, time, &edges, problem.pairs.clone());
    small.free.clone_from(&problem.free);
    for (index, chain) in chains.iter().enumerate() {
        let first = chain[0] * devices;
        small.release[index * devices..][..devices].copy_from_slice(&problem.release[first..first + devices]);
    }
    let means = Means::new(&small);
    let order = rank::by_urgency(&small, &rank::upward(&small, &means));
    let made = heft::in_order(&small, &order).ok()?;
    // Decoded again task by task: gaps inside a chain may be used after all.
    let order: Vec<u32> =
        order.iter().flat_map(|&chain| chains[chain].iter().map(|&task| task as u32)).collect();
    let place: Vec<u32> = chain_of.iter().map(|&chain| made.place[chain]).collect();
    let mut draft = Draft::new(problem);
    draft.replay(&order, &place, &vec![0.0; problem.tasks * devices], f64::INFINITY)?;
    Some(draft.made)
}

/// Every task in exactly one chain, most of them alone; in the order of their first tasks.
fn chains(problem: &Problem) -> Vec<Vec<usize>> {
    let follower = |task: usize| match problem.after.of(task) {
        [(next, _)] if problem.before.of(*next as usize).len() == 1 => Some(*next as usize),
        _ => None,
    };
    let mut is_inside = vec![false; problem.tasks];
    (0..problem.tasks).filter_map(&follower).for_each(|task| is_inside[task] = true);
    let whole = |first: usize| std::iter::successors(Some(first), |&task| follower(task)).collect();
    (0..problem.tasks).filter(|&task| !is_inside[task]).map(whole).collect()
}
