//! Other people's simulators, quirks included, as policies and worlds like any other.
//!
//! They prove that the engine is right: where a published schedule can be replayed to the digit through the shipped
//! scheduler, its events, its accounts and its clock are right. No rule in here belongs in the core.

pub mod helios;
pub mod openb;
pub mod tiresias;
