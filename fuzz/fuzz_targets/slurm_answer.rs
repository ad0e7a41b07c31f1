//! Any bytes as an answer of Slurm's; whatever is read becomes nodes and jobs, and a second look says nothing new.
#![no_main]
use consort_slurm::census::{Census, OnDrain};
use consort_slurm::cluster::{self, Reading};
use consort_slurm::shapes::Answer;
use consort_types::{DeviceId, Input, NodeId};
use libfuzzer_sys::fuzz_target;
use std::collections::BTreeSet;

fuzz_target!(|bytes: &[u8]| {
    let Ok(answer) = Answer::read(bytes) else { return };
    for complaint in &answer.errors {
        assert!(!complaint.words().is_empty());
    }
    for job in answer.jobs.iter().flatten() {
        assert!((0..256).contains(&job.code()));
    }
    let nodes = answer.nodes.clone().unwrap_or_default();
    let partition = nodes.first().and_then(|node| node.partitions.first()).cloned().unwrap_or_default();
    let reading = Reading { partition, cpus: true, ..Reading::default() };
    let found = cluster::find(&nodes, &reading);
    cluster::notes(&nodes, &found);
    let names: BTreeSet<&str> = found.iter().map(|node| node.spec.name.as_str()).collect();
    if names.len() < found.len() {
        return; // Slurm has no two nodes of one name
    }
    let (mut census, mut first) = (Census::new(OnDrain::Move), 0);
    for (nth, node) in found.iter().enumerate() {
        census.joined(NodeId(nth as u32), DeviceId(first), &node.spec);
        let devices: u32 = node.spec.devices.iter().map(|group| group.count).sum();
        let last = devices.checked_sub(1).map(|last| census.locate(DeviceId(first + last)));
        assert!(last.is_none_or(|found| found.is_some_and(|(name, _)| name == node.spec.name)));
        first += devices;
    }
    census.compare(&found, &BTreeSet::new());
    let again = census.compare(&found, &BTreeSet::new());
    // A node that was given up because it is not as it was joins with the next look.
    assert!(again.iter().all(|input| matches!(input, Input::NodeJoined(_))), "{again:?}");
});
