//! What to watch under each way, and when to go back.

use super::Way;
use crate::compress::wire::Form;
use serde::Serialize;

/// A form may lose this much at most: length of the error over length of what was to be sent. Beyond it, error feedback
/// carries more old gradient than new.
pub const ERROR_BOUND: f64 = 0.9;

/// What keeps a way honest.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Guard {
    /// What to watch.
    pub watch: String,
    /// When to go back, and to what.
    pub roll_back: String,
    /// Whether it holds, as far as is known now.
    pub holds: bool,
    /// What the form loses: measured, or predicted; `None` where it loses nothing.
    pub error: Option<f64>,
    /// Whether that was measured.
    pub measured: bool,
}

/// The guard of a way; `captured` is the part of the energy that it sends.
pub fn guard(way: Way, captured: f64, measured: bool) -> Guard {
    let error = way.is_lossy().then(|| (1.0 - captured).max(0.0).sqrt());
    let slope = "the slope of the loss over the last 200 rounds beside that of a dense window as long";
    let back = "go back to dense where the slope is worse by more than 2 standard errors, and try again no sooner \
                than after ten windows";
    let (watch, roll_back) = match way {
        Way::Every(Form::Dense) | Way::Servers(_) => (
            "exchange that shows, and how much workers vary".to_string(),
            "nothing to go back from".to_string(),
        ),
        Way::Every(Form::Fp16) => (
            format!("gradients beyond 65,504 or not finite, and {slope}"),
            format!("go back to bf16 or dense at the first overflow; {back}"),
        ),
        Way::Every(Form::Bf16) => (slope.to_string(), back.to_string()),
        Way::Every(_) => (
            format!("length of the error over length of the gradient, at most {ERROR_BOUND}, and {slope}"),
            format!("go back to dense where the error is beyond its bound three times in a row; {back}"),
        ),
        Way::Backup(_) => (
            format!("how often each worker is late, and {slope}"),
            format!("wait for all again where one worker is late in more than half of the rounds; {back}"),
        ),
        Way::Stale(_) => (
            format!("how far the fastest worker is ahead, and {slope}"),
            format!("halve the number of rounds ahead, then go back to dense; {back}"),
        ),
        Way::Local(_) => (
            format!("the distance of workers from their mean when they are averaged, and {slope}"),
            format!("halve the number of local rounds, then go back to dense; {back}"),
        ),
        Way::Diloco(_) => (
            format!("the loss after each outer update, and {slope}"),
            format!("restore the parameters of the last outer update and halve the number of rounds; {back}"),
        ),
    };
    let holds = error.is_none_or(|error| error <= ERROR_BOUND);
    Guard { watch, roll_back, holds, error, measured }
}
