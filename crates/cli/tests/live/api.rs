//! What is served is what the document says: every route, every status, every shape.

use super::daemon::{House, PATIENCE, until};
use consort_api::openapi;
use consort_api::routes::{self, Content, Method, Route};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

/// An answer, as it came.
pub struct Answer {
    pub status: u16,
    kind: String,
    body: String,
}

/// One request, spoken by hand, so that nothing is smoothed over.
pub fn ask(house: &House, token: Option<&str>, method: &str, path: &str, kind: &str, body: &[u8]) -> Answer {
    let client = house.client().expect("it is up");
    let mut stream = TcpStream::connect(client.url().trim_start_matches("http://")).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    let token = token.map_or(String::new(), |token| match token.split_once(' ') {
        Some((scheme, token)) => format!("Authorization: {scheme} {token}\r\n"),
        None => format!("Authorization: Bearer {token}\r\n"),
    });
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{token}Content-Type: {kind}\r\n\
         Content-Length: {}\r\n\r\n",
        body.len()
    );
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).expect("an answer");
    let status = line.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
    let (mut kind, mut chunked) = (String::new(), false);
    loop {
        line.clear();
        reader.read_line(&mut line).expect("a head");
        let text = line.trim().to_lowercase();
        if text.is_empty() {
            break;
        }
        if let Some(value) = text.strip_prefix("content-type: ") {
            kind = value.into();
        }
        chunked |= text == "transfer-encoding: chunked";
    }
    let mut body = vec![];
    let _ = reader.read_to_end(&mut body);
    let body = if chunked { unchunked(&body) } else { body };
    Answer { status, kind, body: String::from_utf8_lossy(&body).into_owned() }
}

fn unchunked(mut bytes: &[u8]) -> Vec<u8> {
    let mut whole = vec![];
    while let Some(end) = bytes.windows(2).position(|pair| pair == b"\r\n") {
        let size =
            std::str::from_utf8(&bytes[..end]).ok().and_then(|text| usize::from_str_radix(text, 16).ok());
        let (Some(size), rest) = (size.filter(|&size| size > 0), &bytes[end + 2..]) else { break };
        whole.extend_from_slice(&rest[..size.min(rest.len())]);
        bytes = rest.get(size + 2..).unwrap_or(&[]);
    }
    whole
}

fn token(house: &House) -> String {
    std::fs::read_to_string(house.config_folder().join("consort/token")).expect("a token").trim().into()
}

/// The schema of an answer, with everything it refers to.
fn schema(document: &Value, route: &Route, status: u16) -> Option<Value> {
    let method = match route.method {
        Method::Get => "get",
        Method::Post => "post",
        Method::Put => "put",
    };
    let answer = &document["paths"][route.path][method]["responses"][status.to_string()];
    assert!(!answer.is_null(), "{method} {} does not tell of {status}", route.path);
    let mut schema = answer["content"]["application/json"]["schema"].clone();
    if schema.is_null() {
        return None;
    }
    schema["components"] = document["components"].clone();
    Some(schema)
}

