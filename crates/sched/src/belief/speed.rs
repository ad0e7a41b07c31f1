//! How fast a job would run under a setting, as far as reports tell.
//!
//! A setting that the job reported is answered by the mean of its reports, one that other jobs of the same tenant and name
//! reported by theirs. For another width of a reported kind a power law `rate = a * width^b` is fitted to that kind's rows,
//! by least squares over logarithms, weighted by reports; with one width known, `b` is 1. Fits are made when they are asked
//! for and never stored.
//!
//! Simplified: nodes and batch size do not enter the fit, and nothing is concluded from one kind to another. Does badly for
//! jobs whose speed stops growing at some width beyond those reported.

use crate::state::observed::Rates;
pub use crate::state::observed::Setting;
use crate::view::AskView;
use libm::{exp, log, sqrt};

/// A number that was learned, with what it rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Belief {
    /// Expected value.
    pub value: u64,
    /// Mean deviation from it.
    pub spread: u64,
    /// Reports behind it; 0 where it was concluded from other settings.
    pub count: u32,
}

/// Expected rate under a setting, in billionths of the job's own unit per second.
pub fn rate(ask: &AskView<'_>, setting: &Setting) -> Option<Belief> {
    let of_name = ask.rates_of_name()?;
    let exact = ask.rates().and_then(|own| own.rate(setting)).or_else(|| of_name.rate(setting));
    match exact {
        Some(row) => Some(Belief { value: row.rate_nano, spread: row.spread_nano, count: row.count }),
        None => fitted(of_name, setting),
    }
}

fn fitted(rates: &Rates, setting: &Setting) -> Option<Belief> {
    let rows = rates.rows().iter().filter(|row| row.setting.kind == setting.kind && row.rate_nano > 0);
    let points = rows.map(|row| {
        let relative = row.spread_nano as f64 / row.rate_nano as f64;
        (log(f64::from(row.setting.width.max(1))), log(row.rate_nano as f64), f64::from(row.count), relative)
    });
    let points: Vec<(f64, f64, f64, f64)> = points.collect();
    let all: f64 = points.iter().map(|point| point.2).sum();
    if points.is_empty() || all <= 0.0 {
        return None;
    }
    let mean = |of: fn(&(f64, f64, f64, f64)) -> f64| {
        points.iter().map(|point| of(point) * point.2).sum::<f64>() / all
    };
    let (x, y, relative) = (mean(|point| point.0), mean(|point| point.1), mean(|point| point.3));
    let spread_of_x: f64 = points.iter().map(|point| point.2 * (point.0 - x) * (point.0 - x)).sum();
    let common: f64 = points.iter().map(|point| point.2 * (point.0 - x) * (point.1 - y)).sum();
    let slope = if spread_of_x > 1e-9 { (common / spread_of_x).clamp(-1.0, 2.0) } else { 1.0 };
    let to = log(f64::from(setting.width.max(1)));
    let value = exp(y + slope * (to - x));
    // How far the rows are from the curve, and how far the setting is from the rows.
    let miss = |point: &(f64, f64, f64, f64)| {
        let miss = point.1 - (y + slope * (point.0 - x));
        point.2 * miss * miss
    };
    let error = sqrt(points.iter().map(miss).sum::<f64>() / all);
    let nearest = points.iter().map(|point| (point.0 - to).abs()).fold(f64::INFINITY, f64::min);
    let spread = value * (error + relative + 0.25 * nearest);
    Some(Belief { value: value as u64, spread: spread as u64, count: 0 })
}
