//! The swarm, as CI runs it. `CONSORT_SWARM_HISTORIES=N` plays more of it, `CONSORT_SWARM_SEED=S` exactly one.

use consort_sim::swarm::{Tally, play};
use std::io::Write;

const HISTORIES: u64 = 2_000;

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is not a number: {text}")))
}

#[test]
fn every_history_keeps_every_promise() {
    if let Some(seed) = number("CONSORT_SWARM_SEED") {
        match play(seed) {
            Ok(tally) => println!("{tally}"),
            Err(failure) => panic!("\n{failure}"),
        }
        return;
    }
    let first = number("CONSORT_SWARM_FIRST").unwrap_or(0);
    let histories = number("CONSORT_SWARM_HISTORIES").unwrap_or(HISTORIES);
    let mut total = Tally::default();
    let mut failures = vec![];
    for seed in first..first + histories {
        match play(seed) {
            Err(failure) => failures.push(failure),
            Ok(tally) => {
                if seed % 16 == 0 {
                    assert_eq!(play(seed).as_ref(), Ok(&tally), "history {seed} is not the same twice");
                }
                total.add(&tally);
            }
        }
        if failures.len() > 9 {
            break;
        }
    }
    // Past the test runner, which shows what passing tests print to nobody.
    let _ = writeln!(std::io::stderr(), "swarm: {total}");
    for failure in &failures {
        println!("\n{failure}");
    }
    assert!(failures.is_empty(), "{} of {histories} histories failed", failures.len());
    assert!(total.events >= 200 * histories, "histories are too short to mean anything");
    assert!(total.all_faults() >= 5 * histories, "too little goes wrong");
    assert!(total.preemptions >= histories && total.policies.len() >= 7);
    let [planned, in_place, restarted] = total.resizes;
    assert!(
        planned >= histories && in_place >= histories / 2 && restarted >= histories / 4,
        "too few resizes"
    );
}
