//! Every story under `scenarios/`, played as written and again with a crash after every instant.

use consort_sim::scenario::{Played, play, play_crashing, read_only};
use std::fs;
use std::path::{Path, PathBuf};

fn stories() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let (mut folders, mut files) = (vec![root.clone()], vec![]);
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).expect("the folder of scenarios can be read");
        let paths = entries.map(|entry| entry.expect("its entries can be read").path());
        let (inner, plain): (Vec<PathBuf>, Vec<PathBuf>) = paths.partition(|path| path.is_dir());
        folders.extend(inner);
        files.extend(plain.into_iter().filter(|path| path.extension().is_some_and(|end| end == "txt")));
    }
    files.sort();
    assert!(files.len() >= 30, "only {} scenarios were found", files.len());
    let named = files.into_iter().map(|path| {
        let name = path.strip_prefix(&root).expect("it is inside").display().to_string();
        (name, fs::read_to_string(&path).expect("a scenario can be read"))
    });
    named.collect()
}

/// Lines that only one side has, with their neighbours' headings.
fn difference(played: &Played) -> String {
    let (expected, actual): (Vec<&str>, Vec<&str>) =
        (played.expected.lines().collect(), played.actual.lines().collect());
    let mut shown = String::new();
    let (mut left, mut right) = (0, 0);
    while left < expected.len() || right < actual.len() {
        match (expected.get(left), actual.get(right)) {
            (Some(one), Some(other)) if one == other => {
                shown += &format!("    {one}\n");
                (left, right) = (left + 1, right + 1);
            }
            (Some(one), _) if !actual[right..].contains(one) => {
                shown += &format!("  - {one}\n");
                left += 1;
            }
            (_, Some(other)) => {
                shown += &format!("  + {other}\n");
                right += 1;
            }
            (Some(one), None) => {
                shown += &format!("  - {one}\n");
                left += 1;
            }
            (None, None) => break,
        }
    }
    shown
}

