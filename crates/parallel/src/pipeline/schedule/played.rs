//! What an order comes to, exactly: each action starts once its device is free and what it needs has arrived.
//!
//! An action needs: forward the part before, backward the part behind and its own forward, a gradient of weights its own
//! backward. Devices run as far as they can; one that waits is woken by the action it waits for, so that every action is
//! looked at once or twice and the whole is linear. No event queue: times are a longest path, whatever the order in
//! which it is walked.

use super::{Action, Pipe, Refusal, Work};
use serde::Serialize;

/// One action and when.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Span {
    /// What is done.
    #[serde(flatten)]
    pub action: Action,
    /// From when.
    pub from_s: f64,
    /// Until when.
    pub to_s: f64,
}

/// What came of an order.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Played {
    /// From the first action to the end of the last device, what is done afterwards included.
    pub makespan_s: f64,
    /// What each device did when. What it does afterwards follows its last span and is not among them.
    pub devices: Vec<Vec<Span>>,
    /// Makespan less the busy time of the busiest device.
    pub bubble_s: f64,
    /// The longest that a device is idle between its own first start and its own end. This is the bubble of the papers on
    /// zero bubble, where a device begins the next batch without waiting for the others.
    pub inner_bubble_s: f64,
    /// For each device how long it is busy, what it does afterwards included.
    pub busy_s: Vec<f64>,
    /// For each device the most activations held at once, in units of one microbatch in one part. One is held from its
    /// forward to its gradient of weights.
    pub held: Vec<f64>,
}

/// Runs the orders exactly. Refuses an order that is not whole or blocks itself, and says where.
pub fn play(orders: &[Vec<Action>], pipe: &Pipe) -> Result<Played, Refusal> {
    let plan = Whole::read(orders, pipe)?;
    let mut devices: Vec<Vec<Span>> = orders.iter().map(|list| Vec::with_capacity(list.len())).collect();
    let ends = plan.walk(orders, pipe, |device, action, from_s, to_s| {
        devices[device].push(Span { action, from_s, to_s })
    })?;
    let makespan_s = ends.iter().copied().fold(0.0, f64::max);
    let busy = |device: usize| {
        let work: f64 = orders[device].iter().map(|&action| plan.length_s(action, pipe)).sum();
        work + pipe.after_s[device]
    };
    let busy_s: Vec<f64> = (0..orders.len()).map(busy).collect();
    let idle = |device: usize| {
        let first_s = devices[device].first().map_or(0.0, |span| span.from_s);
        ends[device] - first_s - busy_s[device]
    };
    let inner_bubble_s = (0..orders.len()).map(idle).fold(0.0, f64::max);
    let bubble_s = (makespan_s - busy_s.iter().copied().fold(0.0, f64::max)).max(0.0);
    let held = orders.iter().map(|list| plan.held(list) as f64).collect();
    Ok(Played { makespan_s, devices, bubble_s, inner_bubble_s, busy_s, held })
}

/// The makespan alone, for planners that try many orders.
pub fn makespan(orders: &[Vec<Action>], pipe: &Pipe) -> Result<f64, Refusal> {
    let ends = Whole::read(orders, pipe)?.walk(orders, pipe, |_, _, _, _| ())?;
    Ok(ends.into_iter().fold(0.0, f64::max))
}

/// Orders that were found to be whole.
pub(super) struct Whole {
    microbatches: usize,
    pub(super) device_of: Vec<usize>,
    /// By part and microbatch: whether the gradient of weights is apart.
    is_split: Vec<bool>,
}

impl Whole {
    pub(super) fn read(orders: &[Vec<Action>], pipe: &Pipe) -> Result<Self, Refusal> {
        pipe.check(pipe.parts.len().checked_div(pipe.devices).unwrap_or(0))?;
        if orders.len() != pipe.devices {
            return Err(Refusal::Count { what: "orders", found: orders.len(), expected: pipe.devices });
        }
        let (parts, microbatches) = (pipe.parts.len(), pipe.microbatches);
        let mut seen = vec![0u8; parts * microbatches];
        let mut device_of = vec![usize::MAX; parts];
        for (device, list) in orders.iter().enumerate() {
            for &action in list {
                if action.part >= parts || action.microbatch >= microbatches {
                    return Err(Refusal::Unknown { device, action });
                }
                let holder = &mut device_of[action.part];
                match *holder {
                    usize::MAX => *holder = device,
                    other if other == device => (),
                    other => return Err(Refusal::Split { part: action.part, one: other, other: device }),
                }
                let (flags, bit) =
                    (&mut seen[action.part * microbatches + action.microbatch], 1 << action.work as u8);
                if *flags & bit != 0 {
                    return Err(Refusal::Twice { action });
                }
                *flags |= bit;
            }
        }
        if let Some(at) = seen.iter().position(|flags| flags & 3 != 3) {
            let work = if seen[at] & 1 == 0 { Work::Forward } else { Work::Backward };
            let action = Action { work, part: at / microbatches, microbatch: at % microbatches };
            return Err(Refusal::Missing { action });
        }
        Ok(Whole {
            microbatches,
            device_of,
            is_split: seen.into_iter().map(|flags| flags & 4 != 0).collect(),
        })
    }

