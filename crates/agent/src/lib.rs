//! What happens on a node.
//!
//! Other rooms decide who runs where; this one finds out what there is, starts what was decided, watches it, and ends
//! it. It knows processes, files and device libraries, and nothing of queues, tenants or plans.
//!
//! | read | for |
//! |---|---|
//! | [`discover`] | what this machine has |
//! | [`environment`] | what a worker finds in its environment |
//! | [`containers`] | the runtime that runs workers in images, and how it is called |
//! | [`launch`] | the folders of workers, how they are started and found again after a crash |
//! | [`shim`] | the small process above each worker, which outlives the daemon |
//! | [`status`] | what a shim writes down, and the lock that makes it the only one |
//! | [`process`] | which process is which, and what is left of one |
//! | [`progress`] | what running jobs report of themselves |
//! | [`untrusted`] | files that a job can write or replace, opened and read without being fooled |
//! | [`telemetry`], [`health`] | what devices are doing, and which of them must not be used |
//! | [`news`] | what happened and was not yet taken |
//! | [`owned`] | folders and files that no other user can write or replace |
//! | [`heap`] | freed memory, given back |
//! | [`words`] | reasons that the scheduler takes |
//! | [`crash`] | places at which tests may kill the daemon |
//!
//! Two invariants hold everything else up. *An attempt is never run twice*: a shim starts its worker only under the
//! lock of its slot, and only if no record is there yet. *Ended means gone*: an ending is written down only when no
//! process of the worker is left.

pub mod containers;
pub mod crash;
pub mod discover;
pub mod environment;
pub mod health;
pub mod heap;
pub mod launch;
pub mod news;
mod nvidia;
pub mod oom;
pub mod owned;
pub mod process;
pub mod progress;
pub mod shim;
pub mod status;
pub mod telemetry;
pub mod untrusted;
pub mod words;
