//! What each worker is like beside its peers and its own past.

use super::robust::{self, median};
use super::{Health, Watched, Worker};
use serde::Serialize;

/// Beyond so many deviations from its peers a worker stands out (Iglewicz and Hoaglin's rule).
const STANDS_OUT: f64 = 3.5;
/// Beyond so many deviations a single round does: there are many more rounds than workers.
const SPIKE: f64 = 5.0;
/// What is less than this part of the usual time is not worth a word, however sure.
const NEGLIGIBLE: f64 = 0.02;
/// A single round is worth a word from this part of the usual time on.
const SPIKE_SIZE: f64 = 0.1;
/// No clock is better than this: a smaller spread is taken as this part of the usual time.
const LEAST_NOISE: f64 = 0.01;
/// Below so many values a worker is not judged.
const LEAST_VALUES: usize = 3;

/// Why a worker is slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// It is not, as far as is known.
    None,
    /// Some rounds were slow, and that is over.
    Transient,
    /// Its own work is slow, or becomes slow, and nothing says why.
    Persistent,
    /// Its work is as fast as others', its exchange is not.
    Communication,
    /// Its work is slow and its device holds back.
    Thermal,
}

/// What was found about one worker.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// What people call it.
    pub worker: String,
    /// What it is like.
    pub class: Class,
    /// The median of its own work; `None` when nothing was measured.
    pub own_s: Option<f64>,
    /// By what part it is above the usual time, in work or in exchange, whichever its class is about.
    pub excess: f64,
    /// How many deviations its work is above that of its peers.
    pub z: f64,
    /// How many deviations its exchange is above that of its peers.
    pub communication_z: f64,
    /// The round in which a rise began that is still on.
    pub since: Option<usize>,
    /// How many single rounds stood out.
    pub spikes: usize,
}

/// One kind of time, of all workers.
struct Series<'a> {
    all: Vec<&'a [Option<f64>]>,
    /// All values of each round, in order.
    sorted: Vec<Vec<f64>>,
    /// Median of each worker.
    levels: Vec<Option<f64>>,
    /// The usual level.
    level: f64,
    /// Deviation over time, and over workers.
    noise: f64,
    spread: f64,
}

impl<'a> Series<'a> {
    fn new(all: Vec<&'a [Option<f64>]>) -> Option<Self> {
        let rounds = all.iter().map(|series| series.len()).max().unwrap_or(0);
        let levels: Vec<Option<f64>> =
            all.iter().map(|series| median(series.iter().copied().flatten())).collect();
        let known: Vec<f64> = levels.iter().copied().flatten().collect();
        // Of two, the faster is what is usual: their median would lie between them and blame neither.
        let level = if known.len() == 2 { known[0].min(known[1]) } else { median(known.iter().copied())? };
        let at = |round: usize| {
            let mut values: Vec<f64> =
                all.iter().filter_map(|series| series.get(round).copied().flatten()).collect();
            values.sort_by(f64::total_cmp);
            values
        };
        let sorted: Vec<Vec<f64>> = (0..rounds).map(at).collect();
        let mut series = Self { all, sorted, levels, level, noise: 0.0, spread: 0.0 };
        let least = LEAST_NOISE * level;
        let apart: Vec<f64> = (0..series.all.len()).flat_map(|worker| series.centred(worker)).collect();
        // Values are centred on their worker's median already, so the deviation is taken from zero.
        let noise = 1.4826 * median(apart.iter().map(|value| value.abs())).unwrap_or(0.0);
        series.noise = noise.max(least).max(f64::MIN_POSITIVE);
        let among = if known.len() >= 3 { robust::deviation(&known) } else { 0.0 };
        series.spread = among.max(least).max(1.2533 * noise / (rounds.max(1) as f64).sqrt());
        series.spread = series.spread.max(f64::MIN_POSITIVE);
        Some(series)
    }

    /// What a worker takes beyond its peers, round by round. It is no peer of its own: of three, it would be the
    /// median itself every third time, and noise would seem smaller than it is.
    fn excess(&self, worker: usize) -> Vec<Option<f64>> {
        let values = self.all[worker].iter().zip(&self.sorted);
        values.map(|(value, sorted)| Some((*value)? - self.peers((*value)?, sorted)?)).collect()
    }

    /// The median of a round without one of its values.
    fn peers(&self, value: f64, sorted: &[f64]) -> Option<f64> {
        if self.all.len() == 1 {
            // Alone, a worker has only its own past.
            return Some(self.level);
        }
        let position = sorted.partition_point(|other| *other < value);
        let peer = |index: usize| sorted[index + usize::from(index >= position)];
        let count = sorted.len().checked_sub(1).filter(|count| *count > 0)?;
        Some((peer((count - 1) / 2) + peer(count / 2)) / 2.0)
    }

