//! What no placement can beat, contiguous or not.
//!
//! Three arguments, each true for every placement, and the best of them:
//! - *work over devices*: all work, shared out as if pieces were sand, with processors taking what suits them most, and
//!   taking at least what does not fit into the memory of all accelerators;
//! - *large pieces*: of more pieces than some number times the accelerators, one accelerator has more than that number
//!   (the pigeonhole argument for parallel machines);
//! - *cheapest company*: every piece sits somewhere, and a device that holds it pays for its tensors or holds its
//!   neighbours too (see [`super::company`]).
//!
//! Each is asked as "could a load of t be possible?", and t is narrowed down. Does badly: where every device has to pay
//! for cuts and no single piece shows it, the bound leaves all but one of these cuts out.

use super::company::Company;
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
    let mut best = Bound { load: narrow(known, |load| sand_fits(room, load)), by: Argument::Work };
    let large = narrow(known, |load| large_fit(room, load));
    if large > best.load {
        best = Bound { load: large, by: Argument::Large };
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
    const MOST: usize = 200;
    let mut order: Vec<usize> = (0..pieces.len()).collect();
    order.sort_by(|&one, &other| {
        Company::alone(pieces, other).total_cmp(&Company::alone(pieces, one)).then(one.cmp(&other))
    });
    order.truncate(MOST);
    order
}

/// The largest load, up to `known`, found impossible.
fn narrow(known: f64, is_possible: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, known);
    if !is_possible(known) {
        return known;
    }
    for _ in 0..60 {
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
