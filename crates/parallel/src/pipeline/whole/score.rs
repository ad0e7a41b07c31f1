//! What one candidate comes to: simulated to the last microbatch, with the memory of every device.

use super::cost::{Part, Rules};
use super::fleet::{Fleet, Group, Shape};
use super::line::Line;
use super::traffic::Traffic;
use crate::pipeline::schedule::{self, Action, Pipe, Schedule, Span, Times, Work};
use std::collections::BTreeMap;
use std::rc::Rc;

/// A plan before it is judged.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// Which line it cuts.
    pub line: usize,
    /// In which order its groups work.
    pub schedule: Schedule,
    /// Whether that order is fitted to parts that are unlike, or as it was published.
    pub is_fitted: bool,
    /// Into how many microbatches an iteration is cut.
    pub microbatches: usize,
    /// Places of the cuts: 0 first, the end of the line last, one part between neighbours.
    pub cuts: Vec<usize>,
    /// Groups of devices in the order of the pipeline.
    pub groups: Vec<Group>,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Scored {
    /// One iteration.
    pub time_s: f64,
    /// The most that any device needs of its memory, as a part of it. Above 1 the plan does not fit.
    pub fullest: f64,
    /// By group and kind, as in its shape: bytes needed on one device.
    pub memory: Vec<Vec<f64>>,
}

impl Scored {
    /// Plans that fit before plans that do not; then the faster one.
    pub fn is_better_than(&self, other: &Self) -> bool {
        let excess = |scored: &Self| f64::max(scored.fullest, 1.0);
        match excess(self).total_cmp(&excess(other)) {
            std::cmp::Ordering::Equal => self.time_s < other.time_s * (1.0 - 1e-9),
            order => order.is_lt(),
        }
    }

    /// Whether it fits.
    pub fn fits(&self) -> bool {
        self.fullest <= 1.0
    }
}

/// Judges candidates and counts them.
pub struct Scorer<'a> {
    /// The devices.
    pub fleet: &'a Fleet,
    /// The lines that may be cut.
    pub lines: &'a [Line],
    /// The rules.
    pub rules: Rules,
    /// How many were judged.
    pub tried: u64,
    orders: BTreeMap<(u8, u32, usize, usize), Rc<Orders>>,
}

/// By group: what it does, in order.
type Orders = Vec<Vec<Action>>;

/// How many orders are remembered.
const REMEMBERED: usize = 256;

impl<'a> Scorer<'a> {
    /// Before anything was judged.
    pub fn new(fleet: &'a Fleet, lines: &'a [Line], rules: Rules) -> Self {
        Scorer { fleet, lines, rules, tried: 0, orders: BTreeMap::new() }
    }

    /// Judges one. `None` when it is no plan at all: a group cannot be divided so, a part is empty, the schedule cannot
    /// run so many microbatches, or there are fewer samples than that.
    pub fn score(&mut self, candidate: &Candidate) -> Option<Scored> {
        self.tried += 1;
        let shapes = self.shapes(candidate)?;
        let parts = self.parts(candidate, &shapes);
        let traffic = self.traffic(candidate, &shapes, &parts);
        let orders = self.orders(candidate, &traffic)?;
        let time_s = traffic.run(&orders, |_, _| ())?;
        let memory: Vec<Vec<f64>> = (0..candidate.groups.len())
            .map(|group| needed(&orders[group], &parts, &traffic, group, shapes[group].kinds.len()))
            .collect();
        let part = |(memory, shape): (&Vec<f64>, &Shape)| {
            let each = memory.iter().zip(&shape.kinds);
            each.map(|(needed, &(kind, _))| needed / self.fleet.kinds[kind].memory_bytes).fold(0.0, f64::max)
        };
        let fullest = memory.iter().zip(&shapes).map(part).fold(0.0, f64::max);
        Some(Scored { time_s, fullest, memory })
    }

    /// What every group does when, its exchange of gradients not among it.
    pub fn spans(&mut self, candidate: &Candidate) -> Option<Vec<Vec<Span>>> {
        let shapes = self.shapes(candidate)?;
        let parts = self.parts(candidate, &shapes);
        let traffic = self.traffic(candidate, &shapes, &parts);
        let mut spans = vec![vec![]; candidate.groups.len()];
        traffic.run(&self.orders(candidate, &traffic)?, |group, span| spans[group].push(span))?;
        Some(spans)
    }

    /// What the groups of a candidate are, if it is one at all.
    pub fn shapes(&self, candidate: &Candidate) -> Option<Vec<Shape>> {
        let parts = candidate.groups.len() * candidate.schedule.chunks();
        let is_whole = candidate.cuts.len() == parts + 1
            && candidate.cuts[0] == 0
            && candidate.cuts[parts] == self.lines[candidate.line].pieces()
            && candidate.cuts.windows(2).all(|pair| pair[0] < pair[1]);
        if !is_whole || candidate.microbatches == 0 {
            return None;
        }
        let shapes: Option<Vec<Shape>> =
            candidate.groups.iter().map(|group| self.fleet.shape(&group.devices, group.tensor)).collect();
        shapes.filter(|shapes| {
            shapes.iter().all(|shape| self.rules.allows(candidate.microbatches, shape.replicas))
        })
    }

