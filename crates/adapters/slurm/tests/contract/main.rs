//! The contract of worlds, kept with a real Slurm: a controller, four nodes with two unlike kinds of devices, and real
//! jobs. Work is a line of shell.

mod stage;

use stage::Site;

consort_contract::contract!(Site::new());
