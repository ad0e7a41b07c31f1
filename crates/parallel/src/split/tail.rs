//! The expected time of the slowest device, and splits that make it small.
//!
//! Devices vary from one round to the next, and everybody waits for whoever is slowest this time. With times that are
//! independent and normal, the expectation of the maximum is one integral over the product of their distribution
//! functions; it is taken numerically at fixed points, so that it is the same on every machine. The search moves
//! samples from devices that end late to devices that end early for as long as the expectation falls: a local search,
//! not exact. It does badly where times have rare long outliers, which a normal distribution does not have; then the
//! [straggler](crate::straggler) is to be dealt with and not the split.

use super::exact::Line;

/// Beyond so many deviations nothing happens.
const REACH: f64 = 8.0;
/// Where the integral is cut for each device, in deviations.
const CUTS: [f64; 9] = [-8.0, -4.0, -2.0, -1.0, 0.0, 1.0, 2.0, 4.0, 8.0];
/// Between two cuts: places and weights of Gauss and Legendre, of the half with positive places.
const PLACES: [(f64, f64); 4] = [
    (0.183_434_642_495_649_8, 0.362_683_783_378_362),
    (0.525_532_409_916_329, 0.313_706_645_877_887_3),
    (0.796_666_477_413_626_7, 0.222_381_034_453_374_5),
    (0.960_289_856_497_536_3, 0.101_228_536_290_376_3),
];
/// So many pieces are integrated at most; cuts that are closer are taken as one.
const MOST_PIECES: usize = 160;
/// About how many values of the distribution function one search may ask for.
const EFFORT: usize = 20_000_000;

/// The expectation of the largest of independent normal times, given as mean and deviation.
pub fn expected_maximum(times: &[(f64, f64)]) -> f64 {
    let low = times.iter().map(|(mean, deviation)| mean - REACH * deviation).fold(f64::MIN, f64::max);
    let high = times.iter().map(|(mean, deviation)| mean + REACH * deviation).fold(low, f64::max);
    let mut near: Vec<(f64, f64)> = times
        .iter()
        .copied()
        .filter(|(mean, deviation)| *deviation > 0.0 && mean + REACH * deviation > low)
        .collect();
    near.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.total_cmp(&other.1)));
    // Devices that are alike are asked once.
    let alike: Vec<(f64, f64, f64)> = near
        .chunk_by(|one, other| one == other)
        .map(|same| (same[0].0, same[0].1, same.len() as f64))
        .collect();
    // E[max] = high - integral of the distribution function of the maximum, which is nothing below `low`.
    near.dedup();
    let cuts = cuts(&near, low, high);
    let below = |x: f64| {
        let mut product = 1.0;
        for (mean, deviation, count) in &alike {
            let one = normal((x - mean) / deviation);
            product *= if *count == 1.0 { one } else { libm::pow(one, *count) };
            if product < 1e-18 {
                return 0.0;
            }
        }
        product
    };
    let mut area = 0.0;
    for ends in cuts.windows(2) {
        let (middle, half) = ((ends[0] + ends[1]) / 2.0, (ends[1] - ends[0]) / 2.0);
        for (place, weight) in PLACES {
            area += half * weight * (below(middle - half * place) + below(middle + half * place));
        }
    }
    high - area
}

fn cuts(times: &[(f64, f64)], low: f64, high: f64) -> Vec<f64> {
    let all = times.iter().flat_map(|(mean, deviation)| CUTS.map(|cut| mean + cut * deviation));
    let mut cuts: Vec<f64> = all.filter(|cut| (low..=high).contains(cut)).chain([low, high]).collect();
    cuts.sort_by(f64::total_cmp);
    cuts.dedup();
    if cuts.len() > MOST_PIECES {
        let apart = (high - low) / MOST_PIECES as f64;
        let mut kept = low;
        cuts.retain(|cut| {
            let far = *cut == low || *cut == high || cut - kept >= apart;
            kept = if far { *cut } else { kept };
            far
        });
    }
    cuts
}

/// The distribution function of the normal distribution.
pub(crate) fn normal(z: f64) -> f64 {
    match z {
        z if z > 8.5 => 1.0,
        z if z < -8.5 => 0.0,
        z => 0.5 * libm::erfc(-z * std::f64::consts::FRAC_1_SQRT_2),
    }
}

/// What is expected of a split.
pub fn expectation(lines: &[Line], spreads: &[f64], taken: &[u64]) -> f64 {
    let times: Vec<(f64, f64)> = lines
        .iter()
        .zip(spreads)
        .zip(taken)
        .filter(|(_, taken)| **taken > 0)
        .map(|((line, spread), &taken)| (line.time(taken), line.time(taken) * spread))
        .collect();
    if times.is_empty() { 0.0 } else { expected_maximum(&times) }
}

