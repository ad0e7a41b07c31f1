//! Gradients sent while backward still runs: which layers to send together.
//!
//! Backward goes from the last layer to the first. Gradients of neighbours are put into a bucket; a bucket is sent when
//! the last of its gradients is ready and the bucket before it has gone. Few large buckets wait long for their last
//! gradient, many small ones pay the latency often. `DistributedDataParallel` closes a bucket at 25 MiB, the first at 1.
//!
//! Here the boundaries are found exactly: whoever has sent the first `j` layers soonest is never worse off later, so one
//! figure for each `j` is enough (dynamic programming over all pairs of boundaries). Of the plans that end soonest, one
//! with few buckets is taken, none larger than 25 MiB without need.
//!
//! The bound: of all layers from some layer on, no gradient can be sent before the first of them is ready, and sending
//! them all takes at least as long as sending them at once, since two messages never take less than one of both.
//!
//! Simplified: sending does not slow backward down, one bucket is on the way at a time, and the optimizer waits for all.
//! Does badly: gradients that are used several times and are not ready when their layer is done.

mod list;

pub use list::read;

use crate::answer::Answer;
use serde::Serialize;
use std::fmt;

/// What backward spends on a layer, and what it leaves to be sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Gradient {
    /// What people call the layer.
    pub name: String,
    /// Seconds of backward.
    pub backward_s: f64,
    /// Bytes of its gradient.
    pub bytes: f64,
}

/// Layers whose gradients are sent together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bucket {
    /// The first layer of it in the order of the network, counted from 0.
    pub first: usize,
    /// The last one.
    pub last: usize,
    /// Its bytes.
    pub bytes: f64,
    /// When its last gradient is ready.
    pub ready_s: f64,
    /// When sending begins.
    pub start_s: f64,
    /// When everybody has it.
    pub end_s: f64,
}

/// Buckets closed at a fixed size.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fixed {
    /// The size at which a bucket is closed.
    pub cap_bytes: u64,
    /// How many there are.
    pub buckets: usize,
    /// When the last has been sent.
    pub end_s: f64,
    /// How much later that is than the end of backward.
    pub exposed_s: f64,
}

/// Buckets, in the order in which they are sent.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plan {
    /// In the order in which they are sent.
    pub buckets: Vec<Bucket>,
    /// Backward alone.
    pub backward_s: f64,
    /// What is not hidden behind backward.
    pub exposed_s: f64,
    /// The same with buckets of fixed sizes.
    pub fixed: Vec<Fixed>,
    /// The best of the fixed sizes.
    pub best_cap_bytes: u64,
    /// How much sooner than with 25 MiB, as a part of that, in percent.
    pub gain_over_default_pct: f64,
}

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// Nothing to send.
    Nothing,
    /// More layers than can be looked at in pairs.
    TooMany(usize),
    /// A layer with a figure that is none.
    Figure(String),
}

/// More layers are refused.
pub const MOST_LAYERS: usize = 5000;

/// Sizes at which buckets are closed for comparison, in MiB.
pub const CAPS_MIB: [u64; 6] = [1, 5, 10, 25, 50, 100];

const DEFAULT: u64 = 25 << 20;

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Nothing => {
                write!(f, "no layer has a gradient to send; name a network that learns something")
            }
            Refusal::TooMany(layers) => {
                write!(f, "{layers} layers are more than {MOST_LAYERS}; join neighbours into one")
            }
            Refusal::Figure(name) => {
                write!(f, "backward or the gradient of {name} must be a number from 0; correct the profile")
            }
        }
    }
}

impl std::error::Error for Refusal {}

