//! What workers wrote is told: whole, once, by name, and never at the cost of others.

use super::daemon::{House, PATIENCE, until};
use serde_json::{Value, json};
use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn submit(house: &House, mut job: Value) -> u64 {
    let folder = house.data();
    job["workdir"] = folder.to_str().expect("a plain path").into();
    house.client().expect("it is up").submit(&job).expect("accepted").id
}

fn logs(house: &House, id: u64, words: &[&str]) -> String {
    house.said(&[&["logs", &id.to_string()], words].concat())
}

/// What was said on standard error by a command that must fail.
fn refused(house: &House, id: u64, words: &[&str]) -> String {
    let id = id.to_string();
    let output = house.run(&[&["logs", &id], words].concat());
    assert!(!output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn what_is_no_regular_file_is_not_read_and_holds_up_nobody() {
    let house = House::up(2);
    let fifo = house.data().join("pipe");
    assert!(Command::new("mkfifo").arg(&fifo).status().expect("mkfifo runs").success());
    let mut writer = None;
    for path in ["pipe", "/dev/null", "/dev/zero"] {
        if path == "pipe" {
            // Somebody at the other end, so that the worker can begin.
            writer = Some(fs::File::options().read(true).write(true).open(&fifo).expect("a pipe"));
        }
        let id = submit(&house, json!({"run": ["echo", "hello"], "output": path}));
        house.until_state(id, &["succeeded", "failed"]);
        for words in [&[][..], &["-f"], &["--tail", "3", "-f"]] {
            let began = Instant::now();
            let said = logs(&house, id, words);
            assert!(said.contains("is not a regular file, not read"), "{path} {words:?}: {said}");
            assert!(began.elapsed() < Duration::from_secs(20), "{path} {words:?}");
        }
    }
    drop(writer);
    assert!(house.client().expect("it is up").status().is_ok());
}

#[test]
fn workers_are_told_apart_by_name() {
    let house = House::up(4);
    let tasks =
        submit(&house, json!({"run": "echo I am $CONSORT_TASK; sleep 0.2; echo done", "array": "3,13"}));
    house.until_state(tasks, &["succeeded"]);
    let mut lines: Vec<String> = logs(&house, tasks, &[]).lines().map(String::from).collect();
    lines.retain(|line| line.ends_with("done"));
    assert_eq!(lines, ["[task 3] done", "[task 13] done"]);
    let single = logs(&house, tasks, &["--task", "13"]);
    assert!(single.starts_with("I am") && single.ends_with("done\n"), "{single}");
    let gang = submit(&house, json!({"run": "sleep 0.2; printf 'no end'", "workers": 2}));
    let mut followed: Vec<String> = logs(&house, gang, &["-f"]).lines().map(String::from).collect();
    followed.sort();
    assert_eq!(followed, ["[rank 0] no end", "[rank 1] no end"]);
    let one = submit(&house, json!({"run": "echo a; exit 1", "retries": 1, "backoff": "100ms"}));
    assert_eq!(logs(&house, one, &["-f"]), "a\na\n", "two attempts, no name");
    assert_eq!(logs(&house, one, &[]), "a\n");
    let client = house.client().expect("it is up");
    let query = consort_api::client::LogQuery { from: 3, ..Default::default() };
    let error = client.logs(tasks, &query).map(drop).expect_err("several workers have no one position");
    assert!(error.to_string().contains("one worker"), "{error}");
}

#[test]
fn choices_that_match_nothing_are_refused_with_what_there_is() {
    let house = House::up(2);
    let id = submit(&house, json!({"run": "echo hello", "array": "0-4,9"}));
    house.until_state(id, &["succeeded"]);
    for (words, said) in [
        (&["--task", "7"][..], "tasks 0-4, 9"),
        (&["--rank", "5"], "only rank 0"),
        (&["--attempt", "9"], "only attempt 1"),
        (&["--task", "7", "-f"], "tasks 0-4, 9"),
    ] {
        let error = refused(&house, id, words);
        assert!(error.contains(said), "{words:?}: {error}");
    }
    let waits = submit(
        &house,
        json!({"run": "echo hello", "workers": 2, "after": submit(&house, json!({"run": "sleep 1"}))}),
    );
    assert_eq!(logs(&house, waits, &["--rank", "1"]), "");
    assert_eq!(logs(&house, waits, &["--rank", "1", "-f"]), "hello\n");
}

#[test]
fn following_survives_rotation_and_a_crash_of_the_server() {
    let mut house = House::up(3);
    let script = "for n in $(seq 1 3000); do echo line of some length that fills the file $n; [ $((n % 50)) = 0 ] && sleep 0.1; done";
    let output = json!({"rotate": "4KiB", "keep": 500});
    let id = submit(&house, json!({"run": script, "workers": 2, "output": output}));
    let out = house.path("followed");
    let file = fs::File::create(&out).expect("a file");
    let id_text = id.to_string();
    let follow = |words: &[&str], file: fs::File| {
        let mut command = house.command(&[&["logs", &id_text, "-f"], words].concat());
        command.stdout(Stdio::from(file)).spawn().expect("the binary runs")
    };
    let mut several = follow(&[], file);
    let other = house.path("one");
    let mut one = follow(&["--rank", "1"], fs::File::create(&other).expect("a file"));
    until("some lines", || fs::read_to_string(&out).ok().filter(|text| text.lines().count() > 500));
    let mut late = follow(&["--tail", "1"], fs::File::create(house.path("late")).expect("a file"));
    std::thread::sleep(Duration::from_millis(300));
    let address = house.client().expect("it is up").url().trim_start_matches("http://").to_string();
    house.kill();
    // The same address again, so that those who follow find it.
    let mut command = house.command(&["up", "--listen", &address, "--on-exit", "keep", "--data-dir"]);
    command.arg(house.data());
    house.adopt(command);
    for child in [&mut several, &mut one, &mut late] {
        let began = Instant::now();
        let ended = until("the end", || child.try_wait().expect("it is ours"));
        assert!(ended.success() && began.elapsed() < PATIENCE);
    }
    let text = fs::read_to_string(&out).expect("a file");
    let ranks: Vec<&str> = text.lines().filter_map(|line| line.split(' ').nth(1)).collect();
    assert_eq!(ranks.len(), 6_000);
    for rank in 0..2 {
        let name = format!("[rank {rank}] ");
        let told: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix(&name)).collect();
        let numbers: Vec<u32> = told
            .iter()
            .map(|line| line.rsplit(' ').next().and_then(|n| n.parse().ok()).expect("a number"))
            .collect();
        assert!(numbers == (1..=3_000).collect::<Vec<u32>>(), "rank {rank}: {} lines", numbers.len());
    }
    assert_eq!(fs::read_to_string(&other).expect("a file").lines().count(), 3_000);
    let late = fs::read_to_string(house.path("late")).expect("a file");
    assert!(late.lines().all(|line| line.starts_with("[rank ")), "{late}");
    assert!(late.ends_with(" 3000\n"), "{}", late.len());
}

#[test]
fn a_large_bag_is_read_in_time_and_with_few_descriptors() {
    let house = House::up(64);
    let id = submit(&house, json!({"run": ["echo", "hello"], "tasks": 500, "output": "bag/%a.log"}));
    let mut follow = house.command(&["logs", &id.to_string(), "-f"]);
    let follow = follow.stdout(Stdio::piped()).spawn().expect("the binary runs");
    let mut most = 0;
    let folder = format!("/proc/{}/fd", house.pid());
    let bag = house.data().join("bag");
    until("the end", || {
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        let open =
            entries.filter(|entry| fs::read_link(entry.path()).is_ok_and(|path| path.starts_with(&bag)));
        most = open.count().max(most);
        let job = house.client()?.job(id).ok()?;
        job.job.state.has_ended().then_some(())
    });
    let output = follow.wait_with_output().expect("it ends");
    assert_eq!(String::from_utf8_lossy(&output.stdout).lines().count(), 500);
    assert!(most < 150, "{most} descriptors");
    assert_eq!(logs(&house, id, &[]).lines().count(), 500);
}

#[test]
fn piped_lists_are_whole() {
    let house = House::up(1);
    let name = "n".repeat(250);
    let id = submit(&house, json!({"run": ["false"], "name": name}));
    house.until_state(id, &["failed"]);
    let said = |columns: Option<&str>| {
        let mut command = house.command(&["jobs", "--all"]);
        command.env_remove("COLUMNS").envs(columns.map(|columns| ("COLUMNS", columns)));
        String::from_utf8(command.output().expect("it runs").stdout).expect("text")
    };
    let whole = said(None);
    assert!(whole.contains(&name) && !whole.contains("Left out"), "{whole}");
    for title in ["devices", "time", "tenant", "queue", "exit", "reason"] {
        assert!(whole.lines().next().is_some_and(|titles| titles.contains(title)), "{whole}");
    }
    let narrow = said(Some("100"));
    assert!(narrow.contains("exit") && narrow.contains('…'), "{narrow}");
    assert!(narrow.lines().all(|line| line.chars().count() <= 100), "{narrow}");
}

#[test]
fn a_link_in_the_place_of_a_log_is_not_followed() {
    let house = House::up(1);
    fs::write(house.path("secret"), "the secret\n").expect("a file");
    let named = submit(&house, json!({"run": ["echo", "hello"], "output": "named.log"}));
    let plain = submit(&house, json!({"run": ["echo", "hello"]}));
    for id in [named, plain] {
        house.until_state(id, &["succeeded"]);
        assert_eq!(logs(&house, id, &[]), "hello\n");
        let detail = house.json(&["show", &id.to_string(), "--json"]);
        let path = std::path::PathBuf::from(detail["logs"][0].as_str().expect("a log"));
        fs::remove_file(&path).expect("it is there");
        std::os::unix::fs::symlink(house.path("secret"), &path).expect("a link");
        for words in [&[][..], &["-f"]] {
            let said = logs(&house, id, words);
            assert!(!said.contains("the secret"), "{words:?}: {said}");
            assert!(said.contains("is not a regular file, not read"), "{words:?}: {said}");
        }
    }
}

#[test]
fn the_last_lines_are_read_from_the_end() {
    let house = House::up(2);
    let big = "seq 1000000; echo end; printf last";
    let id = submit(&house, json!({"run": big, "output": {"rotate": "2MiB", "keep": 9}}));
    house.until_state(id, &["succeeded"]);
    assert_eq!(logs(&house, id, &["--tail", "3"]), "1000000\nend\nlast");
    assert_eq!(logs(&house, id, &["--tail", "2", "-f"]), "end\nlast");
    assert_eq!(logs(&house, id, &["--tail", "0"]), "");
    let all = logs(&house, id, &[]);
    assert_eq!(logs(&house, id, &["--tail", "2000000"]), all);
    // What is not wanted does not travel either.
    let query = consort_api::client::LogQuery { tail: Some(2), ..Default::default() };
    let mut bytes = vec![];
    let mut log = house.client().expect("it is up").logs(id, &query).expect("a log");
    std::io::Read::read_to_end(&mut log.reader, &mut bytes).expect("the end");
    assert_eq!(String::from_utf8_lossy(&bytes), "end\nlast");
    // Of several workers the last lines of all.
    let gang = submit(&house, json!({"run": "seq 5", "workers": 2}));
    house.until_state(gang, &["succeeded"]);
    assert_eq!(logs(&house, gang, &["--tail", "3"]).lines().count(), 3);
}

#[test]
fn lines_are_told_as_objects() {
    let house = House::up(2);
    let id = submit(&house, json!({"run": "echo one; printf two", "array": "3,13"}));
    house.until_state(id, &["succeeded"]);
    for words in [&["--json"][..], &["--json", "-f"], &["--json", "--tail", "4"]] {
        let said = logs(&house, id, words);
        let mut told: Vec<(String, String)> = said
            .lines()
            .map(|line| {
                let object: Value = serde_json::from_str(line).expect("JSON");
                let text = |key: &str| object[key].as_str().expect("text").to_string();
                assert_eq!((&object["rank"], &object["attempt"]), (&json!(0), &json!(1)));
                (text("worker"), text("text"))
            })
            .collect();
        told.sort();
        let wanted = [("task 13", "one"), ("task 13", "two"), ("task 3", "one"), ("task 3", "two")];
        let wanted = wanted.map(|(worker, text)| (worker.to_string(), text.to_string()));
        assert_eq!(told, wanted, "{words:?}");
    }
}
