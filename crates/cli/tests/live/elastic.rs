//! A gang with a range of workers is resized while it runs.

use super::daemon::{House, until};
use std::fs;

/// Work that is saved with every step: a line in a file, with the number of workers that it was done with.
const WORK: &str = r#"
workers: 1-3
name: elastic
estimate: 2h
restart_cost: 1s
run: |
  trap 'exit 0' TERM
  step=$(cat steps 2>/dev/null | wc -l)
  while :; do
    sleep 0.05
    step=$((step + 1))
    [ "$CONSORT_RANK" != 0 ] || echo "$step $CONSORT_SIZE" >> steps
  done
"#;

#[test]
fn a_job_grows_from_one_worker_to_three_and_shrinks_to_two_without_losing_or_repeating_a_step() {
    let house = House::up(3);
    fs::write(house.path("job.yaml"), WORK).expect("a file");
    house.said(&["submit", "--devices", "2", "--name", "holder", "--", "sleep", "600"]);
    house.until_state(1, &["running"]);
    house.said(&["submit", "job.yaml"]);
    let steps = || -> Vec<(u64, u32)> {
        let text = fs::read_to_string(house.path("steps")).unwrap_or_default();
        let whole = text.lines().filter_map(|line| line.split_once(' '));
        whole.filter_map(|(step, size)| Some((step.parse().ok()?, size.parse().ok()?))).collect()
    };
    let until_size = |size: u32| {
        until(&format!("steps of {size} workers"), || {
            (steps().iter().filter(|step| step.1 == size).count() > 3).then_some(())
        });
    };
    until_size(1);
    house.said(&["cancel", "1"]);
    until_size(3);
    house.said(&["submit", "--devices", "1", "--priority", "9", "--name", "urgent", "--", "sleep", "600"]);
    until_size(2);
    house.until_state(3, &["running"]);
    let story = house.said(&["show", "2"]);
    assert!(story.contains("from 1 to 3 workers") && story.contains("from 3 to 2 workers"), "{story}");
    let shown = house.json(&["show", "2", "--json"]);
    assert_eq!(shown["preemptions"], 0, "it gave up a worker instead: {shown}");
    house.said(&["cancel", "2"]);
    house.until_state(2, &["cancelled"]);
    let steps = steps();
    let numbers: Vec<u64> = steps.iter().map(|step| step.0).collect();
    assert!(numbers.iter().copied().eq(1..=numbers.len() as u64), "no step is lost or repeated: {numbers:?}");
    let mut widths: Vec<u32> = steps.iter().map(|step| step.1).collect();
    widths.dedup();
    assert_eq!(widths, [1, 3, 2]);
}
