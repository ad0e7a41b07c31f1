//! What `consort serve --world slurm` may be told.

use crate::failure::Failure;
use crate::up::{self, Daemon};
use consort_daemon::serve::slurm::{self, Slurm};
use consort_sched::Registry;
use consort_slurm::Terms;
use consort_slurm::census::OnDrain;
use consort_slurm::engine::rest::{Place, Token};
use consort_slurm::engine::tools;
use consort_slurm::layout::Portion;
use consort_types::Span;
use consort_types::file::ReadError;
use consort_types::file::value;
use consort_types::file::yaml::Node;
use std::path::PathBuf;
use std::time::Duration;

/// The flags. In a file their names stand below `slurm`, without it in front.
#[derive(clap::Args, Clone, Default)]
#[command(next_help_heading = "With --world slurm")]
pub struct Flags {
    /// Slurm partition to submit to
    #[arg(long, value_name = "NAME")]
    pub slurm_partition: Option<String>,
    /// Reach Slurm through slurmrestd: unix:/path or https://host:port; the command-line tools otherwise
    #[arg(long, value_name = "PLACE")]
    pub slurm_rest: Option<String>,
    /// File with a token for slurmrestd, read again for each request [default: SLURM_JWT]
    #[arg(long, value_name = "FILE")]
    pub slurm_token_file: Option<PathBuf>,
    /// User of the token [default: this user]
    #[arg(long, value_name = "NAME")]
    pub slurm_user: Option<String>,
    /// The slurm.conf that the tools read [default: SLURM_CONF, or Slurm's own]
    #[arg(long, value_name = "FILE")]
    pub slurm_conf: Option<PathBuf>,
    /// Shared folder that all nodes see under this path [default: slurm in the data directory]
    #[arg(long, value_name = "DIR")]
    pub slurm_shared: Option<PathBuf>,
    /// topology.conf to read [default: what scontrol reports]
    #[arg(long, value_name = "FILE")]
    pub slurm_topology: Option<PathBuf>,
    /// What to do with jobs on a drained node: stop them and restart elsewhere, or let them finish [default: move]
    #[arg(long, value_name = "WHAT", value_parser = ["move", "finish"])]
    pub slurm_on_drain: Option<String>,
    /// Slurm account to charge
    #[arg(long, value_name = "NAME")]
    pub slurm_account: Option<String>,
    /// Slurm quality of service
    #[arg(long, value_name = "NAME")]
    pub slurm_qos: Option<String>,
    /// Slurm reservation
    #[arg(long, value_name = "NAME")]
    pub slurm_reservation: Option<String>,
    /// Main memory per device, for jobs that ask for none [default: what Slurm gives]
    #[arg(long, value_name = "SIZE", value_parser = value::memory)]
    pub slurm_memory_per_device: Option<u64>,
    /// Processors per device, for jobs that ask for none [default: one per worker]
    #[arg(long, value_name = "N")]
    pub slurm_cpus_per_device: Option<u32>,
    /// Do not offer processors as devices
    #[arg(long)]
    pub slurm_no_cpus: bool,
    /// Shortest interval between polls of all nodes and jobs [default: 2s]
    #[arg(long, value_name = "SPAN", value_parser = value::span)]
    pub slurm_poll: Option<Span>,
    /// How long Slurm may take to start a job on free devices [default: 1m]
    #[arg(long, value_name = "SPAN", value_parser = value::span)]
    pub slurm_patience: Option<Span>,
}

const NAMES: [&str; 16] = [
    "partition",
    "rest",
    "token-file",
    "user",
    "conf",
    "shared",
    "topology",
    "on-drain",
    "account",
    "qos",
    "reservation",
    "memory-per-device",
    "cpus-per-device",
    "cpus",
    "poll",
    "patience",
];

impl Flags {
    /// The same from a file.
    pub fn read(node: Node) -> Result<Self, ReadError> {
        let mut fields = node.fields("slurm", &NAMES)?;
        Ok(Self {
            slurm_partition: fields.read("partition", value::name)?,
            slurm_rest: fields.read("rest", value::name)?,
            slurm_token_file: fields.read("token-file", value::name)?.map(Into::into),
            slurm_user: fields.read("user", value::name)?,
            slurm_conf: fields.read("conf", value::name)?.map(Into::into),
            slurm_shared: fields.read("shared", value::name)?.map(Into::into),
            slurm_topology: fields.read("topology", value::name)?.map(Into::into),
            slurm_on_drain: fields.read("on-drain", |text| match text {
                "move" | "finish" => Ok(text.to_owned()),
                _ => Err("move or finish".into()),
            })?,
            slurm_account: fields.read("account", value::name)?,
            slurm_qos: fields.read("qos", value::name)?,
            slurm_reservation: fields.read("reservation", value::name)?,
            slurm_memory_per_device: fields.read("memory-per-device", value::memory)?,
            slurm_cpus_per_device: fields.read("cpus-per-device", |text| value::count(text, 1, 1024))?,
            slurm_no_cpus: fields.read("cpus", value::flag)?.is_some_and(|cpus| !cpus),
            slurm_poll: fields.read("poll", value::span)?,
            slurm_patience: fields.read("patience", value::span)?,
        })
    }

