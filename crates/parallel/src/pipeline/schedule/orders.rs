//! Orders as they were published. They depend on the number of devices, parts and microbatches, never on times.
//!
//! - GPipe (2019): all forward, all backward.
//! - 1F1B (PipeDream 2019, DAPPLE 2021): `devices - device - 1` forwards ahead, then one forward and one backward in turn.
//! - Interleaved (Megatron-LM 2021): several parts on each device; microbatches go round in groups of as many as there are
//!   devices, all parts of a group before the next group; `2 (devices - device - 1) + (chunks - 1) devices` ahead.
//! - Zero bubble (2023): the backward pass in two halves. H1 is 1F1B where device d owes the gradients of weights of d
//!   microbatches; H2 runs almost twice as far ahead and owes twice as many. V folds the network, so that the first and
//!   the last part share a device, and needs no more memory than 1F1B.
//!
//! Simplifies: the paper on zero bubble searches for an order with the times at hand; here are its drawn ones, for which
//! the formulas hold. Does badly where parts are unlike:
//! see [`fitted`](super::fitted).

use super::{Action, Pipe, Refusal, Schedule, Work};

/// What each device does, in order, as published.
pub fn order(schedule: Schedule, pipe: &Pipe) -> Result<Vec<Vec<Action>>, Refusal> {
    pipe.check(schedule.chunks())?;
    let (devices, microbatches) = (pipe.devices, pipe.microbatches);
    if matches!(schedule, Schedule::Interleaved { .. }) && microbatches % devices != 0 {
        return Err(Refusal::Groups { microbatches, devices });
    }
    let one = |device| match schedule {
        Schedule::GPipe => plain(device, microbatches, microbatches, None),
        Schedule::OneForwardOneBackward => plain(device, devices - device - 1, microbatches, None),
        Schedule::Interleaved { chunks } => interleaved(device, devices, chunks as usize, microbatches),
        Schedule::ZeroBubbleH1 => plain(device, devices - device - 1, microbatches, Some(device)),
        Schedule::ZeroBubbleH2 => plain(device, 2 * (devices - device - 1), microbatches, Some(2 * device)),
        Schedule::ZeroBubbleV => folded(device, devices, microbatches),
    };
    Ok((0..devices).map(one).collect())
}

/// One device's list while it grows: the next microbatch of each kind of work follows by itself.
struct List {
    actions: Vec<Action>,
    microbatches: usize,
    /// So many are counted; those that do not exist are left out.
    drawn: usize,
    /// For each part of the device: the part, and how many forwards, backwards and gradients of weights it has had.
    parts: Vec<(usize, [usize; 3])>,
}

impl List {
    fn new(parts: &[usize], microbatches: usize, drawn: usize, works: usize) -> Self {
        let actions = Vec::with_capacity(parts.len() * microbatches * works);
        List { actions, microbatches, drawn, parts: parts.iter().map(|&part| (part, [0; 3])).collect() }
    }

    fn done(&self, chunk: usize, work: Work) -> usize {
        self.parts[chunk].1[work as usize]
    }

    /// The next microbatch of this work; nothing when there is none left.
    fn push(&mut self, chunk: usize, work: Work) {
        let (part, done) = &mut self.parts[chunk];
        let next = &mut done[work as usize];
        if *next < self.microbatches {
            self.actions.push(Action { work, part: *part, microbatch: *next });
        }
        *next = (*next + 1).min(self.drawn);
    }
}

/// So many forwards ahead, then one forward and one backward in turn, then the backwards that are left. Where gradients
/// of weights are apart, so many of them are owed while forwards go on; one follows each backward after that, and the
/// rest comes last.
fn plain(part: usize, ahead: usize, microbatches: usize, owed: Option<usize>) -> Vec<Action> {
    let mut list = List::new(&[part], microbatches, microbatches, if owed.is_some() { 3 } else { 2 });
    (0..ahead.min(microbatches)).for_each(|_| list.push(0, Work::Forward));
    for microbatch in 0..microbatches {
        let is_steady = list.done(0, Work::Forward) < microbatches;
        list.push(0, Work::Forward);
        list.push(0, Work::Backward);
        if let Some(owed) = owed
            && (!is_steady || microbatch >= owed)
        {
            list.push(0, Work::Weight);
        }
    }
    if owed.is_some() {
        (list.done(0, Work::Weight)..microbatches).for_each(|_| list.push(0, Work::Weight));
    }
    list.actions
}

/// Megatron's order.
fn interleaved(device: usize, devices: usize, chunks: usize, microbatches: usize) -> Vec<Action> {
    let total = chunks * microbatches;
    let ahead = (2 * (devices - device - 1) + (chunks - 1) * devices).min(total);
    let action = |work, number: usize| {
        let (group, within) = (number / (devices * chunks), number % (devices * chunks));
        let chunk = match work {
            Work::Forward => within / devices,
            _ => chunks - 1 - within / devices,
        };
        Action { work, part: chunk * devices + device, microbatch: group * devices + within % devices }
    };
    let mut actions: Vec<Action> = Vec::with_capacity(2 * total);
    actions.extend((0..ahead).map(|number| action(Work::Forward, number)));
    for number in 0..total {
        if ahead + number < total {
            actions.push(action(Work::Forward, ahead + number));
        }
        actions.push(action(Work::Backward, number));
    }
    actions
}

/// The order of ZB-V. It is drawn for at least `2 devices - 1` microbatches; for fewer, those that do not exist are left
/// out of the drawing.
fn folded(device: usize, devices: usize, microbatches: usize) -> Vec<Action> {
    let drawn = microbatches.max(2 * devices - 1);
    let mut list = List::new(&[device, 2 * devices - 1 - device], microbatches, drawn, 3);
    use Work::{Backward, Forward, Weight};
    (0..2 * (devices - device) - 1).for_each(|_| list.push(0, Forward));
    for _ in 0..device {
        list.push(1, Forward);
        list.push(0, Forward);
    }
    for _ in device..devices {
        [Forward, Backward, Weight].into_iter().for_each(|work| list.push(1, work));
    }
    while list.done(1, Forward) < list.done(0, Forward) || list.done(0, Forward) < drawn {
        for chunk in [0, 1] {
            [Forward, Backward, Weight].into_iter().for_each(|work| list.push(chunk, work));
        }
    }
    for _ in 0..device {
        list.push(0, Backward);
        list.push(1, Backward);
    }
    for _ in device..devices {
        list.push(0, Backward);
        list.push(0, Weight);
    }
    for chunk in [1, 0] {
        (0..drawn).for_each(|_| list.push(chunk, Weight));
    }
    list.actions
}
