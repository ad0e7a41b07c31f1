//! Several jobs on the same links: what each gets when links are shared fairly.
//!
//! Max-min fairness by filling up (Bertsekas and Gallager): all rates grow together; when a link is full, those who
//! cross it stop, and the others go on. Nobody can get more without somebody who has less getting even less.
//!
//! Simplified: jobs send all the time. Does badly: bursts that miss each other, where everybody gets more.

use crate::fabric::Fabric;

/// The rate of each flow, in the unit of the links. A flow names the links it crosses, each once; one that crosses none,
/// or a link that is not there, has rate 0.
pub fn fair(links: &[f64], flows: &[Vec<usize>]) -> Vec<f64> {
    let valid = |flow: &[usize]| !flow.is_empty() && flow.iter().all(|&link| link < links.len());
    let mut rates = vec![0.0; flows.len()];
    let mut grows: Vec<bool> = flows.iter().map(|flow| valid(flow)).collect();
    let mut left = links.to_vec();
    while grows.contains(&true) {
        let mut users = vec![0u32; links.len()];
        for (flow, _) in flows.iter().zip(&grows).filter(|(_, grows)| **grows) {
            flow.iter().for_each(|&link| users[link] += 1);
        }
        let share = |link: usize| left[link].max(0.0) / f64::from(users[link]);
        let used = (0..links.len()).filter(|&link| users[link] > 0);
        let Some(full) = used.min_by(|&one, &other| share(one).total_cmp(&share(other))) else { break };
        let more = share(full);
        for (index, flow) in flows.iter().enumerate().filter(|(index, _)| grows[*index]) {
            rates[index] += more;
            flow.iter().for_each(|&link| left[link] -= more);
        }
        // Others may be full as well, but for rounding; they are found in the next round, and give nothing more.
        for (index, flow) in flows.iter().enumerate() {
            grows[index] = grows[index] && !flow.contains(&full);
        }
    }
    rates
}

/// A fabric as one of several jobs sees it that are all spread over it and send all the time: of every way out of a
/// domain it gets its part. Where nobody said what a domain has, and inside hosts, which are its own, nothing is shared.
pub fn among(fabric: &Fabric, jobs: u32) -> Fabric {
    let mut part = fabric.clone();
    for level in &mut part.levels {
        level.uplink = level.uplink.map(|uplink| one_of(uplink, jobs));
    }
    part
}

/// What one of so many jobs gets of a link.
pub fn one_of(link: f64, jobs: u32) -> f64 {
    fair(&[link], &vec![vec![0]; jobs.max(1) as usize])[0]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dice::Dice;

    #[test]
    fn who_crosses_a_busy_link_leaves_the_rest_to_others() {
        // Three share the spine of 30; one of them has only 5 at its own end.
        let rates = fair(&[30.0, 5.0, 100.0], &[vec![0, 1], vec![0], vec![0, 2], vec![2], vec![], vec![9]]);
        assert_eq!(rates, [5.0, 12.5, 12.5, 87.5, 0.0, 0.0]);
    }

    #[test]
    fn several_jobs_divide_what_leaves_a_domain() {
        let fabric = crate::collective::tiers::tests::fabric();
        assert_eq!(among(&fabric, 4).levels[1].uplink, Some(15e9));
        assert_eq!(among(&fabric, 1), fabric);
    }

    #[test]
    fn everybody_crosses_a_full_link_on_which_nobody_has_more() {
        let mut dice = Dice::new(5);
        for _ in 0..300 {
            let links: Vec<f64> = (0..1 + dice.below(5)).map(|_| 1.0 + dice.unit() * 9.0).collect();
            let flows: Vec<Vec<usize>> = (0..1 + dice.below(6))
                .map(|_| {
                    let first = dice.below(links.len());
                    (first..links.len()).filter(|&link| link == first || dice.unit() < 0.4).collect()
                })
                .collect();
            let rates = fair(&links, &flows);
            let load = |link: usize| -> f64 {
                flows.iter().zip(&rates).filter(|(flow, _)| flow.contains(&link)).map(|(_, rate)| rate).sum()
            };
            assert!((0..links.len()).all(|link| load(link) <= links[link] * (1.0 + 1e-9)));
            for (flow, rate) in flows.iter().zip(&rates) {
                let held_up = flow.iter().any(|&link| {
                    let most = flows.iter().zip(&rates).filter(|(other, _)| other.contains(&link));
                    let most = most.map(|(_, rate)| *rate).fold(0.0, f64::max);
                    load(link) >= links[link] * (1.0 - 1e-9) && *rate >= most * (1.0 - 1e-9)
                });
                assert!(held_up, "{links:?} {flows:?} {rates:?}");
            }
        }
    }
}
