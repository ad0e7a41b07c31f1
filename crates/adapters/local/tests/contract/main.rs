//! The contract of worlds, kept with real processes. Work is a line of shell.

mod stage;

use stage::Machine;

consort_contract::contract!(Machine::new());