    /// These, unless the command line says otherwise.
    pub fn under(self, flags: &Flags) -> Flags {
        let flags = flags.clone();
        Flags {
            slurm_partition: flags.slurm_partition.or(self.slurm_partition),
            slurm_rest: flags.slurm_rest.or(self.slurm_rest),
            slurm_token_file: flags.slurm_token_file.or(self.slurm_token_file),
            slurm_user: flags.slurm_user.or(self.slurm_user),
            slurm_conf: flags.slurm_conf.or(self.slurm_conf),
            slurm_shared: flags.slurm_shared.or(self.slurm_shared),
            slurm_topology: flags.slurm_topology.or(self.slurm_topology),
            slurm_on_drain: flags.slurm_on_drain.or(self.slurm_on_drain),
            slurm_account: flags.slurm_account.or(self.slurm_account),
            slurm_qos: flags.slurm_qos.or(self.slurm_qos),
            slurm_reservation: flags.slurm_reservation.or(self.slurm_reservation),
            slurm_memory_per_device: flags.slurm_memory_per_device.or(self.slurm_memory_per_device),
            slurm_cpus_per_device: flags.slurm_cpus_per_device.or(self.slurm_cpus_per_device),
            slurm_no_cpus: flags.slurm_no_cpus || self.slurm_no_cpus,
            slurm_poll: flags.slurm_poll.or(self.slurm_poll),
            slurm_patience: flags.slurm_patience.or(self.slurm_patience),
        }
    }

    /// A flag that was given, for worlds that know none of them.
    pub fn first_given(&self) -> Option<&'static str> {
        let given = [
            ("slurm-partition", self.slurm_partition.is_some()),
            ("slurm-rest", self.slurm_rest.is_some()),
            ("slurm-shared", self.slurm_shared.is_some()),
            ("slurm-conf", self.slurm_conf.is_some()),
        ];
        given.into_iter().find(|(_, is_given)| *is_given).map(|(name, _)| name)
    }
}

/// Runs the daemon of a Slurm cluster.
pub fn serve(daemon: &Daemon, policies: &Registry, flags: &Flags) -> Result<(), Failure> {
    let partition = flags.slurm_partition.clone().ok_or_else(|| {
        Failure::request("missing setting: the Slurm partition", "give --slurm-partition; `sinfo` lists them")
    })?;
    let place = |text: &String| Place::parse(text).map_err(Failure::Request);
    let token = Token {
        user: flags.slurm_user.clone().or_else(user).unwrap_or_default(),
        file: flags.slurm_token_file.clone(),
        text: std::env::var("SLURM_JWT").ok().filter(|text| !text.is_empty()),
    };
    let duration = |span: Option<Span>, usual: u64| {
        span.map_or(Duration::from_secs(usual), |span| Duration::from_nanos(span.0.max(100_000_000) as u64))
    };
    let slurm = Slurm {
        partition,
        rest: flags.slurm_rest.as_ref().map(place).transpose()?,
        token,
        tools: tools::Place { folder: None, conf: flags.slurm_conf.clone() },
        shared: flags.slurm_shared.clone(),
        topology: flags.slurm_topology.clone(),
        devices: daemon.devices.clone(),
        cpus: !flags.slurm_no_cpus,
        on_drain: match flags.slurm_on_drain.as_deref() {
            Some("finish") => OnDrain::Finish,
            _ => OnDrain::Move,
        },
        terms: Terms {
            account: flags.slurm_account.clone(),
            qos: flags.slurm_qos.clone(),
            reservation: flags.slurm_reservation.clone(),
        },
        portion: Portion {
            memory_mb: flags.slurm_memory_per_device.map(|bytes| bytes.div_ceil(1 << 20)),
            cpus: flags.slurm_cpus_per_device,
        },
        poll: duration(flags.slurm_poll, 2),
        patience: duration(flags.slurm_patience, 60),
    };
    // Not the directory of `consort up`: one for each cluster.
    let data_dir =
        || up::data_dir().map(|path| path.with_file_name(format!("consort-slurm-{}", slurm.partition)));
    let (options, host) = daemon.begin(policies, data_dir)?;
    slurm::serve(&options, &slurm, host).map_err(up::outside)
}

fn user() -> Option<String> {
    ["USER", "LOGNAME"].into_iter().find_map(|name| std::env::var(name).ok().filter(|name| !name.is_empty()))
}
