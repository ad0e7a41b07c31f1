//! Small changes to a candidate, each by its number, so that a search can go through them in order.

use super::fleet::Group;
use super::score::{Candidate, Scorer};
use super::split;
use crate::pipeline::schedule::Schedule;

/// What may be chosen.
#[derive(Clone, Debug)]
pub struct Freedom {
    /// Schedules.
    pub schedules: Vec<Schedule>,
    /// Numbers of microbatches, from few to many.
    pub microbatches: Vec<usize>,
    /// The most devices that share a layer.
    pub most_tensor: usize,
    /// Whether forward may be repeated.
    pub may_recompute: bool,
    /// Whether the order of the best plan may be fitted to its parts at the end.
    pub may_fit: bool,
    /// The most groups.
    pub most_groups: usize,
}

/// One small change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Move {
    /// A cut by so many places.
    Shift(usize, isize),
    /// The first or last devices of a group to its neighbour: from, to.
    Hand(usize, usize),
    /// Two groups change places.
    Swap(usize, usize),
    /// Forward repeated or not in one group.
    Repeat(usize),
    /// The same in all groups.
    RepeatAll(bool),
    /// A number of microbatches, by its index.
    Microbatches(usize),
    /// A schedule, by its index.
    Schedule(usize),
    /// A group and the next become one, in which so many devices share each layer.
    Join(usize, usize),
    /// A group becomes two.
    Halve(usize),
    /// So many devices share each layer of a group.
    Tensor(usize, usize),
    /// Cuts anew for the groups as they are.
    Cut,
    /// A device that nobody uses, to a group.
    Take(usize),
    /// The last replica of a group is no longer used.
    Leave(usize),
}

/// All changes of a candidate, in the order in which they are tried.
pub fn all(candidate: &Candidate, freedom: &Freedom) -> Vec<Move> {
    let groups = candidate.groups.len();
    let mut moves = vec![];
    moves.extend((0..freedom.schedules.len()).map(Move::Schedule));
    moves.extend((0..freedom.microbatches.len()).rev().map(Move::Microbatches));
    moves.push(Move::Cut);
    for width in [1, -1, 2, -2, 4, -4, 8, -8, 16, -16] {
        moves.extend((1..candidate.cuts.len() - 1).map(|cut| Move::Shift(cut, width)));
    }
    for group in 0..groups.saturating_sub(1) {
        moves.extend([Move::Hand(group, group + 1), Move::Hand(group + 1, group)]);
    }
    for one in 0..groups {
        moves.extend((one + 1..groups).map(|other| Move::Swap(one, other)));
    }
    if freedom.may_recompute {
        moves.extend([Move::RepeatAll(false), Move::RepeatAll(true)]);
        moves.extend((0..groups).map(Move::Repeat));
    }
    moves.extend((0..groups).map(Move::Halve));
    moves.extend((0..groups).flat_map(|group| [Move::Take(group), Move::Leave(group)]));
    let mut tensor = 1;
    while tensor <= freedom.most_tensor {
        moves.extend((0..groups.saturating_sub(1)).map(|group| Move::Join(group, tensor)));
        moves.extend((0..groups).map(|group| Move::Tensor(group, tensor)));
        tensor *= 2;
    }
    moves
}

impl Move {
    /// Whether groups change, so that the cuts should follow.
    pub fn is_of_groups(self) -> bool {
        matches!(
            self,
            Move::Hand(..)
                | Move::Swap(..)
                | Move::Repeat(_)
                | Move::RepeatAll(_)
                | Move::Join(..)
                | Move::Tensor(..)
                | Move::Take(_)
                | Move::Leave(_)
        )
    }

    /// Whether the groups and cuts that it names are there.
    pub fn suits(self, candidate: &Candidate) -> bool {
        let groups = candidate.groups.len();
        match self {
            Move::Shift(cut, _) => cut + 1 < candidate.cuts.len(),
            Move::Hand(one, other) | Move::Swap(one, other) => one.max(other) < groups,
            Move::Join(group, _) => group + 1 < groups,
            Move::Repeat(group)
            | Move::Halve(group)
            | Move::Tensor(group, _)
            | Move::Take(group)
            | Move::Leave(group) => group < groups,
            Move::RepeatAll(_) | Move::Microbatches(_) | Move::Schedule(_) | Move::Cut => true,
        }
    }

