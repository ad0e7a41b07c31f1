//! Cuts and groups at once: dynamic programming over places and devices, in the manner of PipeDream and Piper, for unlike
//! devices in a given order.
//!
//! The least possible longest stage, for every number of stages. From the end of the network to its beginning, since a
//! stage holds as many microbatches as it is away from the end. What a stage takes is its work and its exchange of gradients
//! in an iteration; what crosses a cut counts as a stage of its own that works beside the others. Recomputation is chosen
//! where a stage would not fit without. Long networks are cut at some forty places that carry little; the search that
//! follows moves cuts by single layers. Does badly where the time to fill the pipeline counts more than the longest stage.

use super::cost::Rough;
use super::fleet::{Fleet, Group, Shape};
use super::line::Line;
use super::score::Scorer;
use crate::pipeline::schedule::Schedule;

/// Places that are looked at.
const PLACES: usize = 40;

/// Cuts and groups.
pub type Split = (Vec<usize>, Vec<Group>);

/// Some places of a line, first and last among them: of each stretch of about the same work, the one that carries least.
pub fn coarse(line: &Line, least: usize) -> Vec<usize> {
    let pieces = line.pieces();
    let many = PLACES.max(least);
    if pieces <= many {
        return (0..=pieces).collect();
    }
    let total = line.times(0, 0, pieces).total();
    let mut chosen = vec![0];
    let mut from = 1;
    for stretch in 1..many {
        let until = total * (stretch as f64 + 0.5) / many as f64;
        let mut to = from;
        while to < pieces && line.times(0, 0, to).total() <= until {
            to += 1;
        }
        let best = (from..to).min_by(|&one, &other| line.crossing[one].total_cmp(&line.crossing[other]));
        chosen.extend(best);
        from = to.max(from);
    }
    chosen.push(pieces);
    chosen
}

/// What the joint search is told.
pub struct Joint<'a> {
    /// Which line.
    pub line: usize,
    /// Devices in the order in which groups take them.
    pub order: &'a [usize],
    /// Where in that order a group may begin or end: 0 first, the last is how many devices take part.
    pub marks: &'a [usize],
    /// How many devices may share each layer; a stage chooses one of them.
    pub tensors: &'a [usize],
    /// Microbatches.
    pub microbatches: usize,
    /// Whether stages that do not fit may recompute.
    pub may_recompute: bool,
    /// The most stages.
    pub most: usize,
}

/// What one group may do between two places.
#[derive(Clone, Copy, Default)]
struct Cell {
    tensor: usize,
    plain: Rough,
    again: Rough,
}

/// Where the first of the remaining stages ends, by place and mark, and how its devices work.
#[derive(Clone, Copy, Default)]
struct Step {
    to: usize,
    until: usize,
    tensor: usize,
    again: bool,
}

struct Table {
    /// By mark and mark: for each width of tensor parallelism that is possible, by place and place.
    cells: Vec<Vec<Vec<Cell>>>,
    marks: usize,
    places: usize,
}

impl Table {
    fn cells(&self, group: (usize, usize), part: (usize, usize)) -> impl Iterator<Item = &Cell> {
        let all = &self.cells[group.0 * self.marks + group.1];
        all.iter().map(move |cells| &cells[part.0 * self.places + part.1])
    }
}

/// What is known when a stage is chosen.
struct Open<'a> {
    table: &'a Table,
    places: &'a [usize],
    behind: &'a [f64],
    crossings: &'a [f64],
    stages: usize,
}

