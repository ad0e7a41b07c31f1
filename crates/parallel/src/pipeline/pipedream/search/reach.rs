//! Whether a pace can be reached, for one entry.

use super::{Aim, Choice, REPLICAS, Search, place};

/// A value that is at most what was asked for, rounding aside; or one that is more and that nothing undercuts.
type Reach = Result<f64, f64>;

/// What one entry is about.
#[derive(Clone, Copy)]
struct Entry {
    level: usize,
    from: usize,
    to: usize,
    machines: usize,
}

impl Search {
    /// Whether what lies between two cuts can be done at this pace on so many machines of a level.
    pub(super) fn reach(
        &mut self,
        level: usize,
        from: usize,
        to: usize,
        machines: usize,
        pace: f64,
    ) -> Reach {
        let entry = Entry { level, from, to, machines };
        let least = self.least(entry);
        if least > pace {
            return Err(least);
        }
        let most = self.levels[level].machines;
        let place = place(most, from, to, machines);
        let size = (self.last() - from) * most;
        let row = &mut self.levels[level].rows[from];
        if row.low.is_empty() {
            row.low = vec![0.0; size];
            row.high = vec![0.0; size];
            row.choice = vec![0; size];
            self.entries += size;
        }
        let (low, high) = (row.low[place], row.high[place]);
        // Infinite is final, whatever is asked for.
        if low > pace || low.is_infinite() {
            return Err(low);
        }
        if high > 0.0 && high <= pace {
            return Ok(high);
        }
        let found = self.look(entry, pace);
        let row = &mut self.levels[level].rows[from];
        match found {
            Ok((value, choice)) if high == 0.0 || value < high => {
                row.high[place] = value.max(f64::MIN_POSITIVE);
                row.choice[place] = match choice {
                    Choice::Whole => 0,
                    Choice::Fewer => 1,
                    Choice::Cut(cut, replicas) => (cut << REPLICAS | replicas) as u32,
                };
                Ok(value)
            }
            // Rounding let it look reachable and it was not better than before.
            Ok(_) => Ok(high),
            Err(value) => {
                row.low[place] = value;
                Err(value)
            }
        }
    }

    /// All machines computing all the time.
    fn least(&self, Entry { level, from, to, machines }: Entry) -> f64 {
        match self.aim {
            Aim::Time => (self.time[to] - self.time[from]) / (machines as f64 * self.levels[level].inside),
            Aim::Memory => 0.0,
        }
    }

    fn look(&mut self, entry: Entry, pace: f64) -> Result<(f64, Choice), f64> {
        let mut low = match self.whole(entry, pace) {
            Ok(value) => return Ok((value, Choice::Whole)),
            Err(low) => low,
        };
        let Entry { level, from, to, machines } = entry;
        if self.fewer && machines > 1 && !self.is_single(from, to) {
            match self.reach(level, from, to, machines - 1, pace) {
                Ok(value) => return Ok((value, Choice::Fewer)),
                Err(value) => low = low.min(value),
            }
        }
        for replicas in 1..machines.min(if self.straight { 2 } else { machines }) {
            let hands = self.handing(level, to, replicas);
            match hands > pace {
                true => low = low.min(hands),
                false => match self.cut(entry, replicas, pace) {
                    Ok((value, cut)) => return Ok((value, Choice::Cut(cut, replicas))),
                    Err(value) => low = low.min(value),
                },
            }
        }
        Err(low)
    }

    /// Whether a piece is one state. As coded, such a piece gets all of the machines even where some may stay idle.
    fn is_single(&self, from: usize, to: usize) -> bool {
        self.state(to) == if from == 0 { 0 } else { self.state(from) + 1 }
    }

    /// One stage on all of the machines.
    fn whole(&mut self, entry: Entry, pace: f64) -> Reach {
        if self.straight && entry.machines > 1 {
            return Err(f64::INFINITY);
        }
        let shape = &self.levels[entry.level];
        let copies = (shape.machines - entry.machines).div_ceil(entry.machines);
        let sync = self.sync(entry) / shape.within;
        self.stage(entry, sync, copies, pace)
    }

