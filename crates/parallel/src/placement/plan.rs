//! The planner: the best row first, then annealing from it, then the bound.

use super::bound::{Argument, Bound, bound};
use super::effort::Effort;
use super::ideals::Ideals;
use super::network::Network;
use super::order::{Taste, positions};
use super::pieces::{Pieces, blocks, pieces};
use super::refusal::Refusal;
use super::row;
use super::search::{Cooling, anneal};
use super::seating::{Room, Seating};
use super::seed;
use crate::answer::Answer;
use crate::dice::Dice;
use serde::Serialize;

/// What a device is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// One of the accelerators.
    Accelerator,
    /// One of the processors.
    Processor,
}

/// What one device does.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Device {
    /// What it is.
    pub kind: Kind,
    /// Time for each sample: work and transfers.
    pub load_s: f64,
    /// The part of it that is transfers.
    pub transfer_s: f64,
    /// Memory its operators need there.
    pub memory_bytes: f64,
    /// Ids, ascending.
    pub operators: Vec<i64>,
}

/// Who runs what.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plan {
    /// Accelerators first, then processors; some may have nothing to do.
    pub devices: Vec<Device>,
    /// The least largest load among plans whose devices follow each other, where all of these were considered.
    pub contiguous_s: Option<f64>,
}

/// More blocks than this are cut into a first row by one pass, not by the best cuts: pairs grow with the square.
const MOST_IN_A_ROW: usize = 2_000;
/// States kept while looking for the best row: ideals times ways to have used devices.
const MOST_STATES: usize = 4_000_000;

/// Places a network.
pub fn plan(network: &Network, effort: Effort) -> Result<Answer<Plan>, Refusal> {
    network.check()?;
    let pieces = pieces(network);
    let room = Room {
        pieces: &pieces,
        accelerators: network.accelerators,
        processors: network.processors,
        memory: network.memory_bytes,
    };
    let mut dice = Dice::new(effort.seed);
    let first = first(room, effort, &mut dice);
    let seeds = || seed::along(room, &first.order).or_else(|| seed::packed(room));
    let Some(device) = first.device.clone().or_else(seeds) else {
        return Err(Refusal::NotPacked {
            needs: pieces.memory.iter().sum(),
            accelerators: network.accelerators,
            has: network.memory_bytes,
        });
    };
    let mut seating = Seating::new(room, device);
    let bound = bound(room, seating.most());
    let proposals = improve(&mut seating, &first.order, effort, bound.load, &mut dice);
    Ok(answer(network, &seating, first.contiguous, &bound, first.pairs + proposals))
}

/// What planning in a row found.
struct First {
    device: Option<Vec<usize>>,
    /// Pieces in an order that cuts well.
    order: Vec<usize>,
    contiguous: Option<f64>,
    pairs: u64,
}

/// The best plan in a row.
fn first(room: Room<'_>, effort: Effort, dice: &mut Dice) -> First {
    let is_ample = room.pieces.memory.iter().sum::<f64>() <= room.memory;
    let blocks = blocks(room.pieces, is_ample);
    let is_large = blocks.len() > MOST_IN_A_ROW;
    let narrow = positions(&blocks, if is_large { Taste::Deep } else { Taste::Narrow }, dice);
    let states = (room.accelerators + 1) * (room.processors + 1);
    let mut found = First { device: None, order: order_of(&blocks, &narrow), contiguous: None, pairs: 0 };
    if is_large || states * blocks.len() > MOST_STATES {
        return found;
    }
    // With many devices a pair costs more, so fewer are looked at.
    let pairs = effort.pairs.min(600_000_000 / states as u64);
    let ideals = effort.ideals.min(MOST_STATES / states);
    let mut best = f64::INFINITY;
    let mut try_row =
        |position: &[usize], ideals: &mut dyn FnMut(&Pieces) -> Option<Ideals>, found: &mut First| {
            let ordered = blocks.fused(position);
            let ideals = ideals(&ordered)?;
            let room = Room { pieces: &ordered, ..room };
            let row = row::best(room, &ideals, best, pairs);
            found.pairs += row.pairs;
            if let Some((load, device)) = row.best {
                best = load;
                found.device = Some(device_of_pieces(&blocks, position, &device));
            }
            (row.is_complete && best.is_finite()).then_some(best)
        };
    let tastes =
        [Taste::Narrow, Taste::Numbered, Taste::Deep].into_iter().chain([Taste::Blurred].into_iter().cycle());
    for taste in tastes.take(effort.orders) {
        let position = positions(&blocks, taste, dice);
        try_row(&position, &mut |ordered| Some(Ideals::chain(ordered.len())), &mut found);
    }
    found.contiguous = try_row(&narrow, &mut |ordered| Ideals::all(ordered, ideals), &mut found);
    found
}

