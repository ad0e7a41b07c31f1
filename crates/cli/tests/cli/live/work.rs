//! Submitting, following, waiting, ending.

use super::server::ended;
use super::*;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

const SUBMITTED: &str = r#"{"id": 17, "name": "train"}"#;

/// A piece of a marked log.
fn piece(at: usize, text: &str) -> String {
    let mark = consort_api::client::Mark {
        attempt: 1,
        file: 7,
        at: at as u64,
        bytes: text.len(),
        ..Default::default()
    };
    format!("{}\n{text}", serde_json::to_string(&mark).expect("plain data"))
}

/// A server that takes a job, has this output and lets the job end so.
fn runs(output: &'static str, state: &'static str, code: &'static str) -> (Folder, Server) {
    with(move |line| match line {
        "POST /v1/jobs" => Answer::json(201, SUBMITTED),
        line if line.contains("/wait") => Answer::json(200, &ended(17, state, code)),
        line if line.contains("/logs") => Answer::text(&piece(0, output)),
        _ => Answer::missing(),
    })
}

#[test]
fn a_file_is_read_here_and_sent_whole() {
    let (folder, server) = with(|_| Answer::json(201, SUBMITTED));
    folder.write("train.yaml", "devices: 8\nkind: h200\nrun: python train.py\nenv: {A: 1, B: 2}\n");
    let mut command =
        folder.asking(&server, "submit train.yaml --devices 4 --env B=3 --time 2h --after 3,4:ended");
    let ran = Ran::of(command.env("MARK", "here").output().unwrap()).done();
    assert_eq!(ran.out, "Job 17 (train) is submitted.\n");
    let body = server.body("POST /v1/jobs");
    assert_eq!(body["name"], "train");
    assert_eq!(body["env"], serde_json::json!({"A": "1", "B": "3"}));
    assert_eq!(body["time_limit"], "7200s");
    assert_eq!(body["after"][1], serde_json::json!({"job": 4, "when": "ended"}));
    assert_eq!(body["stages"][0]["roles"][0]["shapes"][0]["devices"], 4);
    assert_eq!(body["stages"][0]["roles"][0]["shapes"][0]["kind"], "h200");
    assert_eq!(body["inherit"]["MARK"], "here");
    assert!(body["inherit"].get("CONSORT_TOKEN").is_none(), "the token stays here");
    assert_eq!(std::path::Path::new(body["workdir"].as_str().unwrap()), folder.0.canonicalize().unwrap());
    assert_eq!(folder.ask(&server, "submit train.yaml --json --export none").json()["id"], 17);
    assert!(
        server.asked()[1].contains("authorization: Bearer secret") && !server.asked()[1].contains("inherit")
    );
}

#[test]
fn standard_input_and_scripts_are_files_too() {
    let (folder, server) = with(|_| Answer::json(201, SUBMITTED));
    let mut child =
        folder.asking(&server, "submit -").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"{run: [nvidia-smi, -L]}").unwrap();
    assert!(child.wait().unwrap().success());
    let body = server.body("POST /v1/jobs");
    assert_eq!(
        (&body["name"], &body["stages"][0]["roles"][0]["run"][1]),
        (&"nvidia-smi".into(), &"-L".into())
    );
    folder.write("batch", "#!/bin/sh\n#SBATCH -G 2 --comment=x\nwork\n");
    let ran = folder.ask(&server, "submit batch --name other").done();
    assert!(ran.err.contains("`--comment` is ignored"), "{ran:?}");
    assert!(server.asked()[1].contains("\"name\":\"other\""), "{:?}", server.asked());
    assert!(server.asked()[1].contains("\"inherit\":{"), "{:?}", server.asked());
    folder.write("alone.sh", "#!/bin/sh\n#SBATCH --export=NONE\nwork\n");
    folder.ask(&server, "submit alone.sh").done();
    assert!(!server.asked()[2].contains("\"inherit\":{"), "{:?}", server.asked());
}

