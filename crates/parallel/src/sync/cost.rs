//! What an exchange takes, and how much of it shows.
//!
//! All-reduce is the better of a ring and a tree; what is gathered goes around a ring; servers share the parameters
//! evenly. Gradients travel in pieces while backward still makes the rest, so all but the first piece's wait and the
//! last piece's exchange can hide. Simplifies: one link speed for all; nothing else uses it.

use super::{Situation, Way};
use crate::compress::wire::{self, Form};

/// What a round is made of, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Parts {
    /// Making smaller, and back.
    pub coding_s: f64,
    /// Exchange that nothing hides.
    pub exchange_s: f64,
}

/// One step of orthonormalising costs so long however small it is: what starting a few operations takes.
const START_S: f64 = 20e-6;
/// How often each form goes over all gradients: twice to cast; to form two products, a third and an error; to select.
const CAST: f64 = 2.0;
const FACTOR: f64 = 6.0;
const SELECT: f64 = 24.0;

/// What a way takes beside compute and waiting, in every round on average.
pub fn parts(situation: &Situation, way: Way) -> Parts {
    let whole = situation.gradient_bytes;
    match way {
        Way::Every(form) => every(situation, form),
        Way::Servers(servers) => {
            let (push, pull) = served(situation, servers);
            Parts { coding_s: 0.0, exchange_s: hidden(situation, push) + pull }
        }
        // Whoever is late is dropped; those in time exchange as ever.
        Way::Backup(_) => every(situation, Form::Dense),
        Way::Stale(_) => {
            // Each worker holds a part of the parameters; a whole round hides the exchange.
            let (push, pull) = served(situation, situation.servers.max(situation.workers));
            Parts { coding_s: 0.0, exchange_s: (push + pull - situation.compute_s).max(0.0) }
        }
        Way::Local(rounds) | Way::Diloco(rounds) => {
            let exchange_s = reduced(situation, whole) / rounds as f64;
            Parts { coding_s: 0.0, exchange_s }
        }
    }
}

fn every(situation: &Situation, form: Form) -> Parts {
    let (shapes, whole) = (situation.shapes(), situation.gradient_bytes);
    let pass = whole / situation.coding;
    // Shapes that nobody gave add up to a little more than the gradients.
    let bytes = wire::bytes(form, &shapes) * whole / wire::bytes(Form::Dense, &shapes);
    let pieces = pieces(situation);
    match form {
        Form::Dense => Parts { coding_s: 0.0, exchange_s: hidden(situation, reduced(situation, whole)) },
        Form::LowRank(rank) => {
            let kinds = shapes.iter().collect::<std::collections::BTreeSet<_>>().len() as f64;
            let coding_s = FACTOR * pass + START_S * f64::from(rank) * kinds;
            // Two exchanges follow each other in every piece.
            let total = 2.0 * pieces * reduce(situation, bytes / 2.0 / pieces);
            Parts { coding_s, exchange_s: hidden(situation, total) }
        }
        Form::Largest(_) | Form::Bit | Form::Levels(_) => {
            let others = f64::from(situation.workers - 1);
            let total =
                pieces * others * (situation.link.latency_s + bytes / pieces / situation.link.bandwidth);
            let passes = if matches!(form, Form::Largest(_)) { SELECT } else { CAST };
            Parts { coding_s: passes * pass, exchange_s: hidden(situation, total) }
        }
        Form::Fp16 | Form::Bf16 => {
            let total = pieces * reduce(situation, bytes / pieces);
            Parts { coding_s: CAST * pass, exchange_s: hidden(situation, total) }
        }
    }
}

fn pieces(situation: &Situation) -> f64 {
    (situation.gradient_bytes / situation.bucket_bytes).ceil().clamp(1.0, 1e6)
}

/// All gradients, piece by piece.
fn reduced(situation: &Situation, bytes: f64) -> f64 {
    pieces(situation) * reduce(situation, bytes / pieces(situation))
}

/// One all-reduce.
fn reduce(situation: &Situation, bytes: f64) -> f64 {
    let (workers, link) = (f64::from(situation.workers), situation.link);
    if situation.workers < 2 {
        return 0.0;
    }
    let depth = f64::from(situation.workers.next_power_of_two().trailing_zeros());
    let ring =
        2.0 * (workers - 1.0) * link.latency_s + 2.0 * (workers - 1.0) / workers * bytes / link.bandwidth;
    let tree = 2.0 * depth * link.latency_s + 2.0 * bytes / link.bandwidth;
    ring.min(tree)
}

/// To the servers, and back.
fn served(situation: &Situation, servers: u32) -> (f64, f64) {
    if situation.workers < 2 {
        return (0.0, 0.0);
    }
    let crowd = (f64::from(situation.workers) / f64::from(servers.max(1))).max(1.0);
    let way = situation.link.latency_s + crowd * situation.gradient_bytes / situation.link.bandwidth;
    (way, way)
}

/// What shows of an exchange of so long: the last piece always does.
fn hidden(situation: &Situation, total: f64) -> f64 {
    let pieces = pieces(situation);
    (total - situation.backward_s * (pieces - 1.0) / pieces).max(total / pieces)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::Link;

    fn situation(bandwidth: f64) -> Situation {
        let link = Link { bandwidth, latency_s: 0.0 };
        Situation { bucket_bytes: 1e6, ..Situation::new(4, 0.1, 0.08, 8e6, link) }
    }

    #[test]
    fn backward_hides_all_but_the_last_piece() {
        // 2 * 3/4 * 8 MB at 1 GB/s: 12 ms, of which one piece of eight shows.
        let fast = parts(&situation(1e9), Way::Every(Form::Dense)).exchange_s;
        assert!((fast - 0.0015).abs() < 1e-12, "{fast}");
        // At 0.1 GB/s 120 ms, of which seven eighths of 80 ms hide.
        let slow = parts(&situation(1e8), Way::Every(Form::Dense)).exchange_s;
        assert!((slow - 0.05).abs() < 1e-12, "{slow}");
    }

    #[test]
    fn one_server_for_many_is_a_crowd() {
        let crowd = parts(&situation(1e8), Way::Servers(1)).exchange_s;
        let shared = parts(&situation(1e8), Way::Servers(4)).exchange_s;
        assert!(crowd > 3.0 * shared, "{crowd} {shared}");
    }

    #[test]
    fn alone_nothing_is_exchanged() {
        let alone = Situation { workers: 1, ..situation(1e8) };
        for way in Way::all(&alone, 0) {
            assert_eq!(parts(&alone, way).exchange_s, 0.0, "{way}");
        }
    }
}
