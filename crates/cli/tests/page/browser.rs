//! A real browser without a window, spoken to through a pipe.
//!
//! For: what only a browser knows: where things are on the page, how large text is, what went wrong.
//! Promises: fails, and says what to install, where there is no browser; never waits for ever; leaves nothing behind.
//! Never: reaches a network. The DevTools protocol runs over two pipes, so that no port is open and no crate is needed.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// Longer than any answer takes, on the slowest machine.
const PATIENCE: Duration = Duration::from_secs(120);

const FLAGS: &[&str] = &[
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-pipe",
];

/// How a page is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    Light,
    Dark,
    Paper,
}

pub struct Browser {
    child: Child,
    to: ChildStdin,
    from: Receiver<Value>,
    asked: u64,
    session: Option<String>,
    /// What it said without being asked.
    pub events: Vec<Value>,
    _profile: tempfile::TempDir,
}

impl Browser {
    /// Starts one.
    pub fn start() -> Self {
        let program = std::env::var("CONSORT_BROWSER").unwrap_or("chromium".into());
        let version = Command::new(&program).arg("--version").output();
        assert!(
            version.is_ok_and(|output| output.status.success()),
            "{program} does not run; on Debian: apt-get install --no-install-recommends chromium fonts-dejavu-core \
             (`cargo xtask test` does that), or name another browser of its family in CONSORT_BROWSER"
        );
        let profile = tempfile::tempdir().unwrap();
        // It reads from the third file and writes to the fourth; a shell puts our pipes there.
        let mut child = Command::new("sh")
            .args(["-c", "exec \"$@\" 3<&0 4>&1 1>&2", "sh", &program])
            .args(FLAGS)
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (to, out) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (heard, from) = channel();
        std::thread::spawn(move || {
            for message in BufReader::new(out).split(0) {
                let Ok(message) = message else { return };
                let Ok(value) = serde_json::from_slice(&message) else { return };
                if heard.send(value).is_err() {
                    return;
                }
            }
        });
        let mut browser =
            Self { child, to, from, asked: 0, session: None, events: vec![], _profile: profile };
        let target = browser.ask("Target.createTarget", json!({"url": "about:blank"}));
        let target = json!({"targetId": target["targetId"], "flatten": true});
        let session = browser.ask("Target.attachToTarget", target);
        browser.session = session["sessionId"].as_str().map(Into::into);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.ask(&format!("{domain}.enable"), json!({}));
        }
        browser
    }

    /// Opens a file, in a window of this width.
    pub fn open(&mut self, path: &Path, width: u32, look: Look) {
        let media = if look == Look::Paper { "print" } else { "screen" };
        let scheme = if look == Look::Light { "light" } else { "dark" };
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false}),
        );
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.ask("Emulation.setEmulatedMedia", json!({"media": media, "features": features}));
        self.events.clear();
        self.ask("Page.navigate", json!({"url": format!("file://{}", path.display())}));
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            let event = self.from.recv_timeout(PATIENCE).expect("the page is loaded");
            self.events.push(event);
        }
    }

    /// What a script finds on the page.
    pub fn measure(&mut self, script: &str) -> Value {
        let answer = self.ask("Runtime.evaluate", json!({"expression": script, "returnByValue": true}));
        assert!(answer["exceptionDetails"].is_null(), "{answer}");
        answer["result"]["value"].clone()
    }

    /// The whole page as a picture, in base64.
    pub fn picture(&mut self, width: u32) -> String {
        let height = self.measure("document.documentElement.scrollHeight");
        let clip = json!({"x": 0, "y": 0, "width": width, "height": height, "scale": 1});
        let whole = json!({"format": "png", "captureBeyondViewport": true, "clip": clip});
        self.ask("Page.captureScreenshot", whole)["data"].as_str().unwrap().into()
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.asked += 1;
        let mut question = json!({"id": self.asked, "method": method, "params": params});
        if let Some(session) = &self.session {
            question["sessionId"] = session.as_str().into();
        }
        let mut bytes = serde_json::to_vec(&question).unwrap();
        bytes.push(0);
        self.to.write_all(&bytes).expect("the browser listens");
        loop {
            let answer = self.from.recv_timeout(PATIENCE).expect("the browser answers");
            if answer["id"] == self.asked {
                assert!(answer["error"].is_null(), "{method}: {answer}");
                return answer["result"].clone();
            }
            self.events.push(answer);
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Asked first: it ends its own helpers, which a signal would leave behind.
        let _ = self.to.write_all(b"{\"id\":0,\"method\":\"Browser.close\"}\0");
        for _ in 0..100 {
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