/// Moves samples from late devices to early ones while that makes the expected maximum less. Returns it, and how many
/// splits were looked at.
pub fn improve(lines: &[Line], spreads: &[f64], taken: &mut [u64]) -> (f64, u64) {
    let batch: u64 = taken.iter().sum();
    let mut best = expectation(lines, spreads, taken);
    let budget = (EFFORT / (lines.len() * 512)).clamp(64, 4_000) as u64;
    let (mut tried, mut size) = (1, (batch / (8 * lines.len() as u64)).max(1));
    while tried < budget {
        match best_move(lines, spreads, taken, size, best, &mut tried) {
            Some((from, to, found)) => {
                taken[from] -= size;
                taken[to] += size;
                best = found;
            }
            None if size == 1 => break,
            None => size /= 2,
        }
    }
    (best, tried)
}

/// The best move of so many samples between the four latest and the four earliest devices that can make it.
fn best_move(
    lines: &[Line],
    spreads: &[f64],
    taken: &mut [u64],
    size: u64,
    best: f64,
    tried: &mut u64,
) -> Option<(usize, usize, f64)> {
    // Of equal means, the one that varies more is late more often.
    let late = |index: usize, samples: u64| lines[index].time(samples) * (1.0 + 1.5 * spreads[index]);
    let mut from: Vec<usize> =
        (0..lines.len()).filter(|&index| taken[index] >= lines[index].least + size).collect();
    from.sort_by(|&one, &other| late(other, taken[other]).total_cmp(&late(one, taken[one])));
    let mut to: Vec<usize> =
        (0..lines.len()).filter(|&index| taken[index] + size <= lines[index].most).collect();
    to.sort_by(|&one, &other| late(one, taken[one] + size).total_cmp(&late(other, taken[other] + size)));
    let mut found: Option<(usize, usize, f64)> = None;
    for &from in from.iter().take(4) {
        for &to in to.iter().filter(|&&to| to != from).take(4) {
            taken[from] -= size;
            taken[to] += size;
            let expected = expectation(lines, spreads, taken);
            taken[from] += size;
            taken[to] -= size;
            *tried += 1;
            // A gain in the last digits is none.
            if expected < found.map_or(best * (1.0 - 1e-9), |found| found.2) {
                found = Some((from, to, expected));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dice::Dice;

    #[test]
    fn the_largest_of_equal_normals_is_where_tables_say() {
        for (count, expected) in [(1, 0.0), (2, 0.564_189_583_5), (3, 0.846_284_375_3), (10, 1.538_752_730_8)]
        {
            let found = expected_maximum(&vec![(10.0, 1.0); count]);
            assert!((found - 10.0 - expected).abs() < 1e-8, "{count}: {found}");
        }
    }

    #[test]
    fn a_device_that_never_varies_is_a_floor() {
        // E[max(c, X)] = c F + m (1 - F) + s f for c at the mean: s / sqrt(2 pi).
        let found = expected_maximum(&[(5.0, 0.0), (5.0, 2.0)]);
        assert!((found - 5.0 - 2.0 * 0.398_942_280_401).abs() < 1e-8, "{found}");
        assert_eq!(expected_maximum(&[(5.0, 0.0), (3.0, 0.0)]), 5.0);
        let narrow = expected_maximum(&[(5.0, 1e-7), (5.0, 2.0)]);
        assert!((narrow - found).abs() < 1e-5, "{narrow}");
    }

    #[test]
    fn moves_come_near_the_best_of_all_splits() {
        let mut dice = Dice::new(5);
        for round in 0..60 {
            let lines: Vec<Line> = (0..3)
                .map(|_| Line {
                    fixed: dice.unit(),
                    sample: 0.05 + dice.unit() * 0.3,
                    micro: 40,
                    least: 0,
                    most: 40,
                })
                .collect();
            let spreads: Vec<f64> = (0..3).map(|_| 0.3 * dice.unit()).collect();
            let batch = 12 + dice.below(20) as u64;
            let mut taken = super::super::exact::split(&lines, batch).unwrap().0;
            let began = expectation(&lines, &spreads, &taken);
            let (found, _) = improve(&lines, &spreads, &mut taken);
            let mut best = f64::MAX;
            for one in 0..=batch {
                for two in 0..=batch - one {
                    best = best.min(expectation(&lines, &spreads, &[one, two, batch - one - two]));
                }
            }
            assert!(found <= began && found <= best * 1.002, "{round}: {began} {found} {best}");
            assert_eq!(taken.iter().sum::<u64>(), batch);
        }
    }
}
