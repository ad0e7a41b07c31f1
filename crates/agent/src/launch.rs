//! Starting workers, and finding them again.
//!
//! ```text
//! RUN_DIR/12.0.0#1/            one attempt at one ask
//!                  go          the gang is whole: workers may begin
//!                  w0/         one worker
//!                     script    the text of a script
//! RECORD_DIR/12.0.0#1.w0       what became of that worker, by its shim
//! ```
//! A worker knows its own folder and may clear it away; that is why its record is not in there. A worker that is neither a
//! script nor one of a gang has no folder. All that its shim needs is its order, which is handed to it.
//!
//! For: a daemon that may be killed between any two lines, started again, and told all it wants once more.
//! Promises: a shim has its whole order when it begins; starting a shim a second time does no harm; what became of a
//! worker can be told from its record alone.
//! Never: waits for a worker, and never starts one itself: only a shim does, under the lock of its slot.

mod known;
mod order;
mod output;
mod shims;
mod slot;

pub use known::Known;
pub use order::{LogOrder, Order};
pub use output::{output_path, output_refusal, output_within};
pub(crate) use shims::LONGEST_SLOT;
pub use shims::{ShimChild, ShimProgram, Shims};
pub use slot::{Sight, Slot, allocation_name, allocation_of, log_path, record_name, recorded_in};
