//! The formulas of the papers, and where they hold.
//!
//! For parts that are all alike and links without delay. With `p` devices, `m` microbatches, `v` parts on each device and
//! F, B, W the times of one part:
//!
//! | schedule | bubble | inner bubble | most held (device d) | holds for |
//! |---|---|---|---|---|
//! | GPipe | (p-1)(F+B+W) | the same | m | all |
//! | 1F1B | (p-1)(F+B+W) | the same | min(m, p-d) | all |
//! | interleaved | (p-1)(F+B+W) | the same | min(vm, 2(p-d-1)+(v-1)p+1) | m a multiple of p |
//! | ZB-H1 | (p-1) max(F, F+B-W) | (p-1)(F+B-W) | min(m, p) | m >= p, W <= F |
//! | ZB-H2 | (p-1) max(F, F+B-2W) | (p-1) max(0, F+B-2W) | min(m, 2p-1) | m >= 2p-1, W <= F |
//! | ZB-V | (p-1)F | 0 | 2p | m >= 2p-1, F = B = W |
//!
//! The bubble is what the makespan has beyond the work of one device. The inner bubble is what one device is idle between
//! its own start and its own end: the papers on zero bubble mean this one, since there a device begins the next batch
//! without waiting for the others. Elsewhere these are estimates; [`play`](super::play) is exact.

use super::{Schedule, Times};

/// What a formula says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Closed {
    /// The makespan beyond the work of one device.
    pub bubble_s: f64,
    /// What a device is idle between its own start and its own end, at most.
    pub inner_bubble_s: f64,
    /// The most activations that a device holds, in units of one microbatch in one part.
    pub held: f64,
    /// Whether the formulas are exact here, or an estimate.
    pub is_exact: bool,
}

/// The formulas for parts that all take these times, and links without delay.
pub fn closed(schedule: Schedule, devices: usize, microbatches: usize, times: Times) -> Closed {
    let Times { forward_s, backward_s, weight_s } = times;
    let others = devices.saturating_sub(1) as f64;
    let both = forward_s + backward_s;
    let is_long = |least: usize| devices <= 1 || microbatches >= least;
    let (bubble, inner, is_exact) = match schedule {
        Schedule::GPipe | Schedule::OneForwardOneBackward => (both + weight_s, both + weight_s, true),
        Schedule::Interleaved { .. } => {
            (both + weight_s, both + weight_s, microbatches.checked_rem(devices) == Some(0))
        }
        Schedule::ZeroBubbleH1 => {
            let inner = both - weight_s;
            (inner.max(forward_s), inner.max(0.0), weight_s <= forward_s && is_long(devices))
        }
        Schedule::ZeroBubbleH2 => {
            let inner = (both - 2.0 * weight_s).max(0.0);
            (
                inner.max(forward_s),
                inner,
                weight_s <= forward_s && is_long(devices.saturating_mul(2).saturating_sub(1)),
            )
        }
        Schedule::ZeroBubbleV => {
            let is_even = forward_s == backward_s && backward_s == weight_s;
            (forward_s, 0.0, is_even && is_long(devices.saturating_mul(2).saturating_sub(1)))
        }
    };
    // The first device holds the most in all of them.
    let held = if devices == 0 { 0 } else { held(schedule, devices, microbatches, 0) };
    Closed { bubble_s: others * bubble, inner_bubble_s: others * inner, held: held as f64, is_exact }
}

/// The most activations that one device holds in the published order, in units of one microbatch in one part. Exact for
/// at least `2 devices - 1` microbatches in ZB-V, at most so many for fewer; exact for all others.
pub fn held(schedule: Schedule, devices: usize, microbatches: usize, device: usize) -> usize {
    let behind = devices.saturating_sub(device.saturating_add(1));
    match schedule {
        Schedule::GPipe => microbatches,
        Schedule::OneForwardOneBackward => microbatches.min(behind.saturating_add(1)),
        Schedule::Interleaved { chunks } => {
            let chunks = chunks as usize;
            let ahead =
                behind.saturating_mul(2).saturating_add(chunks.saturating_sub(1).saturating_mul(devices));
            chunks.saturating_mul(microbatches).min(ahead.saturating_add(1))
        }
        Schedule::ZeroBubbleH1 => microbatches.min(devices),
        Schedule::ZeroBubbleH2 => microbatches.min(devices.saturating_mul(2).saturating_sub(1)),
        Schedule::ZeroBubbleV => microbatches.min(devices).saturating_mul(2),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Pipe, order, play};
    use super::*;
    use crate::dice::Dice;

    const ALL: [Schedule; 7] = [
        Schedule::GPipe,
        Schedule::OneForwardOneBackward,
        Schedule::Interleaved { chunks: 2 },
        Schedule::Interleaved { chunks: 3 },
        Schedule::ZeroBubbleH1,
        Schedule::ZeroBubbleH2,
        Schedule::ZeroBubbleV,
    ];

    #[test]
    fn absurd_sizes_do_no_harm() {
        for schedule in ALL {
            for (devices, microbatches) in [(0, 0), (0, 9), (9, 0), (usize::MAX, usize::MAX)] {
                assert!(closed(schedule, devices, microbatches, Times::default()).bubble_s >= 0.0);
            }
        }
    }

    #[test]
    fn formulas_are_exact_where_they_say_so() {
        let mut dice = Dice::new(3);
        let mut exact = [0; ALL.len()];
        for round in 0..3000 {
            let at = round % ALL.len();
            let devices = 1 + dice.below(7);
            let microbatches = match ALL[at] {
                Schedule::Interleaved { .. } => devices * (1 + dice.below(4)),
                _ => 1 + dice.below(4 * devices),
            };
            let mut time = || 0.25 * (1 + dice.below(8)) as f64;
            let mut times = Times { forward_s: time(), backward_s: time(), weight_s: time() };
            if round % 2 == 0 {
                times.backward_s = times.forward_s;
                times.weight_s = times.forward_s;
            }
            let pipe = Pipe::even(devices, microbatches, ALL[at].chunks(), times, 0.0);
            let played = play(&order(ALL[at], &pipe).unwrap(), &pipe).unwrap();
            let said = closed(ALL[at], devices, microbatches, times);
            let context = format!("{} p{devices} m{microbatches} {times:?}", ALL[at]);
            for (device, &most) in played.held.iter().enumerate() {
                let said = held(ALL[at], devices, microbatches, device) as f64;
                let is_right = match ALL[at] == Schedule::ZeroBubbleV && microbatches < 2 * devices - 1 {
                    true => most <= said,
                    false => most == said,
                };
                assert!(is_right, "{context}: device {device} holds {most}, said {said}");
            }
            assert_eq!(
                said.held,
                (0..devices).map(|device| held(ALL[at], devices, microbatches, device)).max().unwrap() as f64
            );
            if said.is_exact {
                exact[at] += 1;
                assert!((played.bubble_s - said.bubble_s).abs() < 1e-9, "{context}: {played:?} {said:?}");
                assert!((played.inner_bubble_s - said.inner_bubble_s).abs() < 1e-9, "{context}: {said:?}");
            }
        }
        assert!(exact.iter().all(|&count| count > 50), "{exact:?}");
    }
}
