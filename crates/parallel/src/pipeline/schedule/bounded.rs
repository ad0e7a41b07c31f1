//! What no order of a pipe can beat.
//!
//! For each device, the largest of
//! - **work**: the first activation has to get there; then all its work, then what it does afterwards;
//! - **drain**: the first activation has to get there; then all its forwards and backwards, whatever is done with the
//!   gradients of weights; and after its last backward, that microbatch goes back to the first part, one gradient of
//!   weights follows there, and what is done afterwards;
//! - **turn**: no backward of it can begin before one microbatch has gone to the end of the network and back; then come
//!   all its backwards and gradients of weights, and what is done afterwards.
//!
//! And the **path** of one microbatch through everything. Holds for any order, split or not, in any memory. Does badly
//! where memory forces waiting: 1F1B is far above it, since it may not run ahead.

use super::{Pipe, Schedule};

/// A bound below which no order of this pipe can end, whatever the schedule. With two parts on each device both ways to
/// lay them out are looked at, round and folded, and the lower bound counts. 0 for a pipe that is refused.
pub fn bound(pipe: &Pipe) -> f64 {
    let chunks = pipe.parts.len().checked_div(pipe.devices).unwrap_or(0);
    let on = |schedule: Schedule| {
        let device_of: Vec<usize> =
            (0..pipe.parts.len()).map(|part| schedule.device_of(part, pipe.devices)).collect();
        bound_on(pipe, &device_of)
    };
    match chunks {
        2 => f64::min(on(Schedule::GPipe), on(Schedule::ZeroBubbleV)),
        _ => on(Schedule::GPipe),
    }
}

/// The same where it is known on which device each part is. 0 for a pipe that is refused.
pub fn bound_on(pipe: &Pipe, device_of: &[usize]) -> f64 {
    let chunks = pipe.parts.len().checked_div(pipe.devices).unwrap_or(0);
    let fits = device_of.len() == pipe.parts.len() && device_of.iter().all(|&device| device < pipe.devices);
    if pipe.check(chunks).is_err() || !fits {
        return 0.0;
    }
    let paths = Paths::of(pipe, device_of);
    let on_device = (0..pipe.devices).map(|device| paths.device_s(pipe, device_of, device));
    on_device.chain([paths.whole_s]).fold(0.0, f64::max)
}

/// Ways through the network.
struct Paths {
    /// Before each part can begin forward.
    head_s: Vec<f64>,
    /// Before each part can begin backward.
    turn_s: Vec<f64>,
    /// After each part's backward: back to the first part, a gradient of weights on the way or there, and afterwards.
    tail_s: Vec<f64>,
    /// One microbatch through everything.
    whole_s: f64,
}

impl Paths {
    fn of(pipe: &Pipe, device_of: &[usize]) -> Self {
        let count = pipe.parts.len();
        let send = |part: usize| match device_of[part] == device_of[part + 1] {
            true => 0.0,
            false => pipe.send_s[part],
        };
        let mut head_s = vec![0.0; count];
        for part in 1..count {
            head_s[part] = head_s[part - 1] + pipe.parts[part - 1].forward_s + send(part - 1);
        }
        let mut turn_s = vec![0.0; count];
        turn_s[count - 1] = head_s[count - 1] + pipe.parts[count - 1].forward_s;
        for part in (1..count).rev() {
            turn_s[part - 1] = turn_s[part] + pipe.parts[part].backward_s + send(part - 1);
        }
        let mut tail_s: Vec<f64> = vec![0.0; count];
        for part in 0..count {
            let here_s = pipe.parts[part].weight_s + pipe.after_s[device_of[part]];
            tail_s[part] = match part.checked_sub(1) {
                None => here_s,
                Some(before) => {
                    f64::max(here_s, send(before) + pipe.parts[before].backward_s + tail_s[before])
                }
            };
        }
        let through = |part: usize| turn_s[part] + pipe.parts[part].backward_s + tail_s[part];
        let whole_s = (0..count).map(through).fold(0.0, f64::max);
        Paths { head_s, turn_s, tail_s, whole_s }
    }

    /// What one device needs.
    fn device_s(&self, pipe: &Pipe, device_of: &[usize], device: usize) -> f64 {
        let mine = || (0..pipe.parts.len()).filter(|&part| device_of[part] == device);
        let least = |times_s: &[f64]| mine().map(|part| times_s[part]).fold(f64::INFINITY, f64::min);
        let (mut forward_s, mut backward_s, mut weight_s) = (0.0, 0.0, 0.0);
        for part in mine() {
            forward_s += pipe.parts[part].forward_s;
            backward_s += pipe.parts[part].backward_s;
            weight_s += pipe.parts[part].weight_s;
        }
        let (times, after_s) = (pipe.microbatches as f64, pipe.after_s[device]);
        let work = least(&self.head_s) + times * (forward_s + backward_s + weight_s) + after_s;
        let drain = least(&self.head_s) + times * (forward_s + backward_s) + least(&self.tail_s);
        let turn = least(&self.turn_s) + times * (backward_s + weight_s) + after_s;
        match mine().next() {
            Some(_) => work.max(drain).max(turn),
            None => 0.0,
        }
    }
}
