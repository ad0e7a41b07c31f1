//! The client against a server that says what it is told to say.

use consort_api::client::{Client, ClientError, JobQuery, LogQuery};
use consort_api::shapes::{QueueChange, State};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Answers connections one after the other, each with the next of these, and keeps what was asked.
struct Fake {
    url: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Fake {
    fn new(answers: Vec<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(vec![]));
        let kept = asked.clone();
        std::thread::spawn(move || {
            for answer in answers {
                let (mut stream, _) = listener.accept().unwrap();
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                let (mut request, mut length) = (String::new(), 0);
                loop {
                    let mut line = String::new();
                    reader.read_line(&mut line).unwrap();
                    if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                        length = value.trim().parse().unwrap();
                    }
                    request.push_str(&line);
                    if line == "\r\n" || line.is_empty() {
                        break;
                    }
                }
                let mut body = vec![0; length];
                reader.read_exact(&mut body).unwrap();
                request.push_str(&String::from_utf8(body).unwrap());
                kept.lock().unwrap().push(request);
                let _ = stream.write_all(answer.as_bytes());
            }
        });
        Self { url, asked }
    }

    fn client(&self) -> Client {
        Client::new(self.url.clone(), Some("secret".into()))
    }

    fn asked(&self, index: usize) -> String {
        self.asked.lock().unwrap()[index].clone()
    }
}

fn answer(status: u16, headers: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status} X\r\ncontent-length: {length}\r\nconnection: close\r\n{headers}\r\n{body}")
}

fn job(id: u64, state: &str) -> String {
    format!(
        r#"{{"id": {id}, "name": "a", "tenant": "default", "queue": "default", "state": "{state}", "reason": "",
        "devices": 1, "submitted": "2026-03-09T14:05:00.000Z", "started": null, "ended": null, "exit_code": null,
        "priority": 0, "qos": "standard", "attempts": 0, "preemptions": 0, "restarts": 0, "a new field": 1}}"#
    )
}

#[test]
fn questions_carry_the_token_and_their_parameters() {
    let body = format!("[{}]", job(7, "running"));
    let fake = Fake::new(vec![answer(200, "x-consort-more: true\r\n", &body)]);
    let query = JobQuery {
        all: true,
        limit: Some(5),
        states: vec![State::Running, State::Held],
        tenant: Some("team red&co".into()),
        ..JobQuery::default()
    };
    let (jobs, more) = fake.client().jobs(&query).unwrap();
    assert_eq!((jobs[0].id, jobs[0].state, more), (7, State::Running, true));
    let asked = fake.asked(0);
    let line = "GET /v1/jobs?all=true&limit=5&state=running,held&tenant=team%20red%26co HTTP/1.1\r\n";
    assert!(asked.starts_with(line), "{asked}");
    assert!(asked.contains("authorization: Bearer secret\r\n"), "{asked}");
}

#[test]
fn bodies_are_json() {
    let queue =
        r#"{"name": "a/b", "priority": 3, "strict": true, "tenants": [], "waiting": 0, "running": 0}"#;
    let fake = Fake::new(vec![answer(200, "", queue), answer(200, "", &job(3, "cancelled"))]);
    let change = QueueChange { priority: 3, strict: true, tenants: vec![] };
    assert_eq!(fake.client().set_queue("a/b", &change).unwrap().name, "a/b");
    assert!(fake.asked(0).starts_with("PUT /v1/queues/a%2Fb HTTP/1.1\r\n"));
    assert!(fake.asked(0).ends_with(r#"{"priority":3,"strict":true,"tenants":[]}"#));
    assert!(fake.client().cancel(3).unwrap().state.has_ended());
    assert!(fake.asked(1).starts_with("POST /v1/jobs/3/cancel HTTP/1.1\r\n"));
}

#[test]
fn what_goes_wrong_is_told_apart() {
    let fake = Fake::new(vec![
        answer(401, "", r#"{"error": "no token was sent"}"#),
        answer(
            422,
            "",
            r#"{"error": "job a: unknown queue b; known queues: default", "rule": "unknown-name"}"#,
        ),
        answer(502, "", "<html>"),
        answer(200, "", "<html>"),
    ]);
    let client = fake.client();
    let denied = client.status().unwrap_err();
    assert!(
        matches!(&denied, ClientError::Denied(_)) && denied.to_string().contains("CONSORT_TOKEN"),
        "{denied}"
    );
    match client.submit(&serde_json::json!({})).unwrap_err() {
        ClientError::Problem(422, problem) => assert_eq!(problem.rule.as_deref(), Some("unknown-name")),
        other => panic!("{other:?}"),
    }
    assert!(matches!(client.status().unwrap_err(), ClientError::Garbled(_)));
    assert!(matches!(client.status().unwrap_err(), ClientError::Garbled(_)));
    let nobody = Client::new("http://127.0.0.1:1", None).status().unwrap_err();
    assert!(matches!(&nobody, ClientError::Unreachable(text) if text.contains("consort up")), "{nobody}");
}

#[test]
fn waiting_and_logs_say_where_they_are() {
    let fake = Fake::new(vec![
        answer(202, "", &job(9, "running")),
        answer(200, "x-consort-next: 11\r\n", "hello there"),
    ]);
    let client = fake.client();
    assert!(!client.wait(9, Duration::from_millis(5)).unwrap().state.has_ended());
    let mut log = client.logs(9, &LogQuery { from: 3, rank: Some(1), ..LogQuery::default() }).unwrap();
    let mut text = String::new();
    log.reader.read_to_string(&mut text).unwrap();
    assert_eq!((text.as_str(), log.next), ("hello there", Some(11)));
    assert!(fake.asked(1).starts_with("GET /v1/jobs/9/logs?from=3&rank=1 HTTP/1.1\r\n"), "{}", fake.asked(1));
}

#[test]
fn a_broken_stream_of_events_goes_on_where_it_broke() {
    let event = |position: u64| {
        format!(
            "id: {position}\ndata: {{\"position\": {position}, \"at\": \"2026-03-09T14:05:00Z\", \"kind\": \"planned\", \
             \"job\": null, \"text\": \"x\"}}\n\n"
        )
    };
    let stream = |events: &str| {
        format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n{events}")
    };
    let fake = Fake::new(vec![
        stream(&format!(": hello\n\n{}{}id: 6\ndata: {{\"posi", event(4), event(5))),
        answer(503, "", r#"{"error": "not now"}"#),
        stream(&format!("{}{}", event(5), event(6))),
    ]);
    let events = fake.client().follow_events(Some(4)).unwrap();
    let seen: Vec<u64> = events.take(3).map(|event| event.unwrap().position).collect();
    assert_eq!(seen, [4, 5, 6]);
    // It says which event it saw last, so that another journal in the place of this one is noticed.
    let line = "GET /v1/events?from=6&follow=true&seen=2026-03-09T14%3A05%3A00.000Z HTTP/1.1\r\n";
    assert!(fake.asked(2).starts_with(line), "{}", fake.asked(2));
    assert!(fake.asked(2).contains("accept: text/event-stream\r\n"));
}
