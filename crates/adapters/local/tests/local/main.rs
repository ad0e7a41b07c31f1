//! The local world with real processes.
//!
//! Every wait is bounded, every sleep short. What this machine cannot do is skipped aloud.

mod attacks;
mod crashes;
mod endings;
mod gangs;
mod house;
mod limits;
mod returning;
mod stopping;
