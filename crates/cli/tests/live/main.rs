//! The shipped binary as a daemon: real processes, a real journal, real crashes.

mod api;
mod attacks;
mod crash;
mod crash_attacked;
mod daemon;
mod door;
mod golden;
mod hostile;
mod kills;
mod logs;
mod refusals;
mod restart;
mod story;