#[test]
fn mistakes_in_a_file_are_told_with_their_line_and_nothing_is_sent() {
    let (folder, server) = with(|_| Answer::json(201, SUBMITTED));
    folder.write("bad.yaml", "run: x\ndevises: 8\n");
    folder.write("bad.sh", "#!/bin/sh\n#SBATCH --gpuss=1\nx\n");
    folder.write("many.yaml", "stages: [{name: a, run: x}, {name: b, run: y}]\n");
    folder
        .ask(&server, "submit bad.yaml")
        .refused(2, &["bad.yaml:2:1: unknown field `devises`", "did you mean `devices`?"]);
    folder
        .ask(&server, "submit bad.sh")
        .refused(2, &["bad.sh:2: unknown option `--gpuss`", "did you mean `--gpus`?"]);
    folder.ask(&server, "submit nowhere.yaml").refused(2, &["no such file"]);
    folder.ask(&server, "submit .").refused(2, &["is a folder"]);
    folder.ask(&server, "submit many.yaml --devices 2").refused(2, &["several stages", "change the file"]);
    folder.ask(&server, "run --time soon x").refused(2, &["`soon`", "expected a time like 90s"]);
    folder.ask(&server, "run --devices 2 --workers 2 x").refused(2, &["cannot be used with"]);
    folder.ask(&server, "run --after me x").refused(2, &["expected the id of a job like 17"]);
    folder.ask(&server, "run").refused(2, &["<CMD>"]);
    assert_eq!(server.asked().len(), 0);
}

#[test]
fn a_refusal_is_one_sentence() {
    let (folder, server) = with(|_| {
        Answer::json(
            422,
            r#"{"error": "job x: unknown queue b; known queues: default", "rule": "UnknownName"}"#,
        )
    });
    folder.ask(&server, "run x").refused(2, &["consort: job x: unknown queue b; known queues: default"]);
}

#[test]
fn run_shows_the_output_and_ends_with_the_status() {
    let (folder, server) = runs("hello\n\u{1b}[1mbold\u{1b}[0m\n", "failed", "3");
    let ran =
        folder.ask(&server, "run --workers 2-4 --devices-per-worker 2 --priority -3 -- /bin/work --fast -x");
    assert_eq!((ran.code, ran.out.as_str()), (3, "hello\n\u{1b}[1mbold\u{1b}[0m\n"), "bytes as they are");
    assert!(ran.err.contains("job 17 (train) is submitted"), "{ran:?}");
    assert!(ran.err.contains("job 17 (train) failed with status 3 after 5m"), "{ran:?}");
    let body = server.body("POST /v1/jobs");
    assert_eq!((&body["name"], &body["priority"]), (&"work".into(), &(-3).into()));
    let role = &body["stages"][0]["roles"][0];
    assert_eq!((&role["count"], &role["shapes"][0]["devices"]), (&"2-4".into(), &2.into()));
    assert_eq!(role["run"], serde_json::json!(["/bin/work", "--fast", "-x"]));
    let (folder, server) = runs("fine\n", "succeeded", "0");
    assert_eq!(folder.ask(&server, "run fine").done().out, "fine\n");
}

#[test]
fn a_log_that_breaks_is_taken_up_where_it_broke() {
    let first = AtomicBool::new(true);
    let (folder, server) = with(move |line| match line {
        "POST /v1/jobs" => Answer::json(201, SUBMITTED),
        line if line.contains("/wait") && first.swap(false, Ordering::Relaxed) => {
            Answer::json(202, &job(17, "running"))
        }
        line if line.contains("/wait") => Answer::json(200, &ended(17, "succeeded", "0")),
        // The second piece of the first stream breaks off; what was whole is not told again.
        line if line.ends_with("/logs?follow=true&marks=true") => {
            let (whole, torn) = (piece(0, "one..\n"), piece(6, "two\n"));
            Answer::text(&(whole + &torn[..torn.len() - 1]))
        }
        line if line.contains("logs?follow=true&marks=true&since=1") => {
            Answer::text(&piece(0, "one..\ntwo\n"))
        }
        line if line.contains("logs?marks=true&since=1") => Answer::text(&piece(0, "one..\ntwo\nthree\n")),
        _ => Answer::missing(),
    });
    assert_eq!(folder.ask(&server, "run x").done().out, "one..\ntwo\nthree\n");
}

