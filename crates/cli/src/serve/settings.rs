//! The file that says the same as the flags of `consort serve`.
//!
//! For: what is the same at every start stands in one place. Promises: any text gives settings or one error that names
//! line, column and field; a flag wins over the file. Never: knows a word that is no flag.

use super::slurm::Flags;
use crate::failure::Failure;
use crate::up::Daemon;
use consort_types::file::ReadError;
use consort_types::file::read_error::InFile;
use consort_types::file::value;
use consort_types::file::yaml::{self, Node};
use std::path::Path;

/// What the file says.
#[derive(Default)]
pub struct Settings {
    pub world: Option<String>,
    pub daemon: Daemon,
    pub slurm: Flags,
}

const EXPECTED: &str = "settings of a daemon: `world`, `data-dir`, `slurm` and so on";

impl Settings {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let text = std::fs::read_to_string(path).map_err(|error| {
            Failure::request(format_args!("{} cannot be read: {error}", path.display()), "check the path")
        })?;
        let read = yaml::parse(&text, EXPECTED).and_then(read).in_file(&path.display().to_string());
        read.map_err(|error| Failure::request(error, "fix that file"))
    }
}

fn read(root: Node) -> Result<Settings, ReadError> {
    root.refuse_nul()?;
    let known = ["world", "data-dir", "listen", "policy", "devices", "containers", "on-exit", "slurm"];
    let mut fields = root.fields("the file", &known)?;
    let mut settings = Settings { world: fields.read("world", value::name)?, ..Settings::default() };
    let daemon = &mut settings.daemon;
    daemon.data_dir = fields.read("data-dir", value::name)?.map(Into::into);
    daemon.devices = fields.read("devices", value::name)?.map(Into::into);
    daemon.policy = fields.read("policy", value::name)?;
    daemon.listen = fields
        .read("listen", |text| text.parse().map_err(|_| "an address like 127.0.0.1:7467".to_string()))?;
    daemon.containers = fields.read("containers", |text| {
        crate::up::containers(text).map_err(|_| "any, podman, docker or none".to_string())
    })?;
    daemon.on_exit = fields.read("on-exit", |text| match text {
        "ask" | "keep" | "stop" => Ok(text.to_owned()),
        _ => Err("ask, keep or stop".into()),
    })?;
    if let Some(node) = fields.take("slurm") {
        settings.slurm = Flags::read(node)?;
    }
    Ok(settings)
}

impl Daemon {
    /// These, unless the command line says otherwise.
    pub(super) fn under(self, flags: &Daemon) -> Daemon {
        Daemon {
            data_dir: flags.data_dir.clone().or(self.data_dir),
            listen: flags.listen.or(self.listen),
            policy: flags.policy.clone().or(self.policy),
            devices: flags.devices.clone().or(self.devices),
            containers: flags.containers.or(self.containers),
            accept_loss: flags.accept_loss,
            on_exit: flags.on_exit.clone().or(self.on_exit),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Settings, String> {
        yaml::parse(text, EXPECTED).and_then(read).map_err(|error| error.to_string())
    }

    #[test]
    fn a_whole_file() {
        let text = "world: slurm\ndata-dir: /srv/c\nlisten: 127.0.0.1:0\nslurm:\n  partition: gpu\n  rest: unix:/x\n  cpus: false\n  poll: 5s\n  memory-per-device: 8GiB\n";
        let settings = parsed(text).unwrap();
        assert_eq!(settings.world.as_deref(), Some("slurm"));
        assert_eq!(settings.slurm.slurm_partition.as_deref(), Some("gpu"));
        assert!(settings.slurm.slurm_no_cpus);
        let flags = Flags { slurm_partition: Some("other".into()), ..Flags::default() };
        let both = settings.slurm.under(&flags);
        assert_eq!(
            (both.slurm_partition.as_deref(), both.slurm_rest.as_deref()),
            (Some("other"), Some("unix:/x"))
        );
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, words) in [
            ("wrold: slurm\n", "world"),
            ("slurm: {partion: x}\n", "partition"),
            ("listen: nowhere\n", "127.0.0.1:7467"),
            ("containers: rkt\n", "any, podman, docker or none"),
            ("slurm: {poll: soon}\n", "poll"),
            ("slurm: {on-drain: kill}\n", "move or finish"),
        ] {
            let Err(told) = parsed(text) else { panic!("{text}") };
            assert!(told.contains(words), "{text}: {told}");
        }
    }
}
