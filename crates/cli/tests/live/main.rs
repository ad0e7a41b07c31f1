//! The shipped binary as a daemon: real processes, a real journal, real crashes.

mod api;
mod attacks;
mod backup;
mod cancel;
mod cards;
mod clock;
mod crash;
mod crash_attacked;
mod daemon;
mod devices;
mod door;
mod examples;
mod fork_server;
mod golden;
mod hostile;
mod hosts;
mod images;
mod kills;
mod logs;
mod loss;
mod lost_output;
mod refusals;
mod restart;
mod runtimes;
mod story;
mod submit;