fn check(play: impl Fn(&str, &str) -> Result<Played, consort_sim::workload::ReadError>) {
    let mut wrong = vec![];
    for (name, text) in stories() {
        match play(&name, &text) {
            Err(error) => wrong.push(format!("{error}\n")),
            Ok(played) if !played.passed() => wrong.push(format!("{name}\n{}", difference(&played))),
            Ok(_) => {}
        }
    }
    assert!(wrong.is_empty(), "{} stories end otherwise\n\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_story_ends_as_expected() {
    check(play);
}

#[test]
fn every_story_ends_the_same_when_the_controller_crashes_after_every_instant() {
    check(play_crashing);
}

#[test]
fn blessing_a_blessed_story_changes_nothing() {
    for (name, text) in stories() {
        let once = play(&name, &text).expect("it can be played").blessed;
        assert_eq!(once, text, "{name} is not as the tool would write it");
        assert_eq!(play(&name, &once).expect("it can be played").blessed, once, "{name}");
    }
}

#[test]
fn blessing_replaces_expectations_and_nothing_else() {
    let text = "A title\nand a sentence.\n\n# A remark.\ncluster   1 node, each 1 t4\nat 0s     submit a: gang of 1 t4,\n  \
                runs 5s\nexpect    wrong\n          and wrong\n\n# Another.\nfinally\n# The last.\n";
    let played = play("a.txt", text).expect("it can be played");
    assert!(!played.passed());
    assert_eq!(
        played.blessed,
        "A title\nand a sentence.\n\n# A remark.\ncluster   1 node, each 1 t4\nat 0s     submit a: gang of 1 t4,\n  \
         runs 5s\nexpect    a runs on n1[0]\n\n# Another.\nfinally   a ended: succeeded at 5s\n# The last.\n"
    );
    let again = play("a.txt", &played.blessed).expect("it can be played");
    assert!(again.passed());
    assert_eq!(again.blessed, played.blessed);
}

#[test]
fn what_cannot_be_read_is_pointed_at() {
    let head = "A title\n\ncluster   2 nodes, each 8 h200\n";
    for (statement, error) in [
        ("expect", ""),
        ("finally events", ""),
        ("cluster 1 node, each 8", "4:23: the line ends here, expected a kind of device"),
        ("cluster 1 node, nvlink outside", "4:24: found `outside`, expected `across` or `inside`"),
        (
            "clusters 1 node",
            "4:1: found `clusters`, expected cluster, levels, policy, tenant, queue, world, at, expect or finally",
        ),
        (
            "policy best",
            "4:8: found `best`, expected one of fifo, priority, fair, shortest, qssf, shortest-remaining, las, deadline",
        ),
        ("tenant red: gift 5 h200", "4:13: found `gift`, expected `ceiling` or `guarantee`"),
        ("queue q: lax", "4:10: found `lax`, expected priority, strict or for"),
        ("world is slow", "4:7: found `is`, expected starts, stops, endings, resizes, cannot or counts"),
        ("at soon plan", "4:4: found `soon`, expected a time like 90s, 1h30m, 2d or 1.5s"),
        ("at 5s plan\nat 4s plan", "5:4: 4s is before 5s, expected the order in which things happen"),
        ("at 5s plan nothing", "4:12: found `nothing`, expected the end of the line"),
        ("at 5s cancel a", "4:14: found `a`, expected the name of a job submitted before"),
        ("at 5s node n3 dies", "4:12: found `n3`, expected a node of the cluster: n1, n2"),
        (
            "at 5s node n1 sulks",
            "4:15: found `sulks`, expected dies, is cut off for, is given up for, is adrift for, comes back, leaves, drains or undrains",
        ),
        ("at 5s others use n1[0-8]", "4:18: found `n1[0-8]`, expected a whole number from 0 to 7"),
        ("at 5s unhealthy n1[8]: smokes", "4:17: found `n1[8]`, expected a whole number from 0 to 7"),
        ("at 5s unhealthy n1[2]", "4:22: the line ends here, expected `:`"),
        ("at 5s unhealthy n1[2]:", "4:23: the line ends here, expected what is wrong with it"),
        ("at 5s healthy n3", "4:15: found `n3`, expected a node of the cluster: n1, n2"),
        ("at 0s submit a: gang of 0 h200", "4:25: found `0`, expected a whole number from 1 to 1,000,000"),
        (
            "at 0s submit a: gang of 1 h200 quickly",
            "4:32: found `quickly`, expected a comma or the end of the line",
        ),
        (
            "at 0s submit a: gang of 1 h200,\n          runs soon",
            "5:16: found `soon`, expected a time like 90s, 1h30m, 2d or 1.5s",
        ),
        (
            "at 0s submit a: tenant red",
            "4:27: the line ends here, expected a clause that says what it consists of, like `gang of 8 h200`",
        ),
        (
            "at 0s submit a: runs 5s, gang of 1 h200",
            "4:24: found `,`, expected what runs before how long it runs: gang, bag or service",
        ),
        (
            "at 0s submit a: gang of 1 h200\nat 0s submit a: gang of 1 h200",
            "5:14: there is already a job called a, expected another name",
        ),
        (
            "at 0s submit a: gang of 1 h200\nat 5s ended a",
            "5:13: found `a`, expected an attempt like a#1, a[3]#1 or a.stage#1",
        ),
        (
            "# A remark\n          and no statement",
            "5:11: found `and`, expected cluster, levels, policy, tenant, queue, world, at, expect or finally",
        ),
    ] {
        match play("story.txt", &format!("{head}{statement}\n")) {
            Ok(_) => assert_eq!("", error, "{statement}"),
            Err(found) => assert_eq!(found.to_string(), format!("story.txt:{error}"), "{statement}"),
        }
    }
}

#[test]
fn a_story_needs_a_title_and_a_cluster() {
    let title = "story.txt:1:1: missing title, expected a paragraph that says what the scenario is about";
    assert_eq!(play("story.txt", "cluster 1 node, each 1 t4\n").unwrap_err().to_string(), title);
    assert_eq!(play("story.txt", "").unwrap_err().to_string(), title);
    let cluster = "story.txt: missing cluster, expected a line like `cluster 2 nodes, each 8 h200`";
    assert_eq!(play("story.txt", "A title\n").unwrap_err().to_string(), cluster);
    let refused = "story.txt: the cluster was refused: tenant red, quota for tpu: unknown kind; \
                   known kinds: t4";
    let text = "A title\n\ncluster 1 node, each 1 t4\ntenant red: ceiling 5 tpu\nfinally\n";
    assert_eq!(play("story.txt", text).unwrap_err().to_string(), refused);
}

#[test]
fn a_story_expects_something() {
    let error = "story.txt: missing expectation, expected at least one line `expect` or `finally`";
    let text = "A title\n\ncluster 1 node, each 1 t4\nat 0s submit a: gang of 1 t4\n";
    assert_eq!(play("story.txt", text).unwrap_err().to_string(), error);
    assert_eq!(read_only("story.txt", text).unwrap_err().to_string(), error);
    assert_eq!(read_only("story.txt", &format!("{text}finally\n")), Ok(()));
}

#[test]
fn a_statement_in_the_title_is_pointed_at() {
    for (line, keyword) in [
        ("cluster 1 node, each 1 t4", "cluster"),
        ("at 5s plan", "at"),
        ("expect", "expect"),
        ("finally   a ended: succeeded at 1h", "finally"),
        ("policy las", "policy"),
        ("tenant red: guarantee 1 t4", "tenant"),
        ("queue urgent : strict", "queue"),
    ] {
        let text =
            format!("# A remark.\nA title\nand more of it.\n{line}\n\ncluster 1 node, each 1 t4\nfinally\n");
        let error = format!("story.txt:4:1: `{keyword}` is part of the title; put an empty line before it");
        assert_eq!(play("story.txt", &text).unwrap_err().to_string(), error);
    }
    for prose in
        ["at the end nothing is left.", "queue and all, it waits.", "tenant red has the most.", "queue"]
    {
        let text = format!("Devices are given back\n{prose}\n\ncluster 1 node, each 1 t4\nfinally\n");
        assert_eq!(read_only("story.txt", &text), Ok(()));
    }
}
