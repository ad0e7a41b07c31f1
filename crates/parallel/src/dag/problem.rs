//! The work in the form in which it is computed with: indices and flat tables, nothing to look up by name.
//!
//! Whether a task may run on a device is in its time: endless where it may not. A transfer is `latency + bytes /
//! bandwidth`, nothing on one device, endless between two that cannot talk. Memory that a task needs only while it runs
//! decides where it may run at all; memory that is held is counted for each device, beside the largest of the others.

use super::locality;
use super::refusal::Refusal;
use super::work::Work;

/// What the planners see.
#[derive(Clone, Debug)]
pub struct Problem {
    /// How many.
    pub tasks: usize,
    /// How many.
    pub devices: usize,
    /// Seconds by task and device.
    pub time: Vec<f64>,
    /// Who feeds a task, and with how many bytes.
    pub before: Lists,
    /// Whom a task feeds, and with how many bytes, in the order of the file.
    pub after: Lists,
    /// Latency and bandwidth by sender and receiver.
    pub pairs: Vec<(f64, f64)>,
    /// Earliest time by task and device: 0, unless there is a past.
    pub release: Vec<f64>,
    /// From when on a device is free: 0, unless there is a past.
    pub free: Vec<f64>,
    /// Where memory is held.
    pub room: Option<Room>,
    /// Tasks breadth first, each after all it waits for.
    pub order: Vec<usize>,
}

/// Memory that is held.
#[derive(Clone, Debug)]
pub struct Room {
    /// Of each device; `u64::MAX` when it is not accounted for.
    pub size: Vec<u64>,
    /// Of each task.
    pub need: Vec<u64>,
    /// Of each task.
    pub is_held: Vec<bool>,
}

/// Several lists in one.
#[derive(Clone, Debug, Default)]
pub struct Lists {
    begin: Vec<u32>,
    items: Vec<(u32, f64)>,
}

impl Lists {
    /// One list.
    #[inline]
    pub fn of(&self, task: usize) -> &[(u32, f64)] {
        &self.items[self.begin[task] as usize..self.begin[task + 1] as usize]
    }

    /// How many items there are in all.
    pub fn count(&self) -> usize {
        self.items.len()
    }

    /// Lists by key, items in the order in which they come.
    pub fn new(count: usize, items: &[(usize, usize, f64)]) -> Self {
        let mut begin = vec![0u32; count + 1];
        items.iter().for_each(|item| begin[item.0 + 1] += 1);
        (0..count).for_each(|key| begin[key + 1] += begin[key]);
        let mut next = begin.clone();
        let mut found = vec![(0, 0.0); items.len()];
        for &(key, other, bytes) in items {
            found[next[key] as usize] = (other as u32, bytes);
            next[key] += 1;
        }
        Self { begin, items: found }
    }
}

impl Problem {
    /// Of checked work, with every time so many standard deviations above its mean.
    pub fn new(work: &Work, deviations: f64) -> Result<Self, Refusal> {
        let (tasks, devices) = (work.tasks.len(), work.devices.len());
        let mut time = Vec::with_capacity(tasks * devices);
        for task in &work.tasks {
            for device in 0..devices {
                let spread = task.spread_s.get(device).copied().unwrap_or(0.0);
                let planned = task.time_s[device].map(|mean| (mean + deviations * spread).max(0.0));
                time.push(planned.unwrap_or(f64::INFINITY));
            }
        }
        let edges: Vec<_> = work.edges.iter().map(|edge| (edge.from, edge.to, edge.bytes)).collect();
        let mut problem = Self::of_parts(tasks, devices, time, &edges, pairs(work));
        problem.fit(work)?;
        locality::add_reading(work, &mut problem)?;
        Ok(problem)
    }

    /// Of tables that are known to be sound.
    pub fn of_parts(
        tasks: usize,
        devices: usize,
        time: Vec<f64>,
        edges: &[(usize, usize, f64)],
        pairs: Vec<(f64, f64)>,
    ) -> Self {
        let after = grouped(Lists::new(tasks, edges), tasks);
        let turned: Vec<_> = (0..tasks)
            .flat_map(|from| after.of(from).iter().map(move |&(to, bytes)| (to as usize, from, bytes)))
            .collect();
        let before = Lists::new(tasks, &turned);
        let order = breadth_first(tasks, &before, &after);
        let (release, free) = (vec![0.0; tasks * devices], vec![0.0; devices]);
        Self { tasks, devices, time, before, after, pairs, release, free, room: None, order }
    }

