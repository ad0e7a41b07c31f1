//! Who can be reached, and whether a single host holds two parts together.

/// Whether the first host reaches all others.
pub fn reaches_all(count: usize, linked: impl Fn(usize, usize) -> bool) -> bool {
    let (mut left, mut waiting): (Vec<usize>, Vec<usize>) = ((1..count).collect(), vec![0]);
    while let Some(host) = waiting.pop() {
        left.retain(|&other| {
            let reached = linked(host, other);
            if reached {
                waiting.push(other);
            }
            !reached
        });
    }
    left.is_empty()
}

/// Whether some host is the only way between two others (Hopcroft and Tarjan's low points). All are reachable.
pub fn has_joint(count: usize, linked: impl Fn(usize, usize) -> bool) -> bool {
    let (mut found, mut low, mut next) = (vec![usize::MAX; count], vec![usize::MAX; count], vec![0; count]);
    let (mut path, mut time, mut children) = (vec![0], 1, 0);
    (found[0], low[0]) = (0, 0);
    while let Some(&host) = path.last() {
        let Some(other) = (next[host]..count).find(|&other| other != host && linked(host, other)) else {
            path.pop();
            let Some(&above) = path.last() else { break };
            if above != 0 && low[host] >= found[above] {
                return true;
            }
            low[above] = low[above].min(low[host]);
            continue;
        };
        next[host] = other + 1;
        if found[other] != usize::MAX {
            low[host] = low[host].min(found[other]);
            continue;
        }
        children += usize::from(host == 0);
        if children > 1 {
            return true;
        }
        (found[other], low[other]) = (time, time);
        time += 1;
        path.push(other);
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dice::Dice;

    #[test]
    fn agrees_with_taking_hosts_out_one_by_one() {
        let mut dice = Dice::new(5);
        for round in 0..300 {
            let count = 3 + dice.below(6);
            let mut links = vec![vec![false; count]; count];
            for one in 0..count {
                for other in 0..one {
                    let linked = dice.below(10) < 3 + round % 4;
                    (links[one][other], links[other][one]) = (linked, linked);
                }
            }
            if !reaches_all(count, |one, other| links[one][other]) {
                continue;
            }
            let without = |gone: usize| {
                let kept: Vec<usize> = (0..count).filter(|&host| host != gone).collect();
                reaches_all(count - 1, |one, other| links[kept[one]][kept[other]])
            };
            let expected = (0..count).any(|gone| !without(gone));
            assert_eq!(has_joint(count, |one, other| links[one][other]), expected, "{links:?}");
        }
    }
}
