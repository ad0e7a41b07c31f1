//! How much longer something will run, as far as we believe.
//!
//! Today's belief is plain: what was declared, plus what every restart so far added, minus the time it has run.
//! An ask without a declared estimate has none, and orders put it last.

use crate::view::View;
use consort_types::{AskId, Span, Time};

/// Time left, were it to run from now on; zero when it has overrun its estimate.
pub fn remaining(view: &View<'_>, id: AskId, now: Time) -> Option<Span> {
    let ask = view.ask(id)?;
    let spec = ask.spec();
    let total = spec.estimate? + spec.restart_cost.times(i64::from(ask.restarts()));
    Some((total - ask.served_until(now)).max(Span::ZERO))
}
