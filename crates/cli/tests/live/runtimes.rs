//! Container runtimes for tests: with storage of their own, and an image that needs no registry.

use super::daemon::House;
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The image. It has a shell, and a file by which it is known.
pub const IMAGE: &str = "localhost/consort-test:1";

/// A runtime, and a house whose daemon uses it.
pub struct Runtime {
    pub house: House,
    pub name: &'static str,
    dockerd: Option<Child>,
}

impl Runtime {
    /// Podman with `devices.yaml`, and a daemon; absent, and said so, where it cannot be tried.
    pub fn podman(test: &str, devices: &str) -> Option<Self> {
        require(test, &["podman", "crun", "catatonit", "busybox", "unshare"])?;
        let mut house = self::house(devices);
        let conf = house.path("storage.conf");
        let (graph, run) = (house.path("graph"), house.path("containers"));
        let text = format!(
            "[storage]\ndriver = \"vfs\"\ngraphroot = \"{}\"\nrunroot = \"{}\"\n",
            graph.display(),
            run.display()
        );
        fs::write(&conf, text).expect("a file");
        house.env.push(("CONTAINERS_STORAGE_CONF".into(), conf.display().to_string()));
        // Its crun refuses machines with both versions of control groups in use; a daemon that sees the first version only
        // is as good for a test.
        if Path::new("/sys/fs/cgroup/unified/cgroup.controllers").exists() {
            let script = "umount /sys/fs/cgroup/unified; exec \"$@\"";
            house.under = ["unshare", "--mount", "sh", "-c", script, "sh"].map(str::to_owned).into();
        }
        Some(Self { house, name: "podman", dockerd: None }.ready())
    }

    /// Docker, with a service of its own.
    pub fn docker(test: &str, devices: &str) -> Option<Self> {
        require(test, &["docker", "dockerd", "containerd", "busybox"])?;
        let mut house = self::house(devices);
        let place = |name: &str| house.path(name).display().to_string();
        let socket = format!("unix://{}", place("docker.sock"));
        let log = fs::File::create(house.path("dockerd.log")).expect("a file");
        let mut command = Command::new("dockerd");
        command.args(["--data-root", &place("graph"), "--exec-root", &place("containers")]);
        command.args(["--pidfile", &place("dockerd.pid"), "--host", &socket]);
        command.args(["--iptables=false", "--bridge=none", "--storage-driver=vfs"]);
        command.stdin(Stdio::null()).stdout(log.try_clone().expect("a descriptor")).stderr(log);
        let dockerd = Some(command.spawn().expect("dockerd starts"));
        house.env.push(("DOCKER_HOST".into(), socket));
        let runtime = Self { house, name: "docker", dockerd };
        super::daemon::until("dockerd", || {
            runtime.command(&["version"]).output().ok()?.status.success().then_some(())
        });
        Some(runtime.ready())
    }

    /// Both of them, as far as they can be tried.
    pub fn all(test: &str, devices: &str) -> Vec<Self> {
        [Self::podman(test, devices), Self::docker(test, devices)].into_iter().flatten().collect()
    }

    fn ready(mut self) -> Self {
        self.import();
        self.house.words.extend(["--containers".into(), self.name.into()]);
        self.house.start();
        self
    }

    /// A command of the runtime itself.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(self.name);
        command.args(words).envs(self.house.env.iter().cloned()).stdin(Stdio::null());
        command
    }

    /// Names of all containers that there are, running or not.
    pub fn containers(&self) -> Vec<String> {
        let output = self.command(&["ps", "--all", "--format", "{{.Names}}"]).output().expect("it runs");
        String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
    }

    fn import(&self) {
        let root = self.house.path("root");
        fs::create_dir_all(root.join("bin")).expect("a folder");
        fs::copy(find("busybox").expect("looked for"), root.join("bin/busybox")).expect("a file");
        for name in ["sh", "cat", "sleep", "echo", "env", "ls", "head", "tail", "id", "touch", "true"] {
            symlink("busybox", root.join("bin").join(name)).expect("a link");
        }
        fs::write(root.join("which"), "the image\n").expect("a file");
        let archive = self.house.path("root.tar").display().to_string();
        let packed = Command::new("tar").args(["-cf", &archive, "-C"]).arg(&root).arg(".").status();
        assert!(packed.expect("tar runs").success());
        let imported = self.command(&["import", &archive, IMAGE]).output().expect("it runs");
        assert!(imported.status.success(), "{}", String::from_utf8_lossy(&imported.stderr));
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        if let Some(client) = self.house.client() {
            let _ = client.shutdown(consort_api::shapes::Workers::Stop);
        }
        let mut patience = 500;
        while self.house.is_alive() && patience > 0 {
            std::thread::sleep(Duration::from_millis(20));
            patience -= 1;
        }
        if let Some(mut dockerd) = self.dockerd.take() {
            // It ends its own containerd, given time.
            let _ = Command::new("kill").args(["-TERM", &dockerd.id().to_string()]).status();
            let _ = dockerd.wait();
        }
    }
}

/// A house in which jobs may write where they like, as in any folder of a user.
fn house(devices: &str) -> House {
    let house = House::empty("up");
    fs::write(house.data().join("devices.yaml"), devices).expect("a file");
    fs::create_dir(house.path("work")).expect("a folder");
    house
}

/// Says aloud what is missing.
fn require(test: &str, programs: &[&str]) -> Option<()> {
    let missing: Vec<&str> = programs.iter().copied().filter(|program| find(program).is_none()).collect();
    let is_root = fs::metadata("/proc/self").is_ok_and(|found| found.uid() == 0);
    if missing.is_empty() && is_root {
        return Some(());
    }
    let missing = if is_root { missing.join(", ") } else { "root".into() };
    eprintln!("SKIPPED: {test} with {} needs {missing}", programs[0]);
    None
}

/// Where a program is.
fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let system = ["/usr/local/sbin", "/usr/sbin", "/sbin"].map(PathBuf::from);
    std::env::split_paths(&path).chain(system).map(|folder| folder.join(program)).find(|file| file.is_file())
}