impl Joint<'_> {
    /// For every number of stages that is possible, the split whose longest stage is shortest.
    pub fn splits(&self, scorer: &Scorer<'_>) -> Vec<Split> {
        let line = &scorer.lines[self.line];
        let places = coarse(line, self.most);
        let table = self.table(scorer, line, &places);
        let crossings: Vec<Vec<f64>> =
            (0..self.marks.len()).map(|mark| self.crossings(scorer, mark)).collect();
        let (last, end) = (places.len() - 1, self.marks.len() - 1);
        let size = (last + 1) * (end + 1);
        // Longest stage of what is behind a place and a mark, with so many stages; and where the first of them ends.
        let mut behind = vec![f64::INFINITY; size];
        // Devices at the end may be left over, where fewer are better.
        (0..=end).for_each(|mark| behind[last * (end + 1) + mark] = 0.0);
        let mut steps: Vec<Vec<Step>> = vec![];
        let mut found = vec![];
        for stages in 1..=self.most.min(last).min(end) {
            let mut now = vec![f64::INFINITY; size];
            let mut step = vec![Step::default(); size];
            for (mark, crossings) in crossings.iter().enumerate().take(end) {
                for from in 0..last {
                    let at = from * (end + 1) + mark;
                    let open = Open { table: &table, places: &places, behind: &behind, crossings, stages };
                    (now[at], step[at]) = self.best(line, &open, from, mark);
                }
            }
            steps.push(step);
            behind = now;
            if behind[0].is_finite() {
                found.push(self.walk(&steps, &places, end));
            }
        }
        found
    }

    /// The best first stage from a place and a mark, with so many stages in all from there.
    fn best(&self, line: &Line, open: &Open<'_>, from: usize, mark: usize) -> (f64, Step) {
        let &Open { table, places, behind, crossings, stages } = open;
        let (last, end) = (places.len() - 1, self.marks.len() - 1);
        let held = stages.min(self.microbatches) as f64 / self.microbatches as f64;
        let mut best = (f64::INFINITY, Step::default());
        let targets = if stages == 1 { last..=last } else { from + 1..=last - 1 };
        for to in targets {
            for until in mark + 1..=end {
                let rest = behind[to * (end + 1) + until];
                if rest >= best.0 {
                    continue;
                }
                let fits = |rough: &Rough| rough.always + rough.kept * held <= 1.0;
                for cell in table.cells((mark, until), (from, to)) {
                    let (rough, again) = match fits(&cell.plain) {
                        true => (cell.plain, false),
                        false if self.may_recompute && fits(&cell.again) => (cell.again, true),
                        false => continue,
                    };
                    let crossing = crossings[until] * line.crossing[places[to]];
                    let longest = f64::max(rest, rough.time_s).max(if to < last { crossing } else { 0.0 });
                    if longest < best.0 {
                        best = (longest, Step { to, until, tensor: cell.tensor, again });
                    }
                }
            }
        }
        best
    }

    /// By mark: seconds for a byte of a minibatch to cross there in an iteration, before and behind a group that begins at
    /// another mark.
    fn crossings(&self, scorer: &Scorer<'_>, mark: usize) -> Vec<f64> {
        let cross = |until: usize| {
            if until <= mark || self.marks[until] >= self.order.len() {
                return 0.0;
            }
            let pair = (self.order[self.marks[until] - 1], self.order[self.marks[until]]);
            let link = scorer.fleet.path(&[pair.0], &[pair.1]);
            // Inside a host every device has a port of its own.
            let ports = match scorer.fleet.devices[pair.0].host == scorer.fleet.devices[pair.1].host {
                true => (self.marks[until] - self.marks[mark]) as f64,
                false => 1.0,
            };
            scorer.rules.minibatches / link.bandwidth / ports
        };
        (0..self.marks.len()).map(cross).collect()
    }

    fn table(&self, scorer: &Scorer<'_>, line: &Line, places: &[usize]) -> Table {
        let marks = self.marks.len();
        let mut table = Table { cells: vec![vec![]; marks * marks], marks, places: places.len() };
        for first in 0..marks {
            for last in first + 1..marks {
                let devices = &self.order[self.marks[first]..self.marks[last]];
                let shapes = self.tensors.iter().filter_map(|&tensor| scorer.fleet.shape(devices, tensor));
                let shapes = shapes.filter(|shape| scorer.rules.allows(self.microbatches, shape.replicas));
                table.cells[first * marks + last] =
                    shapes.map(|shape| self.cells(scorer, line, places, &shape)).collect();
            }
        }
        table
    }

    fn cells(&self, scorer: &Scorer<'_>, line: &Line, places: &[usize], shape: &Shape) -> Vec<Cell> {
        let memory = |kind: usize| scorer.fleet.kinds[kind].memory_bytes;
        let mut cells = vec![Cell::default(); places.len() * places.len()];
        for from in 0..places.len() {
            for to in from + 1..places.len() {
                let part = (places[from], places[to]);
                let rough = |again| scorer.rules.rough(line, shape, again, part, self.microbatches, memory);
                cells[from * places.len() + to] =
                    Cell { tensor: shape.tensor, plain: rough(false), again: rough(true) };
            }
        }
        cells
    }

    fn walk(&self, steps: &[Vec<Step>], places: &[usize], end: usize) -> Split {
        let (mut from, mut mark) = (0, 0);
        let (mut cuts, mut groups) = (vec![0], vec![]);
        for step in steps.iter().rev() {
            let Step { to, until, tensor, again } = step[from * (end + 1) + mark];
            let devices = self.order[self.marks[mark]..self.marks[until]].to_vec();
            groups.push(Group { devices, tensor, recompute: again });
            cuts.push(places[to]);
            (from, mark) = (to, until);
        }
        (cuts, groups)
    }
}

