//! The shipped binary as a daemon: real processes, a real journal, real crashes.

mod api;
mod crash;
mod daemon;
mod door;
mod refusals;
mod restart;
mod story;
