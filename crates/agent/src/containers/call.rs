//! How a runtime is called to run one worker.

use super::{Runtime, client, name};
use crate::launch::Order;
use consort_types::Limits;
use rustix::process::{Resource, getrlimit};
use rustix::thread::{CapabilitySet, capabilities};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The container of one worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Container {
    /// Who runs it.
    pub runtime: Runtime,
    /// Its program.
    pub program: PathBuf,
    /// What it runs.
    pub image: String,
    /// NVIDIA devices that were granted, by the names that NVIDIA gives them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nvidia: Vec<String>,
    /// Device nodes of other devices that were granted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<PathBuf>,
    /// What the program of the runtime finds in its own environment. A shim has none of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub around: Vec<(String, String)>,
}

/// What is said to a runtime beyond what the order of a worker says.
pub(crate) struct Call<'a> {
    /// The folder of its slot.
    pub slot: &'a Path,
    /// The text of its script.
    pub script: Option<&'a Path>,
    /// What is run inside.
    pub words: Vec<String>,
    /// Open files, soft and hard.
    pub files: (u64, u64),
    /// Its limits, for a runtime that keeps them itself.
    pub limits: &'a Limits,
}

/// Podman lowers its own limit of processes to this, and cannot raise that of a container again without a privilege.
const MOST_PROCESSES: u64 = 32 << 10;

impl Container {
    /// The words that run it; in words why it cannot be run.
    pub(crate) fn words(&self, order: &Order, call: Call<'_>) -> Result<Vec<String>, String> {
        let mut words = vec![self.program.display().to_string(), "run".into()];
        let mut say = |word: &str| words.push(word.to_owned());
        say(&format!("--name={}", name(call.slot)));
        // The machine's own network and shared memory: workers of a gang find each other as they do without containers.
        ["--network=host", "--ipc=host", "--security-opt=label=disable"].into_iter().for_each(&mut say);
        // The init process passes on nothing: the shim sends signals to the worker itself, as it does without one.
        ["--init", "--sig-proxy=false", "--log-driver=none", "--entrypoint="].into_iter().for_each(&mut say);
        let (soft, hard) = call.files;
        say(&format!("--ulimit=nofile={soft}:{hard}"));
        match self.runtime {
            Runtime::Podman => {
                ["--rm", "--cgroups=disabled", "--user=0:0"].into_iter().for_each(&mut say);
                if let Some(most) = most_processes() {
                    say(&format!("--ulimit=nproc={most}:{most}"));
                }
                self.nvidia.iter().for_each(|device| say(&format!("--device=nvidia.com/gpu={device}")));
            }
            Runtime::Docker => {
                let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
                say(&format!("--user={}:{}", user.as_raw(), group.as_raw()));
                if !self.nvidia.is_empty() {
                    // A list in quotes, because commas separate options there.
                    say(&format!("--gpus=\"device={}\"", self.nvidia.join(",")));
                }
                limits(call.limits, &order.cpus, &mut say);
            }
        }
        self.nodes.iter().for_each(|node| say(&format!("--device={}", node.display())));
        if order.workdir != "/" {
            say(&mount(Path::new(&order.workdir), "")?);
        }
        // Where the worker writes its progress.
        say(&mount(call.slot, "")?);
        say(&format!("--workdir={}", order.workdir));
        if let Some(script) = call.script {
            say(&mount(script, ",readonly")?);
        }
        for (name, value) in &order.env {
            match client::is_of_runtime(name) {
                true => say(&format!("--env={name}={value}")),
                false => say(&format!("--env={name}")),
            }
        }
        say(&format!("--env={}", crate::process::MARK));
        say(&self.image);
        call.words.iter().for_each(|word| say(word));
        Ok(words)
    }

    /// What the program finds in its own environment: its own, and what it is to hand on.
    pub(crate) fn environment(&self, order: &Order) -> Vec<(String, String)> {
        let handed = order.env.iter().filter(|(name, _)| !client::is_of_runtime(name));
        self.around.iter().chain(handed).cloned().collect()
    }
}

/// A path that is the same inside.
fn mount(path: &Path, options: &str) -> Result<String, String> {
    let text = path.display().to_string();
    match text.contains([',', '"', '\n']) {
        true => Err(format!(
            "{text} cannot be mounted into a container: its name has a comma, a quote or a line break"
        )),
        false => Ok(format!("--mount=type=bind,source={text},destination={text}{options}")),
    }
}