    fn centred(&self, worker: usize) -> Vec<f64> {
        let excess: Vec<f64> = self.excess(worker).into_iter().flatten().collect();
        let middle = median(excess.iter().copied()).unwrap_or(0.0);
        excess.into_iter().map(|value| value - middle).collect()
    }

    fn z(&self, worker: usize) -> f64 {
        match self.levels[worker] {
            Some(level) if self.all.len() > 1 => (level - self.level) / self.spread,
            _ => 0.0,
        }
    }

    /// By what part of the usual time a worker is above it.
    fn part(&self, worker: usize) -> f64 {
        self.levels[worker].map_or(0.0, |level| (level - self.level) / self.level.max(f64::MIN_POSITIVE))
    }

    fn stands_out(&self, worker: usize) -> bool {
        let enough = self.all[worker].iter().flatten().count() >= LEAST_VALUES;
        enough && self.z(worker) > STANDS_OUT && self.part(worker) > NEGLIGIBLE
    }

    /// A rise that is still on: since when, and by how much it is above what it was.
    fn rise(&self, worker: usize) -> (Option<(usize, f64)>, bool) {
        let excess = self.excess(worker);
        let first = (excess.len() / 3).max(5).min(excess.len());
        let Some(usual) = median(excess[..first].iter().copied().flatten()) else { return (None, false) };
        let drift = robust::drift(&excess, usual, self.noise);
        let last = (excess.len() / 4).max(LEAST_VALUES).min(excess.len());
        let latest = excess[excess.len() - last..].iter().copied().flatten();
        let now = median(latest).unwrap_or(usual) - usual;
        // Both medians have an error of their own, which a few values make large.
        let error = 1.2533 * self.noise * (1.0 / first as f64 + 1.0 / last as f64).sqrt();
        let real = now > STANDS_OUT * error && now > NEGLIGIBLE * self.level && excess.len() > first;
        (drift.since.filter(|_| real).map(|since| (since, now / self.level)), drift.passed)
    }

    fn spikes(&self, worker: usize) -> usize {
        let limit = (SPIKE * self.noise).max(SPIKE_SIZE * self.level);
        self.centred(worker).into_iter().filter(|value| *value > limit).count()
    }
}

/// What each worker is like; `None` when nothing was measured.
pub fn classify(watched: &Watched) -> Option<Vec<Finding>> {
    let own = Series::new(watched.workers.iter().map(|worker| &worker.own_s[..]).collect())?;
    let exchange = Series::new(watched.workers.iter().map(|worker| &worker.communication_s[..]).collect());
    let healths: Vec<Health> = watched.workers.iter().map(|worker| worker.health).collect();
    let find = |(index, worker): (usize, &Worker)| {
        let (rise, passed) = own.rise(index);
        let spikes = own.spikes(index);
        let slow = own.stands_out(index) || rise.is_some();
        let exchanges = exchange.as_ref().is_some_and(|exchange| exchange.stands_out(index));
        let class = match (slow, exchanges) {
            (true, _) if is_held_back(&healths, index) => Class::Thermal,
            (true, _) => Class::Persistent,
            (false, true) => Class::Communication,
            (false, false) if spikes > 0 || passed => Class::Transient,
            (false, false) => Class::None,
        };
        let excess = match (&exchange, class) {
            (Some(exchange), Class::Communication) => exchange.part(index),
            _ => own.part(index).max(rise.map_or(f64::MIN, |(_, now)| now)),
        };
        Finding {
            worker: worker.name.clone(),
            class,
            own_s: own.levels[index],
            excess,
            z: own.z(index),
            communication_z: exchange.as_ref().map_or(0.0, |exchange| exchange.z(index)),
            since: rise.map(|(since, _)| since),
            spikes,
        }
    };
    Some(watched.workers.iter().enumerate().map(find).collect())
}

/// Whether a device says that it holds back, runs slower than its peers, or is much hotter than they are.
fn is_held_back(all: &[Health], index: usize) -> bool {
    let health = all[index];
    let clocks = median(all.iter().filter_map(|health| health.clock));
    let heats = median(all.iter().filter_map(|health| health.temperature_c));
    let slow = health.clock.zip(clocks).is_some_and(|(clock, usual)| clock < 0.95 * usual);
    let hot =
        health.temperature_c.zip(heats).is_some_and(|(heat, usual)| heat > usual + 10.0 || heat >= 90.0);
    health.throttled || slow || hot
}
