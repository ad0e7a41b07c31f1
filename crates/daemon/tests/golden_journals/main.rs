//! Replays data directories written by released versions and compares what they hold with what it was then.
//!
//! Each `golden/NAME.tar.gz` is a whole data directory, copied from a real daemon of that version: journal, snapshot,
//! work folders, logs. `golden/NAME.jsonl` says what that version knew at the last event: every living job with its
//! allocations and reasons, every tenant's usage, every node and device, every job that ended. The same must come out
//! of opening the directory as the daemon does (snapshot and tail) and of replaying the journal from its first event.
//! `golden/NAME.steps` has two digests for every few events (`steps`), and `golden/hashes` the hash of the state at the last
//! event for every layout of the state.
//!
//! `golden/README.md` says how a directory is added. A fact that differs is a bug in this version, never in the
//! expectation: there is no way to bless it.

mod compare;
mod hashes;
mod steps;
mod story;
mod told;
mod told_reason;

use compare::{Difference, differences};
use consort_daemon::journal::{Journal, history::Filter};
use consort_sched::LAYOUT;
use serde_json::json;
use std::fs;
use story::Story;
use told::Told;

#[test]
fn one_machine_with_a_log_left_by_kill_9() {
    replays_as_it_was("local-0.1.0");
}

#[test]
fn a_slurm_cluster_stopped_in_good_order() {
    replays_as_it_was("slurm-0.1.0");
}

/// Every directory has a test above.
#[test]
fn no_directory_is_left_out() {
    let here = include_str!("main.rs");
    for entry in fs::read_dir(story::GOLDEN).expect("a folder").flatten() {
        let file = entry.file_name().into_string().expect("a plain name");
        if let Some(name) = file.strip_suffix(".tar.gz") {
            assert!(here.contains(&format!("replays_as_it_was(\"{name}\")")), "nobody replays {file}");
        }
    }
}

fn replays_as_it_was(name: &str) {
    let story = Story::unpack(name);
    // From the first event, before anything else touches the directory.
    let (replayed, ended) = story.replay();
    let replayed_hash = replayed.state_hash();
    let shelf = story.shelf();
    let mut told = told::scheduler(&story, &replayed);
    told.extend(ended.iter().map(told::ended));
    told::sort(&mut told);

    let (journal, recovered) = Journal::open(&story.data(), story.policy(), story.capabilities(), false)
        .unwrap_or_else(|fault| panic!("{name} does not open: {fault}"));
    assert_eq!(recovered.notes, Vec::<String>::new(), "{name} opens without complaint");
    assert_eq!(
        recovered.scheduler.state_hash(),
        replayed_hash,
        "a snapshot with its tail is the whole journal"
    );
    let mut opened = told::scheduler(&story, &recovered.scheduler);
    let kept = shelf.history(&Filter::default(), usize::MAX >> 1).expect("the history can be read");
    opened.extend(kept.iter().map(told::ended));
    told::sort(&mut opened);
    for job in 1..recovered.scheduler.view().next_job().0 {
        let work = shelf.work(consort_types::JobId(job)).unwrap_or_else(|fault| panic!("{name}: {fault}"));
        assert!(work.is_some(), "{name}: what job {job} runs is lost");
    }
    let position = journal.last();
    drop(journal);

    let hash = Told::new("state", json!({"layout": LAYOUT, "hash": format!("{replayed_hash:016x}")}));
    let blessing = std::env::var("CONSORT_BLESS").unwrap_or_default();
    if !story.has_expectation() {
        hashes::judge(name, replayed_hash, &blessing);
        every_step(name, &story, &blessing);
        assert!(!blessing.is_empty(), "{name} has no expectation yet: write one with CONSORT_BLESS=new");
        assert!(
            recovered.replayed < position,
            "a golden directory needs a snapshot that this version can read"
        );
        opened.insert(0, hash);
        return story.expect(&opened);
    }
    let mut expected = story.expectation();
    for (how, found) in [("opened", &opened), ("replayed from the first event", &told)] {
        let wrong: Vec<Difference> =
            differences(&expected, found).into_iter().filter(|it| !it.is_of_words).collect();
        assert!(
            wrong.is_empty(),
            "{name}, {how}, differs in {} places:\n{}",
            wrong.len(),
            compare::list(&wrong)
        );
    }
    same_layout_same_hash(&expected, &hash, recovered.replayed < position);
    hashes::judge(name, replayed_hash, &blessing);
    every_step(name, &story, &blessing);
    let reworded: Vec<Difference> = differences(&expected, &opened);
    if blessing == "words" {
        compare::reword(&mut expected, &opened);
        return story.expect(&expected);
    }
    assert!(
        reworded.is_empty(),
        "{name} is told in other words; read them, then accept them with CONSORT_BLESS=words:\n{}",
        compare::list(&reworded)
    );
}

/// The same jobs, allocations and usage after every event, and the same reasons after many, and not only after the last.
fn every_step(name: &str, story: &Story, blessing: &str) {
    let now = steps::all(story);
    let path = story.steps_path();
    let Ok(text) = fs::read_to_string(&path) else {
        assert!(!blessing.is_empty(), "{name} has no {name}.steps yet: write one with CONSORT_BLESS=new");
        return fs::write(&path, steps::write(&now)).expect("a file is written");
    };
    let then = steps::read(&text);
    if let Some(step) = steps::first_difference(&then, &now, |step| step.facts) {
        panic!(
            "{name} replays to other jobs, allocations or usage, first after one of {}: this version reads old \
             journals differently, which is a bug. To see what: replay it to these with the version before",
            step.events()
        );
    }
    match steps::first_difference(&then, &now, |step| step.reasons) {
        Some(_) if blessing == "reasons" => {
            fs::write(&path, steps::write(&now)).expect("a file is written");
        }
        Some(step) => panic!(
            "{name}: why jobs wait is explained differently, first after event {}. If a policy decides better now, \
             accept it with CONSORT_BLESS=reasons and say so in the commit",
            step.event
        ),
        None => {}
    }
}

/// The hash may change, but only together with the layout: else the snapshots of users would be thrown away with a
/// complaint instead of silently.
fn same_layout_same_hash(expected: &[Told], now: &Told, used_snapshot: bool) {
    let then = expected.iter().find(|told| told.what == "state").expect("every expectation has one");
    if then.facts["layout"] == now.facts["layout"] {
        assert_eq!(
            then.facts["hash"], now.facts["hash"],
            "the hash of the state changed, `saved::LAYOUT` did not"
        );
        assert!(used_snapshot, "the layout is the same and the snapshot was not used");
    }
}
