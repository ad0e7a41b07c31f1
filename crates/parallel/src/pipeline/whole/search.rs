//! From seeds to the best plan that is found.
//!
//! Seeds are data parallelism in all its forms, the splits of [`super::split`] for several orders of devices and widths of
//! tensor parallelism, and whatever others chose. The best of them are improved by small changes, each simulated, until
//! none helps or the effort is spent. The answer is never worse than any seed. Effort is counted in simulated actions.

use super::fleet::Group;
use super::moves::{self, Freedom, Move};
use super::score::{Candidate, Scored, Scorer};
use super::split::{self, Joint};
use crate::dice::Dice;
use crate::pipeline::schedule::Schedule;

/// The most groups of a pipeline.
pub const MOST_GROUPS: usize = 64;

/// Stages that the splits go up to by themselves; changes may go further.
const SPLIT_STAGES: usize = 16;

/// Places in the order of devices where a group may begin.
const MARKS: usize = 16;

/// How many seeds are improved.
const KEPT: usize = 6;

/// A candidate and what came of it.
pub type Judged = (Candidate, Scored);

/// What a search found.
pub struct Found {
    /// The best plan of all; it may not fit.
    pub best: Judged,
    /// The best data parallel plan that fits.
    pub data_parallel: Option<Judged>,
}

/// Searches. `given` are candidates of others, `effort` the most actions to simulate.
pub fn search(scorer: &mut Scorer<'_>, freedom: &Freedom, given: &[Candidate], effort: u64) -> Option<Found> {
    let data_parallel = data_parallel(scorer, freedom);
    let mut seeds: Vec<Judged> = data_parallel.iter().cloned().collect();
    for candidate in given.iter().cloned().chain(splits(scorer, freedom)) {
        seeds.extend(best_schedule(scorer, freedom, candidate));
    }
    sort(&mut seeds);
    // Of seeds alike in the number of groups only the two best are worth the effort.
    let mut kept: Vec<Judged> = vec![];
    for seed in seeds {
        let alike = kept.iter().filter(|(candidate, _)| candidate.groups.len() == seed.0.groups.len());
        if kept.len() < KEPT && alike.count() < 2 {
            kept.push(seed);
        }
    }
    let mut spent = 0;
    let mut best: Option<Judged> = None;
    let many = kept.len() as u64;
    for (turn, seed) in kept.into_iter().enumerate() {
        let share = effort / 2 * (turn as u64 + 1) / many;
        let improved = improve(scorer, freedom, seed, &mut spent, share);
        if best.as_ref().is_none_or(|best| improved.1.is_better_than(&best.1)) {
            best = Some(improved);
        }
    }
    let best = best.map(|best| kicked(scorer, freedom, best, &mut spent, effort));
    let best = best.map(|best| fitted(scorer, freedom, best));
    let fitting = data_parallel.filter(|(_, scored)| scored.fits());
    let best = best.map(|mut best| {
        // Replicas are alike but for their kind, so that their order may as well be that of the hosts.
        best.0.groups.iter_mut().for_each(tidy);
        best
    });
    best.map(|best| Found { best, data_parallel: fitting })
}

/// Replicas in the order of their devices.
fn tidy(group: &mut Group) {
    let mut replicas: Vec<Vec<usize>> =
        group.devices.chunks(group.tensor.max(1)).map(<[usize]>::to_vec).collect();
    replicas.sort();
    group.devices = replicas.concat();
}

fn sort(seeds: &mut [Judged]) {
    let excess = |scored: &Scored| f64::max(scored.fullest, 1.0);
    seeds.sort_by(|(_, one), (_, other)| {
        excess(one).total_cmp(&excess(other)).then(one.time_s.total_cmp(&other.time_s))
    });
}

/// Everything on every device: all devices and those of one kind, in microbatches as few as fit.
pub fn data_parallel(scorer: &mut Scorer<'_>, freedom: &Freedom) -> Option<Judged> {
    let mut teams: Vec<Vec<usize>> = vec![(0..scorer.fleet.devices.len()).collect()];
    for kind in 0..scorer.fleet.kinds.len() {
        let team = teams[0].iter().copied().filter(|&device| scorer.fleet.devices[device].kind == kind);
        let team: Vec<usize> = team.collect();
        if !team.is_empty() && team.len() < teams[0].len() {
            teams.push(team);
        }
    }
    let mut best: Option<Judged> = None;
    for team in teams {
        for &microbatches in &freedom.microbatches {
            for recompute in [false, true] {
                if recompute && !freedom.may_recompute {
                    continue;
                }
                let candidate = Candidate {
                    line: 0,
                    schedule: Schedule::OneForwardOneBackward,
                    is_fitted: false,
                    microbatches,
                    cuts: vec![0, scorer.lines[0].pieces()],
                    groups: vec![Group { devices: team.clone(), tensor: 1, recompute }],
                };
                let Some(scored) = scorer.score(&candidate) else { continue };
                if best.as_ref().is_none_or(|(_, best)| scored.is_better_than(best)) {
                    best = Some((candidate, scored));
                }
            }
        }
    }
    best
}