#[cfg(unix)]
#[test]
fn an_interrupt_where_nobody_can_answer_cancels() {
    let cancelled = Arc::new(AtomicBool::new(false));
    let known = cancelled.clone();
    let (folder, server) = with(move |line| match line {
        "POST /v1/jobs" => Answer::json(201, SUBMITTED),
        line if line.ends_with("/cancel") => {
            known.store(true, Ordering::Relaxed);
            Answer::json(200, &job(17, "stopping"))
        }
        line if line.contains("/wait") && known.load(Ordering::Relaxed) => {
            Answer::json(200, &ended(17, "cancelled", "143"))
        }
        line if line.contains("/wait") => Answer::json(202, &job(17, "running")),
        line if line.contains("/logs") => Answer::text(""),
        _ => Answer::missing(),
    });
    let mut command = folder.asking(&server, "run sleep 1000");
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while !server.was_asked("GET /v1/jobs/17/wait") {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let ran = Ran::of(child.wait_with_output().unwrap());
    assert_eq!(ran.code, 143, "{ran:?}");
    assert!(ran.err.contains("cancelling job 17") && ran.err.contains("was cancelled"), "{ran:?}");
    assert!(cancelled.load(Ordering::Relaxed));
}

#[test]
fn jobs_are_listed_with_the_promised_keys() {
    let (folder, server) = with(|_| {
        let body = format!("[{}, {}]", ended(16, "failed", "2"), job(17, "waiting"));
        Answer::json(200, &body).with("x-consort-more: true")
    });
    let ran = folder.ask(&server, "jobs --all --state failed,waiting --tenant red --limit 2 --json");
    let text = ran.out.clone();
    let value = ran.json();
    let promised = "id name tenant queue state reason devices submitted started ended exit_code";
    let keys = keys(&value[0], &text);
    assert!(promised.split(' ').all(|key| keys.iter().any(|known| known == key)), "{keys:?}");
    let asked = "GET /v1/jobs?all=true&limit=2&state=failed,waiting&tenant=red";
    assert!(server.was_asked(asked), "{:?}", server.asked());
    let shown = folder.ask(&server, "jobs").done().out;
    assert!(shown.contains("needs 8 h200, 2 free") && shown.contains("--limit N shows more"), "{shown}");
    let narrow = folder.asking(&server, "jobs").env("COLUMNS", "50").output().unwrap();
    let narrow = Ran::of(narrow).done().out;
    assert!(narrow.lines().all(|line| line.chars().count() <= 50), "{narrow}");
    folder.ask(&server, "jobs --state runing").refused(2, &["did you mean `running`?"]);
}

#[test]
fn one_job_is_shown_and_explained() {
    let (folder, server) = with(|line| match line {
        "GET /v1/jobs/17" => {
            let line = job(17, "running");
            let rest = r#", "workdir": "/data", "command": ["python train.py"], "after": [3], "deadline": null,
                "estimate_s": null, "time_limit_s": 7200.0, "retries": 2, "logs": ["/d/17.log"],
                "asks": [{"stage": "main", "task": 0, "state": "running", "attempt": 1, "node": "n1",
                "devices": ["n1[0]", "n1[1]"], "since": "2026-03-09T14:05:00Z", "reason": "runs on 2 devices"}]}"#;
            Answer::json(200, &(line.trim_end_matches('}').to_string() + rest))
        }
        "GET /v1/jobs/17/explain" => Answer::json(
            200,
            r#"{"id": 17, "name": "train", "state": "waiting", "sentences": ["It needs 8 h200, and 2 are free."],
            "asks": [{"ask": "17", "reason": "needs 8 h200, 2 free"}]}"#,
        ),
        _ => Answer::missing(),
    });
    let shown = folder.ask(&server, "show 17").done().out;
    for part in ["Job 17 (train)", "python train.py", "/data", "n1[0] n1[1]", "2h", "UTC"] {
        assert!(shown.contains(part), "no {part} in {shown}");
    }
    assert_eq!(folder.ask(&server, "show 17 --json").json()["asks"][0]["node"], "n1");
    let why = folder.ask(&server, "explain 17").done().out;
    assert_eq!(why, "Job 17 (train): waiting\nIt needs 8 h200, and 2 are free.\n");
    folder.ask(&server, "show 18").refused(2, &["there is no such thing; look elsewhere"]);
    folder.ask(&server, "show train").refused(2, &["expected the id of a job like 17"]);
}

