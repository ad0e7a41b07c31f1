//! `consort compare`.

use super::*;

#[test]
fn a_generated_workload_is_the_same_again() {
    let folder = Folder::new();
    let hashes = |line: &str| {
        let value = folder.run(line).json();
        let rows = value["rows"].as_array().unwrap().clone();
        rows.iter().map(|row| (row["policy"].clone(), row["state_hash"].clone())).collect::<Vec<_>>()
    };
    let first = hashes("compare --jobs 60 --seed 5 --json");
    assert_eq!(first.len(), 8);
    assert_eq!(first, hashes("compare --jobs 60 --seed 5 --json"));
    assert_ne!(first, hashes("compare --jobs 60 --seed 6 --json"));
    assert_eq!(folder.names(), Vec::<String>::new(), "nothing is written unasked");
}

#[test]
fn it_says_what_was_generated_and_what_to_try_next() {
    let ran = Folder::new().run("compare --jobs 60 --policy fifo,las,fifo").done();
    assert_eq!(ran.err, "");
    assert!(ran.out.starts_with("60 jobs, generated, on a demonstration cluster (24 nodes, 192 devices).\n"));
    assert_eq!(ran.out.contains(" deadlines "), ran.out.contains("Deadlines: share met."), "{}", ran.out);
    assert!(ran.out.contains("To repeat: consort compare --jobs 60 --seed 1\n"), "{}", ran.out);
    assert!(ran.out.contains("\nNext:\n  consort compare --cluster FILE"), "{}", ran.out);
    assert_eq!(ran.out.lines().filter(|line| line.starts_with("fifo ")).count(), 1, "{}", ran.out);
}

#[test]
fn the_best_has_a_star_in_a_pipe_and_lines_fit() {
    let ran = Folder::new().run("compare --jobs 200").done();
    assert!(ran.out.contains('*') && !ran.out.contains('\u{1b}'), "{}", ran.out);
    assert!(ran.out.lines().all(|line| line.chars().count() <= 120), "{}", ran.out);
}

#[test]
fn json_rows_have_the_keys_of_simulate() {
    let folder = Folder::with_inputs();
    let ran =
        folder.run("compare --cluster cluster.yaml --workload jobs.yaml --policy las,fifo --seed 9 --json");
    let text = ran.out.clone();
    let value = ran.json();
    assert_eq!(keys(&value, &text), ["generated", "rows"]);
    assert!(value["generated"].is_null());
    for row in value["rows"].as_array().unwrap() {
        assert_eq!(keys(row, &text), super::simulate::KEYS);
        assert_eq!(row["seed"], 9);
    }
    let value = folder.run("compare --cluster cluster.yaml --jobs 20 --policy fifo --json").json();
    assert_eq!(value["generated"], serde_json::json!({"jobs": 20, "seed": 1}));
}

#[test]
fn a_report_has_every_job_under_every_policy() {
    let folder = Folder::with_inputs();
    let line = "compare --cluster cluster.yaml --workload jobs.yaml --policy las,fifo --report out";
    let ran = folder.run(line).done();
    assert!(
        ran.out.contains("Written: report.html, report.md, report.json and jobs.csv in out"),
        "{}",
        ran.out
    );
    let table = folder.read("out/jobs.csv");
    assert_eq!(table.lines().count(), 1 + 2 * 3);
    assert!(table.contains("\njobs,las,a,") && table.contains("\njobs,fifo,a,"), "{table}");
    assert!(folder.read("out/report.md").contains("| policy | avg JCT |"));
    let page = folder.read("out/report.html");
    for part in [
        "jobs under 2 policies",
        "consort compare --cluster cluster.yaml",
        "class=\"n best\"",
        "id=\"where-1\"",
    ] {
        assert!(page.contains(part), "{part}");
    }
    let value: serde_json::Value = serde_json::from_str(&folder.read("out/report.json")).unwrap();
    assert_eq!(value["rows"].as_array().unwrap().len(), 2);
}

#[test]
fn wrong_requests() {
    let folder = Folder::with_inputs();
    folder.run("compare --workload jobs.yaml").refused(2, &["--cluster", "missing"]);
    folder.run("compare --jobs 0").refused(2, &["`0`", "--jobs", "from 1 to 5,000,000"]);
    folder.run("compare --jobs -1").refused(2, &["`-1`", "--jobs", "from 1 to 5,000,000"]);
    folder.run("compare --policy fifo,lass").refused(2, &["`lass`", "did you mean `las`?"]);
    folder
        .run("compare --cluster cluster.yaml --workload jobs.yaml --jobs 3")
        .refused(2, &["--workload", "--jobs", "cannot be used with"]);
}

/// Where a placement throws dice, they are those of the seed.
#[test]
fn the_seed_reaches_random_placement() {
    let folder = Folder::new();
    folder.write("c.yaml", "nodes: [{name: 'n{}', count: 9, devices: {h200: 8}}]");
    folder.write("j.yaml", "[{name: j, run: 1h, devices: 2, tasks: 12}]");
    let run = "simulate --cluster c.yaml --workload j.yaml --policy fifo/random --json";
    let hash = |seed: u32| folder.run(&format!("{run} --seed {seed}")).json()["state_hash"].clone();
    assert_eq!(hash(1), hash(1));
    assert_ne!(hash(1), hash(2));
}
