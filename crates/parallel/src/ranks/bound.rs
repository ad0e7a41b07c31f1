//! What no ring can beat, for tables of speeds too large to look at every ring.
//!
//! On the slowest link: links no slower than a threshold can only hold a ring if every host can be reached from every
//! other, if no single host holds two parts together, and if every host can be given a successor of its own (a cover by
//! circles; Hopcroft and Karp's matching). All three fail together as the threshold rises, so the largest threshold at
//! which none fails is found by halving. On the time around: every host is entered and left, by two different others;
//! half the sum of the cheapest such pairs is no more than any ring takes, and neither are the cheapest ways out, nor
//! the cheapest ways in. The bound on the time is loose where hosts form clusters with few fast links between them.

mod joints;
mod matching;

/// A bound and the argument for it.
pub struct Ceiling {
    /// Bytes per second.
    pub value: f64,
    /// Which argument fails above it.
    pub by: &'static str,
}

/// No ring has a faster slowest link; nothing when there is no ring at all.
pub fn bottleneck(table: &[Vec<f64>]) -> Option<Ceiling> {
    let count = table.len();
    let others = |host: usize| (0..count).filter(move |&other| other != host);
    let mut most = f64::INFINITY;
    for host in 0..count {
        let out = others(host).map(|to| table[host][to]).fold(0.0, f64::max);
        let into = others(host).map(|from| table[from][host]).fold(0.0, f64::max);
        most = most.min(out).min(into);
    }
    let mut speeds: Vec<f64> = vec![];
    for (host, row) in table.iter().enumerate() {
        speeds.extend(others(host).map(|to| row[to]).filter(|&speed| speed > 0.0 && speed <= most));
    }
    speeds.sort_unstable_by(f64::total_cmp);
    speeds.dedup();
    let works = speeds.partition_point(|&threshold| fails(table, threshold).is_none());
    let value = *speeds.get(works.checked_sub(1)?)?;
    let by = speeds.get(works).and_then(|&above| fails(table, above));
    Some(Ceiling { value, by: by.unwrap_or("the slowest of the hosts' own best links") })
}

/// Why links of at least this speed hold no ring, if that can be seen.
fn fails(table: &[Vec<f64>], threshold: f64) -> Option<&'static str> {
    let linked = |from: usize, to: usize| from != to && table[from][to] >= threshold;
    if !joints::reaches_all(table.len(), linked) || !joints::reaches_all(table.len(), |a, b| linked(b, a)) {
        return Some("above it, some hosts cannot be reached");
    }
    if joints::has_joint(table.len(), |one, other| linked(one, other) || linked(other, one)) {
        return Some("above it, one host alone joins two parts");
    }
    match matching::covers(table.len(), linked) {
        true => None,
        false => Some("above it, not every host has a successor of its own"),
    }
}

/// No ring over links of at least this speed takes less time around.
pub fn around(table: &[Vec<f64>], threshold: f64) -> f64 {
    let count = table.len();
    let time = |from: usize, to: usize| match from != to && table[from][to] >= threshold {
        true => 1.0 / table[from][to],
        false => f64::INFINITY,
    };
    let (mut out, mut into, mut pairs) = (0.0, 0.0, 0.0);
    for host in 0..count {
        let leaving = two_least((0..count).map(|to| time(host, to)));
        let coming = two_least((0..count).map(|from| time(from, host)));
        out += leaving[0].1;
        into += coming[0].1;
        // A successor that is not the predecessor: with more than two hosts they differ.
        let apart = leaving[0].0 != coming[0].0;
        let pair = match apart {
            true => leaving[0].1 + coming[0].1,
            false => (leaving[0].1 + coming[1].1).min(leaving[1].1 + coming[0].1),
        };
        pairs += pair / 2.0;
    }
    let bounds = [out, into, pairs].into_iter().filter(|bound: &f64| bound.is_finite());
    // Sums in another order may differ in the last digits: what is a bound must stay one.
    bounds.fold(0.0, f64::max) * (1.0 - 1e-12)
}

fn two_least(times: impl Iterator<Item = f64>) -> [(usize, f64); 2] {
    let mut least = [(usize::MAX, f64::INFINITY); 2];
    for (at, time) in times.enumerate() {
        if time < least[0].1 {
            least = [(at, time), least[0]];
        } else if time < least[1].1 {
            least[1] = (at, time);
        }
    }
    least
}
