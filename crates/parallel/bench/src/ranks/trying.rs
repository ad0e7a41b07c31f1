//! The best ring by trying all of them: written apart from the planner, so that both cannot be wrong in the same way.
//!
//! Depth first, the fastest link first. A beginning is given up only if it holds a link slower than the best ring's
//! slowest, or if with the cheapest link for everything that is left it would still take longer.

struct Trying<'a> {
    speeds: &'a [Vec<f64>],
    /// By host: who can be next, the fastest first.
    near: Vec<Vec<usize>>,
    /// By host: the least that leaving it costs.
    least: Vec<f64>,
    best: (f64, f64),
}

/// The fastest slowest link, and the smallest sum of 1/bandwidth with it.
pub fn best(speeds: &[Vec<f64>]) -> (f64, f64) {
    let others = |host: usize| (0..speeds.len()).filter(move |&other| other != host).collect::<Vec<usize>>();
    let mut near: Vec<Vec<usize>> = (0..speeds.len()).map(others).collect();
    for (host, near) in near.iter_mut().enumerate() {
        near.sort_by(|&one, &other| speeds[host][other].total_cmp(&speeds[host][one]));
    }
    let least = near.iter().enumerate().map(|(host, near)| 1.0 / speeds[host][near[0]]).collect();
    let mut trying = Trying { speeds, near, least, best: (0.0, f64::INFINITY) };
    let rest = trying.least.iter().sum();
    trying.go(0, 1, f64::INFINITY, 0.0, rest);
    trying.best
}

impl Trying<'_> {
    /// At `host`, having seen `seen`; `rest` is the least that the remaining links cost.
    fn go(&mut self, host: usize, seen: u32, slowest: f64, around: f64, rest: f64) {
        let hopeless =
            slowest < self.best.0 || (slowest == self.best.0 && around + rest >= self.best.1 * (1.0 - 1e-13));
        if hopeless {
            return;
        }
        if seen.count_ones() as usize == self.speeds.len() {
            let back = self.speeds[host][0];
            let (slowest, around) = (slowest.min(back), around + 1.0 / back);
            if slowest > self.best.0 || (slowest == self.best.0 && around < self.best.1) {
                self.best = (slowest, around);
            }
            return;
        }
        for at in 0..self.near[host].len() {
            let to = self.near[host][at];
            let link = self.speeds[host][to];
            if link < self.best.0 {
                return;
            }
            if seen & (1 << to) == 0 {
                let rest = rest - self.least[host];
                self.go(to, seen | 1 << to, slowest.min(link), around + 1.0 / link, rest);
            }
        }
    }
}
