//! Least attained service first, discretised in two dimensions: Tiresias (NSDI'19).
//!
//! Service is device-time (width times running time). Asks fall through a few levels as they attain more; a lower
//! level may take devices from a higher one; within a level, first come, first served. Needs no estimate at all.
//! Starvation guard: an ask that has waited `patience` times as long as it had run before goes back to the first
//! level, and while it then runs only the new attempt's service counts.
//!
//! Simplified: thresholds are given, not derived from a distribution (Tiresias' Gittins variant); and the guard
//! forgives old service for one attempt, not for good.
//! Does badly when all jobs are alike: they take turns at the thresholds and all end late.

use super::{Key, Order};
use crate::view::{AskView, Doing, View};
use consort_types::{AskId, Span, Time};

/// Least attained service first.
pub struct LeastAttained {
    /// Device-time after which an ask falls to the next level, ascending.
    pub thresholds: Vec<Span>,
    /// How many times its running time an ask may wait before it is promoted; 0 switches the guard off.
    pub patience: i64,
}

impl Default for LeastAttained {
    /// Tiresias' published queue limit of 3,250 device-seconds, and one more at ten times that.
    fn default() -> Self {
        Self { thresholds: vec![Span::seconds(3_250), Span::seconds(32_500)], patience: 8 }
    }
}

impl LeastAttained {
    /// Service that counts: all of it, or only this attempt's once patience ran out before it.
    fn service(&self, ask: &AskView<'_>, now: Time) -> i128 {
        // From the moment it is granted, not only once it runs: those it was put before would take it back at once.
        let is_on = matches!(ask.doing(), Doing::Planned | Doing::Starting | Doing::Running);
        let forgiven = is_on && self.is_out(ask, ask.last_spell());
        ask.attained_until(now) - if forgiven { ask.attained_before() } else { 0 }
    }

    fn is_out(&self, ask: &AskView<'_>, waited: Span) -> bool {
        self.patience > 0
            && ask.served_before() > Span::ZERO
            && waited >= ask.served_before().times(self.patience)
    }

    /// The level an ask has fallen to.
    fn level(&self, ask: &AskView<'_>, now: Time) -> usize {
        if ask.doing() == Doing::Waiting && self.is_out(ask, now - ask.queued()) {
            return 0;
        }
        let service = self.service(ask, now) / 1000;
        self.thresholds.iter().take_while(|threshold| service >= i128::from(threshold.0)).count()
    }
}

impl Order for LeastAttained {
    fn key(&self, view: &View<'_>, id: AskId, now: Time) -> Key {
        let Some(ask) = view.ask(id) else { return Key { level: i64::MAX, rank: i64::MAX } };
        Key { level: self.level(&ask, now) as i64, rank: ask.submitted().0 }
    }

    fn moves(&self) -> bool {
        true
    }

    fn next_change(&self, view: &View<'_>, now: Time) -> Option<Time> {
        let falls = view.granted().filter_map(|id| {
            let ask = view.ask(id)?;
            ask.running_since()?;
            let next = self.thresholds.get(self.level(&ask, now))?;
            let left = i128::from(next.0) * 1000 - self.service(&ask, now);
            let rate = i128::from(ask.thousandths());
            (rate > 0).then_some(())?; // without devices it attains nothing
            Some(now + Span(i64::try_from((left + rate - 1) / rate).unwrap_or(i64::MAX)))
        });
        let rises = view.waiting().filter_map(|id| {
            let ask = view.ask(id)?;
            let patient = self.patience > 0 && self.level(&ask, now) > 0;
            patient.then(|| ask.queued() + ask.served_before().times(self.patience))
        });
        falls.chain(rises).filter(|&at| at > now).min()
    }
}