    /// What each part takes.
    pub fn parts(&self, candidate: &Candidate, shapes: &[Shape]) -> Vec<Part> {
        let line = &self.lines[candidate.line];
        let part = |(number, pair): (usize, &[usize])| {
            let group = candidate.schedule.device_of(number, candidate.groups.len());
            let recompute = candidate.groups[group].recompute;
            self.rules.part(line, &shapes[group], recompute, (pair[0], pair[1]), candidate.microbatches)
        };
        candidate.cuts.windows(2).enumerate().map(part).collect()
    }

    /// What is to be simulated.
    pub fn traffic(&self, candidate: &Candidate, shapes: &[Shape], parts: &[Part]) -> Traffic {
        let line = &self.lines[candidate.line];
        let groups = &candidate.groups;
        let group_of: Vec<usize> =
            (0..parts.len()).map(|part| candidate.schedule.device_of(part, groups.len())).collect();
        let (mut forward, mut backward) = (vec![], vec![]);
        for (boundary, pair) in group_of.windows(2).enumerate() {
            let bytes = self.rules.crossing(line, candidate.cuts[boundary + 1], candidate.microbatches);
            let sent = |from: usize, to: usize| match from == to {
                true => (0.0, 0.0),
                false => {
                    let link = self.fleet.path(&groups[from].devices, &groups[to].devices);
                    (bytes / link.bandwidth, link.latency_s)
                }
            };
            forward.push(sent(pair[0], pair[1]));
            backward.push(sent(pair[1], pair[0]));
        }
        let mut learned = vec![0.0; groups.len()];
        for (part, pair) in candidate.cuts.windows(2).enumerate() {
            learned[group_of[part]] += line.parameters[pair[1]] - line.parameters[pair[0]];
        }
        let after = learned.iter().zip(shapes).map(|(bytes, shape)| self.rules.exchange(shape, *bytes));
        Traffic {
            groups: groups.len(),
            microbatches: candidate.microbatches,
            parts: parts.iter().map(|part| part.times).collect(),
            after_s: after.collect(),
            group_of,
            forward,
            backward,
            splits: candidate.schedule.splits(),
        }
    }

    /// What each group does in order. Published orders depend on counts alone, so each is made once.
    fn orders(&mut self, candidate: &Candidate, traffic: &Traffic) -> Option<Rc<Orders>> {
        let (schedule, groups) = (candidate.schedule, candidate.groups.len());
        let mut pipe = Pipe::even(groups, candidate.microbatches, schedule.chunks(), Times::default(), 0.0);
        if candidate.is_fitted {
            pipe.parts.clone_from(&traffic.parts);
            pipe.send_s = traffic.forward.iter().map(|(busy, later)| busy + later).collect();
            pipe.after_s.clone_from(&traffic.after_s);
            return schedule::fitted(schedule, &pipe).ok().map(|answer| Rc::new(answer.plan));
        }
        if let Some(orders) = self.orders.get(&key(candidate)) {
            return Some(orders.clone());
        }
        let orders = Rc::new(schedule::order(schedule, &pipe).ok()?);
        if self.orders.len() >= REMEMBERED {
            self.orders.clear();
        }
        self.orders.insert(key(candidate), orders.clone());
        Some(orders)
    }
}

fn key(candidate: &Candidate) -> (u8, u32, usize, usize) {
    let number = match candidate.schedule {
        Schedule::GPipe => 0,
        Schedule::OneForwardOneBackward => 1,
        Schedule::Interleaved { .. } => 2,
        Schedule::ZeroBubbleH1 => 3,
        Schedule::ZeroBubbleH2 => 4,
        Schedule::ZeroBubbleV => 5,
    };
    let chunks = candidate.schedule.chunks() as u32;
    (number, chunks, candidate.groups.len(), candidate.microbatches)
}

/// By kind of the group: the most bytes on one device at any moment of its order.
fn needed(order: &[Action], parts: &[Part], traffic: &Traffic, group: usize, kinds: usize) -> Vec<f64> {
    let state: f64 =
        parts.iter().zip(&traffic.group_of).filter(|(_, of)| **of == group).map(|(part, _)| part.state).sum();
    let most = |kind: usize| {
        let (mut held, mut most) = (0.0, 0.0);
        for action in order {
            let part = &parts[action.part];
            match action.work {
                Work::Forward => {
                    held += part.kept[kind];
                    most = f64::max(most, held);
                }
                Work::Backward => {
                    most = f64::max(most, held + part.working[kind]);
                    held += match traffic.splits {
                        // What was computed again stays until the gradients of weights have used it.
                        true => part.working[kind],
                        false => -part.kept[kind],
                    };
                }
                Work::Weight => held -= part.kept[kind] + part.working[kind],
            }
        }
        state + most
    };
    (0..kinds).map(most).collect()
}
