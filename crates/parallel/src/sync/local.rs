//! How many local rounds suit a loss (AdaComm, Wang and Joshi, 2019).
//!
//! Far from the goal, exchange matters little; near it, much. The number of local rounds falls with the square root of the
//! loss, and rises with a falling learning rate. Does badly where the loss has a floor well above zero: give what is
//! above the floor.

use super::Refusal;

/// Where training stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loss {
    /// The loss at the start.
    pub first: f64,
    /// The loss now.
    pub now: f64,
    /// Local rounds at the start.
    pub first_rounds: u64,
    /// The learning rate now over the one at the start.
    pub rate: f64,
}

/// How many local rounds now: `sqrt(now / first) * first_rounds`, times `sqrt(1 / rate^3)`, rounded up. What is a whole
/// number but for rounding is taken as it.
pub fn rounds(loss: &Loss) -> Result<u64, Refusal> {
    let exact = unrounded(loss)?;
    let whole = exact.round();
    let rounded = if (exact - whole).abs() <= 1e-9 * whole { whole } else { exact.ceil() };
    Ok(rounded.max(1.0) as u64)
}

/// The same, not rounded.
pub fn unrounded(loss: &Loss) -> Result<f64, Refusal> {
    let figures = [
        ("loss at the start", loss.first),
        ("loss now", loss.now),
        ("number of local rounds", loss.first_rounds as f64),
        ("learning rate over the first one", loss.rate),
    ];
    if let Some(&(what, value)) = figures.iter().find(|(_, value)| !(*value > 0.0 && *value < 1e9)) {
        return Err(Refusal::NotPositive { what, value });
    }
    let slower = 1.0 / (loss.rate * loss.rate * loss.rate);
    Ok((loss.now / loss.first).sqrt() * loss.first_rounds as f64 * slower.sqrt())
}

/// The number after `before`: the same rule, but where it does not fall it is halved, so that exchange becomes frequent
/// in the end whatever the loss does.
pub fn next(loss: &Loss, before: u64) -> Result<u64, Refusal> {
    let new = rounds(loss)?;
    Ok(if new < before { new } else { before.div_ceil(2).max(1) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_falls_with_the_loss_and_rises_with_a_falling_rate() {
        let loss = |now, rate| Loss { first: 2.0, now, first_rounds: 20, rate };
        assert_eq!(rounds(&loss(2.0, 1.0)), Ok(20));
        assert_eq!(rounds(&loss(0.5, 1.0)), Ok(10));
        assert_eq!(rounds(&loss(0.51, 1.0)), Ok(11));
        // sqrt(1/2) * sqrt(8) is 2, whatever floating point says.
        assert_eq!(rounds(&loss(1.0, 0.5)), Ok(40));
        assert_eq!(next(&loss(2.0, 1.0), 20), Ok(10));
        assert_eq!(next(&loss(0.5, 1.0), 20), Ok(10));
        assert_eq!(rounds(&loss(1e-8, 1.0)), Ok(1));
        assert!(rounds(&loss(f64::NAN, 1.0)).is_err() && rounds(&loss(1.0, 0.0)).is_err());
    }
}
