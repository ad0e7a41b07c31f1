//! Whether every host can be given a successor of its own: a perfect matching (Hopcroft and Karp).

/// Nobody.
const NONE: usize = usize::MAX;

/// Whether links cover all hosts by circles.
pub fn covers(count: usize, linked: impl Fn(usize, usize) -> bool) -> bool {
    let (mut after, mut before) = (vec![NONE; count], vec![NONE; count]);
    // Most find somebody at once, if everybody begins to look behind himself.
    for from in 0..count {
        let free = (1..count).map(|ahead| (from + ahead) % count);
        if let Some(to) = free.into_iter().find(|&to| before[to] == NONE && linked(from, to)) {
            (after[from], before[to]) = (to, from);
        }
    }
    loop {
        let layers = layers(count, &after, &before, &linked);
        let mut next = vec![0; count];
        let mut grown = false;
        for from in 0..count {
            if after[from] == NONE {
                grown |= augment(from, &layers, &mut next, &mut after, &mut before, &linked);
            }
        }
        if !grown {
            return after.iter().all(|&to| to != NONE);
        }
    }
}

/// How many changes of mind it takes from somebody without a successor.
fn layers(
    count: usize,
    after: &[usize],
    before: &[usize],
    linked: &impl Fn(usize, usize) -> bool,
) -> Vec<usize> {
    let mut layer = vec![NONE; count];
    let mut waiting: Vec<usize> = (0..count).filter(|&from| after[from] == NONE).collect();
    waiting.iter().for_each(|&from| layer[from] = 0);
    let mut unseen: Vec<usize> = (0..count).collect();
    let mut at = 0;
    while let Some(&from) = waiting.get(at) {
        at += 1;
        unseen.retain(|&to| {
            let seen = linked(from, to);
            if seen && before[to] != NONE && layer[before[to]] == NONE {
                layer[before[to]] = layer[from] + 1;
                waiting.push(before[to]);
            }
            !seen
        });
    }
    layer
}

/// One path of changes that gives `start` a successor, if there is one along the layers.
fn augment(
    start: usize,
    layer: &[usize],
    next: &mut [usize],
    after: &mut [usize],
    before: &mut [usize],
    linked: &impl Fn(usize, usize) -> bool,
) -> bool {
    let count = layer.len();
    // Hosts on the way, each with the successor it wants.
    let mut path: Vec<(usize, usize)> = vec![];
    let mut from = start;
    loop {
        let fits = |&to: &usize| {
            linked(from, to)
                && (before[to] == NONE || (layer[before[to]] != NONE && layer[before[to]] == layer[from] + 1))
        };
        match (next[from]..count).find(fits) {
            Some(to) => {
                next[from] = to + 1;
                path.push((from, to));
                if before[to] == NONE {
                    path.into_iter().for_each(|(from, to)| (after[from], before[to]) = (to, from));
                    return true;
                }
                from = before[to];
            }
            None => {
                next[from] = count;
                match path.pop() {
                    Some((above, _)) => from = above,
                    None => return false,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dice::Dice;

    fn by_trying(from: usize, used: u32, links: &[Vec<bool>]) -> bool {
        from == links.len()
            || (0..links.len()).any(|to| {
                used & (1 << to) == 0 && links[from][to] && by_trying(from + 1, used | 1 << to, links)
            })
    }

    #[test]
    fn agrees_with_trying_everything() {
        let mut dice = Dice::new(11);
        let mut both = [0, 0];
        for _ in 0..400 {
            let count = 2 + dice.below(7);
            let links: Vec<Vec<bool>> = (0..count)
                .map(|from| (0..count).map(|to| from != to && dice.below(10) < 3).collect())
                .collect();
            let expected = by_trying(0, 0, &links);
            both[usize::from(expected)] += 1;
            assert_eq!(covers(count, |from, to| links[from][to]), expected, "{links:?}");
        }
        assert!(both[0] > 20 && both[1] > 20, "{both:?}");
    }
}
