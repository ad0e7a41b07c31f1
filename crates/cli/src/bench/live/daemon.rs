//! This program, started as a daemon in a folder of its own, and ended when nobody needs it any more.

use crate::failure::Failure;
use std::fs;
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A job that is over at once.
pub const QUICK: &str = r#"{"name":"quick","devices":1,"run":["/bin/true"],"workdir":"/"}"#;
/// A job that finds no room once the devices are taken.
pub const WAITS: &str = r#"{"name":"waits","devices":1,"run":["/bin/true"],"workdir":"/"}"#;

/// How long a daemon may take for anything before it counts as broken.
const PATIENCE: Duration = Duration::from_secs(120);

/// A folder that goes away again.
pub struct Place(PathBuf);

impl Place {
    /// A new one, with a file that declares this number of devices.
    pub fn new(devices: u32) -> Result<Self, Failure> {
        let path = std::env::temp_dir().join(format!("consort-bench-{}-{}", std::process::id(), number()));
        let place = Place(path);
        let text = format!("discover: []\ndevices:\n  - {{kind: slot, count: {devices}}}\n");
        let make = || {
            fs::create_dir_all(place.data())?;
            fs::write(place.data().join("devices.yaml"), &text)
        };
        make().map_err(|error| Failure::file(&place.0, "made", &error))?;
        Ok(place)
    }

    /// The daemon's data directory.
    pub fn data(&self) -> PathBuf {
        self.0.join("data")
    }

    fn config(&self) -> PathBuf {
        self.0.join("config")
    }

    /// The middle of two hundred waits for this disk, in milliseconds.
    pub fn fsync_ms(&self) -> Result<f64, Failure> {
        let path = self.0.join("fsync");
        let measure = || -> std::io::Result<f64> {
            let mut file = fs::File::create(&path)?;
            let mut waits = vec![];
            for _ in 0..200 {
                file.write_all(&[7; 4096])?;
                let began = Instant::now();
                file.sync_data()?;
                waits.push(began.elapsed());
            }
            waits.sort();
            Ok(waits[waits.len() / 2].as_secs_f64() * 1e3)
        };
        measure().map_err(|error| Failure::file(&path, "written", &error))
    }
}

fn number() -> u32 {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A running daemon.
pub struct Daemon {
    /// Where it keeps everything.
    pub place: Place,
    /// How long it took until it took requests.
    pub ready: Duration,
    child: Child,
    /// Where it listens.
    pub address: SocketAddr,
    /// What it wants to see.
    pub token: String,
}

impl Daemon {
    /// One in a new folder.
    pub fn start(devices: u32) -> Result<Self, Failure> {
        Self::start_in(Place::new(devices)?)
    }

    /// One in this folder.
    pub fn start_in(place: Place) -> Result<Self, Failure> {
        let broken = |what: &str| Failure::Outside(format!("the daemon under test {what}; try again"));
        let program = std::env::current_exe().map_err(|_| broken("cannot be found"))?;
        let began = Instant::now();
        let mut child = Command::new(program)
            .args(["up", "--on-exit", "stop", "--listen", "127.0.0.1:0", "--data-dir"])
            .arg(place.data())
            .env("XDG_CONFIG_HOME", place.config())
            .env("CONSORT_LOG", "error")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::inherit())
            .spawn()
            .map_err(|_| broken("cannot be started"))?;
        let read = |name: &str| fs::read_to_string(place.config().join("consort").join(name));
        loop {
            if let (Ok(url), Ok(token)) = (read("server"), read("token")) {
                let address = url.trim().strip_prefix("http://").and_then(|text| text.parse().ok());
                if let Some(address) = address
                    && super::load::ask(address, &token, "GET", "/readyz", "")
                        .is_ok_and(|(status, _)| status == 200)
                {
                    let token = token.trim().to_string();
                    return Ok(Self { place, ready: began.elapsed(), child, address, token });
                }
            }
            if began.elapsed() > PATIENCE || child.try_wait().is_ok_and(|ended| ended.is_some()) {
                let _ = child.kill();
                return Err(broken("does not come up"));
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Asks for something and wants to see it.
    pub fn get(&self, path: &str) -> Result<serde_json::Value, Failure> {
        let (status, body) =
            super::load::ask(self.address, &self.token, "GET", path, "").map_err(broken_off)?;
        match status {
            200 => serde_json::from_str(&body).map_err(|error| Failure::Outside(format!("{path}: {error}"))),
            _ => Err(Failure::Outside(format!("{path} was answered with {status}: {body}"))),
        }
    }

    /// Lets one job take every device until the daemon ends.
    pub fn occupy(&self) -> Result<(), Failure> {
        let devices = self.get("/v1/devices")?.as_array().map_or(0, Vec::len);
        let job =
            format!(r#"{{"name":"occupies","devices":{devices},"run":["/bin/sleep","600"],"workdir":"/"}}"#);
        let (status, body) =
            super::load::ask(self.address, &self.token, "POST", "/v1/jobs", &job).map_err(broken_off)?;
        match status {
            201 => Ok(()),
            _ => Err(Failure::Outside(format!("a job was answered with {status}: {body}"))),
        }
    }

    /// Waits until this number of jobs has ended.
    pub fn until_ended(&self, jobs: u64) -> Result<(), Failure> {
        let began = Instant::now();
        while self.get("/v1/status")?["ended"].as_u64().unwrap_or(0) < jobs {
            if began.elapsed() > PATIENCE {
                return Err(Failure::Outside("the jobs do not end; try again".into()));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }

    /// Jobs that did not end well.
    pub fn count_failed(&self) -> Result<usize, Failure> {
        let failed = self.get("/v1/jobs?all=true&limit=10000&state=failed,cancelled")?;
        Ok(failed.as_array().map_or(0, Vec::len))
    }

    /// Main memory it holds.
    pub fn rss_mib(&self) -> f64 {
        let status = fs::read_to_string(self.proc("status")).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse::<f64>().ok());
        kib.map_or(f64::NAN, |kib| kib / 1024.0)
    }

    /// Processor time it has used.
    pub fn cpu_s(&self) -> f64 {
        let stat = fs::read_to_string(self.proc("stat")).unwrap_or_default();
        let behind = stat.rsplit_once(')').map_or("", |(_, behind)| behind);
        let ticks: f64 =
            behind.split_whitespace().skip(11).take(2).filter_map(|text| text.parse::<f64>().ok()).sum();
        ticks / 100.0
    }

    fn proc(&self, name: &str) -> PathBuf {
        Path::new("/proc").join(self.child.id().to_string()).join(name)
    }
}

/// A connection that did not hold.
pub fn broken_off(error: std::io::Error) -> Failure {
    Failure::Outside(format!("the daemon under test does not answer: {error}; try again"))
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // Asked, so that it ends its work as well; made to, if it does not listen.
        let _ = super::load::ask(self.address, &self.token, "POST", "/v1/shutdown", r#"{"workers":"stop"}"#);
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(20)
            && self.child.try_wait().is_ok_and(|ended| ended.is_none())
        {
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A connection of one's own.
pub fn connect(address: SocketAddr) -> std::io::Result<TcpStream> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    Ok(stream)
}
