//! The daemon: a loop around the scheduler, with a journal, a world and an API.
//!
//! For: turning one machine (or, later, a cluster manager) into a durable place for work, with the same core that the
//! simulator runs.
//! Promises: nothing is answered or done before it is on disk; whatever happens to this process, the next one goes on
//! where the journal ends, and finds the workers that kept running.
//! Never: decides who runs where; that is the scheduler's.
//!
//! | read | for |
//! |---|---|
//! | [`run`] | the loop |
//! | [`mail`] | how others reach it |
//! | [`journal`] | what is on disk |
//! | [`http`] | the API, served |
//! | [`rows`], [`telling`] | the state and the events, in shapes and words |
//! | [`feed`] | those who follow |
//! | [`serve`] | all of it put together |
//! | [`folder`] | the data directory and its owner; the token |
//! | [`introduce`] | what the scheduler is told about the machine when it starts |
//! | [`clock`], [`meters`], [`fault`], [`site`], `crash` | small things that the others lean on |

pub mod clock;
mod crash;
pub mod fault;
pub mod feed;
pub mod folder;
pub mod http;
pub mod introduce;
pub mod journal;
pub mod mail;
pub mod meters;
pub mod replica;
pub mod rows;
pub mod run;
pub mod serve;
pub mod site;
pub mod telling;

pub use fault::Fault;
