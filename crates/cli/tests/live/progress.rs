//! What jobs report of themselves, through the file and over HTTP.

use super::api::ask;
use super::daemon::{House, until};
use super::examples::{blocks, page};
use serde_json::Value;

/// What job 1 last reported, once that is so.
fn reported(house: &House, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
    until(what, || {
        let shown = house.json(&["show", "1", "--json"]);
        let progress = shown["asks"][0]["progress"].clone();
        (!progress.is_null() && is_so(&progress)).then_some(progress)
    })
}

#[test]
fn what_a_job_writes_is_shown_and_survives_a_crash() {
    let mut house = House::up(2);
    // The example of the documentation, in a shell.
    let script =
        r#"echo '{"done": 250, "total": 1000, "unit": "step", "rate": 5}' > "$CONSORT_PROGRESS"; sleep 600"#;
    house.said(&["submit", "--name", "train", "--devices", "1", "--", "sh", "-c", script]);
    let progress = reported(&house, "the first report", |_| true);
    assert_eq!(
        (&progress["done"], &progress["total"], &progress["attempt"]),
        (&250.0.into(), &1000.0.into(), &1.into())
    );
    assert_eq!(progress["text"], "250 of 1,000 steps, 5 steps a second");
    assert!(progress["left_s"].as_f64().is_some_and(|left| left > 60.0 && left <= 150.0), "{progress}");
    let shown = house.said(&["show", "1"]);
    assert!(shown.contains("250 of 1,000 steps") && shown.contains("left; reported"), "{shown}");
    assert!(house.said(&["jobs"]).contains("runs on 1 device, 25 % done"));
    let hash = |house: &House| house.client().expect("it is up").status().expect("it answers").state_hash;
    let before = hash(&house);
    house.kill();
    house.start();
    assert_eq!(reported(&house, "the same report", |_| true)["done"], 250.0);
    assert_eq!(hash(&house), before);
    let told = house.said(&["events", "--json"]);
    assert!(told.contains("attempt 1 of job 1 (train) reports 250 of 1,000 steps"), "{told}");
}

#[test]
fn a_token_of_an_attempt_opens_one_door_alone() {
    let house = House::up(2);
    let script = r#"echo "$CONSORT_PROGRESS_TOKEN $CONSORT_PROGRESS_URL"; sleep 600"#;
    house.said(&["submit", "--name", "train", "--", "sh", "-c", script]);
    house.said(&["submit", "--wait", "--name", "over", "--", "sh", "-c", "echo $CONSORT_PROGRESS_TOKEN"]);
    let line = until("its token", || Some(house.said(&["logs", "1"])).filter(|line| line.ends_with('\n')));
    let (token, url) = line.trim().split_once(' ').expect("two words");
    assert!(url.starts_with("http://127.0.0.1:") && url.ends_with("/v1/progress"), "{url}");
    let post = |token: Option<&str>, body: &str| {
        ask(&house, token, "POST", "/v1/progress", "application/json", body.as_bytes())
    };
    assert_eq!(post(Some(token), r#"{"done": 7, "unit": "epoch"}"#).status, 202);
    assert_eq!(reported(&house, "the report", |_| true)["text"], "7 epochs done");
    // It says nothing of others, and asks for nothing.
    let owner = std::fs::read_to_string(house.config_folder().join("consort/token")).expect("a token");
    let forged = token.replace("1.0.0#1", "2.0.0#1");
    for wrong in [None, Some("x"), Some(owner.trim()), Some(&*forged)] {
        assert_eq!(post(wrong, r#"{"done": 9}"#).status, 401, "{wrong:?}");
    }
    for path in ["/v1/jobs", "/v1/status", "/v1/events"] {
        assert_eq!(ask(&house, Some(token), "GET", path, "", b"").status, 401, "{path}");
    }
    // An attempt that is over reports nothing.
    let over = house.said(&["logs", "2"]);
    assert_eq!(post(Some(over.trim()), r#"{"done": 9}"#).status, 202);
    for (body, status) in [("", 400), ("[]", 400), (r#"{"don": 1}"#, 400), (r#"{"rate": -1}"#, 400)] {
        assert_eq!(post(Some(token), body).status, status, "{body}");
    }
    assert_eq!(post(Some(token), &format!("{{\"done\": 1}}{}", " ".repeat(70_000))).status, 413);
    assert!(house.json(&["show", "2", "--json"])["asks"][0]["progress"].is_null());
    assert_eq!(reported(&house, "the report", |_| true)["done"], 7.0);
}

#[test]
fn a_file_that_cannot_be_read_is_named_and_disturbs_nobody() {
    let house = House::up(3);
    let script = r#"mkfifo "$CONSORT_PROGRESS"; sleep 600"#;
    house.said(&["submit", "--", "sh", "-c", script]);
    house.said(&["submit", "--", "sh", "-c", r#"echo '{"steps": 3}' > "$CONSORT_PROGRESS"; sleep 600"#]);
    let engine =
        |job: &str| house.json(&["show", job, "--json"])["asks"][0]["engine"].as_str().map(str::to_owned);
    let why = until("the fault", || engine("1"));
    assert!(why.contains("progress cannot be read") && why.contains("not a regular file"), "{why}");
    let why = until("the fault", || engine("2"));
    assert!(why.contains("unknown field `steps`, expected one of done"), "{why}");
    house.said(&["submit", "--wait", "--", "true"]);
}

#[test]
fn the_examples_of_the_page_report() {
    let house = House::up(4);
    let text = page("docs/book/running.md");
    let section =
        text.split("## Progress").nth(1).and_then(|rest| rest.split("\n## ").next()).expect("a section");
    let found = blocks(section);
    let code = |kind: &str| -> Vec<String> {
        let of_kind = found.iter().filter(|(word, _)| word == kind);
        of_kind.map(|(_, lines)| lines.join("\n")).collect()
    };
    let (shell, python) = (code("sh"), code("python"));
    assert_eq!((shell.len(), python.len()), (2, 1), "{found:?}");
    let python = format!("step, steps, last_save = 250, 1000, 200\n{}", python[0]);
    let (file, request) = (format!("{}\nsleep 600", shell[0]), format!("set -e\n{}\nsleep 600", shell[1]));
    house.said(&["submit", "--", "sh", "-c", &file]);
    house.said(&["submit", "--", "sh", "-c", &request]);
    house.said(&["submit", "--", "python3", "-c", &format!("{python}\nimport time\ntime.sleep(600)")]);
    for job in ["1", "2", "3"] {
        let done = until(&format!("the report of job {job}"), || {
            house.json(&["show", job, "--json"])["asks"][0]["progress"]["done"].as_f64()
        });
        assert_eq!(done, 250.0, "job {job}");
    }
}