fn device_of_pieces(blocks: &Pieces, position: &[usize], device: &[usize]) -> Vec<usize> {
    let mut by_piece = vec![0; blocks.members.iter().map(Vec::len).sum()];
    for (block, members) in blocks.members.iter().enumerate() {
        members.iter().for_each(|&piece| by_piece[piece] = device[position[block]]);
    }
    by_piece
}

fn order_of(blocks: &Pieces, position: &[usize]) -> Vec<usize> {
    let mut at = vec![0; position.len()];
    position.iter().enumerate().for_each(|(block, &position)| at[position] = block);
    at.into_iter().flat_map(|block| blocks.members[block].iter().copied()).collect()
}

/// Anneals several times: wide awake first, then closer and closer to the best. Ends when nothing can be better.
fn improve(seating: &mut Seating<'_>, order: &[usize], effort: Effort, bound: f64, dice: &mut Dice) -> u64 {
    // From hot to cold, and to which power of two loads are weighed. A low power wanders far, a high one works on the
    // busiest.
    const FROM_ROW: usize = 5;
    const TURNS: [(f64, f64, u32); 10] = [
        (0.3, 1e-3, 3),
        (0.01, 1e-4, 5),
        (0.3, 1e-3, 6),
        (0.3, 1e-3, 4),
        (0.3, 1e-3, 2),
        (0.001, 1e-5, 6),
        (0.01, 1e-4, 5),
        (0.1, 1e-3, 4),
        (0.001, 1e-5, 6),
        (0.0001, 1e-6, 6),
    ];
    let start = seating.device.clone();
    let mut best = (seating.most(), start.clone());
    let mut tried = 0;
    for (turn, (hot, cold, squarings)) in TURNS.into_iter().enumerate() {
        if best.0 <= bound * (1.0 + 1e-9) {
            break;
        }
        // The first turns all begin where the row ended, so that one bad turn does not spoil the next.
        seating.seat(if turn < FROM_ROW { &start } else { &best.1 });
        let proposals = effort.proposals / TURNS.len() as u64;
        anneal(seating, order, Cooling { proposals, hot, cold, squarings }, Dice::new(dice.draw()));
        tried += proposals;
        if seating.most() < best.0 {
            best = (seating.most(), seating.device.clone());
        }
    }
    seating.seat(&best.1);
    tried
}

fn answer(
    network: &Network,
    seating: &Seating<'_>,
    contiguous_s: Option<f64>,
    bound: &Bound,
    tried: u64,
) -> Answer<Plan> {
    let pieces = seating.room.pieces;
    let device = |at: usize| {
        let here: Vec<usize> = (0..pieces.len()).filter(|&piece| seating.device[piece] == at).collect();
        let work: f64 = here.iter().map(|&piece| seating.room.work(piece, at)).sum();
        let members = here.iter().flat_map(|&piece| &pieces.members[piece]);
        let mut operators: Vec<i64> = members.map(|&member| network.operators[member].id).collect();
        operators.sort_unstable();
        Device {
            kind: if at < network.accelerators { Kind::Accelerator } else { Kind::Processor },
            load_s: seating.load[at],
            transfer_s: (seating.load[at] - work).max(0.0),
            memory_bytes: seating.memory[at],
            operators,
        }
    };
    let objective = seating.most();
    let name = |piece: usize| network.operators[pieces.members[piece][0]].id;
    Answer {
        plan: Plan { devices: (0..seating.room.devices()).map(device).collect(), contiguous_s },
        objective,
        unit: "s",
        bound: bound.load.min(objective),
        bound_by: match bound.by {
            Argument::Work => "work over devices".into(),
            Argument::Large => "large operators over devices".into(),
            Argument::Company(piece) => format!("operator {} with its cheapest neighbours", name(piece)),
        },
        assumed: vec![
            "the pipeline is kept full, so the busiest device sets the pace".into(),
            "every shared tensor goes through main memory, and transfers do not overlap with work".into(),
        ],
        tried,
    }
}
