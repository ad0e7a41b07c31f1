//! `consort` with one policy more.

use consort_sched::Registry;
use std::process::ExitCode;

fn main() -> ExitCode {
    consort_cli::main(Registry::stock().with(joint_policy::entry()))
}