    pub(super) fn at(&self, action: Action) -> usize {
        action.part * self.microbatches + action.microbatch
    }

    fn length_s(&self, action: Action, pipe: &Pipe) -> f64 {
        let times = &pipe.parts[action.part];
        match action.work {
            Work::Forward => times.forward_s,
            Work::Backward if self.is_split[self.at(action)] => times.backward_s,
            Work::Backward => times.backward_s + times.weight_s,
            Work::Weight => times.weight_s,
        }
    }

    /// Signed: an order that is not yet known to be playable may let go before it holds.
    pub(super) fn held(&self, list: &[Action]) -> usize {
        let (mut held, mut most) = (0isize, 0isize);
        for &action in list {
            match action.work {
                Work::Forward => held += 1,
                Work::Backward if self.is_split[self.at(action)] => (),
                _ => held -= 1,
            }
            most = most.max(held);
        }
        most.unsigned_abs()
    }

    /// Walks all actions and tells of each; returns when each device ends.
    pub(super) fn walk(
        &self,
        orders: &[Vec<Action>],
        pipe: &Pipe,
        mut tell: impl FnMut(usize, Action, f64, f64),
    ) -> Result<Vec<f64>, Refusal> {
        let mut walk = Walk::new(self, pipe);
        let mut free_s = vec![0.0; orders.len()];
        let mut next = vec![0usize; orders.len()];
        let mut waits_for: Vec<Option<Action>> = vec![None; orders.len()];
        let mut ready: Vec<usize> = (0..orders.len()).rev().collect();
        while let Some(device) = ready.pop() {
            while let Some(&action) = orders[device].get(next[device]) {
                let come_s = match walk.come_s(action) {
                    Ok(come_s) => come_s,
                    Err(missing) => {
                        waits_for[device] = Some(missing);
                        break;
                    }
                };
                let from_s = f64::max(free_s[device], come_s);
                let to_s = from_s + self.length_s(action, pipe);
                tell(device, action, from_s, to_s);
                free_s[device] = to_s;
                next[device] += 1;
                if let Some(other) = walk.end(action, to_s)
                    && waits_for[other] == Some(action)
                {
                    waits_for[other] = None;
                    ready.push(other);
                }
            }
        }
        let stuck = (0..orders.len()).find_map(|device| Some((device, waits_for[device]?)));
        match stuck {
            Some((device, waits_for)) => {
                Err(Refusal::Blocked { device, action: orders[device][next[device]], waits_for })
            }
            None => Ok(free_s.iter().zip(&pipe.after_s).map(|(free_s, after_s)| free_s + after_s).collect()),
        }
    }
}

/// What has happened so far.
struct Walk<'a> {
    whole: &'a Whole,
    /// The delay behind each part; none where both are on one device.
    send_s: Vec<f64>,
    /// When each forward and each backward ended; not a number before that.
    forward_s: Vec<f64>,
    backward_s: Vec<f64>,
}

impl<'a> Walk<'a> {
    fn new(whole: &'a Whole, pipe: &Pipe) -> Self {
        let send = |part: usize| match whole.device_of[part] == whole.device_of[part + 1] {
            true => 0.0,
            false => pipe.send_s[part],
        };
        let never = vec![f64::NAN; whole.is_split.len()];
        let send_s = (0..pipe.send_s.len()).map(send).collect();
        Walk { whole, send_s, forward_s: never.clone(), backward_s: never }
    }

    /// When all that an action needs has come, or what has not yet happened.
    fn come_s(&self, action: Action) -> Result<f64, Action> {
        let at = self.whole.at(action);
        let ended = |work: Work, part: usize| {
            let ends = if work == Work::Forward { &self.forward_s } else { &self.backward_s };
            let end_s = ends[part * self.whole.microbatches + action.microbatch];
            match end_s.is_nan() {
                true => Err(Action { work, part, microbatch: action.microbatch }),
                false => Ok(end_s),
            }
        };
        match action.work {
            Work::Forward if action.part == 0 => Ok(0.0),
            Work::Forward => Ok(ended(Work::Forward, action.part - 1)? + self.send_s[action.part - 1]),
            Work::Backward if action.part + 1 == self.whole.device_of.len() => {
                ended(Work::Forward, action.part)
            }
            Work::Backward => {
                ended(Work::Forward, action.part)?;
                Ok(ended(Work::Backward, action.part + 1)? + self.send_s[action.part])
            }
            Work::Weight => match self.backward_s[at].is_nan() {
                true => Err(Action { work: Work::Backward, ..action }),
                false => Ok(self.backward_s[at]),
            },
        }
    }

    /// Notes an end; the device that may be waiting for it.
    fn end(&mut self, action: Action, to_s: f64) -> Option<usize> {
        let at = self.whole.at(action);
        match action.work {
            Work::Forward => {
                self.forward_s[at] = to_s;
                self.whole.device_of.get(action.part + 1).copied()
            }
            Work::Backward => {
                self.backward_s[at] = to_s;
                Some(self.whole.device_of[action.part.checked_sub(1)?])
            }
            Work::Weight => None,
        }
    }
}
