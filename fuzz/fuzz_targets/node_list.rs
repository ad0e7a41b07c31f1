//! Any text as a list of nodes, as generic resources and as a topology. Names that are read, written short and read again
//! are the same names.
#![no_main]
use consort_slurm::gres;
use consort_slurm::topology::Topology;
use consort_types::file::hosts;
use libfuzzer_sys::fuzz_target;
use std::collections::BTreeSet;

fuzz_target!(|text: &str| {
    if let Ok(all) = hosts::expand(text) {
        let short = hosts::compress(all.iter().map(String::as_str));
        let again = hosts::expand(&short).expect("what we write can be read");
        let (all, again): (BTreeSet<String>, BTreeSet<String>) =
            (all.into_iter().collect(), again.into_iter().collect());
        assert_eq!(all, again, "{short}");
    }
    for one in gres::parse(text) {
        let again = gres::parse(&one.request());
        assert!(again.len() == 1, "{one:?} {again:?}");
        assert_eq!(again[0].count, one.count);
    }
    if let Ok(topology) = Topology::parse(text) {
        for node in ["n1", "", "a"] {
            assert_eq!(topology.path(node).len(), topology.levels.len());
        }
    }
});
