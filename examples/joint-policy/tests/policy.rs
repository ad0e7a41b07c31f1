//! The policy of the example in the places where policies are used: the command line, the simulator, stories, the swarm.

use consort_sched::Registry;
use consort_sim::scenario::play_under;
use consort_sim::swarm;
use std::process::{Command, Output};

fn registry() -> Registry {
    Registry::stock().with(joint_policy::entry())
}

fn run(folder: &std::path::Path, words: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_consort-joint"));
    command.args(words.split_whitespace()).current_dir(folder).output().expect("the binary runs")
}

fn said(folder: &std::path::Path, words: &str) -> String {
    let output = run(folder, words);
    assert!(output.status.success(), "{words}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn the_program_lists_it_simulates_it_and_says_that_it_takes_no_placement() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("a file");
    write("cluster.yaml", "nodes:\n  - {name: 'n{}', count: 1, devices: {h200: 8}}\n");
    write(
        "jobs.yaml",
        "- {name: a, devices: 5, run: 1h}\n- {name: b, devices: 4, run: 1h}\n- {name: c, devices: 4, run: 1h}\n",
    );
    let listed: serde_json::Value =
        serde_json::from_str(&said(folder.path(), "policies --json")).expect("JSON");
    let names: Vec<&str> =
        listed.as_array().expect("a list").iter().filter_map(|one| one["name"].as_str()).collect();
    assert_eq!(names.last(), Some(&"best-order"));
    assert!(names.contains(&"priority") && names.contains(&"fifo"));

    let mean = |policy: &str| {
        let words = format!("simulate --cluster cluster.yaml --workload jobs.yaml --json --policy {policy}");
        let run: serde_json::Value = serde_json::from_str(&said(folder.path(), &words)).expect("JSON");
        assert_eq!((run["policy"].as_str(), run["finished"].as_u64()), (Some(policy), Some(3)));
        run["avg_jct_s"].as_f64().expect("a figure")
    };
    assert_eq!((mean("fifo"), mean("best-order")), (6000.0, 4800.0));
    assert!(said(folder.path(), "compare --jobs 20").contains("best-order"));

    let base = "simulate --cluster cluster.yaml --workload jobs.yaml --policy best-order";
    for (words, remedy) in [
        (format!("{base}/spread"), "use best-order alone"),
        (format!("{base} --place spread"), "leave out --place"),
    ] {
        let refused = run(folder.path(), &words);
        let error = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(2), "{words}");
        assert!(
            error.contains("`best-order` chooses devices itself and takes no placement such as `spread`"),
            "{error}"
        );
        assert!(error.contains(remedy), "{error}");
    }
}

#[test]
fn a_story_under_it_ends_as_expected() {
    let text = include_str!("../scenarios/best-order.txt");
    let played = play_under(&registry(), "best-order.txt", text).expect("it can be read");
    assert_eq!(played.actual, played.expected);
    let wrong = text.replace("best-order\n", "best-order/spread\n");
    let error =
        play_under(&registry(), "best-order.txt", &wrong).expect_err("it takes no placement").to_string();
    assert!(error.contains("it chooses devices itself and takes no placement"), "{error}");
}

/// Everything goes wrong, and every promise of the core is kept under it too.
#[test]
fn the_swarm_plays_it() {
    let only = Registry::only(joint_policy::entry());
    let mut total = swarm::Tally::default();
    for seed in 0..150 {
        total.add(&swarm::play_under(&only, seed).unwrap_or_else(|failure| panic!("\n{failure}")));
    }
    assert_eq!(total.policies.keys().collect::<Vec<_>>(), ["best-order"]);
    assert!(total.ended > 1_000 && total.plans > 5_000, "{total}");
}
