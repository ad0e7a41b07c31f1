//! How often to exchange gradients, and in what form.
//!
//! Every way of exchange is scored by the time it takes per unit of progress: compute, exchange that backward does not
//! hide, and waiting, over how much a round still brings. The answer is to exchange everything in every round unless
//! another way is predicted to gain more than 5% and its guard holds; a bolder way must gain that much over the milder
//! one before it. Each comes with what to watch and when to go back.
//!
//! | read | for |
//! |---|---|
//! | [`plan`] | all ways, scored, and the one to take |
//! | [`local`] | how many local rounds suit a loss (AdaComm) |
//! | [`torch`] | the way in PyTorch's words |
//!
//! **Progress.** Rounds to a loss are taken to be proportional to `1 + r`, where `r` is the gradient noise scale over the
//! global batch (McCandlish and others, 2018). From there: `w` of `n` workers counted gives `1 + r n/w`; a mean delay of
//! `d` rounds lengthens the part without noise, `1 + d + r`; error feedback that sends a part `c` of the energy each time
//! acts like a delay, `1/c + r`; `t` local rounds are no worse than one round of a batch `t` times as large, `t + r`. Each
//! of these errs on the careful side, and says nothing about final accuracy.
//!
//! **Does badly** where the measured times hide what backward overlaps, and for local rounds with momentum or adaptive
//! steps, which often do far better than the formula: then only a trial tells, and `needed` says what it must show.

mod cost;
mod guard;
pub mod local;
mod plan;
mod refusal;
mod way;
mod words;

pub use guard::{ERROR_BOUND, Guard};
pub use plan::{LEAST_GAIN, Plan, Scored, Verdict, plan};
pub use refusal::Refusal;
pub use way::Way;
pub use words::torch;

use crate::fabric::Link;

/// What is known about one job.
#[derive(Clone, Debug, PartialEq)]
pub struct Situation {
    /// How many exchange.
    pub workers: u32,
    /// Forward and backward of one round, without waiting.
    pub compute_s: f64,
    /// The backward part of it, behind which exchange can hide.
    pub backward_s: f64,
    /// All gradients, four bytes for each entry.
    pub gradient_bytes: f64,
    /// Rows and columns of each gradient; where nobody said, square ones are taken.
    pub shapes: Vec<(u64, u64)>,
    /// Between any two workers.
    pub link: Link,
    /// Parameter servers that could be used; 0 where there are none.
    pub servers: u32,
    /// How much the time of a worker varies from round to round: standard deviation over mean.
    pub spread: f64,
    /// How times of one worker varied, on any scale; where there are some, they stand for `spread`. What differs between
    /// workers for good belongs into `compute_s`: see [`habits`](crate::straggler::habits).
    pub times: Vec<f64>,
    /// The gradient noise scale over the global batch, where it was measured.
    pub noise: Option<f64>,
    /// How fast the device goes over all gradients once, in bytes per second.
    pub coding: f64,
    /// Gradients are exchanged in pieces of so many bytes.
    pub bucket_bytes: f64,
    /// Where training stands, if known.
    pub loss: Option<local::Loss>,
    /// What was measured to be lost: the name of a way, and length of the error over length of the gradient.
    pub measured: Vec<(String, f64)>,
}

impl Situation {
    /// A job of which only the essentials are known.
    pub fn new(workers: u32, compute_s: f64, backward_s: f64, gradient_bytes: f64, link: Link) -> Self {
        Self {
            workers,
            compute_s,
            backward_s,
            gradient_bytes,
            shapes: vec![],
            link,
            servers: 0,
            spread: 0.0,
            times: vec![],
            noise: None,
            coding: 500e9,
            bucket_bytes: 25.0 * 1024.0 * 1024.0,
            loss: None,
            measured: vec![],
        }
    }

    /// The shapes given, or a square one of a thousand rows.
    fn shapes(&self) -> Vec<(u64, u64)> {
        if !self.shapes.is_empty() {
            return self.shapes.clone();
        }
        // One shape stands for all of them: what is taken from it are ratios.
        let side = (self.gradient_bytes / 4.0).sqrt().ceil().clamp(1.0, 1024.0) as u64;
        vec![(side, side)]
    }
}
