//! First placements for networks that are too large to be cut into a row in the best way.

use super::seating::Room;

/// Along the order, each accelerator filled up to its share of the work, or of its memory; what is left over goes to
/// the first processor. `None` where something is left over and there is none.
pub(super) fn along(room: Room<'_>, order: &[usize]) -> Option<Vec<usize>> {
    let pieces = room.pieces;
    let work =
        |piece: usize| if pieces.accelerator[piece].is_finite() { pieces.accelerator[piece] } else { 0.0 };
    let share = order.iter().map(|&piece| work(piece)).sum::<f64>() / room.accelerators.max(1) as f64;
    let mut device = vec![room.accelerators; pieces.len()];
    let (mut at, mut done, mut held) = (0, 0.0, 0.0);
    for &piece in order.iter().filter(|&&piece| pieces.accelerator[piece].is_finite()) {
        let is_full = held + pieces.memory[piece] > room.memory;
        // Half a piece over the share is nearer to it than half a piece below.
        let is_done = at + 1 < room.accelerators && done + work(piece) / 2.0 > share * (at + 1) as f64;
        if (is_full || is_done) && at < room.accelerators {
            (at, held) = (at + 1, 0.0);
        }
        if at < room.accelerators && held + pieces.memory[piece] <= room.memory {
            device[piece] = at;
            held += pieces.memory[piece];
        }
        done += work(piece);
    }
    let is_left_over = device.contains(&room.accelerators);
    (room.processors > 0 || !is_left_over).then_some(device)
}

/// Whatever fits: the largest first, each where most memory is left; what fits nowhere goes to a processor.
pub(super) fn packed(room: Room<'_>) -> Option<Vec<usize>> {
    let pieces = room.pieces;
    let mut order: Vec<usize> = (0..pieces.len()).collect();
    order.sort_by(|&one, &other| pieces.memory[other].total_cmp(&pieces.memory[one]).then(one.cmp(&other)));
    let mut left = vec![room.memory; room.accelerators];
    let mut device = vec![0; pieces.len()];
    for piece in order {
        let roomy = (0..room.accelerators).filter(|&at| left[at] >= pieces.memory[piece]);
        let roomy = roomy.max_by(|&one, &other| left[one].total_cmp(&left[other]).then(other.cmp(&one)));
        device[piece] = match roomy.filter(|_| pieces.accelerator[piece].is_finite()) {
            Some(at) => {
                left[at] -= pieces.memory[piece];
                at
            }
            None if room.processors > 0 => room.accelerators,
            None => return None,
        };
    }
    Some(device)
}

#[cfg(test)]
mod tests {
    use super::super::pieces::Pieces;
    use super::*;

    #[test]
    fn work_is_shared_along_the_order_and_memory_is_kept() {
        let pieces = Pieces {
            accelerator: vec![1.0; 8],
            processor: vec![9.0; 8],
            memory: vec![1.0; 8],
            at: vec![vec![]; 8],
            ..Pieces::default()
        };
        let order: Vec<usize> = (0..8).collect();
        let room = Room { pieces: &pieces, accelerators: 2, processors: 0, memory: 4.0 };
        assert_eq!(along(room, &order), Some(vec![0, 0, 0, 0, 1, 1, 1, 1]));
        assert_eq!(along(Room { memory: 3.0, ..room }, &order), None);
        assert_eq!(
            along(Room { memory: 3.0, processors: 1, ..room }, &order),
            Some(vec![0, 0, 0, 1, 1, 1, 2, 2])
        );
        assert_eq!(packed(Room { memory: 3.0, ..room }), None);
        assert_eq!(packed(room).map(|device| device.iter().sum::<usize>()), Some(4));
    }
}
