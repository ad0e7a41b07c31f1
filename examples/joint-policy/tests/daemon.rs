//! A real daemon with the policy of the example: it explains its decisions, and what it remembers survives a restart but
//! is not read by another policy.

use consort_api::client::Client;
use consort_api::shapes::Workers;
use consort_sched::{Registry, Scheduler};
use consort_types::Capabilities;
use serde_json::json;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

struct House {
    folder: tempfile::TempDir,
    daemon: Option<Child>,
}

fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "waited too long for {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

impl House {
    /// A machine with eight devices of kind `slot`.
    fn new() -> Self {
        let house = House { folder: tempfile::tempdir().expect("a folder"), daemon: None };
        fs::create_dir_all(house.data()).expect("a folder");
        let devices = "discover: []\ndevices:\n  - {kind: slot, count: 8, mask: SLOT_VISIBLE_DEVICES}\n";
        fs::write(house.data().join("devices.yaml"), devices).expect("a file");
        house
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_consort-joint"));
        command.args(words).stdin(Stdio::null()).env("XDG_CONFIG_HOME", self.folder.path().join("config"));
        for name in ["CONSORT_URL", "CONSORT_TOKEN", "CONSORT_DATA_DIR"] {
            command.env_remove(name);
        }
        command
    }

    fn said(&self, words: &[&str]) -> String {
        let output = self.command(words).output().expect("the binary runs");
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn up(&mut self, policy: &str) -> Client {
        let server = self.folder.path().join("config/consort/server");
        let _ = fs::remove_file(&server);
        let (data, log) = (self.data(), self.folder.path().join("log"));
        let log = || Stdio::from(File::options().create(true).append(true).open(&log).expect("a file"));
        let words = ["up", "--listen", "127.0.0.1:0", "--on-exit", "stop", "--policy", policy, "--data-dir"];
        let mut command = self.command(&words);
        self.daemon = Some(command.arg(&data).stdout(log()).stderr(log()).spawn().expect("it starts"));
        let client = || {
            let url = fs::read_to_string(&server).ok()?;
            let token = fs::read_to_string(self.folder.path().join("config/consort/token")).ok()?;
            let client = Client::new(url.trim(), Some(token.trim().to_owned()));
            client.status().ok().map(|_| client)
        };
        until("the daemon", client)
    }

    fn down(&mut self, client: &Client) {
        client.shutdown(Workers::Stop).expect("it listens");
        let ended = self.daemon.take().expect("there is one").wait().expect("it is ours");
        assert!(ended.success());
    }

    /// Who remembers something, according to the journal alone.
    fn remembering(&self) -> Option<(String, u32)> {
        let scheduler: Scheduler = consort_daemon::journal::replay(
            &self.data(),
            Registry::stock().standard().policy(),
            Capabilities::default(),
            &mut |_, _, _| {},
        )
        .expect("the journal can be read");
        scheduler.view().remembering().map(|(policy, version)| (policy.to_owned(), version))
    }
}

impl Drop for House {
    fn drop(&mut self) {
        if let Some(daemon) = &mut self.daemon {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}

fn job(devices: u32) -> serde_json::Value {
    json!({"run": "sleep 300", "workdir": "/", "devices": devices, "grace": "1s"})
}

#[test]
fn a_daemon_runs_it_explains_it_and_keeps_its_memory_from_other_policies() {
    let mut house = House::new();
    let client = house.up("best-order");
    assert_eq!(serde_json::to_value(client.status().unwrap()).unwrap()["policy"], "best-order");
    let wide = client.submit(&job(5)).expect("accepted").id;
    until("the first job", || {
        house.said(&["explain", &wide.to_string()]).contains("runs on 5 devices").then_some(())
    });
    let second = client.submit(&job(4)).expect("accepted").id;
    let why = until("a reason", || {
        let why = house.said(&["explain", &second.to_string()]);
        why.contains("needs 1 x 4 devices").then_some(why)
    });
    assert!(why.contains("3 free"), "{why}");
    house.down(&client);
    assert_eq!(house.remembering(), Some(("best-order".into(), 1)));

    // Another policy leaves the slot alone and does not read it.
    let client = house.up("fifo");
    let notes = serde_json::to_string(&client.status().unwrap()).unwrap();
    assert!(notes.contains("policy best-order remembers something that fifo does not read"), "{notes}");
    client.submit(&job(1)).expect("accepted");
    house.down(&client);
    assert_eq!(house.remembering(), Some(("best-order".into(), 1)));

    // And back: what was remembered is there again.
    let client = house.up("best-order");
    let notes = serde_json::to_string(&client.status().unwrap()).unwrap();
    assert!(!notes.contains("does not read"), "{notes}");
    house.down(&client);
    assert_eq!(house.remembering(), Some(("best-order".into(), 1)));
}