#[test]
fn what_is_served_is_what_the_document_says() {
    let house = House::up(4);
    let token = token(&house);
    let served = ask(&house, None, "GET", "/openapi.json", "", b"");
    let document: Value = serde_json::from_str(&served.body).expect("JSON");
    assert_eq!(document, openapi::document());
    let client = house.client().expect("it is up");
    let done = client.submit(&json!({"name": "done", "run": ["true"], "workdir": "/"})).expect("accepted");
    let runs =
        client.submit(&json!({"name": "runs", "run": ["sleep", "60"], "workdir": "/"})).expect("accepted");
    house.until_state(done.id, &["succeeded"]);
    house.until_state(runs.id, &["running"]);
    let node = client.nodes().expect("it answers")[0].name.clone();
    for route in routes::ALL {
        // Those that end things come last, on their own.
        if route.path == "/v1/shutdown" {
            continue;
        }
        let (method, body): (&str, Vec<u8>) = match (route.method, route.body) {
            (Method::Get, _) => ("GET", vec![]),
            (Method::Post, Some(Content::JobFile)) => {
                ("POST", br#"{"name": "another", "run": ["true"], "workdir": "/"}"#.to_vec())
            }
            (Method::Post, _) => ("POST", vec![]),
            (Method::Put, _) => ("PUT", b"{}".to_vec()),
        };
        for id in [done.id, runs.id, 999_999] {
            let path = route.path.replace("{id}", &id.to_string()).replace("{name}", &node);
            let path = if route.path.ends_with("/wait") { format!("{path}?timeout_ms=10") } else { path };
            let answer = ask(&house, Some(&token), method, &path, "application/json", &body);
            assert!(
                route.statuses.contains(&answer.status),
                "{method} {path}: {} {}",
                answer.status,
                answer.body
            );
            if let Some(schema) = schema(&document, route, answer.status) {
                let value: Value = serde_json::from_str(&answer.body)
                    .unwrap_or_else(|error| panic!("{method} {path} said {}: {error}", answer.body));
                let checker = jsonschema::validator_for(&schema).expect("a schema");
                let wrong: Vec<String> = checker.iter_errors(&value).map(|error| error.to_string()).collect();
                assert_eq!(wrong, Vec::<String>::new(), "{method} {path} said {value}");
                assert!(answer.kind.starts_with("application/json"), "{method} {path}: {}", answer.kind);
            }
            if !route.path.contains("{id}") {
                break;
            }
        }
        let stranger = ask(&house, None, method, &route.path.replace("{id}", "1"), "application/json", &body);
        assert_eq!(
            stranger.status == 401,
            route.auth,
            "{method} {} without a token: {}",
            route.path,
            stranger.status
        );
        let wrong =
            ask(&house, Some("wrong"), method, &route.path.replace("{id}", "1"), "application/json", &body);
        assert_eq!(wrong.status == 401, route.auth, "{method} {} with a wrong token", route.path);
    }
}

#[test]
fn requests_that_make_no_sense_are_answered_and_survived() {
    let house = House::up(2);
    let token = token(&house);
    let ask = |method: &str, path: &str, kind: &str, body: &[u8]| {
        let answer = ask(&house, Some(&token), method, path, kind, body);
        let problem: Value = serde_json::from_str(&answer.body).unwrap_or_default();
        (answer.status, problem["error"].as_str().unwrap_or("").to_string())
    };
    for (method, path, status) in [
        ("GET", "/nowhere", 404),
        ("DELETE", "/v1/jobs", 405),
        ("GET", "/v1/jobs/zero", 404),
        ("GET", "/v1/jobs/0", 404),
        ("GET", "/v1/jobs/18446744073709551616", 404),
        ("GET", "/v1/jobs?limit=many", 400),
        ("GET", "/v1/jobs?colour=red", 400),
        ("GET", "/v1/jobs?state=asleep", 400),
        ("GET", "/v1/events?from=-1", 400),
        ("POST", "/v1/nodes/nobody/drain", 404),
        ("POST", "/v1/jobs/7/cancel", 404),
        ("PUT", "/v1/queues/x", 400),
    ] {
        let (found, error) = ask(method, path, "application/json", b"");
        assert_eq!(found, status, "{method} {path}: {error}");
        assert!(!error.is_empty(), "{method} {path} says nothing");
    }
    let huge = vec![b'x'; 5 << 20];
    assert_eq!(ask("POST", "/v1/jobs", "application/json", &huge).0, 413);
    let (status, error) =
        ask("POST", "/v1/jobs", "application/yaml", b"name: a\nrun: [true]\nworkdir: /\ndevises: 2\n");
    assert_eq!(status, 400, "{error}");
    assert!(error.contains("job:4") && error.contains("devises"), "{error}");
    // Whatever bytes arrive, there is an answer, and none of them is "I broke".
    let mut dice = 1u64;
    let seeds: [&[u8]; 3] = [
        br#"{"name":"a","run":["true"],"workdir":"/","devices":1}"#,
        b"name: a\nrun: |\n  true\ndevices: 2\nworkdir: /\n",
        b"[[[{{{",
    ];
    for round in 0..300 {
        let mut bytes = seeds[round % seeds.len()].to_vec();
        for _ in 0..4 {
            dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let at = (dice >> 33) as usize % bytes.len();
            bytes[at] = (dice >> 21) as u8;
        }
        let kind = if round % 2 == 0 { "application/json" } else { "application/yaml" };
        let (status, error) = ask("POST", "/v1/jobs", kind, &bytes);
        assert!(
            [201, 400, 422].contains(&status),
            "{status}: {error} for {}",
            String::from_utf8_lossy(&bytes)
        );
    }
    assert!(house.client().expect("it is up").status().is_ok());
}

#[test]
fn events_can_be_followed_from_any_position() {
    let house = House::up(2);
    let client = house.client().expect("it is up");
    for _ in 0..5 {
        client.submit(&json!({"run": ["true"], "workdir": "/"})).expect("accepted");
    }
    until("all to end", || client.status().ok().filter(|status| status.ended == 5));
    let last = client.status().expect("it answers").position;
    let all: Vec<u64> =
        client.events(Some(1), None).expect("it answers").iter().map(|line| line.position).collect();
    assert_eq!(all, (1..=last).collect::<Vec<u64>>());
    let token = token(&house);
    for from in [1, 3, last] {
        let url = client.url().trim_start_matches("http://").to_string();
        let mut stream = TcpStream::connect(url).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let head = format!(
            "GET /v1/events HTTP/1.1\r\nHost: [::1]\r\nAuthorization: Bearer {token}\r\nAccept: text/event-stream\r\n\
             Last-Event-ID: {}\r\n\r\n",
            from - 1
        );
        stream.write_all(head.as_bytes()).expect("it listens");
        let lines = BufReader::new(stream).lines().map_while(Result::ok);
        let ids = lines.filter_map(|line| line.strip_prefix("id: ").and_then(|id| id.parse::<u64>().ok()));
        let seen: Vec<u64> = ids.take((last - from + 1) as usize).collect();
        assert_eq!(seen, (from..=last).collect::<Vec<u64>>());
    }
}

#[test]
fn figures_are_as_prometheus_reads_them() {
    let house = House::up(3);
    let client = house.client().expect("it is up");
    let job = client.submit(&json!({"run": ["true"], "workdir": "/"})).expect("accepted");
    house.until_state(job.id, &["succeeded"]);
    let text = ask(&house, None, "GET", "/metrics", "", b"").body;
    let value = |name: &str| -> f64 {
        let line = text.lines().find(|line| line.split(' ').next() == Some(name));
        line.and_then(|line| line.rsplit(' ').next()?.parse().ok())
            .unwrap_or_else(|| panic!("{name} in {text}"))
    };
    assert_eq!(value("consort_devices"), 3.0);
    assert_eq!(value("consort_jobs_submitted_total"), 1.0);
    assert_eq!(value("consort_jobs_ended_total"), 1.0);
    assert_eq!(value("consort_jobs_waiting"), 0.0);
    assert_eq!(value("consort_world_answers"), 1.0);
    assert_eq!(value("consort_answer_seconds_count"), 1.0);
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        assert!(line.rsplit(' ').next().is_some_and(|number| number.parse::<f64>().is_ok()), "{line}");
    }
}