fn limits(limits: &Limits, cpus: &[u32], say: &mut impl FnMut(&str)) {
    if let Some(bytes) = limits.memory_bytes {
        say(&format!("--memory={bytes}b"));
    }
    if let Some(thousandths) = limits.cpu_thousandths {
        say(&format!("--cpus={}.{:03}", thousandths / 1000, thousandths % 1000));
    }
    if let Some(count) = limits.processes {
        say(&format!("--pids-limit={count}"));
    }
    if !cpus.is_empty() {
        let cpus: Vec<String> = cpus.iter().map(u32::to_string).collect();
        say(&format!("--cpuset-cpus={}", cpus.join(",")));
    }
}

/// The limit of processes that Podman can set, where it may not raise its own.
fn most_processes() -> Option<u64> {
    let may_raise = capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::SYS_RESOURCE));
    let is_root = rustix::process::geteuid().is_root();
    let hard = getrlimit(Resource::Nproc).maximum.unwrap_or(u64::MAX);
    (is_root && !may_raise).then_some(hard.min(MOST_PROCESSES))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::LogOrder;
    use consort_types::{Command, Grace, Host};

    fn order() -> Order {
        let text = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        Order {
            allocation: "1.0.0#1".into(),
            rank: 0,
            boot: "b".into(),
            command: Command::Program(vec!["train".into()]),
            env: vec![text("LD_PRELOAD", "x.so"), text("WANDB_API_KEY", "secret")],
            workdir: "/data".into(),
            limits: Limits::default(),
            asked: Host::NONE,
            cpus: vec![2, 3],
            soft_files: None,
            grace: Grace::default(),
            log: LogOrder { path: "/x".into(), rotate_bytes: 0, keep: 0, named: false, within: None },
            record: None,
            together: false,
            container: None,
        }
    }

    fn words(runtime: Runtime, order: &Order) -> String {
        let nvidia = vec!["GPU-1".into(), "GPU-2".into()];
        let container = Container {
            runtime,
            program: "/bin/runtime".into(),
            image: "pytorch".into(),
            nvidia,
            nodes: vec!["/dev/accel0".into()],
            around: vec![],
        };
        let limits = Limits { memory_bytes: Some(1 << 30), cpu_thousandths: Some(2500), ..Limits::default() };
        let call = Call {
            slot: Path::new("/run/1.0.0#1/w0"),
            script: None,
            words: vec!["train".into()],
            files: (10, 20),
            limits: &limits,
        };
        container.words(order, call).unwrap().join(" ")
    }

    #[test]
    fn devices_and_limits_are_passed_in_the_words_of_the_runtime() {
        let podman = words(Runtime::Podman, &order());
        assert!(podman.contains(" --device=nvidia.com/gpu=GPU-1 --device=nvidia.com/gpu=GPU-2 "), "{podman}");
        // Its containers stay in the control groups of the shim.
        assert!(podman.contains(" --cgroups=disabled ") && !podman.contains("--memory"), "{podman}");
        let docker = words(Runtime::Docker, &order());
        assert!(docker.contains(" --gpus=\"device=GPU-1,GPU-2\" "), "{docker}");
        assert!(docker.contains(" --memory=1073741824b --cpus=2.500 --cpuset-cpus=2,3 "), "{docker}");
        for words in [podman, docker] {
            assert!(words.ends_with(" pytorch train"), "{words}");
            assert!(
                words.contains(" --device=/dev/accel0 --mount=type=bind,source=/data,destination=/data ")
            );
        }
    }

    #[test]
    fn values_do_not_show_and_do_not_reach_the_runtime() {
        let words = words(Runtime::Podman, &order());
        assert!(words.contains(" --env=LD_PRELOAD=x.so --env=WANDB_API_KEY --env=CONSORT_SLOT "), "{words}");
        let container = Container {
            runtime: Runtime::Podman,
            program: "/bin/runtime".into(),
            image: "pytorch".into(),
            nvidia: vec![],
            nodes: vec![],
            around: vec![("PATH".into(), "/bin".into())],
        };
        let own = container.environment(&order());
        assert!(own.contains(&("WANDB_API_KEY".into(), "secret".into())));
        assert!(own.contains(&("PATH".into(), "/bin".into())));
        assert!(!own.iter().any(|(_, value)| value == "x.so"));
    }

    #[test]
    fn a_folder_that_cannot_be_mounted_is_refused() {
        assert!(mount(Path::new("/a,b"), "").unwrap_err().starts_with("/a,b cannot be mounted"));
    }
}