/// Cuts for groups that are already chosen, with several parts on each where the schedule wants that: the longest part is
/// as short as can be. `None` when there are fewer places than parts.
pub fn fixed(
    scorer: &Scorer<'_>,
    line: usize,
    schedule: Schedule,
    groups: &[Group],
    microbatches: usize,
) -> Option<Vec<usize>> {
    let parts = groups.len() * schedule.chunks();
    let line = &scorer.lines[line];
    let places = coarse(line, parts);
    let last = places.len() - 1;
    if last < parts {
        return None;
    }
    let shapes: Option<Vec<Shape>> =
        groups.iter().map(|group| scorer.fleet.shape(&group.devices, group.tensor)).collect();
    let shapes = shapes?;
    let memory = |kind: usize| scorer.fleet.kinds[kind].memory_bytes;
    let mut before = vec![f64::INFINITY; last + 1];
    before[0] = 0.0;
    let mut steps: Vec<Vec<usize>> = vec![];
    for part in 0..parts {
        let owner = schedule.device_of(part, groups.len());
        let (shape, again) = (&shapes[owner], groups[owner].recompute);
        let mut now = vec![f64::INFINITY; last + 1];
        let mut step = vec![0; last + 1];
        for to in part + 1..=last - (parts - part - 1) {
            for from in part..to {
                if before[from] >= now[to] {
                    continue;
                }
                let range = (places[from], places[to]);
                let time = scorer.rules.rough(line, shape, again, range, microbatches, memory).time_s;
                let longest = f64::max(before[from], time);
                if longest < now[to] {
                    (now[to], step[to]) = (longest, from);
                }
            }
        }
        steps.push(step);
        before = now;
    }
    let mut at = last;
    let mut cuts = vec![places[last]];
    for step in steps.iter().rev() {
        at = step[at];
        cuts.push(places[at]);
    }
    cuts.reverse();
    Some(cuts)
}

/// Orders in which groups may take the devices: as they are, and with the fastest, the slowest or the largest first.
pub fn orders(fleet: &Fleet) -> Vec<Vec<usize>> {
    let natural: Vec<usize> = (0..fleet.devices.len()).collect();
    let by = |rank: &dyn Fn(usize) -> f64| {
        let mut order = natural.clone();
        order.sort_by(|&one, &other| rank(one).total_cmp(&rank(other)));
        order
    };
    let kind = |device: usize| &fleet.kinds[fleet.devices[device].kind];
    let mut orders = vec![
        by(&|device| -kind(device).speed),
        by(&|device| kind(device).speed),
        by(&|device| -kind(device).memory_bytes),
        natural.clone(),
    ];
    let mut distinct: Vec<Vec<usize>> = vec![];
    for order in orders.drain(..) {
        if !distinct.contains(&order) {
            distinct.push(order);
        }
    }
    distinct
}