/// Splits for all orders of devices, with every width of tensor parallelism throughout and with whichever suits a stage.
fn splits(scorer: &Scorer<'_>, freedom: &Freedom) -> Vec<Candidate> {
    let mut found = vec![];
    let microbatches = *freedom.microbatches.last().unwrap_or(&1);
    let widths: Vec<usize> = std::iter::successors(Some(1), |width| Some(width * 2))
        .take_while(|&it| it <= freedom.most_tensor)
        .collect();
    let mut choices: Vec<&[usize]> = widths.chunks(1).collect();
    if widths.len() > 1 {
        choices.push(&widths);
    }
    for line in 0..scorer.lines.len() {
        for order in split::orders(scorer.fleet) {
            for tensors in &choices {
                let many = order.len();
                let width = many.div_ceil(MARKS).next_multiple_of(tensors[0]);
                let mut marks: Vec<usize> = (0..=many / width).map(|mark| mark * width).collect();
                if marks.last() != Some(&many) && many.is_multiple_of(tensors[0]) {
                    marks.push(many);
                }
                let joint = Joint {
                    line,
                    order: &order,
                    marks: &marks,
                    tensors,
                    microbatches,
                    may_recompute: freedom.may_recompute,
                    most: SPLIT_STAGES.min(freedom.most_groups),
                };
                for (cuts, groups) in joint.splits(scorer) {
                    let schedule = Schedule::OneForwardOneBackward;
                    found.push(Candidate { line, schedule, is_fitted: false, microbatches, cuts, groups });
                }
            }
        }
    }
    found
}

/// A candidate under the schedule that suits it best, with the microbatches it has.
pub fn best_schedule(scorer: &mut Scorer<'_>, freedom: &Freedom, candidate: Candidate) -> Option<Judged> {
    if candidate.groups.len() == 1 {
        // Alone, a group has nothing to wait for in any schedule.
        let candidate = Candidate { schedule: Schedule::OneForwardOneBackward, ..candidate };
        return scorer.score(&candidate).map(|scored| (candidate, scored));
    }
    let mut best: Option<Judged> = None;
    for (index, &schedule) in freedom.schedules.iter().enumerate() {
        let changed = match schedule == candidate.schedule {
            true => Some(candidate.clone()),
            false => Move::Schedule(index).apply(&candidate, freedom, scorer),
        };
        let Some(changed) = changed else { continue };
        let Some(scored) = scorer.score(&changed) else { continue };
        if best.as_ref().is_none_or(|(_, best)| scored.is_better_than(best)) {
            best = Some((changed, scored));
        }
    }
    best
}

/// Small changes until none helps or the effort is spent.
fn improve(
    scorer: &mut Scorer<'_>,
    freedom: &Freedom,
    mut best: Judged,
    spent: &mut u64,
    most: u64,
) -> Judged {
    loop {
        let mut is_better = false;
        for change in moves::all(&best.0, freedom) {
            if *spent >= most {
                return best;
            }
            // Earlier changes of this round may have taken what this one is about.
            if !change.suits(&best.0) {
                continue;
            }
            let Some(changed) = change.apply(&best.0, freedom, scorer) else { continue };
            let recut = match change.is_of_groups() {
                true => Move::Cut.apply(&changed, freedom, scorer),
                false => None,
            };
            for changed in [Some(changed), recut].into_iter().flatten() {
                *spent += EACH + (changed.cuts.len() * changed.microbatches * 3) as u64;
                let Some(scored) = scorer.score(&changed) else { continue };
                if scored.is_better_than(&best.1) {
                    best = (changed, scored);
                    is_better = true;
                }
            }
        }
        if !is_better {
            return best;
        }
    }
}

/// Out of a place where no small change helps: a few changes at random, then small ones again; kept where that is better.
fn kicked(
    scorer: &mut Scorer<'_>,
    freedom: &Freedom,
    mut best: Judged,
    spent: &mut u64,
    most: u64,
) -> Judged {
    let mut dice = Dice::new(1);
    for _ in 0..KICKS {
        if *spent >= most {
            break;
        }
        let mut kicked = best.0.clone();
        for _ in 0..1 + dice.below(3) {
            let moves = moves::all(&kicked, freedom);
            let change = moves[dice.below(moves.len())];
            if let Some(changed) = change.apply(&kicked, freedom, scorer)
                && scorer.shapes(&changed).is_some()
            {
                kicked = changed;
            }
        }
        let Some(scored) = scorer.score(&kicked) else { continue };
        let improved = improve(scorer, freedom, (kicked, scored), spent, most);
        if improved.1.is_better_than(&best.1) {
            best = improved;
        }
    }
    best
}

/// The best plan with an order fitted to its parts, under whichever schedule, where that is better. Fitting takes as long as
/// thousands of simulations, so that it is left to the end.
fn fitted(scorer: &mut Scorer<'_>, freedom: &Freedom, best: Judged) -> Judged {
    let mut found = best.clone();
    for &schedule in &freedom.schedules {
        let is_same = schedule.chunks() == best.0.schedule.chunks();
        if !freedom.may_fit || best.0.groups.len() < 2 || !is_same {
            continue;
        }
        let candidate = Candidate { schedule, is_fitted: true, ..best.0.clone() };
        if let Some(scored) = scorer.score(&candidate)
            && scored.is_better_than(&found.1)
        {
            found = (candidate, scored);
        }
    }
    found
}

/// How often a search starts again from a changed best.
const KICKS: usize = 200;

/// What judging costs beside the actions, in their unit.
const EACH: u64 = 100;
