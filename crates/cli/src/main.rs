//! The one binary, `consort`: the command line with the stock policies.

use consort_sched::Registry;
use std::process::ExitCode;

fn main() -> ExitCode {
    consort_cli::main(Registry::stock())
}
