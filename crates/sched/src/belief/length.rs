//! How much longer something will run, as far as we believe.
//!
//! A job that reports its work and how much there is in all is believed: what is left, at the rate it is believed to have. Of
//! any other job the declared estimate counts, plus what every restart so far added, minus the work done. An ask without either
//! has no expected length, and orders put it last.

use super::speed;
use crate::view::{AskView, View};
use consort_types::{AskId, Sample, Span, Time};

/// Work left, as time at full width; zero when it has overrun its estimate. The same whether it runs or waits, so that
/// orders can compare by it.
pub fn work_left(view: &View<'_>, id: AskId, now: Time) -> Option<Span> {
    let ask = view.ask(id)?;
    let spec = ask.spec();
    // By the setting of the last report of its job, wherever it runs or waits itself: an order that went by where it is would
    // let two tasks preempt each other for ever.
    let setting = ask.last_setting().map(|last| speed::Setting { width: ask.width().1, ..last });
    if let Some(left) = setting.and_then(|setting| reported(&ask, now, setting)) {
        return Some(left);
    }
    let total = spec.estimate? + spec.restart_cost.times(i64::from(ask.restarts()));
    Some((total - ask.worked_until(now)).max(Span::ZERO))
}

/// Time left, were it to run on as wide as it does.
pub fn time_left(view: &View<'_>, id: AskId, now: Time) -> Option<Span> {
    let ask = view.ask(id)?;
    if let Some(left) = ask.setting().and_then(|setting| reported(&ask, now, setting)) {
        return Some(left);
    }
    let left = work_left(view, id, now)?;
    let (pace, full) = ask.pace();
    Some(left.scaled(full, pace))
}

/// What is left by the job's own reports, at the rate it is believed to have under a setting.
fn reported(ask: &AskView<'_>, now: Time, setting: speed::Setting) -> Option<Span> {
    let progress = ask.progress()?;
    let Sample { done_milli: done, total_milli: total, rate_nano: last, .. } = progress.sample;
    let rate = speed::rate(ask, &setting).map_or(last, |belief| belief.value);
    if total == 0 || rate == 0 {
        return None;
    }
    let nanoseconds = i128::from(total.saturating_sub(done)) * 1_000_000 * 1_000_000_000 / i128::from(rate);
    let left = Span(nanoseconds.min(i128::from(Span::CENTURY.0)) as i64);
    // It has gone on since it last reported, unless it began anew.
    let goes_on = ask.running_since().is_some() && progress.attempt == ask.attempt();
    let since = if goes_on { (now - progress.at).max(Span::ZERO) } else { Span::ZERO };
    let here = ask.setting().and_then(|here| speed::rate(ask, &here)).map_or(rate, |belief| belief.value);
    Some((left - since.scaled(here, rate)).max(Span::ZERO))
}
