//! Any text as every file that planners read. A fabric that is read passes its own check; nothing panics.
#![no_main]
use consort_parallel::dag::read::File;
use consort_parallel::fabric::{self, Hints};
use consort_parallel::pipeline::{layers, schedule};
use consort_parallel::{collective, dag, placement, split, straggler};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(fabric) = fabric::read(text) {
        assert!(fabric.check().is_ok());
    }
    for found in [fabric::slurm(text, &Hints::default()), fabric::labels(text, &Hints::default())] {
        assert!(found.is_err() || found.is_ok_and(|found| found.fabric.check().is_ok()));
    }
    let file = File { name: "fuzz", text };
    let _ = dag::read::read(file, None);
    let _ = layers::read(text);
    let _ = schedule::csv::read(text);
    let _ = placement::read(text);
    let _ = split::read(text);
    let _ = split::device(text);
    let _ = straggler::read(text);
    let _ = collective::buckets::read(text);
});
