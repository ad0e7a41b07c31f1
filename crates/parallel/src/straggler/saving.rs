//! How often to save the state, so that saving and repeating together cost least (Young, 1974; Daly, 2006).
//!
//! Simplifies: failures come independently of each other and of the time since the last; a save never fails. Does badly
//! where preemption announces itself: then save when it is announced.

use super::Refusal;
use serde::Serialize;

/// How often, and what it costs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Saving {
    /// Work between two saves, in seconds.
    pub every_s: f64,
    /// The part of the time that goes into saving and into work that is repeated.
    pub overhead: f64,
}

/// The best interval for saves of this length and failures so far apart, in seconds: `sqrt(2 save apart)`.
pub fn interval(save_s: f64, apart_s: f64) -> Result<Saving, Refusal> {
    for (what, value) in [("time of a save", save_s), ("time between failures", apart_s)] {
        if !(value > 0.0 && value < 1e15) {
            return Err(Refusal::Figure { what, value });
        }
    }
    let every_s = (2.0 * save_s * apart_s).sqrt();
    Ok(Saving { every_s, overhead: save_s / every_s + every_s / (2.0 * apart_s) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_other_interval_costs_less() {
        let best = interval(30.0, 86_400.0).unwrap();
        assert_eq!(best.every_s, 2_276.839_915_321_233);
        let overhead = |every: f64| 30.0 / every + every / (2.0 * 86_400.0);
        assert!(overhead(best.every_s * 0.9) > best.overhead && overhead(best.every_s * 1.1) > best.overhead);
        assert!(interval(0.0, 1.0).is_err() && interval(1.0, f64::NAN).is_err());
    }
}
