//! A progress bar, for people who wait.
//!
//! Appears on standard error after two seconds, only on a terminal, and leaves no trace.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(2);
const REDRAW: Duration = Duration::from_millis(200);

/// The bar. Gone when dropped.
pub struct Progress {
    bar: ProgressBar,
    /// Dropping the sender wakes the thread that waits to show the bar.
    waiting: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Progress {
    /// Starts to wait, for jobs.
    pub fn start() -> Self {
        Self::counting("jobs")
    }

    /// Starts to wait, for whatever is counted.
    pub fn counting(unit: &str) -> Self {
        let bar = ProgressBar::hidden();
        let style = ProgressStyle::with_template(&format!(
            "{{prefix}}{{msg}} {{wide_bar}} {{human_pos}}/{{human_len}} {unit}, {{elapsed}} so far"
        ));
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        let waiting = std::io::stderr().is_terminal().then(|| {
            let (sender, receiver) = channel::<()>();
            let bar = bar.clone();
            let thread = std::thread::spawn(move || {
                if receiver.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                    bar.set_draw_target(ProgressDrawTarget::stderr());
                    bar.enable_steady_tick(REDRAW);
                }
            });
            (sender, thread)
        });
        Self { bar, waiting }
    }

    /// Which run of how many this is.
    pub fn of(&self, run: usize, of: usize) {
        self.bar.set_prefix(format!("{run} of {of}: "));
    }

    /// What is going on: what, how many jobs of how many are done.
    pub fn at(&self, what: &str, done: u64, of: u64) {
        if self.bar.message() != what {
            self.bar.set_message(what.to_string());
        }
        self.bar.set_length(of);
        self.bar.set_position(done);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((sender, thread)) = self.waiting.take() {
            drop(sender);
            let _ = thread.join();
        }
        self.bar.finish_and_clear();
    }
}
