//! What real clusters answered, in all versions of the interface, read as the world reads it. `recorded/README.md` says
//! what was going on when each answer was given.
//!
//! Each version is served over a socket in its own words; what comes out on our side must be the same story.

mod served;

use consort_slurm::cluster::{self, Condition, Found, Reading};
use consort_slurm::engine::rest::{Place, Rest, Token};
use consort_slurm::engine::{Engine, Trouble};
use consort_slurm::gres;
use consort_slurm::shapes::{Answer, Complaint, Job, Node};
use consort_slurm::submission::{Part, Submission};
use consort_types::Host;
use consort_types::file::hosts;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

const OLD: [u32; 3] = [36, 37, 38];
const NEW: [u32; 6] = [40, 41, 42, 43, 44, 45];

fn all() -> impl Iterator<Item = u32> {
    OLD.into_iter().chain(NEW)
}

fn is_old(version: u32) -> bool {
    OLD.contains(&version)
}

/// The names of the two nodes, their devices, and the release that answered.
fn site(version: u32) -> ([&'static str; 2], (&'static str, u32), &'static str) {
    match version {
        36..=38 => (["n1", "n2"], ("a100", 4), "22.05.8"),
        40..=42 => (["m1", "m2"], ("h100", 2), "24.11.5"),
        _ => (["m1", "m2"], ("h100", 2), "26.05.5"),
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("recorded")
}

fn recorded(version: u32, file: &str) -> Vec<u8> {
    fs::read(folder().join(format!("v0.0.{version}/{file}.json"))).expect("it was recorded")
}

/// The same, as if we had been the user of that cluster: only jobs of our own are believed.
fn ours(version: u32, file: &str) -> Vec<u8> {
    let mut answer: serde_json::Value = serde_json::from_slice(&recorded(version, file)).expect("JSON");
    for job in answer["jobs"].as_array_mut().into_iter().flatten() {
        job["user_id"] = rustix::process::geteuid().as_raw().into();
    }
    answer.to_string().into_bytes()
}

fn answer(version: u32, file: &str) -> Answer {
    Answer::read(&recorded(version, file)).unwrap_or_else(|why| panic!("v0.0.{version}/{file}: {why}"))
}

/// A slurmrestd that speaks one version, and what it says of nodes, jobs and new jobs.
fn rest(version: u32, nodes: &str, jobs: &str, submit: &str) -> (Rest, tempfile::TempDir) {
    let files: BTreeMap<String, Vec<u8>> = [
        ("nodes/", nodes),
        ("jobs/", jobs),
        ("ping", "ping"),
        ("partitions/", "partitions"),
        ("job/4", "job"),
        ("job/99999", "job-error"),
        ("job/submit", submit),
        ("DELETE job/4", "delete-answer"),
        ("DELETE job/99999", "delete-error"),
    ]
    .map(|(path, file)| (path.to_owned(), ours(version, file)))
    .into();
    let refused = submit == "error";
    let folder = tempfile::tempdir().unwrap();
    let prefix = format!("/slurm/v0.0.{version}/");
    served::serve(&folder.path().join("socket"), move |method, path| {
        let Some(path) = path.strip_prefix(&prefix) else {
            return (404, b"Unable find requested URL. Please view /openapi/v3".to_vec());
        };
        let path = path.split('?').next().unwrap_or_default();
        let path = if method == "DELETE" { format!("DELETE {path}") } else { path.to_owned() };
        let status = match (path.as_str(), version) {
            ("job/99999", 40..) => 404,
            ("job/99999", _) | ("DELETE job/99999", ..=38) => 500,
            ("job/submit", 43..) if refused => 422,
            ("job/submit", _) if refused => 500,
            _ => 200,
        };
        (status, files[&path].clone())
    });
    let place = Place::Unix(folder.path().join("socket"));
    let rest = Rest::probe(&place, Token::default()).unwrap_or_else(|why| panic!("v0.0.{version}: {why}"));
    (rest, folder)
}

/// What the world sees of a cluster.
fn look(version: u32, nodes: &str, jobs: &str) -> (Vec<Found>, Vec<Job>) {
    let (mut rest, _folder) = rest(version, nodes, jobs, "submit-answer");
    let reading = Reading { partition: "main".into(), cpus: true, ..Reading::default() };
    let nodes = rest.nodes().unwrap_or_else(|why| panic!("v0.0.{version}: {why}"));
    (cluster::find(&nodes, &reading), rest.jobs().unwrap_or_else(|why| panic!("v0.0.{version}: {why}")))
}

#[test]
fn the_newest_version_that_answers_is_spoken() {
    for version in all() {
        let (rest, _folder) = rest(version, "nodes", "jobs", "submit-answer");
        assert!(rest.about().how.starts_with(&format!("REST v0.0.{version} at unix:")), "{:?}", rest.about());
        assert_eq!(rest.about().release, site(version).2);
        assert_eq!(rest.about().uid, Some(rustix::process::geteuid().as_raw()));
    }
}

#[test]
fn nodes_devices_and_what_is_used_of_them() {
    for version in all() {
        let (names, (kind, count), _) = site(version);
        let (found, _) = look(version, "nodes", "jobs");
        assert_eq!(found.len(), 2, "v0.0.{version}");
        for (node, name) in found.iter().zip(names) {
            assert_eq!((node.spec.name.as_str(), node.address.as_str()), (name, "127.0.0.1"));
            let groups: Vec<_> = node.spec.devices.iter().map(|one| (one.kind.as_str(), one.count)).collect();
            assert_eq!(groups, [(kind, count), ("cpu", 8)], "v0.0.{version}");
            assert_eq!(node.spec.features, [kind], "v0.0.{version}");
            assert_eq!(node.condition, Condition::Up, "v0.0.{version}");
            assert_eq!(node.resources[kind], ("gpu".into(), kind.into()));
            // The oldest version does not tell of processors that are used.
            let cpus = if version == 36 { 0 } else { 1 };
            assert_eq!(node.used, BTreeMap::from([(kind.into(), 1), ("cpu".into(), cpus)]), "v0.0.{version}");
            let host =
                Host { cpu_milli: u64::from(cpus) * 1000, memory_bytes: u64::from(cpus) * (100 << 20) };
            assert_eq!(node.host_used, host, "v0.0.{version}");
        }
    }
}

#[test]
fn a_drained_node_is_closed_and_says_why() {
    for version in all() {
        let (found, _) = look(version, "nodes-drained", "jobs");
        assert_eq!(found[0].condition, Condition::Up, "v0.0.{version}");
        let closed = Condition::Closed("drained in Slurm: disk".into());
        assert_eq!(found[1].condition, closed, "v0.0.{version}");
        assert_eq!(found[1].used[site(version).1.0], 1, "work goes on there");
    }
}

#[test]
fn a_lost_node_is_down_and_holds_nothing() {
    for version in all() {
        let (found, _) = look(version, "nodes-down", "jobs-lost");
        assert_eq!((&found[0].condition, &found[1].condition), (&Condition::Up, &Condition::Down));
        assert_eq!(found[1].used.get(site(version).1.0), None, "v0.0.{version}");
    }
}

/// A job in a few words: number, whole, state, reason, status, restarts, comment.
fn told(job: &Job) -> String {
    let Job { id, whole, state, reason, restarts, comment, .. } = job;
    format!("{id} {whole} {} {reason} {} {restarts} {comment}", state.join("+"), job.code()).trim().to_owned()
}

#[test]
fn jobs_and_how_they_ended() {
    for version in all() {
        let (_, jobs) = look(version, "nodes", "jobs");
        let signalled = if is_old(version) { "JobLaunchFailure" } else { "RaisedSignal" };
        let expected = [
            "1 0 COMPLETED None 0 0".to_owned(),
            "2 0 FAILED NonZeroExitCode 7 0".into(),
            format!("3 0 FAILED {signalled} 137 0"),
            "4 0 RUNNING None 0 0 consort job=7 attempt=1".into(),
            "5 0 PENDING Resources 0 0".into(),
        ];
        assert_eq!(jobs.iter().map(told).collect::<Vec<_>>(), expected, "v0.0.{version}");
    }
}

/// slurmrestd tells of everybody's jobs; a comment is no proof.
#[test]
fn jobs_of_others_are_not_ours() {
    for version in all() {
        let mut answer: serde_json::Value = serde_json::from_slice(&ours(version, "jobs")).unwrap();
        let others = rustix::process::geteuid().as_raw() + 1;
        for id in [0, 4] {
            answer["jobs"][id]["user_id"] = others.into();
        }
        answer["jobs"][2]["user_id"] = serde_json::Value::Null;
        let (mut rest, _folder) = serving(version, move |_| answer.to_string().into_bytes());
        let jobs = rest.jobs().unwrap();
        assert_eq!(jobs.iter().map(|job| job.id).collect::<Vec<_>>(), [2, 4], "v0.0.{version}");
        assert!(rest.look(&[1]).unwrap().iter().all(|job| job.id != 1), "v0.0.{version}");
    }
}

/// A slurmrestd that gives one answer about jobs, whichever are asked for.
fn serving(version: u32, jobs: impl Fn(&str) -> Vec<u8> + Send + 'static) -> (Rest, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let (prefix, ping) = (format!("/slurm/v0.0.{version}/"), recorded(version, "ping"));
    served::serve(&folder.path().join("socket"), move |_, path| match path.strip_prefix(&prefix) {
        Some("ping") => (200, ping.clone()),
        Some(path) => (200, jobs(path)),
        None => (404, b"Unable find requested URL. Please view /openapi/v3".to_vec()),
    });
    let place = Place::Unix(folder.path().join("socket"));
    (Rest::probe(&place, Token::default()).unwrap(), folder)
}

#[test]
fn jobs_of_a_lost_node() {
    for version in all() {
        let (_, jobs) = look(version, "nodes-down", "jobs-lost");
        // Later releases say that it was hung up on.
        let status = if is_old(version) { 0 } else { 129 };
        let expected =
            ["15 0 PENDING BeginTime 0 1".to_owned(), format!("16 0 NODE_FAIL NodeDown {status} 0")];
        assert_eq!(jobs.iter().map(told).collect::<Vec<_>>(), expected, "v0.0.{version}");
    }
}

#[test]
fn parts_of_one_job_name_the_first() {
    for version in all() {
        let (mut rest, _folder) = rest(version, "nodes", "jobs-het", "submit-het-answer");
        let leader = rest.submit(&submission(version)).unwrap();
        let expected = [leader, leader + 1].map(|id| format!("{id} {leader} RUNNING None 0 0"));
        assert_eq!(rest.jobs().unwrap().iter().map(told).collect::<Vec<_>>(), expected, "v0.0.{version}");
    }
}

#[test]
fn one_job_and_one_that_nobody_knows() {
    for version in all() {
        let (mut rest, _folder) = rest(version, "nodes", "jobs", "submit-answer");
        let jobs = rest.look(&[99999, 4]).unwrap_or_else(|why| panic!("v0.0.{version}: {why}"));
        assert_eq!(
            jobs.iter().map(told).collect::<Vec<_>>(),
            ["4 0 RUNNING None 0 0 consort job=7 attempt=1"]
        );
        // More than a few are looked at all together.
        assert_eq!(rest.look(&[1, 2, 3, 4, 5, 6, 7, 8, 9]).unwrap().len(), 5);
    }
}

fn submission(version: u32) -> Submission {
    let (names, (kind, _), _) = site(version);
    Submission {
        name: "later".into(),
        tag: String::new(),
        partition: "main".into(),
        account: None,
        qos: None,
        reservation: None,
        script: "/tmp/batch.sh".into(),
        text: "#!/bin/sh\nsleep 1\n".into(),
        output: "/dev/null".into(),
        minutes: Some(5),
        parts: vec![Part {
            nodes: vec![names[1].into()],
            tasks: 1,
            cpus: 1,
            memory_mb: None,
            gres: gres::parse(&format!("gpu:{kind}:1")),
        }],
    }
}

#[test]
fn a_new_job_has_a_number() {
    for version in all() {
        let (mut rest, _folder) = rest(version, "nodes", "jobs", "submit-answer");
        let id = rest.submit(&submission(version)).unwrap_or_else(|why| panic!("v0.0.{version}: {why}"));
        assert_eq!(id, answer(version, "submit-answer").job_id);
        assert!((6..=8).contains(&id), "v0.0.{version}: {id}");
    }
}

#[test]
fn what_slurm_will_not_have_is_refused_in_its_words() {
    for version in all() {
        let (mut rest, _folder) = rest(version, "nodes", "jobs", "error");
        let Err(Trouble::Refused(words)) = rest.submit(&submission(version)) else {
            panic!("v0.0.{version}: it was to be refused")
        };
        let later = if is_old(version) { "" } else { " (Batch job submission failed)" };
        assert_eq!(words, format!("Invalid partition name specified{later}"), "v0.0.{version}");
        let errors = answer(version, "error").errors;
        assert_eq!(errors.iter().map(Complaint::number).collect::<Vec<_>>(), [2000], "v0.0.{version}");
    }
}

#[test]
fn a_job_is_ended_and_one_that_nobody_knows_is_not() {
    for version in all() {
        let (mut rest, _folder) = rest(version, "nodes", "jobs", "submit-answer");
        assert_eq!(rest.cancel(4), Ok(()), "v0.0.{version}");
        assert_eq!(rest.signal(4, 15), Ok(()), "v0.0.{version}");
        match rest.cancel(99999) {
            Err(Trouble::Refused(words)) => {
                assert!(words.contains("Invalid job id specified"), "v0.0.{version}: {words}");
            }
            // These two say nothing about it.
            Ok(()) => assert!([40, 41].contains(&version), "v0.0.{version}"),
            other => panic!("v0.0.{version}: {other:?}"),
        }
    }
}

#[test]
fn partitions_are_named() {
    for version in all() {
        let (mut rest, _folder) = rest(version, "nodes", "jobs", "submit-answer");
        assert_eq!(rest.partitions().unwrap(), ["main"], "v0.0.{version}");
        let told = answer(version, "partitions").partitions.unwrap_or_default();
        if is_old(version) {
            assert_eq!(hosts::expand(&told[0].nodes).unwrap(), site(version).0, "v0.0.{version}");
        }
    }
}

/// Where they tell of the same cluster, versions do not differ at all, apart from the numbers of jobs that were made
/// anew for each.
#[test]
fn all_versions_of_one_time_say_the_same() {
    // The oldest one lacks much: what is made up for it is tested above.
    for (first, others) in [(37, &[38][..]), (40, &[41, 42, 43, 44, 45][..])] {
        for (nodes, jobs) in [("nodes", "jobs"), ("nodes-drained", "job"), ("nodes-down", "jobs-lost")] {
            let expected: (Vec<Node>, Vec<Job>) =
                (answer(first, nodes).nodes().unwrap(), answer(first, jobs).jobs().unwrap());
            for &version in others {
                let seen = (answer(version, nodes).nodes().unwrap(), answer(version, jobs).jobs().unwrap());
                assert_eq!(seen, expected, "v0.0.{version} {nodes} {jobs}");
            }
        }
    }
    let jobs = |version| answer(version, "jobs").jobs().unwrap();
    // The oldest one does not tell the names of users.
    let nameless = |job: Job| Job { user_name: String::new(), ..job };
    assert_eq!(jobs(36), jobs(38).into_iter().map(nameless).collect::<Vec<_>>());
}

#[test]
fn tools_say_what_the_daemon_says() {
    let read = |file: &str| {
        let bytes = fs::read(folder().join(file)).unwrap();
        Answer::read(&bytes).unwrap_or_else(|why| panic!("{file}: {why}"))
    };
    let nodes = |version| answer(version, "nodes").nodes().unwrap();
    let jobs = |version| answer(version, "jobs").jobs().unwrap();
    assert_eq!(read("cli-22.05/sinfo.json").nodes().unwrap(), nodes(38));
    assert_eq!(read("cli-22.05/squeue.json").jobs().unwrap(), jobs(38));
    assert_eq!(read("cli-24.11/scontrol-nodes.json").nodes().unwrap(), nodes(42));
    assert_eq!(read("cli-24.11/squeue.json").jobs().unwrap(), jobs(42));
    assert_eq!(read("cli-24.11/scontrol-job.json").jobs().unwrap(), answer(42, "job").jobs().unwrap());
    assert_eq!(read("cli-24.11/scontrol-partitions.json").partitions().unwrap(), ["main"]);
    assert_eq!(read("cli-26.05/scontrol-nodes.json").nodes().unwrap(), nodes(45));
    assert_eq!(read("cli-26.05/scontrol-partitions.json").partitions().unwrap(), ["main"]);
    // Groups of nodes are no nodes, and nobody is gone because of them.
    for release in ["24.11", "26.05"] {
        let told = read(&format!("cli-{release}/sinfo.json")).nodes().unwrap_err();
        assert_eq!(told, "Slurm's answer has no list of nodes");
    }
}
