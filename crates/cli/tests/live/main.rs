//! The shipped binary as a daemon: real processes, a real journal, real crashes.

mod api;
mod crash;
mod daemon;
mod door;
mod golden;
mod logs;
mod refusals;
mod restart;
mod story;
