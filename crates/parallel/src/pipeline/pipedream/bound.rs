//! What no partition can beat.

use super::{Request, States};

/// Seconds per minibatch that no partition can beat, and the argument.
pub fn bound(request: &Request, states: &States) -> (f64, &'static str) {
    let machines: f64 = request.levels.iter().map(|level| level.machines as f64).product();
    (states.compute_s[states.len() - 1] / machines, "work over machines")
}
