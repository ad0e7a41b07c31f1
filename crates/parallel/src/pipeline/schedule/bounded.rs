//! What no order of a pipe can beat.
//!
//! For each device, the largest of
//! - **work**: the first activation has to get there; then all its work, then what it does afterwards;
//! - **drain**: the first activation has to get there; then all its forwards and backwards, whatever is done with the
//!   gradients of weights; and after its last backward, that microbatch goes back to the first part, one gradient of
//!   weights follows there, and what is done afterwards;
//! - **turn**: no backward of it can begin before one microbatch has gone to the end of the network and back; then come
//!   all its backwards and gradients of weights, and what is done afterwards;
//! - **memory**, where that is limited: an activation is held at least while its microbatch goes to the end and back, and
//!   only so many are held at once. Fewer at first and at last, since a device takes them up and lets them go one by one.
//!
//! And the **path** of one microbatch through everything. [`bound`] and [`bound_by`] hold for any order, split or not, in
//! any memory; [`bound_within`] for the orders of one schedule's kind. Does badly where several devices are about equally
//! busy: each alone could be busy all the time, but not all of them.

use super::closed::held;
use super::{Pipe, Schedule};

/// A bound below which no order of this pipe can end, whatever the schedule. With two parts on each device both ways to
/// lay them out are looked at, round and folded, and the lower bound counts. 0 for a pipe that is refused.
pub fn bound(pipe: &Pipe) -> f64 {
    let chunks = pipe.parts.len().checked_div(pipe.devices).unwrap_or(0);
    let on = |schedule: Schedule| {
        let device_of: Vec<usize> =
            (0..pipe.parts.len()).map(|part| schedule.device_of(part, pipe.devices)).collect();
        bound_by(pipe, &device_of).0
    };
    match chunks {
        2 => f64::min(on(Schedule::GPipe), on(Schedule::ZeroBubbleV)),
        _ => on(Schedule::GPipe),
    }
}

/// The same where it is known on which device each part is, and the argument behind it in a few words. 0 for a pipe that
/// is refused.
pub fn bound_by(pipe: &Pipe, device_of: &[usize]) -> (f64, String) {
    let chunks = pipe.parts.len().checked_div(pipe.devices).unwrap_or(0);
    let fits = device_of.len() == pipe.parts.len() && device_of.iter().all(|&device| device < pipe.devices);
    if pipe.check(chunks).is_err() || !fits {
        return (0.0, "not a pipe".to_string());
    }
    let paths = Paths::of(pipe, device_of);
    named(pipe, &paths, &paths.sums(pipe, device_of), &[])
}

/// The same for orders of this schedule's kind: parts on the devices where it puts them, the backward pass split only if
/// it does so, and on no device more activations than in its published order.
pub fn bound_within(schedule: Schedule, pipe: &Pipe) -> (f64, String) {
    if pipe.check(schedule.chunks()).is_err() {
        return (0.0, "not a pipe".to_string());
    }
    let mut kind = pipe.clone();
    if !schedule.splits() {
        for part in &mut kind.parts {
            part.backward_s += part.weight_s;
            part.weight_s = 0.0;
        }
    }
    let device_of: Vec<usize> =
        (0..kind.parts.len()).map(|part| schedule.device_of(part, kind.devices)).collect();
    let paths = Paths::of(&kind, &device_of);
    let sums = paths.sums(&kind, &device_of);
    let memory = |(device, sums): (usize, &Sums)| {
        let limit = held(schedule, kind.devices, kind.microbatches, device) as f64;
        let let_go_s = if schedule.splits() { sums.least_weight_s } else { sums.least_backward_s };
        let ramps_s = (sums.least_forward_s + let_go_s) * (limit - 1.0) / 2.0;
        sums.head_s + kind.microbatches as f64 * sums.life_s / limit + ramps_s + kind.after_s[device]
    };
    let memory_s: Vec<f64> = sums.iter().enumerate().map(memory).collect();
    named(&kind, &paths, &sums, &memory_s)
}

/// The largest of all arguments, and its name.
fn named(pipe: &Pipe, paths: &Paths, sums: &[Sums], memory_s: &[f64]) -> (f64, String) {
    let mut most = (paths.whole_s, None);
    let times = pipe.microbatches as f64;
    // A device without any part has no way to it, and no argument.
    for (device, sums) in sums.iter().enumerate().filter(|(_, sums)| sums.head_s.is_finite()) {
        let both_s = times * (sums.forward_s + sums.backward_s);
        let after_s = pipe.after_s[device];
        let arguments = [
            (sums.head_s + both_s + times * sums.weight_s + after_s, "all work of device"),
            (sums.head_s + both_s + sums.tail_s, "forward and backward of device"),
            (sums.turn_s + times * (sums.backward_s + sums.weight_s) + after_s, "backward of device"),
            (memory_s.get(device).copied().unwrap_or(0.0), "memory of device"),
        ];
        for (time_s, words) in arguments {
            if time_s > most.0 {
                most = (time_s, Some((words, device)));
            }
        }
    }
    match most {
        (time_s, None) => (time_s, "path of one microbatch".to_string()),
        (time_s, Some((words, device))) => (time_s, format!("{words} {device}")),
    }
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

    /// What the parts of each device come to.
    fn sums(&self, pipe: &Pipe, device_of: &[usize]) -> Vec<Sums> {
        let mut all = vec![Sums::none(); pipe.devices];
        for (part, times) in pipe.parts.iter().enumerate() {
            let sums = &mut all[device_of[part]];
            sums.forward_s += times.forward_s;
            sums.backward_s += times.backward_s;
            sums.weight_s += times.weight_s;
            sums.least_forward_s = sums.least_forward_s.min(times.forward_s);
            sums.least_backward_s = sums.least_backward_s.min(times.backward_s);
            sums.least_weight_s = sums.least_weight_s.min(times.weight_s);
            sums.life_s += self.turn_s[part] - self.head_s[part] + times.backward_s + times.weight_s;
            sums.head_s = sums.head_s.min(self.head_s[part]);
            sums.turn_s = sums.turn_s.min(self.turn_s[part]);
            sums.tail_s = sums.tail_s.min(self.tail_s[part]);
        }
        all
    }
}

/// What the parts of one device come to, and the shortest ways to and from them.
#[derive(Clone)]
struct Sums {
    forward_s: f64,
    backward_s: f64,
    weight_s: f64,
    least_forward_s: f64,
    least_backward_s: f64,
    least_weight_s: f64,
    /// How long one microbatch is held at least, summed over parts.
    life_s: f64,
    head_s: f64,
    turn_s: f64,
    tail_s: f64,
}

impl Sums {
    fn none() -> Self {
        let far_s = f64::INFINITY;
        Sums {
            forward_s: 0.0,
            backward_s: 0.0,
            weight_s: 0.0,
            least_forward_s: far_s,
            least_backward_s: far_s,
            least_weight_s: far_s,
            life_s: 0.0,
            head_s: far_s,
            turn_s: far_s,
            tail_s: far_s,
        }
    }
}