#[test]
fn the_scheme_of_a_token_has_no_case() {
    let house = House::up(1);
    let token = std::fs::read_to_string(house.config_folder().join("consort/token")).expect("a token");
    for (scheme, status) in
        [("Bearer", 200), ("bearer", 200), ("BEARER", 200), ("Basic", 401), ("Béarer", 401)]
    {
        let brought = format!("{scheme} {}", token.trim());
        let answer = ask(&house, Some(&brought), "GET", "/v1/status", "application/json", b"");
        assert_eq!(answer.status, status, "{scheme}: {}", answer.body);
    }
}

#[test]
fn lists_are_paged_and_unknown_parameters_are_refused() {
    let house = House::up(1);
    let token = token(&house);
    let get = |path: &str| {
        let answer = ask(&house, Some(&token), "GET", path, "", b"");
        (answer.status, serde_json::from_str::<Value>(&answer.body).unwrap_or_default())
    };
    for name in ["red", "blue"] {
        house.said(&["tenants", "set", name, "--quota", "slot=:1"]);
        house.said(&["queues", "set", name]);
    }
    for list in ["tenants", "queues"] {
        let names = |query: &str| -> Vec<String> {
            let (status, rows) = get(&format!("/v1/{list}{query}"));
            assert_eq!(status, 200, "{list}{query}: {rows}");
            let rows = rows.as_array().expect("a list").clone();
            rows.iter().map(|row| row["name"].as_str().expect("a name").to_string()).collect()
        };
        let all = names("");
        assert_eq!(names("?limit=2"), all[..2]);
        assert_eq!(names(&format!("?after={}&limit=5", all[1])), all[2..]);
        assert_eq!(get(&format!("/v1/{list}?after=nobody")).0, 400);
    }
    for list in ["jobs", "nodes", "devices", "tenants", "queues", "events"] {
        let (status, problem) = get(&format!("/v1/{list}?bogus=1"));
        assert_eq!(status, 400, "{list}");
        let error = problem["error"].as_str().expect("a sentence");
        assert!(error.starts_with("unknown query parameter bogus, expected one of "), "{error}");
    }
    let (_, problem) = get("/v1/nodes?state=foo");
    assert_eq!(problem["error"], "state: unknown value foo, expected one of up, draining, suspect, fenced");
}

