//! A server on loopback that answers as a test tells it, and keeps what it was asked.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// One answer.
pub struct Answer {
    status: u16,
    headers: String,
    body: String,
}

impl Answer {
    pub fn json(status: u16, body: &str) -> Self {
        Self { status, headers: "content-type: application/json\r\n".into(), body: body.into() }
    }

    pub fn text(body: &str) -> Self {
        Self { status: 200, headers: "content-type: text/plain\r\n".into(), body: body.into() }
    }

    pub fn with(mut self, header: &str) -> Self {
        self.headers += &format!("{header}\r\n");
        self
    }

    pub fn missing() -> Self {
        Self::json(404, r#"{"error": "there is no such thing; look elsewhere"}"#)
    }
}

pub struct Server {
    pub url: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// `answer` gets the method and the path, as in `GET /v1/jobs?all=true`.
    pub fn start(answer: impl Fn(&str) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (asked, answer) = (Arc::new(Mutex::new(vec![])), Arc::new(answer));
        let kept = asked.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (kept, answer) = (kept.clone(), answer.clone());
                std::thread::spawn(move || serve(stream, &kept, &*answer));
            }
        });
        Self { url, asked }
    }

    /// Everything that was asked, whole.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    /// The body of the first request with this method and path.
    pub fn body(&self, line: &str) -> serde_json::Value {
        let asked = self.asked();
        let found = asked.iter().find(|asked| asked.starts_with(line)).unwrap_or_else(|| panic!("{asked:?}"));
        serde_json::from_str(found.split("\r\n\r\n").nth(1).unwrap()).unwrap()
    }

    /// Whether this was asked.
    pub fn was_asked(&self, line: &str) -> bool {
        self.asked().iter().any(|asked| asked.starts_with(line))
    }
}

fn serve(mut stream: TcpStream, kept: &Mutex<Vec<String>>, answer: &dyn Fn(&str) -> Answer) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut request, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        request.push_str(&line);
        if line == "\r\n" {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    request.push_str(&String::from_utf8(body).unwrap());
    let line = request.split(" HTTP/").next().unwrap().to_string();
    kept.lock().unwrap().push(request);
    let Answer { status, headers, body } = answer(&line);
    let text = format!("HTTP/1.1 {status} X\r\nconnection: close\r\n{headers}\r\n{body}");
    let _ = stream.write_all(text.as_bytes());
}

/// A job as it is sent.
pub fn job(id: u64, state: &str) -> String {
    ended(id, state, "null")
}

/// A job of a list to which it was done.
pub fn acted(job: &str) -> String {
    format!(r#"{{"id": 1, "status": 200, "job": {job}}}"#)
}

/// A job that has ended with this code.
pub fn ended(id: u64, state: &str, code: &str) -> String {
    let instant = |ended: bool| if ended { "\"2026-03-09T14:10:00.000Z\"" } else { "null" };
    let over = ["succeeded", "failed", "cancelled"].contains(&state);
    let reason = if state == "waiting" { "needs 8 h200, 2 free" } else { "" };
    format!(
        r#"{{"id": {id}, "name": "train", "tenant": "red", "queue": "default", "state": "{state}",
        "reason": "{reason}", "devices": 8, "submitted": "2026-03-09T14:00:00.000Z",
        "started": {}, "ended": {}, "exit_code": {code}, "priority": 0, "qos": "standard",
        "attempts": 1, "preemptions": 0, "restarts": 0}}"#,
        instant(over || state == "running").replace("14:10", "14:05"),
        instant(over),
    )
}
