//! `consort up`: the daemon of this machine, in the foreground.

use crate::failure::{Failure, note};
use crate::{names, screen};
use anstyle::Style;
use consort_agent::containers::{Choice, Runtime};
use consort_agent::launch::ShimProgram;
use consort_api::client;
use consort_api::shapes::Workers;
use consort_daemon::Fault;
use consort_daemon::serve::local::{self, Local};
use consort_daemon::serve::{Host, Options, Ready};
use consort_sched::Registry;
use std::io::{BufRead, IsTerminal, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use tracing::level_filters::LevelFilter;

const EXAMPLES: &str = "\
Examples:
  consort up                                  this machine becomes a small cluster
  consort run --devices 1 -- python train.py  then, in another terminal
  consort up --data-dir /srv/consort --listen 127.0.0.1:7500
  consort up --on-exit stop                   Ctrl-C stops the jobs too

The data directory holds the journal, the logs and everything else that must
survive. Jobs keep running while the daemon is down, and the next daemon finds
them again. Log messages go to standard error, as JSON if that is not a
terminal; CONSORT_LOG=debug logs more.";

/// Make this machine a small cluster: find its devices, keep a journal, accept and run jobs
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    daemon: Daemon,
}

/// What every daemon may be told.
#[derive(clap::Args, Clone, Default)]
pub struct Daemon {
    /// Directory of the journal and logs [default: consort in the user's data directory]
    #[arg(long, value_name = "DIR", env = "CONSORT_DATA_DIR")]
    pub data_dir: Option<PathBuf>,
    /// Loopback address to listen on; port 0 takes a free port [default: 127.0.0.1:7467]
    #[arg(long, value_name = "ADDR:PORT", value_parser = address)]
    pub listen: Option<SocketAddr>,
    /// Scheduling policy; `consort policies` lists them
    #[arg(long, value_name = "NAME")]
    pub policy: Option<String>,
    /// File that declares further devices and describes kinds of device; on Slurm only the latter [default: devices.yaml in the
    /// data directory, if it exists]
    #[arg(long, value_name = "FILE")]
    pub devices: Option<PathBuf>,
    /// Container runtime for jobs with an image; any takes the first that works [default: any]
    #[arg(long, value_name = "RUNTIME", value_parser = containers)]
    pub containers: Option<Choice>,
    /// Start even though acknowledged events are lost; damaged files are kept, and every job that had not ended at the
    /// last event that survived is paused, because it may have ended since
    #[arg(long)]
    pub accept_loss: bool,
    /// What to do with running jobs on Ctrl-C [default: ask]. On SIGTERM they keep running, unless this is stop
    #[arg(long, value_name = "WHAT", value_parser = ["ask", "keep", "stop"])]
    pub on_exit: Option<String>,
}

/// A container runtime by name.
pub fn containers(text: &str) -> Result<Choice, String> {
    match text {
        "any" => Ok(Choice::Any),
        "none" => Ok(Choice::Off),
        name => Runtime::named(name)
            .map(Choice::Only)
            .ok_or_else(|| "expected any, podman, docker or none".into()),
    }
}

fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "expected an address and a port, such as 127.0.0.1:7467".into())
}

/// Where a daemon listens by default.
const LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 7467);

/// `consort up`.
pub fn run(args: &Args, policies: &Registry) -> Result<(), Failure> {
    start(&args.daemon, policies)
}

/// Runs the daemon of this machine.
pub fn start(daemon: &Daemon, policies: &Registry) -> Result<(), Failure> {
    let (options, host) = daemon.begin(policies, data_dir)?;
    // Not by its path: somebody may install another version there while this one runs.
    let shim = ShimProgram { program: "/proc/self/exe".into(), arguments: vec!["shim".into()], forks: true };
    let nvidia_library = std::env::var_os("CONSORT_NVIDIA_LIBRARY").map(PathBuf::from);
    let containers = daemon.containers.unwrap_or_default();
    let local = Local { shim, devices: daemon.devices.clone(), nvidia_library, containers };
    local::up(&options, local, host).map_err(outside)
}

impl Daemon {
    /// What every daemon begins with. `data_dir` says where its journal is by default.
    pub fn begin(
        &self,
        policies: &Registry,
        data_dir: impl FnOnce() -> Result<PathBuf, Failure>,
    ) -> Result<(Options, Arc<dyn Host>), Failure> {
        let policy = match &self.policy {
            Some(name) => names::policy(policies, name)?,
            None => policies.standard().clone(),
        };
        let data_dir = self.data_dir.clone().map_or_else(data_dir, Ok)?;
        log_to_stderr();
        let options = Options {
            data_dir,
            listen: self.listen.unwrap_or(LISTEN),
            policy: policy.policy(),
            accept_loss: self.accept_loss,
            token: client::token_path().ok_or_else(no_home)?,
            address: client::server_path(),
            socket: client::socket_path(),
        };
        let on_exit = self.on_exit.clone().unwrap_or_else(|| "ask".into());
        Ok((options, Arc::new(Terminal { on_exit })))
    }
}

