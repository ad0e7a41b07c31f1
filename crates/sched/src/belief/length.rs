//! How much longer something will run, as far as we believe.
//!
//! Today's belief is plain: what was declared, plus what every restart so far added, minus the work done. An ask without
//! a declared estimate has none, and orders put it last.

use crate::view::View;
use consort_types::{AskId, Span, Time};

/// Work left, as time at full width; zero when it has overrun its estimate. The same whether it runs or waits, so that
/// orders can compare by it.
pub fn work_left(view: &View<'_>, id: AskId, now: Time) -> Option<Span> {
    let ask = view.ask(id)?;
    let spec = ask.spec();
    let total = spec.estimate? + spec.restart_cost.times(i64::from(ask.restarts()));
    Some((total - ask.worked_until(now)).max(Span::ZERO))
}

/// Time left, were it to run on as wide as it does.
pub fn time_left(view: &View<'_>, id: AskId, now: Time) -> Option<Span> {
    let left = work_left(view, id, now)?;
    let (members, most) = view.ask(id)?.width();
    Some(left.scaled(most, members))
}
