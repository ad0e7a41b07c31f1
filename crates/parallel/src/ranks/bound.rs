//! What no ring can beat, for tables of speeds too large to look at every ring.
//!
//! On the slowest link: links no slower than a threshold can only hold a ring if every host can be reached from every
//! other, if no single host holds two parts together, and if every host can be given a successor of its own (a cover by
//! circles; Hopcroft and Karp's matching). What fails once fails at every higher threshold, so the largest at which none
//! fails is found by halving. On the time around: see [`around`].

mod around;
mod joints;
mod matching;

pub use around::around;

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
    for (host, row) in table.iter().enumerate() {
        let out = others(host).map(|to| row[to]).fold(0.0, f64::max);
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
