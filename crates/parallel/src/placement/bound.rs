//! What no placement can beat, contiguous or not.
//!
//! Three arguments, each true for every placement, and the best of them:
//! - *work over devices*: all work, shared out as if pieces were sand, with processors taking what suits them most, and
//!   taking at least what does not fit into the memory of all accelerators;
//! - *large pieces*: of more pieces than some number times the accelerators, one accelerator has more than that number
//!   (the pigeonhole argument for parallel machines), and a few large pieces are packed in every way there is (see
//!   [`super::packing`]);
//! - *cheapest company*: every piece sits somewhere, and a device that holds it pays for its tensors or holds its
//!   neighbours too (see [`super::company`]).
//!
//! Each is asked as "could a load of t be possible?", and t is narrowed down. Does badly: where every device has to pay
//! for cuts and no single piece shows it, the bound leaves all but one of these cuts out.

use super::company::Company;
use super::packing;
use super::pieces::Pieces;
use super::seating::Room;

/// A bound and the argument behind it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Bound {
    pub load: f64,
    pub by: Argument,
}

/// The argument behind a bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Argument {
    Work,
    Large,
    Company(usize),
}

/// The best bound below `known`, the load of some plan.
pub(super) fn bound(room: Room<'_>, known: f64) -> Bound {
    let mut best = Bound { load: narrow(0.0, known, 60, |load| sand_fits(room, load)), by: Argument::Work };
    let large = narrow(best.load, known, 60, |load| large_fit(room, load));
    if large > best.load {
        best = Bound { load: large, by: Argument::Large };
    }
    let packed = narrow(best.load, known, 24, |load| packing::is_possible(room, load));
    if packed > best.load {
        best = Bound { load: packed, by: Argument::Large };
    }
    let mut company = Company::new(room.pieces);
    for piece in by_load_alone(room.pieces) {
        // What a piece pays alone is more than it pays in the best company.
        if Company::alone(room.pieces, piece) <= best.load {
            break;
        }
        let elsewhere = if room.processors > 0 { room.pieces.processor[piece] } else { f64::INFINITY };
        if elsewhere > best.load {
            let load = company.of(piece).min(elsewhere).min(known);
            if load > best.load {
                best = Bound { load, by: Argument::Company(piece) };
            }
        }
    }
    best
}

fn by_load_alone(pieces: &Pieces) -> Vec<usize> {
    // More of them would cost more than they tell.
    let most = (200_000 / pieces.len()).clamp(10, 200);
    let mut order: Vec<usize> = (0..pieces.len()).collect();
    order.sort_by(|&one, &other| {
        Company::alone(pieces, other).total_cmp(&Company::alone(pieces, one)).then(one.cmp(&other))
    });
    order.truncate(most);
    order
}

/// The largest load found impossible, from `low`, which is, up to `known`.
fn narrow(low: f64, known: f64, rounds: usize, is_possible: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (low, known);
    if !is_possible(known) {
        return known;
    }
    for _ in 0..rounds {
        let middle = f64::midpoint(low, high);
        match is_possible(middle) {
            true => high = middle,
            false => low = middle,
        }
    }
    low
}

/// Whether work fits if it could be cut anywhere.
fn sand_fits(room: Room<'_>, load: f64) -> bool {
    let pieces = room.pieces;
    let mut spare = room.processors as f64 * load;
    let (mut total, mut bytes, mut movable) = (0.0, 0.0, vec![]);
    for piece in 0..pieces.len() {
        let (work, time) = (pieces.accelerator[piece], pieces.processor[piece]);
        let may_move = room.processors > 0 && time <= load;
        let must_move = work > load || pieces.memory[piece] > room.memory;
        match (must_move, may_move) {
            (true, false) => return false,
            (true, true) => spare -= time,
            (false, _) => {
                total += work;
                bytes += pieces.memory[piece];
                if may_move {
                    movable.push((time, work, pieces.memory[piece]));
                }
            }
        }
    }
    let room_bytes = room.accelerators as f64 * room.memory;
    let relief = poured(&mut movable, spare, |&(_, work, _)| work);
    let emptied = poured(&mut movable, spare, |&(_, _, memory)| memory);
    // The little more makes up for sums that round.
    spare >= -1e-9 * load
        && total - relief <= room.accelerators as f64 * load * (1.0 + 1e-12)
        && bytes - emptied <= room_bytes * (1.0 + 1e-12)
}

/// How much of a good goes into so much processor time, if everything could be cut.
fn poured(movable: &mut [(f64, f64, f64)], mut spare: f64, good: impl Fn(&(f64, f64, f64)) -> f64) -> f64 {
    let worth = |item: &(f64, f64, f64)| match (item.0 > 0.0, good(item) > 0.0) {
        (true, _) => good(item) / item.0,
        (false, true) => f64::INFINITY,
        (false, false) => 0.0,
    };
    movable.sort_by(|one, other| worth(other).total_cmp(&worth(one)));
    let mut taken = 0.0;
    for item in movable.iter() {
        let part = if item.0 <= spare { 1.0 } else { (spare / item.0).max(0.0) };
        taken += part * good(item);
        spare -= part * item.0;
    }
    taken
}

/// Whether the largest pieces could share the accelerators.
fn large_fit(room: Room<'_>, load: f64) -> bool {
    const MOST: usize = 1000;
    let pieces = room.pieces;
    let mut largest: Vec<usize> = (0..pieces.len()).collect();
    largest.sort_by(|&one, &other| pieces.accelerator[other].total_cmp(&pieces.accelerator[one]));
    let mut times: Vec<f64> = vec![];
    for (count, &piece) in largest.iter().enumerate().take(MOST) {
        let time = pieces.processor[piece];
        if room.processors > 0 && time <= load {
            times.insert(times.partition_point(|&other| other <= time), time);
        }
        // As many as processors could take at best.
        let mut spare = room.processors as f64 * load * (1.0 + 1e-12);
        let moved = times.iter().take_while(|&&time| {
            spare -= time;
            spare >= 0.0
        });
        let stay = count + 1 - moved.count().min(count + 1);
        if stay == 0 {
            continue;
        }
        if room.accelerators == 0 {
            return false;
        }
        let together = stay.div_ceil(room.accelerators);
        let least: f64 = largest[count + 1 - together..=count].iter().map(|&at| pieces.accelerator[at]).sum();
        if least > load * (1.0 + 1e-12) {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn even(count: usize, work: f64) -> Pieces {
        Pieces {
            accelerator: vec![work; count],
            processor: vec![10.0 * work; count],
            memory: vec![1.0; count],
            at: vec![vec![]; count],
            ..Pieces::default()
        }
    }

    fn load(pieces: &Pieces, accelerators: usize, processors: usize, memory: f64) -> (f64, Argument) {
        let bound = bound(Room { pieces, accelerators, processors, memory }, 1e6);
        ((bound.load * 1e6).round() / 1e6, bound.by)
    }

    #[test]
    fn each_argument_shows_where_it_is_the_strongest() {
        assert_eq!(load(&even(100, 1.0), 4, 0, 1e3), (25.0, Argument::Work));
        assert_eq!(load(&even(9, 1.0), 4, 0, 1e3), (3.0, Argument::Large));
        // One of the two has to leave a device that holds a single piece.
        assert_eq!(load(&even(2, 1.0), 1, 1, 1.0), (10.0, Argument::Work));
        let mut pair = even(2, 1.0);
        (pair.cost, pair.ends, pair.at) = (vec![5.0], vec![vec![0, 1]], vec![vec![0], vec![0]]);
        assert_eq!(load(&pair, 2, 0, 1e3), (2.0, Argument::Company(0)));
    }
}