/// Finds the best buckets. `layers` are in the order of the network; `send` is the seconds of one message, never less for
/// more bytes, and never more for two messages in one than for both.
pub fn plan(layers: &[Gradient], send: impl Fn(f64) -> f64) -> Result<Answer<Plan>, Refusal> {
    if layers.len() > MOST_LAYERS {
        return Err(Refusal::TooMany(layers.len()));
    }
    let is_figure = |value: f64| value >= 0.0 && value.is_finite();
    if let Some(bad) = layers.iter().find(|layer| !is_figure(layer.backward_s) || !is_figure(layer.bytes)) {
        return Err(Refusal::Figure(bad.name.clone()));
    }
    if layers.iter().all(|layer| layer.bytes == 0.0) {
        return Err(Refusal::Nothing);
    }
    let order = Order::of(layers);
    let ends = best(&order, &send);
    let buckets = order.run(&ends, &send);
    let end = buckets.last().map_or(order.ready[layers.len()], |bucket| bucket.end_s);
    let fixed: Vec<Fixed> = CAPS_MIB.iter().map(|&cap| order.fixed(cap << 20, &send)).collect();
    let backward_s = order.ready[layers.len()];
    let end = end.max(backward_s);
    let usual = fixed.iter().find(|fixed| fixed.cap_bytes == DEFAULT).map_or(end, |fixed| fixed.end_s);
    let soonest = fixed.iter().min_by(|one, other| one.end_s.total_cmp(&other.end_s));
    let plan = Plan {
        buckets,
        backward_s,
        exposed_s: end - backward_s,
        best_cap_bytes: soonest.map_or(DEFAULT, |fixed| fixed.cap_bytes),
        fixed,
        gain_over_default_pct: 100.0 * (usual - end) / usual,
    };
    let pairs = (layers.len() * (layers.len() + 1) / 2) as u64;
    Ok(Answer {
        plan,
        objective: end,
        unit: "s",
        bound: order.bound(&send),
        bound_by: "gradients from some layer on, sent at once when the first is ready".into(),
        assumed: vec!["sending does not slow backward down, and one bucket is on the way at a time".into()],
        tried: pairs,
    })
}

/// Layers in the order of backward, with sums before each.
struct Order {
    /// Backward has done the first so many of them.
    ready: Vec<f64>,
    /// And left so many bytes.
    sent: Vec<f64>,
}

impl Order {
    fn of(layers: &[Gradient]) -> Self {
        let (mut ready, mut sent) = (vec![0.0], vec![0.0]);
        for layer in layers.iter().rev() {
            ready.push(ready[ready.len() - 1] + layer.backward_s);
            sent.push(sent[sent.len() - 1] + layer.bytes);
        }
        Self { ready, sent }
    }

    fn layers(&self) -> usize {
        self.ready.len() - 1
    }

    /// Seconds to send what lies between two boundaries; nothing takes no time.
    fn price(&self, from: usize, to: usize, send: &impl Fn(f64) -> f64) -> f64 {
        let bytes = self.sent[to] - self.sent[from];
        if bytes > 0.0 { send(bytes) } else { 0.0 }
    }

    /// Sends what lies between these boundaries, the last of which is the end.
    fn run(&self, ends: &[usize], send: &impl Fn(f64) -> f64) -> Vec<Bucket> {
        let (mut from, mut free, mut buckets) = (0, 0.0f64, vec![]);
        for &to in ends {
            let bytes = self.sent[to] - self.sent[from];
            if bytes > 0.0 {
                let start_s = free.max(self.ready[to]);
                free = start_s + self.price(from, to, send);
                let (first, last) = (self.layers() - to, self.layers() - 1 - from);
                buckets.push(Bucket { first, last, bytes, ready_s: self.ready[to], start_s, end_s: free });
            }
            from = to;
        }
        buckets
    }

    /// Buckets closed as soon as they have so many bytes, the first at 1 MiB if that is less.
    fn fixed(&self, cap_bytes: u64, send: &impl Fn(f64) -> f64) -> Fixed {
        let (mut from, mut ends) = (0, vec![]);
        let mut cap = cap_bytes.min(1 << 20) as f64;
        for to in 1..=self.layers() {
            if self.sent[to] - self.sent[from] >= cap || to == self.layers() {
                ends.push(to);
                from = to;
                cap = cap_bytes as f64;
            }
        }
        let buckets = self.run(&ends, send);
        let backward = self.ready[self.layers()];
        let end_s = buckets.last().map_or(backward, |bucket| bucket.end_s.max(backward));
        Fixed { cap_bytes, buckets: buckets.len(), end_s, exposed_s: end_s - backward }
    }

    /// See the top of this file.
    fn bound(&self, send: &impl Fn(f64) -> f64) -> f64 {
        let whole = self.layers();
        let from = |first: usize| self.ready[first + 1] + self.price(first, whole, send);
        (0..whole).map(from).fold(self.ready[whole], f64::max)
    }
}

