//! Everything that crosses a socket.
//!
//! For: the daemon that answers, the command line that asks, and programs of other people. Both sides use the same
//! shapes, so they cannot drift apart, and the document that describes them is made from them.
//! Promises: a shape only grows; fields that a reader does not know are ignored. Times are RFC 3339, in UTC.
//! Never: decides anything, and never serves: that is the daemon's.
//!
//! | read | for |
//! |---|---|
//! | [`shapes`] | what is sent and answered |
//! | [`moment`] | how times are written |
//! | [`routes`] | one table of everything that can be asked |
//! | [`openapi`] | the same table, for machines |
//! | [`client`] | the same table, for callers |

pub mod client;
pub mod moment;
pub mod openapi;
pub mod routes;
pub mod shapes;

pub use client::{Client, ClientError, config_dir, server_path, socket_path, token_path};
pub use moment::Moment;