#[test]
fn events_say_where_and_can_be_picked() {
    let house = House::up(2);
    house.said(&["tenants", "set", "red", "--quota", "slot=1:2"]);
    house.said(&["submit", "--wait", "--tenant", "red", "--", "true"]);
    house.said(&["submit", "--wait", "--", "true"]);
    let events = |more: &[&str]| -> Vec<Value> {
        let all = house.json(&[&["events", "--json"], more].concat());
        all.as_array().expect("a list").clone()
    };
    let node = house.json(&["nodes", "--json"])[0]["name"].clone();
    let kinds = |events: &[Value]| -> Vec<String> {
        events.iter().map(|event| event["kind"].as_str().expect("a word").to_string()).collect()
    };
    let first = events(&["--job", "1"]);
    assert_eq!(kinds(&first), ["submitted", "planned", "started", "ended"]);
    assert_eq!(first[0]["numbers"], json!({"devices": 1, "workers": 1}));
    assert!(first[2]["node"] == node && first[3]["node"] == node, "{first:?}");
    assert_eq!(first[3]["numbers"]["exit_code"], 0);
    let of_red = events(&["--tenant", "red"]);
    assert_eq!(kinds(&of_red), ["tenant-set", "submitted", "planned", "started", "ended"]);
    assert_eq!(of_red[0]["numbers"], json!({"guarantee.slot": 1, "ceiling.slot": 2}));
    assert!(
        of_red[0]["text"].as_str().is_some_and(|text| text.ends_with(": guarantee 1 slot, ceiling 2 slot"))
    );
    assert_eq!(events(&["--kind", "started,ended"]).len(), 4);
    assert_eq!(events(&["--kind", "ended", "--limit", "1"])[0]["job"], 2);
    assert_eq!(events(&["--kind", "ended", "--from", "1", "--limit", "1"])[0]["job"], 1);
    assert!(events(&["--node", node.as_str().expect("a name"), "--kind", "started"]).len() == 2);
    assert!(events(&["--node", "nowhere"]).is_empty());
    let client = house.client().expect("it is up");
    let query = consort_api::client::EventQuery {
        from: Some(1),
        job: Some(2),
        kinds: vec!["ended".into()],
        ..Default::default()
    };
    let followed = client.follow_events_like(query).expect("it answers").next().expect("there is one");
    assert_eq!(followed.expect("it can be read").job, Some(2));
    let refused = house.run(&["events", "--from", "abc"]);
    let error = String::from_utf8_lossy(&refused.stderr);
    assert!(error.contains("expected a position of the journal"), "{error}");
    let refused = house.run(&["nodes", "--state", "foo"]);
    let error = String::from_utf8_lossy(&refused.stderr);
    assert!(error.contains("up") && error.contains("fenced"), "{error}");
}
