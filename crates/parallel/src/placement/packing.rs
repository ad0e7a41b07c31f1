//! Whether the large pieces could be packed at all, tensors left aside.
//!
//! Large pieces are put on devices one by one, the largest first, in every way that differs; what is small may be cut
//! anywhere and has to find room in the gaps. If no way is left, no placement has this load. The search counts its
//! positions and gives up after a limit: then nothing is claimed. Does badly: many pieces of nearly the same size.

use super::seating::Room;

struct Packing {
    /// Work and processor time of the large pieces, descending.
    large: Vec<(f64, f64)>,
    /// Work of the large pieces from here on, and of all small ones.
    remaining: Vec<f64>,
    /// The most work that a second of processor time can take over from small pieces.
    rate: f64,
    /// Work of small pieces that costs a processor nothing.
    free: f64,
    accelerators: usize,
    left: Vec<f64>,
    positions: u64,
}

/// `false` only where no placement has a largest load of at most `load`.
pub(super) fn is_possible(room: Room<'_>, load: f64) -> bool {
    const MOST_LARGE: usize = 40;
    let load = load * (1.0 + 1e-12);
    let pieces = room.pieces;
    let mut order: Vec<usize> = (0..pieces.len()).collect();
    order.sort_by(|&one, &other| pieces.accelerator[other].total_cmp(&pieces.accelerator[one]));
    // A piece of a twentieth of the load still leaves gaps that matter.
    let count = order.iter().take(MOST_LARGE).take_while(|&&at| pieces.accelerator[at] > load / 20.0).count();
    let (large, small) = order.split_at(count);
    let small_work: f64 = small.iter().map(|&at| pieces.accelerator[at]).sum();
    let mut remaining = vec![small_work];
    for &at in large.iter().rev() {
        let work = pieces.accelerator[at];
        remaining.push(remaining[remaining.len() - 1] + if work.is_finite() { work } else { 0.0 });
    }
    remaining.reverse();
    let timed = |at: &usize| pieces.processor[*at] > 0.0;
    let rates = small.iter().filter(|&at| timed(at)).map(|&at| pieces.accelerator[at] / pieces.processor[at]);
    let mut packing = Packing {
        large: large.iter().map(|&at| (pieces.accelerator[at], pieces.processor[at])).collect(),
        remaining,
        rate: rates.fold(0.0, f64::max),
        free: small.iter().filter(|&at| !timed(at)).map(|&at| pieces.accelerator[at]).sum(),
        accelerators: room.accelerators,
        left: vec![load; room.devices()],
        positions: 0,
    };
    packing.is_open(0)
}

impl Packing {
    /// Whether the pieces from here on might still find a place.
    fn is_open(&mut self, at: usize) -> bool {
        const MOST_POSITIONS: u64 = 100_000;
        self.positions += 1;
        if self.positions > MOST_POSITIONS {
            return true;
        }
        let (own, others) = self.left.split_at(self.accelerators);
        let time: f64 = others.iter().sum();
        // A gap below the smallest large piece is for small ones only.
        let least = self.large[at..].last().map_or(0.0, |&(work, _)| work);
        let (mut gaps, mut narrow) = (0.0, 0.0);
        own.iter().for_each(|&left| if left < least { narrow += left } else { gaps += left });
        gaps += narrow.min(self.remaining[self.large.len()]);
        // Large pieces may go to processors too, those that fit there, at their own rate.
        let roomiest = others.iter().copied().fold(0.0, f64::max);
        let may_go = |piece: &&(f64, f64)| piece.0.is_finite() && piece.1 <= roomiest;
        let (mut rate, mut free, mut most) = (self.rate, self.free, self.remaining[self.large.len()]);
        for &(work, time) in self.large[at..].iter().filter(may_go) {
            most += work;
            match time > 0.0 {
                true => rate = rate.max(work / time),
                false => free += work,
            }
        }
        let relief = if others.is_empty() { 0.0 } else { most.min(time * rate + free) };
        if self.remaining[at] > (gaps + relief) * (1.0 + 1e-12) {
            return false;
        }
        let Some(&(work, time)) = self.large.get(at) else { return true };
        for device in 0..self.left.len() {
            let need = if device < self.accelerators { work } else { time };
            let kind = if device < self.accelerators { 0 } else { self.accelerators };
            // Devices that look alike are tried once.
            let is_repeated = self.left[kind..device].contains(&self.left[device]);
            if need <= self.left[device] && !is_repeated {
                let before = self.left[device];
                self.left[device] -= need;
                if self.is_open(at + 1) {
                    return true;
                }
                self.left[device] = before;
            }
        }
        false
    }
}
