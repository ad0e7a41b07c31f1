//! Rows that are not simulated, and why: counted while reading, told once at the end.
//!
//! Logs of real clusters are full of jobs that never started, asked for nothing or were still running. Each format
//! says at its top which rows it leaves out; this counts them, so that none disappears without a word.

use super::value::grouped;

/// Rows seen so far, and those left out by reason.
pub(super) struct LeftOut {
    /// What a row is called: `rows`, `jobs`, `pods`.
    noun: &'static str,
    seen: u64,
    /// In the order in which they came up.
    reasons: Vec<(&'static str, u64)>,
    /// What of rows that are kept is not.
    lost: Vec<(&'static str, u64)>,
}

impl LeftOut {
    /// Nothing seen yet.
    pub fn of(noun: &'static str) -> Self {
        Self { noun, seen: 0, reasons: vec![], lost: vec![] }
    }

    /// Counts a row, whatever becomes of it.
    pub fn see(&mut self) {
        self.seen += 1;
    }

    /// Counts a row that was seen and is left out.
    pub fn leave(&mut self, reason: &'static str) {
        count(&mut self.reasons, reason);
    }

    /// Counts a row that is kept, but for this.
    pub fn lose(&mut self, what: &'static str) {
        count(&mut self.lost, what);
    }

    /// One sentence for each reason.
    pub fn notes(&self) -> Vec<String> {
        let part = |count: u64| format!("{} of {} {}", grouped(count), grouped(self.seen), self.noun);
        let left = self.reasons.iter().map(|(reason, count)| format!("skipped {}: {reason}", part(*count)));
        let lost = self.lost.iter().map(|(what, count)| format!("ignored in {}: {what}", part(*count)));
        left.chain(lost).collect()
    }
}

fn count(counts: &mut Vec<(&'static str, u64)>, what: &'static str) {
    match counts.iter_mut().find(|(known, _)| *known == what) {
        Some((_, count)) => *count += 1,
        None => counts.push((what, 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_is_counted_once_for_all_its_rows() {
        let mut left = LeftOut::of("rows");
        for reason in [None, Some("a"), Some("b"), Some("a")] {
            left.see();
            reason.into_iter().for_each(|reason| left.leave(reason));
        }
        left.lose("c");
        let expected = ["skipped 2 of 4 rows: a", "skipped 1 of 4 rows: b", "ignored in 1 of 4 rows: c"];
        assert_eq!(left.notes(), expected);
    }
}