#[test]
fn logs_are_bytes() {
    let (folder, server) = with(|line| match line {
        line if line.starts_with("GET /v1/jobs/17/logs?marks") => {
            Answer::text(&piece(0, "one\ntwo\nthree\n"))
        }
        line if line.starts_with("GET /v1/jobs/17/logs") => {
            Answer::text("one\ntwo\nthree\n").with("x-consort-next: 14")
        }
        _ => Answer::missing(),
    });
    assert_eq!(folder.ask(&server, "logs 17").done().out, "one\ntwo\nthree\n");
    assert_eq!(
        folder.ask(&server, "logs 17 --tail 2 --task 3 --rank 1 --attempt 2").done().out,
        "two\nthree\n"
    );
    assert!(
        server.was_asked("GET /v1/jobs/17/logs?marks=true&task=3&rank=1&attempt=2"),
        "{:?}",
        server.asked()
    );
    folder.ask(&server, "logs 18").refused(2, &["there is no such thing"]);
}

#[test]
fn waiting_ends_with_the_status_of_the_first_that_did_not_succeed() {
    let (folder, server) = with(|line| match line {
        line if line.starts_with("GET /v1/jobs/1/") => Answer::json(200, &ended(1, "succeeded", "0")),
        line if line.starts_with("GET /v1/jobs/2/") => Answer::json(200, &ended(2, "failed", "7")),
        line if line.starts_with("GET /v1/jobs/3/") => Answer::json(200, &ended(3, "cancelled", "null")),
        line if line.starts_with("GET /v1/jobs/4/") => Answer::json(202, &job(4, "running")),
        _ => Answer::missing(),
    });
    assert_eq!(folder.ask(&server, "wait 1").done().out, "Job 1 (train) succeeded after 5m.\n");
    assert!(server.was_asked("GET /v1/jobs/1/wait?timeout_ms=30000"), "{:?}", server.asked());
    let ran = folder.ask(&server, "wait 1 2 3");
    assert_eq!((ran.code, ran.err.as_str()), (7, ""), "{ran:?}");
    assert!(ran.out.contains("Job 2 (train) failed with status 7 after 5m.\n"), "{ran:?}");
    assert_eq!(folder.ask(&server, "wait 3").code, 1);
    let late = folder.ask(&server, "wait 4 --timeout 50ms");
    assert_eq!((late.code, late.out.as_str()), (124, "Job 4 (train) is still running.\n"));
    folder.ask(&server, "wait 9").refused(2, &["there is no such thing"]);
}

#[test]
fn acts_are_tried_on_all_that_are_named() {
    let (folder, server) = with(|line| match line {
        "POST /v1/jobs/cancel" => Answer::json(
            200,
            &format!(
                r#"[{}, {{"id": 2, "status": 404, "problem": {{"error": "unknown job 2"}}}}, {}]"#,
                acted(&job(1, "stopping")),
                acted(&job(3, "stopping"))
            ),
        ),
        "POST /v1/jobs/pause" => Answer::json(200, &format!("[{}]", acted(&job(1, "paused")))),
        "POST /v1/jobs/resume" => Answer::json(
            200,
            r#"[{"id": 1, "status": 409, "problem": {"error": "job 1 is not paused; nothing to resume"}}]"#,
        ),
        _ => Answer::missing(),
    });
    let ran = folder.ask(&server, "cancel 1 2 3");
    assert_eq!((ran.code, ran.out.lines().count()), (2, 2), "{ran:?}");
    assert!(ran.err.contains("unknown job 2"), "{ran:?}");
    let posted = server.asked().iter().filter(|asked| asked.starts_with("POST")).count();
    assert_eq!(posted, 1, "one request for all: {:?}", server.asked());
    assert_eq!(folder.ask(&server, "pause 1").done().out, "Job 1 (train) is paused.\n");
    assert_eq!(folder.ask(&server, "pause 1 --json").json()[0]["state"], "paused");
    folder.ask(&server, "resume 1").refused(2, &["job 1 is not paused; nothing to resume"]);
}
