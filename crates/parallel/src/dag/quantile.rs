//! Times that vary: a task is planned with the time that it keeps in so many cases of a hundred.
//!
//! Times are taken as normally distributed, so the quantile is the mean plus a multiple of the standard deviation. The
//! multiple is found by Halley's method on the distribution function, from a coarse start; what is returned is exact to
//! about 1e-14. It does badly for times with a long tail: there the true quantile is later.

use super::refusal::Refusal;

/// How many standard deviations above the mean the quantile lies.
pub fn deviations(quantile: f64) -> Result<f64, Refusal> {
    if !(quantile > 1e-12 && quantile < 1.0 - 1e-12) {
        return Err(Refusal::BadQuantile { value: quantile });
    }
    // Of the logistic distribution with the same spread: never far off, and on the right side.
    let mut found = libm::log(quantile / (1.0 - quantile)) / 1.702;
    for _ in 0..60 {
        let below = 0.5 * libm::erfc(-found / std::f64::consts::SQRT_2);
        let density = libm::exp(-0.5 * found * found) / (2.0 * std::f64::consts::PI).sqrt();
        let newton = (below - quantile) / density;
        // Halley's correction, kept away from its pole; far out, the way is gone in pieces of at most one deviation.
        let move_by = (newton / (1.0 + 0.5 * found * newton).max(0.5)).clamp(-1.0, 1.0);
        found -= move_by;
        if move_by.abs() < 1e-15 * (1.0 + found.abs()) {
            break;
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_quantiles_are_met() {
        for (quantile, known) in [
            (0.5, 0.0),
            (0.9, 1.281_551_565_544_600_4),
            (0.975, 1.959_963_984_540_054),
            (0.999, 3.090_232_306_167_813_5),
            (0.01, -2.326_347_874_040_841),
        ] {
            let found = deviations(quantile).unwrap();
            assert!((found - known).abs() < 1e-12, "{quantile}: {found}");
        }
    }

    #[test]
    fn far_out_it_still_turns_back_into_the_quantile() {
        for quantile in [1e-9, 1e-6, 1.0 - 1e-6] {
            let found = deviations(quantile).unwrap();
            let back = 0.5 * libm::erfc(-found / std::f64::consts::SQRT_2);
            assert!((back - quantile).abs() < 1e-9 * quantile.max(1e-3), "{quantile}: {back}");
        }
        for value in [0.0, 1.0, -1.0, f64::NAN] {
            assert!(deviations(value).is_err());
        }
    }
}
