//! A ring to begin with: the fastest links first, joined into chains, and the chains into a ring.

/// Greedy: a link is taken if its ends are still free and it closes no small circle.
pub fn greedy(table: &[Vec<f64>]) -> Vec<usize> {
    let count = table.len();
    // With so many hosts, only the fastest links of each can matter; the rest are joined at the end.
    let kept = (2_000_000 / count).max(8).min(count - 1);
    let mut links: Vec<(f64, u32, u32)> = vec![];
    for (from, row) in table.iter().enumerate() {
        // Beginning at the next host, so that among equals neighbours in the list stay neighbours.
        let mut own: Vec<(f64, u32, u32)> = (1..count)
            .map(|ahead| (from + ahead) % count)
            .map(|to| (row[to], from as u32, to as u32))
            .filter(|link| link.0 > 0.0)
            .collect();
        own.sort_by(|one, other| other.0.total_cmp(&one.0));
        own.truncate(kept);
        links.extend(own);
    }
    links.sort_by(|one, other| other.0.total_cmp(&one.0));
    let (mut after, mut entered) = (vec![None; count], vec![false; count]);
    // For the ends of a chain: its other end.
    let mut far: Vec<usize> = (0..count).collect();
    for (_, from, to) in links {
        let (from, to) = (from as usize, to as usize);
        if after[from].is_none() && !entered[to] && far[from] != to {
            (after[from], entered[to]) = (Some(to), true);
            let (head, tail) = (far[from], far[to]);
            (far[head], far[tail]) = (tail, head);
        }
    }
    in_chain(table, &after, &entered)
}

/// The chains one after another, each followed by the one that begins with the fastest link from its end.
fn in_chain(table: &[Vec<f64>], after: &[Option<usize>], entered: &[bool]) -> Vec<usize> {
    let mut heads: Vec<usize> = (0..table.len()).filter(|&host| !entered[host]).collect();
    let mut order = Vec::with_capacity(table.len());
    while !heads.is_empty() {
        let fastest = match order.last() {
            Some(&last) => {
                let row: &Vec<f64> = &table[last];
                let best = (0..heads.len()).max_by(|&one, &other| {
                    row[heads[one]].total_cmp(&row[heads[other]]).then(heads[other].cmp(&heads[one]))
                });
                best.unwrap_or(0)
            }
            None => 0,
        };
        let mut host = Some(heads.swap_remove(fastest));
        while let Some(here) = host {
            order.push(here);
            host = after[here];
        }
    }
    order
}