    /// One stage on all of the machines, which exchanges gradients in `sync` and keeps so many minibatches.
    fn stage(&mut self, entry: Entry, sync: f64, copies: usize, pace: f64) -> Reach {
        let Entry { level, from, to, machines } = entry;
        let kept = copies as f64 * (self.kept[to] - self.kept[from]);
        if kept > self.memory {
            return Err(f64::INFINITY);
        }
        let shared = machines as f64;
        let (asked, floor) = match self.aim {
            Aim::Time => (pace * shared - sync, 0.0),
            Aim::Memory => (pace, kept),
        };
        let inner = match (level, self.aim) {
            (0, Aim::Time) => self.time[to] - self.time[from],
            (0, Aim::Memory) => 0.0,
            _ => match self.reach(level - 1, from, to, self.levels[level - 1].machines, asked) {
                Ok(inner) => inner,
                // Whatever rounding does to it, it stays more than was asked for.
                Err(low) if self.aim == Aim::Time => return Err(((low + sync) / shared).max(pace.next_up())),
                Err(low) => return Err(low),
            },
        };
        let value = match self.aim {
            Aim::Time => (inner + sync) / shared,
            Aim::Memory => inner.max(floor),
        };
        // What the level below reached counts as reached, even where rounding has lifted it a little.
        match value > pace && (level == 0 || self.aim == Aim::Memory) {
            true => Err(value),
            false => Ok(value),
        }
    }

    /// Exchanging gradients.
    fn sync(&self, Entry { level, from, to, machines }: Entry) -> f64 {
        let learned = self.learned[to] - self.learned[from];
        4.0 * (machines - 1) as f64 * learned / (self.levels[level].bandwidth * machines as f64)
    }

    /// Handing on what is ready at a cut, 0 where that is taken to cost nothing.
    fn handing(&self, level: usize, cut: usize, replicas: usize) -> f64 {
        match self.ratio {
            Some(ratio) if cut < self.last() => {
                2.0 * self.handed[cut] / (self.levels[level].bandwidth * replicas as f64) / ratio
            }
            _ => 0.0,
        }
    }

    /// A cut with so many replicas of the stage behind it, from the even one outwards.
    fn cut(&mut self, entry: Entry, replicas: usize, pace: f64) -> Result<(f64, usize), f64> {
        let Entry { level, from, to, machines } = entry;
        let (begin, end, inside) = (self.time[from], self.time[to], self.levels[level].inside);
        let rest = machines - replicas;
        let even = begin + (end - begin) * rest as f64 / machines as f64;
        let middle = from + 1 + self.time[from + 1..to].partition_point(|&time| time < even);
        let mut low = f64::INFINITY;
        for cut in middle..to {
            let least = (self.time[cut] - begin) / (rest as f64 * inside);
            if self.aim == Aim::Time && least > pace {
                low = low.min(least);
                break;
            }
            match self.attempt(entry, cut, replicas, pace) {
                Ok(value) => return Ok((value, cut)),
                Err(value) => low = low.min(value),
            }
        }
        for cut in (from + 1..middle).rev() {
            let least = (end - self.time[cut]) / (replicas as f64 * inside);
            if self.aim == Aim::Time && least > pace {
                low = low.min(least);
                break;
            }
            match self.attempt(entry, cut, replicas, pace) {
                Ok(value) => return Ok((value, cut)),
                Err(value) => low = low.min(value),
            }
        }
        Err(low)
    }

    fn attempt(&mut self, entry: Entry, cut: usize, replicas: usize, pace: f64) -> Reach {
        let Entry { level, from, to, machines } = entry;
        if !self.before.has(to, cut) || (from > 0 && !self.before.has(cut, from)) {
            return Err(f64::INFINITY);
        }
        self.tried += 1;
        if self.is_spent() {
            return Err(f64::INFINITY);
        }
        let hands = self.handing(level, cut, replicas).max(self.handing(level, to, replicas));
        if hands > pace {
            return Err(hands);
        }
        let behind = Entry { level, from: cut, to, machines: replicas };
        let sync = self.sync(behind);
        let least = self.least(behind) + sync / replicas as f64;
        if self.aim == Aim::Time && least > pace {
            return Err(least);
        }
        let first = self.reach(level, from, cut, machines - replicas, pace)?;
        let copies = (self.levels[level].machines - machines).div_ceil(replicas);
        let stage = self.stage(behind, sync, copies, pace)?;
        Ok(stage.max(first).max(hands))
    }
}
