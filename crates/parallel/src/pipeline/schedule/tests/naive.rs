//! A simulator without any cleverness: all starts are 0 at first, and every rule that is broken pushes a start later,
//! until none is. It shares no line with the one it is held against.

use super::super::{Action, Pipe, Work};

/// A device, and a place in its order.
type Spot = (usize, usize);

type Key = (usize, usize, usize);

fn key(action: &Action) -> Key {
    (action.work as usize, action.part, action.microbatch)
}

fn find(orders: &[Vec<Action>], wanted: Key) -> Option<(usize, usize)> {
    orders
        .iter()
        .enumerate()
        .find_map(|(device, list)| Some((device, list.iter().position(|action| key(action) == wanted)?)))
}

/// What an action needs: where it is done, and with what delay its result comes.
fn needs(orders: &[Vec<Action>], pipe: &Pipe, device: usize, action: &Action) -> Vec<(usize, usize, f64)> {
    let (_, part, microbatch) = key(action);
    let mut all = vec![];
    let mut need = |work: Work, from: usize, send_s: f64| {
        let (other, at) = find(orders, (work as usize, from, microbatch)).unwrap();
        all.push((other, at, if other == device { 0.0 } else { send_s }));
    };
    match action.work {
        Work::Forward if part > 0 => need(Work::Forward, part - 1, pipe.send_s[part - 1]),
        Work::Forward => (),
        Work::Backward => {
            need(Work::Forward, part, 0.0);
            if part + 1 < pipe.parts.len() {
                need(Work::Backward, part + 1, pipe.send_s[part]);
            }
        }
        Work::Weight => need(Work::Backward, part, 0.0),
    }
    all
}

fn length(orders: &[Vec<Action>], pipe: &Pipe, action: &Action) -> f64 {
    let times = pipe.parts[action.part];
    let is_split = find(orders, (Work::Weight as usize, action.part, action.microbatch)).is_some();
    match action.work {
        Work::Forward => times.forward_s,
        Work::Backward => times.backward_s + if is_split { 0.0 } else { times.weight_s },
        Work::Weight => times.weight_s,
    }
}

/// Start and end of every action, and the makespan. The orders must not block themselves.
pub fn relax(orders: &[Vec<Action>], pipe: &Pipe) -> (Vec<Vec<(f64, f64)>>, f64) {
    // Before, after, and the delay between them; each a device and a place in its order.
    let mut rules = Vec::<(Spot, Spot, f64)>::new();
    let mut lengths: Vec<Vec<f64>> = vec![];
    for (device, list) in orders.iter().enumerate() {
        lengths.push(list.iter().map(|action| length(orders, pipe, action)).collect());
        for (at, action) in list.iter().enumerate() {
            for (other, from, send_s) in needs(orders, pipe, device, action) {
                rules.push(((other, from), (device, at), send_s));
            }
            if at > 0 {
                rules.push(((device, at - 1), (device, at), 0.0));
            }
        }
    }
    let mut starts: Vec<Vec<f64>> = orders.iter().map(|list| vec![0.0; list.len()]).collect();
    let mut is_moved = true;
    while is_moved {
        is_moved = false;
        for &((other, from), (device, at), send_s) in &rules {
            let least = starts[other][from] + lengths[other][from] + send_s;
            if starts[device][at] < least {
                starts[device][at] = least;
                is_moved = true;
            }
        }
    }
    let spans: Vec<Vec<(f64, f64)>> = starts
        .iter()
        .zip(&lengths)
        .map(|(starts, lengths)| {
            starts.iter().zip(lengths).map(|(start, length)| (*start, start + length)).collect()
        })
        .collect();
    let ends = spans.iter().zip(&pipe.after_s).map(|(list, after_s)| list.last().unwrap().1 + after_s);
    let makespan_s = ends.fold(0.0, f64::max);
    (spans, makespan_s)
}

/// Whether some action can never be reached.
pub fn is_blocked(orders: &[Vec<Action>], pipe: &Pipe) -> bool {
    let mut done = vec![0usize; orders.len()];
    loop {
        let next = (0..orders.len()).find(|&device| {
            let Some(action) = orders[device].get(done[device]) else { return false };
            needs(orders, pipe, device, action).iter().all(|&(other, at, _)| at < done[other])
        });
        match next {
            Some(device) => done[device] += 1,
            None => return orders.iter().zip(done).any(|(list, done)| done < list.len()),
        }
    }
}