    /// Shuts out devices that are too small for a task; memory that is held is kept for the planners.
    fn fit(&mut self, work: &Work) -> Result<(), Refusal> {
        let size = |device: usize| work.devices[device].memory_bytes.unwrap_or(u64::MAX);
        for (index, task) in work.tasks.iter().enumerate() {
            let row = &mut self.time[index * self.devices..][..self.devices];
            let runs = (0..self.devices).filter(|&device| row[device].is_finite());
            let (largest, roomy) =
                runs.map(|device| (size(device), device)).fold((0, 0), |best, next| match next.0 > best.0 {
                    true => next,
                    false => best,
                });
            if task.memory_bytes > largest {
                let (task, needs) = (task.name.clone(), task.memory_bytes);
                let device = work.devices[roomy].name.clone();
                return Err(Refusal::TooLarge { task, needs, largest, device });
            }
            for (device, time) in row.iter_mut().enumerate() {
                if task.memory_bytes > size(device) {
                    *time = f64::INFINITY;
                }
            }
        }
        if !work.tasks.iter().any(|task| task.is_held && task.memory_bytes > 0) {
            return Ok(());
        }
        let room = Room {
            size: (0..self.devices).map(size).collect(),
            need: work.tasks.iter().map(|task| task.memory_bytes).collect(),
            is_held: work.tasks.iter().map(|task| task.is_held).collect(),
        };
        let held = (0..self.tasks).filter(|&task| room.is_held[task]).map(|task| u128::from(room.need[task]));
        let (needs, all): (u128, u128) = (held.sum(), room.size.iter().map(|&size| u128::from(size)).sum());
        if needs > all {
            let clip = |bytes: u128| u64::try_from(bytes).unwrap_or(u64::MAX);
            return Err(Refusal::TooMuchHeld { needs: clip(needs), room: clip(all) });
        }
        self.room = Some(room);
        Ok(())
    }

    /// How long a transfer takes.
    #[inline]
    pub fn transfer(&self, bytes: f64, from: usize, to: usize) -> f64 {
        let (latency, bandwidth) = self.pairs[from * self.devices + to];
        latency + bytes / bandwidth
    }

    /// How long a task takes.
    #[inline]
    pub fn time(&self, task: usize, device: usize) -> f64 {
        self.time[task * self.devices + device]
    }

    /// How long a task takes on every device.
    #[inline]
    pub fn times(&self, task: usize) -> &[f64] {
        &self.time[task * self.devices..][..self.devices]
    }

    /// The devices that may run a task.
    pub fn places(&self, task: usize) -> impl Iterator<Item = usize> + '_ {
        (0..self.devices).filter(move |&device| self.time(task, device).is_finite())
    }

    /// Whether every two devices can talk.
    pub fn is_joined(&self) -> bool {
        self.pairs.iter().all(|pair| pair.0.is_finite())
    }

    /// When everything a task reads is on the device, by when and where those that it waits for end.
    #[inline]
    pub fn ready(&self, task: usize, device: usize, end: &[f64], place: &[u32]) -> f64 {
        let mut ready = self.release[task * self.devices + device];
        for &(other, bytes) in self.before.of(task) {
            let other = other as usize;
            ready = later(ready, end[other] + self.transfer(bytes, place[other] as usize, device));
        }
        ready
    }

    /// The same with every edge turned round and no past: what ends last comes first.
    pub fn turned(&self) -> Self {
        let mut turned = self.clone();
        std::mem::swap(&mut turned.before, &mut turned.after);
        turned.order.reverse();
        for from in 0..self.devices {
            for to in 0..self.devices {
                turned.pairs[from * self.devices + to] = self.pairs[to * self.devices + from];
            }
        }
        turned.release.fill(0.0);
        turned.free.fill(0.0);
        turned
    }
}

/// The later of two times, neither of which is NaN.
#[inline]
pub fn later(one: f64, other: f64) -> f64 {
    if other > one { other } else { one }
}

fn pairs(work: &Work) -> Vec<(f64, f64)> {
    let mut pairs = Vec::with_capacity(work.devices.len() * work.devices.len());
    for (from, row) in work.links.iter().enumerate() {
        for (to, link) in row.iter().enumerate() {
            pairs.push(match (from == to, link) {
                (true, _) => (0.0, f64::INFINITY),
                (false, Some(link)) => (link.latency_s, link.bandwidth),
                (false, None) => (f64::INFINITY, f64::INFINITY),
            });
        }
    }
    pairs
}

/// Several edges between the same two tasks are one transfer of their sum.
fn grouped(lists: Lists, tasks: usize) -> Lists {
    let mut seen = vec![(u32::MAX, 0usize); tasks];
    let mut found: Vec<(usize, usize, f64)> = Vec::with_capacity(lists.count());
    for from in 0..tasks {
        for &(to, bytes) in lists.of(from) {
            let (last, position) = seen[to as usize];
            if last == from as u32 {
                found[position].2 += bytes;
            } else {
                seen[to as usize] = (from as u32, found.len());
                found.push((from, to as usize, bytes));
            }
        }
    }
    match found.len() == lists.count() {
        true => lists,
        false => Lists::new(tasks, &found),
    }
}

/// Tasks in the order of a queue that begins with those that wait for nobody. What a task feeds joins it in the order of
/// the tasks, not of the edges: the reference of the `dag-list` benchmark breaks ties of urgency by this order.
fn breadth_first(tasks: usize, before: &Lists, after: &Lists) -> Vec<usize> {
    let mut waits_for: Vec<usize> = (0..tasks).map(|task| before.of(task).len()).collect();
    let mut order: Vec<usize> = (0..tasks).filter(|&task| waits_for[task] == 0).collect();
    order.reserve(tasks);
    let mut next = 0;
    while next < order.len() {
        let joined = order.len();
        for &(fed, _) in after.of(order[next]) {
            waits_for[fed as usize] -= 1;
            if waits_for[fed as usize] == 0 {
                order.push(fed as usize);
            }
        }
        order[joined..].sort_unstable();
        next += 1;
    }
    order
}