/// A fault of the daemon, as a command ends with it.
pub fn outside(fault: Fault) -> Failure {
    match fault.is_request {
        true => Failure::Request(fault.to_string()),
        false => Failure::Outside(fault.to_string()),
    }
}

/// Where the journal is by default.
pub fn data_dir() -> Result<PathBuf, Failure> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = set("XDG_DATA_HOME").or_else(|| set("HOME").map(|home| home.join(".local/share")));
    base.map(|base| base.join("consort")).ok_or_else(no_home)
}

fn no_home() -> Failure {
    Failure::request("no home directory", "set HOME, or XDG_CONFIG_HOME and XDG_DATA_HOME")
}

fn log_to_stderr() {
    use tracing_subscriber::layer::SubscriberExt as _;
    use tracing_subscriber::util::SubscriberInitExt as _;
    use tracing_subscriber::{filter::Targets, fmt};
    let is_terminal = std::io::stderr().is_terminal();
    let wanted = std::env::var("CONSORT_LOG").ok().and_then(|text| text.parse::<Targets>().ok());
    let level = if is_terminal { LevelFilter::WARN } else { LevelFilter::INFO };
    let log =
        tracing_subscriber::registry().with(wanted.unwrap_or_else(|| Targets::new().with_default(level)));
    let lines = fmt::layer().with_writer(std::io::stderr);
    // Another subscriber may be set already by the program that uses this library; then it stays.
    let _ = match is_terminal {
        true => log.with(lines.with_target(false)).try_init(),
        false => log.with(lines.json()).try_init(),
    };
}

struct Terminal {
    on_exit: String,
}

impl Host for Terminal {
    fn ready(&self, ready: &Ready) {
        let screen = screen::Screen::here();
        let devices: Vec<String> =
            ready.devices.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
        let devices = if devices.is_empty() { "no devices".into() } else { devices.join(", ") };
        let mut text =
            format!("{} with {devices}\n", screen.bold(&format!("Consort is up at {}", ready.url)));
        text += &format!("  journal  {}\n  token    {}\n", ready.data_dir.display(), ready.token.display());
        if ready.living > 0 {
            text += &format!("  jobs     {} pending or running\n", ready.living);
        }
        text += "\nIn another terminal:\n";
        text += "  consort run --devices 1 -- hostname     run a command and see its output\n";
        text += "  consort submit job.yaml                 submit a job file\n";
        text += "  consort top                             watch devices and jobs\n";
        text += &screen
            .styled(Style::new().dimmed(), "\nCtrl-C stops the daemon; running jobs can keep running.\n");
        let _ = screen::print(&text);
        let is_terminal = std::io::stderr().is_terminal();
        for told in &ready.notes {
            match is_terminal {
                true => note(&format!("note: {told}")),
                false => tracing::warn!(note = told, "note"),
            }
        }
        tracing::info!(url = ready.url, data_dir = %ready.data_dir.display(), living = ready.living, "ready");
    }

    fn interrupted(&self, running: u64) -> Option<Workers> {
        match self.on_exit.as_str() {
            "stop" => return Some(Workers::Stop),
            "keep" => return Some(Workers::Keep),
            _ if running == 0 || !std::io::stdin().is_terminal() => return Some(Workers::Keep),
            _ => {}
        }
        let (jobs, it) = if running == 1 { ("job runs", "it") } else { ("jobs run", "them") };
        loop {
            let _ = write!(
                anstream::stderr(),
                "\n{running} {jobs}. [k]eep {it} running, [s]top {it} (restarted by the next daemon), or [g]o on? "
            );
            let mut line = String::new();
            let read = std::io::stdin().lock().read_line(&mut line);
            match line.trim() {
                "k" | "keep" => {
                    note("jobs keep running; the next `consort up` finds them");
                    return Some(Workers::Keep);
                }
                "s" | "stop" => return Some(Workers::Stop),
                "g" | "go" | "go on" => return None,
                _ if read.is_ok_and(|bytes| bytes > 0) => {} // neither: asked again
                _ => return Some(Workers::Keep),
            }
        }
    }

    fn terminated(&self) -> Workers {
        if self.on_exit == "stop" { Workers::Stop } else { Workers::Keep }
    }
}
