//! A daemon in a folder of its own, and hands to use it with.

use consort_api::client::Client;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Nothing here takes this long unless it is broken.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until something is so.
pub fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(began.elapsed() < PATIENCE, "waited too long for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A folder with a daemon in it, now and then.
pub struct House {
    folder: TempDir,
    child: Option<Child>,
    /// Set for the daemon only.
    pub env: Vec<(String, String)>,
    /// The command that starts it: `up`.
    pub verb: Vec<String>,
    /// Further words for it.
    pub words: Vec<String>,
    /// A program that starts it, with its arguments; the daemon itself when empty.
    pub under: Vec<String>,
}

impl House {
    /// One whose machine has so many devices of kind `slot`; no daemon yet.
    pub fn new(devices: u32) -> Self {
        let house = Self::empty("up");
        let text = format!(
            "discover: []\ndevices:\n  - {{kind: slot, count: {devices}, mask: SLOT_VISIBLE_DEVICES}}\n"
        );
        fs::write(house.data().join("devices.yaml"), text).expect("a file");
        house
    }

    /// One whose daemon is started by this command; no daemon yet.
    pub fn empty(verb: &str) -> Self {
        let folder = TempDir::new().expect("a folder");
        let verb = vec![verb.into()];
        let house = House { folder, child: None, env: vec![], verb, words: vec![], under: vec![] };
        fs::create_dir_all(house.data()).expect("a folder");
        house
    }

    /// The same with a daemon.
    pub fn up(devices: u32) -> Self {
        let mut house = Self::new(devices);
        house.start();
        house
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn data(&self) -> PathBuf {
        self.path("data")
    }

    fn config(&self) -> PathBuf {
        self.path("config")
    }

    /// A command of the binary, at home here.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_consort"));
        command.args(words).current_dir(self.folder.path()).stdin(Stdio::null());
        command.env("XDG_CONFIG_HOME", self.config()).env("CONSORT_LOG", "warn");
        for name in ["CONSORT_URL", "CONSORT_TOKEN", "CONSORT_CRASH_AT", "CONSORT_CRASH_TRACE"] {
            command.env_remove(name);
        }
        command
    }

    /// Runs a command to its end.
    pub fn run(&self, words: &[&str]) -> Output {
        self.command(words).output().expect("the binary runs")
    }

    /// Runs a command that must do what was asked; its standard output.
    pub fn said(&self, words: &[&str]) -> String {
        let output = self.run(words);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{words:?} ended with {}: {said}{error}", output.status);
        said
    }

    /// The same, read as JSON.
    pub fn json(&self, words: &[&str]) -> serde_json::Value {
        let said = self.said(words);
        serde_json::from_str(&said).unwrap_or_else(|error| panic!("{words:?} said {said}: {error}"))
    }

    /// Starts the daemon without waiting for it.
    pub fn spawn(&mut self) {
        assert!(self.child.is_none(), "there is one already");
        let _ = fs::remove_file(self.config().join("consort/server"));
        let data = self.data();
        let mut words: Vec<&str> = self.verb.iter().map(String::as_str).collect();
        words.extend(["--listen", "127.0.0.1:0", "--on-exit", "keep", "--data-dir"]);
        words.push(data.to_str().expect("a plain path"));
        words.extend(self.words.iter().map(String::as_str));
        let mut command = self.command(&words);
        if let [program, arguments @ ..] = &self.under[..] {
            let daemon = std::mem::replace(&mut command, Command::new(program));
            command.args(arguments).arg(daemon.get_program()).args(daemon.get_args());
            command.current_dir(self.folder.path()).stdin(Stdio::null());
            for (name, value) in daemon.get_envs() {
                match value {
                    Some(value) => command.env(name, value),
                    None => command.env_remove(name),
                };
            }
        }
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        let log =
            fs::File::options().create(true).append(true).open(self.path("daemon.log")).expect("a file");
        let log = || Stdio::from(log.try_clone().expect("a descriptor"));
        self.child = Some(command.stdout(log()).stderr(log()).spawn().expect("the binary runs"));
    }

    /// Starts a daemon in another way, and treats it as its own.
    pub fn adopt(&mut self, mut command: Command) {
        let log =
            fs::File::options().create(true).append(true).open(self.path("daemon.log")).expect("a file");
        let log = || Stdio::from(log.try_clone().expect("a descriptor"));
        self.child = Some(command.stdout(log()).stderr(log()).spawn().expect("it runs"));
    }

    /// Starts the daemon and waits until it takes requests.
    pub fn start(&mut self) {
        self.spawn();
        until("the daemon", || {
            assert!(self.is_alive(), "the daemon ended: {}", self.log());
            self.client()?.status().ok()
        });
    }

    /// What the daemon said.
    pub fn log(&self) -> String {
        fs::read_to_string(self.path("daemon.log")).unwrap_or_default()
    }

    /// Whether the daemon runs.
    pub fn is_alive(&mut self) -> bool {
        self.child.as_mut().is_some_and(|child| child.try_wait().is_ok_and(|ended| ended.is_none()))
    }

    /// A client of the daemon that wrote its address last.
    pub fn client(&self) -> Option<Client> {
        client(&self.config())
    }

    /// Where clients find the daemon.
    pub fn config_folder(&self) -> PathBuf {
        self.config()
    }

    /// Ends the daemon as a power cut would.
    pub fn kill(&mut self) {
        let mut child = self.child.take().expect("there is a daemon");
        let _ = child.kill();
        let _ = child.wait();
    }

    /// Waits for the daemon's own end.
    pub fn wait(&mut self) -> std::process::ExitStatus {
        let mut child = self.child.take().expect("there is a daemon");
        until("the daemon's end", || child.try_wait().expect("it is ours"))
    }

    /// Whether the daemon runs as root.
    pub fn is_of_root(&self) -> bool {
        use std::os::unix::fs::MetadataExt;
        fs::metadata(format!("/proc/{}", self.pid())).is_ok_and(|found| found.uid() == 0)
    }

    /// The id of the daemon's process.
    pub fn pid(&self) -> u32 {
        self.child.as_ref().expect("there is a daemon").id()
    }

    /// Jobs, living and ended, by id.
    pub fn jobs(&self) -> Vec<serde_json::Value> {
        let all = self.json(&["jobs", "--all", "--json", "--limit", "10000"]);
        all.as_array().cloned().unwrap_or_default()
    }

    /// Waits until a job is in one of these states.
    pub fn until_state(&self, id: u64, states: &[&str]) -> serde_json::Value {
        until(&format!("job {id} to be {states:?}"), || {
            let job = self.json(&["show", &id.to_string(), "--json"]);
            states.contains(&job["state"].as_str().unwrap_or("")).then_some(job)
        })
    }
}

/// A client of the daemon whose address and token are in this folder.
pub fn client(config: &Path) -> Option<Client> {
    let read = |name: &str| fs::read_to_string(config.join("consort").join(name)).ok();
    let (url, token) = (read("server")?, read("token")?);
    Some(Client::new(url.trim(), Some(token.trim().to_string())))
}

impl Drop for House {
    fn drop(&mut self) {
        if let Some(client) = self.client() {
            let _ = client.shutdown(consort_api::shapes::Workers::Stop);
        }
        if let Some(child) = &mut self.child {
            let began = Instant::now();
            while began.elapsed() < Duration::from_secs(15)
                && child.try_wait().is_ok_and(|ended| ended.is_none())
            {
                std::thread::sleep(Duration::from_millis(5));
            }
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