    /// The changed candidate; `None` where there is nothing to change.
    pub fn apply(self, from: &Candidate, freedom: &Freedom, scorer: &Scorer<'_>) -> Option<Candidate> {
        let mut to = from.clone();
        match self {
            Move::Shift(cut, width) => {
                to.cuts[cut] = to.cuts[cut].checked_add_signed(width)?;
                let (before, after) = (to.cuts[cut - 1], to.cuts[cut + 1]);
                (before < to.cuts[cut] && to.cuts[cut] < after).then_some(to)
            }
            Move::Hand(giver, taker) => hand(to, giver, taker),
            Move::Swap(one, other) => {
                to.groups.swap(one, other);
                Some(to)
            }
            Move::Repeat(group) => {
                to.groups[group].recompute ^= true;
                Some(to)
            }
            Move::RepeatAll(recompute) => {
                to.groups.iter_mut().for_each(|group| group.recompute = recompute);
                (to.groups.len() > 1 && to != *from).then_some(to)
            }
            Move::Microbatches(index) => {
                to.microbatches = freedom.microbatches[index];
                (to.microbatches != from.microbatches).then_some(to)
            }
            Move::Schedule(index) => {
                to.schedule = freedom.schedules[index];
                if to.schedule == from.schedule || to.groups.len() < 2 {
                    return None;
                }
                let (groups, many) = (to.groups.len(), to.microbatches);
                if matches!(to.schedule, Schedule::Interleaved { .. }) && !many.is_multiple_of(groups) {
                    // Rounds are whole: a few microbatches fewer, where that may be chosen.
                    to.microbatches = many / groups * groups;
                    if freedom.microbatches.len() < 2 || to.microbatches == 0 {
                        return None;
                    }
                }
                match to.schedule.chunks() == from.schedule.chunks() {
                    true => Some(to),
                    false => recut(to, scorer),
                }
            }
            Move::Cut => recut(to, scorer).filter(|to| to.cuts != from.cuts),
            Move::Join(group, tensor) => join(to, group, tensor, scorer),
            Move::Halve(group) => halve(to, group, freedom, scorer),
            Move::Tensor(group, tensor) => {
                let changed = &mut to.groups[group];
                let is_new = changed.tensor != tensor && changed.devices.len().is_multiple_of(tensor);
                changed.tensor = tensor;
                is_new.then_some(to)
            }
            Move::Take(group) => {
                let tensor = to.groups[group].tensor;
                let is_used = |device: &usize| from.groups.iter().any(|group| group.devices.contains(device));
                let spare = (0..scorer.fleet.devices.len()).filter(|device| !is_used(device));
                let spare: Vec<usize> = spare.take(tensor).collect();
                to.groups[group].devices.extend(&spare);
                (spare.len() == tensor).then_some(to)
            }
            Move::Leave(group) => {
                let changed = &mut to.groups[group];
                let left = changed.devices.len().checked_sub(changed.tensor).filter(|&left| left > 0)?;
                changed.devices.truncate(left);
                Some(to)
            }
        }
    }
}

fn recut(mut candidate: Candidate, scorer: &Scorer<'_>) -> Option<Candidate> {
    let Candidate { line, schedule, microbatches, ref groups, .. } = candidate;
    candidate.cuts = split::fixed(scorer, line, schedule, groups, microbatches)?;
    Some(candidate)
}

/// One replica of the taker's size from the near end of its neighbour.
fn hand(mut candidate: Candidate, giver: usize, taker: usize) -> Option<Candidate> {
    let many = candidate.groups[giver].tensor.max(candidate.groups[taker].tensor);
    let left = candidate.groups[giver].devices.len().checked_sub(many).filter(|&left| left > 0)?;
    if giver < taker {
        let handed = candidate.groups[giver].devices.split_off(left);
        candidate.groups[taker].devices.splice(0..0, handed);
    } else {
        let handed: Vec<usize> = candidate.groups[giver].devices.drain(..many).collect();
        candidate.groups[taker].devices.extend(handed);
    }
    Some(candidate)
}

fn join(mut candidate: Candidate, group: usize, tensor: usize, scorer: &Scorer<'_>) -> Option<Candidate> {
    let next = candidate.groups.remove(group + 1);
    let joined = &mut candidate.groups[group];
    joined.devices.extend(next.devices);
    joined.recompute |= next.recompute;
    joined.tensor = tensor;
    if !joined.devices.len().is_multiple_of(tensor) {
        return None;
    }
    match candidate.groups.len() {
        1 => {
            candidate.schedule = Schedule::OneForwardOneBackward;
            candidate.is_fitted = false;
            candidate.cuts = vec![0, scorer.lines[candidate.line].pieces()];
            Some(candidate)
        }
        _ if candidate.schedule.chunks() == 1 => {
            candidate.cuts.remove(group + 1);
            Some(candidate)
        }
        _ => recut(candidate, scorer),
    }
}

fn halve(
    mut candidate: Candidate,
    group: usize,
    freedom: &Freedom,
    scorer: &Scorer<'_>,
) -> Option<Candidate> {
    if candidate.groups.len() >= freedom.most_groups {
        return None;
    }
    let Group { devices, tensor, recompute } = candidate.groups[group].clone();
    let half = devices.len() / tensor / 2 * tensor;
    if half == 0 {
        return None;
    }
    candidate.groups[group].devices.truncate(half);
    let rest = Group { devices: devices[half..].to_vec(), tensor, recompute };
    candidate.groups.insert(group + 1, rest);
    if !freedom.schedules.contains(&candidate.schedule) {
        candidate.schedule = freedom.schedules[0];
    }
    recut(candidate, scorer)
}
