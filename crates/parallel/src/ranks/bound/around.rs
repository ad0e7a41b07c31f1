//! A bound on the time around: the sum of 1/bandwidth over the links of any ring.
//!
//! Every host is left and entered, by two different others: the cheapest such pair of each host, halved, is counted
//! first. Then hosts are joined into clusters, the fastest links first, and clusters into larger ones. Every cluster but
//! the whole is left and entered at least once, and whoever does that pays at least the difference between his cheapest
//! link out of it and his cheapest link out of the clusters inside it: the least of these differences over the cluster's
//! hosts is added, for every cluster. In a tree of links that is exactly what the best ring takes.

/// Beyond so many hosts the clusters are left aside.
const CLUSTERED: usize = 2_048;

/// No ring over links of at least this speed takes less time around.
pub fn around(table: &[Vec<f64>], threshold: f64) -> f64 {
    let count = table.len();
    let time = |from: usize, to: usize| match from != to && table[from][to] >= threshold {
        true => 1.0 / table[from][to],
        false => f64::INFINITY,
    };
    let back = |from: usize, to: usize| time(to, from);
    let leaving: Vec<_> = (0..count).map(|host| two_least(count, |other| time(host, other))).collect();
    let coming: Vec<_> = (0..count).map(|host| two_least(count, |other| back(host, other))).collect();
    // A successor that is not the predecessor: with more than two hosts they differ.
    let pair = |host: usize| {
        let (leaving, coming) = (leaving[host], coming[host]);
        match leaving[0].0 != coming[0].0 {
            true => leaving[0].1 + coming[0].1,
            false => (leaving[0].1 + coming[1].1).min(leaving[1].1 + coming[0].1),
        }
    };
    let pairs: Vec<f64> = (0..count).map(pair).collect();
    let [out, into] =
        [&leaving, &coming].map(|least| least.iter().map(|least| least[0].1).collect::<Vec<f64>>());
    let sum = |times: &[f64]| times.iter().sum::<f64>();
    let mut bounds = [sum(&pairs) / 2.0, sum(&out), sum(&into)];
    if count <= CLUSTERED {
        let clusters = clusters(table);
        // What leaving costs beyond the cheapest pair, if entering is as cheap as it can be; and the other way round.
        let ways = Ways::new(count, time);
        bounds[0] += ways.surcharge(&clusters, |host, leave| leave + into[host] - pairs[host]) / 2.0;
        bounds[1] += ways.surcharge(&clusters, |host, leave| leave - out[host]);
        let ways = Ways::new(count, back);
        bounds[0] += ways.surcharge(&clusters, |host, enter| enter + out[host] - pairs[host]) / 2.0;
        bounds[2] += ways.surcharge(&clusters, |host, enter| enter - into[host]);
    }
    // Sums in another order may differ in the last digits: what is a bound must stay one.
    bounds.into_iter().filter(|bound| bound.is_finite()).fold(0.0, f64::max) * (1.0 - 1e-12)
}

fn two_least(count: usize, time: impl Fn(usize) -> f64) -> [(usize, f64); 2] {
    let mut least = [(usize::MAX, f64::INFINITY); 2];
    for other in 0..count {
        let time = time(other);
        if time < least[0].1 {
            least = [(other, time), least[0]];
        } else if time < least[1].1 {
            least[1] = (other, time);
        }
    }
    least
}

/// Clusters of hosts, smaller ones before those that hold them; none of one host, nor the whole.
fn clusters(table: &[Vec<f64>]) -> Vec<Vec<u32>> {
    let links = fastest_tree(table);
    let count = table.len();
    let mut members: Vec<Vec<u32>> = (0..count as u32).map(|host| vec![host]).collect();
    let mut cluster: Vec<usize> = (0..count).collect();
    let (mut found, mut grown) = (vec![], vec![]);
    for (at, &(speed, one, other)) in links.iter().enumerate() {
        let (one, other) = (cluster[one], cluster[other]);
        let (large, small) =
            if members[one].len() >= members[other].len() { (one, other) } else { (other, one) };
        let moved = std::mem::take(&mut members[small]);
        moved.iter().for_each(|&host| cluster[host as usize] = large);
        members[large].extend(moved);
        grown.push(large);
        // Clusters count when they are whole at their speed: before that, their parts have the same way out.
        if links.get(at + 1).is_none_or(|next| next.0 < speed) {
            grown.sort_unstable();
            grown.dedup();
            let whole = grown.drain(..).map(|at| &members[at]).filter(|members| !members.is_empty());
            found.extend(whole.filter(|members| members.len() < count).cloned());
        }
    }
    found
}

/// The links of a tree of fastest links, the fastest first (Prim): along it clusters grow as they do along all links.
fn fastest_tree(table: &[Vec<f64>]) -> Vec<(f64, usize, usize)> {
    let count = table.len();
    let speed = |one: usize, other: usize| table[one][other].max(table[other][one]);
    let mut nearest = vec![0; count];
    let mut fastest: Vec<f64> = (0..count).map(|host| speed(0, host)).collect();
    let (mut left, mut links): (Vec<usize>, _) = ((1..count).collect(), vec![]);
    while !left.is_empty() {
        let best = (0..left.len()).max_by(|&one, &other| {
            fastest[left[one]].total_cmp(&fastest[left[other]]).then(left[other].cmp(&left[one]))
        });
        let host = left.swap_remove(best.unwrap_or(0));
        links.push((fastest[host], nearest[host], host));
        for &other in &left {
            if speed(host, other) > fastest[other] {
                (fastest[other], nearest[other]) = (speed(host, other), host);
            }
        }
    }
    links.sort_by(|one, other| other.0.total_cmp(&one.0));
    links
}

/// For every host, the others by the time to them, the least first.
struct Ways(Vec<Vec<(f64, u32)>>);

impl Ways {
    fn new(count: usize, time: impl Fn(usize, usize) -> f64) -> Self {
        let ways = |host: usize| {
            let others = (0..count).filter(|&other| other != host);
            let mut ways: Vec<(f64, u32)> = others.map(|other| (time(host, other), other as u32)).collect();
            ways.sort_unstable_by(|one, other| one.0.total_cmp(&other.0));
            ways
        };
        Ways((0..count).map(ways).collect())
    }

    /// What clusters add: for each, the least over its hosts of what leaving it costs more than leaving what is inside
    /// it. `beyond` says what a way out of that length costs a host more than was counted for it before.
    fn surcharge(&self, clusters: &[Vec<u32>], beyond: impl Fn(usize, f64) -> f64) -> f64 {
        let count = self.0.len();
        let (mut next, mut paid, mut inside) = (vec![0; count], vec![0.0; count], vec![usize::MAX; count]);
        let mut sum = 0.0;
        for (number, cluster) in clusters.iter().enumerate() {
            cluster.iter().for_each(|&host| inside[host as usize] = number);
            let mut least = f64::INFINITY;
            for host in cluster.iter().map(|&host| host as usize) {
                // Clusters only grow: who was inside stays inside.
                let ways = &self.0[host];
                while inside[ways[next[host]].1 as usize] == number {
                    next[host] += 1;
                }
                let cost = beyond(host, ways[next[host]].0).max(paid[host]);
                if cost.is_finite() {
                    least = least.min(cost - paid[host]);
                }
                paid[host] = cost;
            }
            sum += least;
        }
        sum
    }
}
