//! Who may come in, what is said to those who may not, and numbers at the edge.

use super::daemon::{House, PATIENCE, until};
use serde_json::{Value, json};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

fn connect(house: &House) -> TcpStream {
    let client = house.client().expect("it is up");
    let stream = TcpStream::connect(client.url().trim_start_matches("http://")).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    stream
}

/// One request with these lines as its head; the status, and all that came.
fn ask(house: &House, head: &str, body: &[u8]) -> (u16, String) {
    let token = std::fs::read_to_string(house.config_folder().join("consort/token")).expect("a token");
    let head = format!("{head}\r\nAuthorization: Bearer {}\r\nConnection: close\r\n\r\n", token.trim());
    let mut stream = connect(house);
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
    let mut said = vec![];
    let _ = stream.read_to_end(&mut said);
    let said = String::from_utf8_lossy(&said).into_owned();
    (said.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0), said)
}

#[test]
fn only_those_who_mean_this_machine_are_let_in() {
    let house = House::up(1);
    for path in ["/metrics", "/healthz", "/openapi.json", "/v1/jobs", "/nowhere"] {
        for host in ["evil.example", "127.0.0.1.evil.example:7467", "10.0.0.1"] {
            let (status, said) = ask(&house, &format!("GET {path} HTTP/1.1\r\nHost: {host}"), b"");
            assert_eq!(status, 421, "{path} for {host}: {said}");
            assert!(said.contains("loopback"), "{said}");
        }
        let (status, said) = ask(&house, &format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:1"), b"");
        assert_eq!(status, if path == "/nowhere" { 404 } else { 200 }, "{said}");
    }
    assert_eq!(ask(&house, "GET /healthz HTTP/1.1\r\nX: y", b"").0, 400);
}

#[test]
fn whatever_cannot_be_read_is_answered_in_one_shape() {
    let house = House::up(1);
    let huge = vec![b'x'; 5 << 20];
    let length = format!("Content-Length: {}", huge.len());
    for (line, status, body) in [
        ("GET /v1/jobs/1/wait?foo=1", 400, &b""[..]),
        ("GET /v1/jobs/1/logs?foo=1", 400, b""),
        ("GET /v1/jobs/1/logs?task=99999999999", 400, b""),
        ("GET /v1/events?limit=x", 400, b""),
        ("GET /v1/jobs/%ff", 404, b""),
        ("GET /v1/jobs/%ff/logs", 404, b""),
        ("POST /v1/nodes/%ff/drain", 404, b""),
        ("POST /v1/jobs", 413, &huge),
        ("PUT /v1/queues/a", 413, &huge),
    ] {
        let extra = if body.is_empty() { "X: y" } else { &length };
        let (found, said) = ask(&house, &format!("{line} HTTP/1.1\r\nHost: localhost\r\n{extra}"), body);
        assert_eq!(found, status, "{line}: {said}");
        let body = said.split("\r\n\r\n").nth(1).unwrap_or("");
        let problem: Value = serde_json::from_str(body).unwrap_or_else(|_| panic!("{line}: {said}"));
        assert!(problem["error"].as_str().is_some_and(|error| !error.is_empty()), "{line}: {said}");
    }
}

#[test]
fn numbers_beyond_all_others_are_only_large() {
    let house = House::up(1);
    let last = u64::MAX;
    for line in [
        format!("GET /v1/events?from={last} HTTP/1.1\r\nHost: localhost"),
        format!("GET /v1/events?from={} HTTP/1.1\r\nHost: localhost", 1u64 << 63),
        format!("GET /v1/events HTTP/1.1\r\nHost: localhost\r\nLast-Event-ID: {last}"),
    ] {
        let (status, said) = ask(&house, &line, b"");
        assert_eq!(status, 200, "{line}: {said}");
        assert!(said.ends_with("[]"), "{line}: {said}");
    }
    let (status, said) =
        ask(&house, &format!("GET /v1/jobs?all&before={last} HTTP/1.1\r\nHost: localhost"), b"");
    assert_eq!(status, 200, "{said}");
    assert!(house.client().expect("it is up").status().is_ok());
}

#[test]
fn a_limit_without_a_position_gives_the_latest() {
    let house = House::up(1);
    let client = house.client().expect("it is up");
    for _ in 0..60 {
        client.submit(&json!({"run": ["true"], "workdir": "/"})).expect("accepted");
    }
    until("all to end", || client.status().ok().filter(|status| status.ended == 60));
    let last = client.status().expect("it answers").position;
    assert!(last > 150, "{last}");
    let positions = |from, limit| -> Vec<u64> {
        client.events(from, limit).expect("it answers").iter().map(|line| line.position).collect()
    };
    assert_eq!(positions(None, Some(3)), [last - 2, last - 1, last]);
    assert_eq!(positions(None, None), (last - 99..=last).collect::<Vec<u64>>());
    assert_eq!(positions(None, Some(150)), (last - 149..=last).collect::<Vec<u64>>());
    assert_eq!(positions(Some(2), Some(2)), [2, 3]);
}

#[test]
fn whoever_says_nothing_is_shown_out() {
    let house = House::up(1);
    let mut silent = connect(&house);
    silent.write_all(b"GET /healthz HT").expect("it listens");
    let began = Instant::now();
    let mut rest = vec![];
    let _ = silent.read_to_end(&mut rest);
    let took = began.elapsed();
    assert!((Duration::from_secs(5)..Duration::from_secs(30)).contains(&took), "{took:?}");
}

#[test]
fn too_many_connections_keep_nobody_out_for_long() {
    let mut house = House::new(1);
    let data = house.data();
    let mut command = std::process::Command::new("bash");
    // The limit is hard: a daemon cannot raise it again.
    command.args([
        "-c",
        "ulimit -n 256; exec \"$0\" \"$@\"",
        env!("CARGO_BIN_EXE_consort"),
        "up",
        "--listen",
    ]);
    command.args(["127.0.0.1:0", "--on-exit", "keep", "--data-dir"]).arg(&data);
    command.env("XDG_CONFIG_HOME", house.config_folder()).env("CONSORT_LOG", "warn");
    house.adopt(command);
    until("the daemon", || house.client()?.status().ok());
    let mut crowd: Vec<TcpStream> = (0..300).map(|_| connect(&house)).collect();
    // The oldest of them were sent away for those who came later, and whoever has the token does not wait for any.
    for _ in 0..5 {
        assert!(
            house.client().expect("it is up").status().is_ok(),
            "{:?}",
            house.client().map(|c| c.status())
        );
    }
    assert!(house.is_alive());
    // The rest of the crowd is shown out in time, although nobody of it has left.
    let left = |stream: &mut TcpStream| match stream.read(&mut [0; 512]) {
        Ok(_) => true,
        Err(error) => error.kind() != ErrorKind::WouldBlock,
    };
    assert!(crowd.iter_mut().all(left));
}

#[test]
fn a_stream_that_is_ahead_of_the_journal_is_refused() {
    let house = House::up(1);
    let client = house.client().expect("it is up");
    let last = client.status().expect("it answers").position;
    let refused = |from: u64, seen: &str| {
        let line = format!("GET /v1/events?follow=true&from={from}{seen} HTTP/1.1\r\nHost: localhost");
        let (status, said) = ask_for_head(&house, &line);
        assert_eq!(status, 409, "{line}: {said}");
        assert!(said.contains("cut short or replaced") && said.contains("from="), "{said}");
    };
    refused(last + 2, "");
    refused(u64::MAX, "");
    refused(last + 1, "&seen=1999-01-01T00:00:00.000Z");
    let event = client.events(Some(last), None).expect("it answers").pop().expect("the last one");
    let line = format!(
        "GET /v1/events?follow=true&from={}&seen={} HTTP/1.1\r\nHost: localhost",
        last + 1,
        event.at.to_string().replace(':', "%3A")
    );
    assert_eq!(ask_for_head(&house, &line).0, 200);
}

/// One request; the status and what came within a moment, since a stream does not end.
fn ask_for_head(house: &House, head: &str) -> (u16, String) {
    let token = std::fs::read_to_string(house.config_folder().join("consort/token")).expect("a token");
    let mut stream = connect(house);
    let head = format!("{head}\r\nAuthorization: Bearer {}\r\n\r\n", token.trim());
    stream.write_all(head.as_bytes()).expect("it listens");
    let mut said = [0; 4096];
    let read = stream.read(&mut said).expect("an answer");
    let said = String::from_utf8_lossy(&said[..read]).into_owned();
    (said.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0), said)
}