/// The boundaries of the best buckets: of those that end soonest, few.
fn best(order: &Order, send: &impl Fn(f64) -> f64) -> Vec<usize> {
    let whole = order.layers();
    let mut soonest = vec![0.0f64; whole + 1];
    for to in 1..=whole {
        let end = |from: usize| match order.sent[to] > order.sent[from] {
            true => soonest[from].max(order.ready[to]) + order.price(from, to, send),
            false => soonest[from],
        };
        soonest[to] = (0..to).map(end).fold(f64::INFINITY, f64::min);
    }
    // Backwards: a large bucket that still ends in time, if what lies before it can be there in time too.
    let (mut ends, mut to, mut due) = (vec![], whole, soonest[whole] * (1.0 + 1e-12));
    while to > 0 {
        ends.push(to);
        let start = |from: usize| due - order.price(from, to, send);
        let fits = |&from: &usize| match order.sent[to] > order.sent[from] {
            true => order.ready[to] <= start(from) && soonest[from] <= start(from),
            false => soonest[from] <= due,
        };
        // Usual sizes leave room for a late start; larger ones only where nothing smaller ends in time.
        let is_usual = |from: &usize| order.sent[to] - order.sent[*from] <= DEFAULT as f64;
        let from = (0..to).filter(is_usual).find(fits).or_else(|| (0..to).rev().find(fits));
        let from = from.unwrap_or(to - 1);
        due = start(from);
        to = from;
    }
    ends.reverse();
    ends
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dice::Dice;

    fn layers(figures: &[(f64, f64)]) -> Vec<Gradient> {
        let layer = |(index, &(backward_s, bytes)): (usize, &(f64, f64))| Gradient {
            name: format!("l{index}"),
            backward_s,
            bytes,
        };
        figures.iter().enumerate().map(layer).collect()
    }

    #[test]
    fn the_best_buckets_are_the_best_of_all_boundaries() {
        let mut dice = Dice::new(2);
        for _ in 0..200 {
            let count = 1 + dice.below(9);
            let figures: Vec<(f64, f64)> = (0..count)
                .map(|_| (dice.unit(), if dice.unit() < 0.2 { 0.0 } else { dice.unit() * 1e6 }))
                .collect();
            let (wait, speed) = (dice.unit() * 0.5, 1e5 + dice.unit() * 2e6);
            let send = |bytes: f64| wait + bytes / speed;
            let layers = layers(&figures);
            let Ok(answer) = plan(&layers, send) else { continue };
            let order = Order::of(&layers);
            let all = (0u32..1 << (count - 1)).map(|set| {
                let ends: Vec<usize> =
                    (1..=count).filter(|&to| to == count || set >> (to - 1) & 1 == 1).collect();
                order.run(&ends, &send).last().map_or(0.0, |bucket| bucket.end_s).max(order.ready[count])
            });
            let best = all.fold(f64::INFINITY, f64::min);
            assert!((answer.objective - best).abs() < 1e-11 * best, "{figures:?} {answer:?} {best}");
            assert!(answer.bound <= best * (1.0 + 1e-11) && answer.bound > 0.0);
            assert!(answer.plan.fixed.iter().all(|fixed| fixed.end_s >= best * (1.0 - 1e-12)));
        }
    }

    #[test]
    fn a_network_that_sends_quickly_hides_all_but_the_first_layer() {
        let answer = plan(&layers(&[(1.0, 10.0), (1.0, 10.0), (1.0, 10.0)]), |bytes| bytes / 100.0).unwrap();
        assert!((answer.plan.exposed_s - 0.1).abs() < 1e-12);
        assert!(answer.gap() < 1e-12);
        let seen: Vec<_> = answer.plan.buckets.iter().map(|bucket| (bucket.first, bucket.last)).collect();
        assert_eq!(seen, [(1, 2), (0, 0)]);
    }

    #[test]
    fn what_cannot_be_planned_is_refused() {
        let said = |figures: &[(f64, f64)]| plan(&layers(figures), |bytes| bytes).unwrap_err().to_string();
        assert!(said(&[(1.0, 0.0)]).contains("no layer has a gradient"));
        assert!(said(&[(f64::NAN, 1.0)]).contains("l0"));
        assert!(said(&vec![(1.0, 1.0); MOST_LAYERS + 1]).contains("more than 5000"));
    }
}
