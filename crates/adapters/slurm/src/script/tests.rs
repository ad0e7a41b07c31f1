//! The scripts are run by a real shell; only Slurm is missing.

use super::*;
use crate::ended::{BEGUN_BEFORE, NO_FOLDER, NO_RECORD};
use crate::layout::{Portion, Spot};
use consort_types::*;
use std::collections::BTreeMap;
use std::process::Output as Done;

const ODD: &str = "a'b \"c\" $HOME `id` \\ \n*;#";

struct House {
    folder: tempfile::TempDir,
    work: Work,
    spec: JobSpec,
    devices: Vec<u32>,
    each: u32,
}

impl House {
    fn new(command: Command) -> Self {
        let work = Work::of(command, "/tmp");
        let spec = JobSpec::gang("name", 1, Shape::any());
        House { folder: tempfile::tempdir().unwrap(), work, spec, devices: vec![0], each: 1 }
    }

    fn with<T>(&self, make: impl FnOnce(&Making<'_>) -> T) -> T {
        let id = AllocationId { ask: AskId::whole(JobId(3)), attempt: 2 };
        let count = self.devices.len() as u32 / self.each;
        let grant = |&device: &u32| Grant { device: DeviceId(device), share: WHOLE, memory_bytes: 0 };
        let placement = Placement {
            fills: vec![Fill { shape: 0, count }],
            grants: self.devices.iter().map(grant).collect(),
        };
        let mut spec = self.spec.clone();
        spec.stages[0].roles[0].count = Count::exactly(count);
        spec.stages[0].roles[0].shapes[0].devices = self.each;
        let spot = |device: DeviceId| {
            let node = if device.0 < 4 { "n1" } else { "n2" };
            Some(Spot {
                node,
                kind: "a100",
                precisions: Precision::of_kind("a100"),
                resource: Some(("gpu", "a100")),
            })
        };
        let layout = Layout::new(id, &spec, &self.work, &placement, Portion::default(), spot).unwrap();
        let addresses: Vec<String> = layout.nodes.iter().map(|node| format!("{node}.local")).collect();
        make(&Making {
            allocation: id,
            spec: &spec,
            work: &self.work,
            layout: &layout,
            addresses: &addresses,
            shared: self.folder.path(),
        })
    }

    /// Runs the script of one worker as srun would.
    fn task(
        &self,
        node: &str,
        local: u32,
        more: &[(&str, &str)],
    ) -> (Done, String, BTreeMap<String, String>) {
        self.task_by("sh", node, local, more)
    }

    fn task_by(
        &self,
        shell: &str,
        node: &str,
        local: u32,
        more: &[(&str, &str)],
    ) -> (Done, String, BTreeMap<String, String>) {
        let run = self.folder.path().join("run/3.0.0#2");
        std::fs::create_dir_all(run.join("out")).unwrap();
        let file = run.join("task.sh");
        std::fs::write(&file, self.with(|making| making.task().unwrap())).unwrap();
        for (role, text) in self.with(|making| making.scripts()) {
            use std::os::unix::fs::PermissionsExt;
            let path = run.join(format!("script.{role}"));
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        let mut command = std::process::Command::new(shell);
        command.arg(&file).env_clear().env("PATH", "/usr/bin:/bin").env("SLURMD_NODENAME", node);
        command.env("SLURM_LOCALID", local.to_string()).env("SLURM_JOB_ID", "77").envs(more.iter().copied());
        let done = command.output().unwrap();
        let mut log = String::new();
        for entry in std::fs::read_dir(self.folder.path().join("logs/3")).into_iter().flatten().flatten() {
            log += &std::fs::read_to_string(entry.path()).unwrap();
        }
        let seen = log.split('\0').filter_map(|line| line.split_once('='));
        let seen = seen.map(|(name, value)| (name.into(), value.into())).collect();
        (done, log, seen)
    }
}

fn program(words: &[&str]) -> Command {
    Command::Program(words.iter().map(|&word| word.into()).collect())
}

#[test]
fn whatever_was_submitted_is_quoted() {
    let mut house = House::new(program(&["printf", "%s|", ODD, "$(id)", ""]));
    house.spec.name = ODD.into();
    let (done, log, _) = house.task("n1", 0, &[]);
    assert!(done.status.success(), "{done:?}");
    assert_eq!(log, format!("{ODD}|$(id)||"));
}

#[test]
fn the_environment_of_a_worker() {
    let mut house = House::new(program(&["env", "-0"]));
    house.devices = vec![0, 1, 4, 5];
    let own = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    house.work.inherited = vec![
        own("SLURM_JOB_ID", "1"),
        own("ODD", ODD),
        own("BASH_FUNC_f%%", "() { :; }"),
        own("MASTER_ADDR", "x"),
        own("CONSORT_OF_MINE", "kept"),
        own("CONSORT_TOKEN", "secret"),
    ];
    house.work.env = vec![own("MINE", ODD), own("CUDA_VISIBLE_DEVICES", "7"), own("CONSORT_RANK", "9")];
    let (_, _, seen) = house.task("n2", 1, &[("CUDA_VISIBLE_DEVICES", "0,1")]);
    let is = |name: &str, value: &str| assert_eq!(seen.get(name).map(String::as_str), Some(value), "{name}");
    is("SLURM_JOB_ID", "77");
    is("CUDA_VISIBLE_DEVICES", "0,1");
    is("ODD", ODD);
    is("CONSORT_OF_MINE", "kept");
    assert!(!seen.contains_key("CONSORT_TOKEN"));
    is("MINE", ODD);
    is("BASH_FUNC_f%%", "() { :; }");
    for (name, value) in [("RANK", "3"), ("WORLD_SIZE", "4"), ("LOCAL_RANK", "1"), ("LOCAL_WORLD_SIZE", "2")]
    {
        is(name, value);
    }
    for (name, value) in
        [("GROUP_RANK", "1"), ("MASTER_ADDR", "n1.local"), ("CONSORT_RANK", "3"), ("CONSORT_DEVICES", "1")]
    {
        is(name, value);
    }
    let tf: serde_json::Value = serde_json::from_str(&seen["TF_CONFIG"]).unwrap();
    assert_eq!(tf["task"], serde_json::json!({"index": 3, "type": "worker"}));
    assert_eq!(tf["cluster"]["worker"].as_array().unwrap().len(), 4);
}

/// What one machine gives its workers, a cluster gives them too.
#[test]
fn no_word_is_missing_that_one_machine_gives() {
    use consort_agent::discover::{FoundDevice, Inventory};
    use consort_agent::environment::{Team, environment};
    let mut house = House::new(program(&["env", "-0"]));
    house.spec.stages[0].form = Form::Bag { tasks: 3 };
    let (_, _, seen) = house.task("n1", 0, &[]);
    let device = FoundDevice { kind: "a100".into(), identity: "0".into(), ..FoundDevice::default() };
    let inventory = Inventory::new("n1", vec![device], vec![]);
    let id = AllocationId { ask: AskId::whole(JobId(3)), attempt: 2 };
    let grant = Grant { device: DeviceId(0), share: WHOLE, memory_bytes: 0 };
    let placement = Placement { fills: vec![Fill { shape: 0, count: 1 }], grants: vec![grant] };
    let team = Team::new(id, &house.spec, &house.work, &placement, &inventory, 0).unwrap();
    for (name, _) in environment(&team, &house.work, 0) {
        // What Slurm itself says is not ours to say.
        let is_slurms = name.starts_with("SLURM_") && !name.starts_with("SLURM_ARRAY_");
        assert!(is_slurms || seen.contains_key(&name), "{name} is missing");
    }
}

#[test]
fn workers_with_several_devices_see_their_own() {
    let mut house = House::new(program(&["env", "-0"]));
    (house.devices, house.each) = (vec![0, 1, 2, 3], 2);
    let (_, _, seen) =
        house.task("n1", 1, &[("CUDA_VISIBLE_DEVICES", "0,1,2,3"), ("ROCR_VISIBLE_DEVICES", "0,1,2,3")]);
    assert_eq!((&*seen["CUDA_VISIBLE_DEVICES"], &*seen["ROCR_VISIBLE_DEVICES"]), ("2,3", "2,3"));
    assert_eq!(seen["CONSORT_DEVICES"], "2,3");
}

#[test]
fn failures_are_written_down() {
    let said = |house: &House| {
        std::fs::read_to_string(house.folder.path().join("run/3.0.0#2/out/failed.0")).unwrap_or_default()
    };
    let house = House::new(program(&["sh", "-c", "exit 3"]));
    assert_eq!(house.task("n1", 0, &[]).0.status.code(), Some(3));
    assert!(said(&house).ends_with(" 3 exit\n"), "{}", said(&house));
    let house = House::new(program(&["/no/such/program"]));
    let (done, log, _) = house.task("n1", 0, &[]);
    assert_eq!(done.status.code(), Some(127));
    assert!(
        said(&house).ends_with(" 127 not-run\n") && log.contains("/no/such/program does not exist"),
        "{log}"
    );
    let mut house = House::new(program(&["true"]));
    house.work.workdir = "/no/such/place".into();
    assert!(
        house.task("n1", 0, &[]).1.contains("the working directory does not exist on n1: /no/such/place")
    );
    let house = House::new(program(&["true"]));
    house.task("n9", 0, &[]);
    assert!(said(&house).ends_with(" 70 not-run\n"));
}

#[test]
fn scripts_with_and_without_an_interpreter() {
    let script = |text: &str| Command::Script { text: text.into(), arguments: vec!["x y".into()] };
    let house = House::new(script("echo \"$0\" \"$1\" ${BASH_VERSION:+bash}\n"));
    let log = house.task("n1", 0, &[]).1;
    assert!(log.ends_with("run/3.0.0#2/script.0 x y bash\n"), "{log}");
    let house = House::new(script("#!/usr/bin/env python3\nimport sys\nprint(sys.argv[1])\n"));
    assert_eq!(house.task("n1", 0, &[]).1, "x y\n");
}

#[test]
fn a_job_begins_once_and_the_first_to_fail_speaks_for_all() {
    let mut house = House::new(program(&["true"]));
    house.devices = vec![0, 1];
    let run = house.folder.path().join("run/3.0.0#2");
    std::fs::create_dir_all(run.join("out")).unwrap();
    std::fs::create_dir(house.folder.path().join("signs")).unwrap();
    let bin = house.folder.path().join("bin");
    std::fs::create_dir(&bin).unwrap();
    let srun = bin.join("srun");
    std::fs::write(
        &srun,
        "#!/bin/sh\necho '200 143 exit' > $RUN/out/failed.0; echo '100 4 exit' > $RUN/out/failed.1; exit 143\n",
    )
    .unwrap();
    std::fs::set_permissions(&srun, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let batch = run.join("batch.sh");
    std::fs::write(&batch, house.with(|making| making.batch())).unwrap();
    let start = |restarts: &str| {
        let mut command = std::process::Command::new("sh");
        let path = format!("{}:/usr/bin:/bin", bin.display());
        command.arg(&batch).env("PATH", path).env("RUN", &run).env("SLURM_RESTART_COUNT", restarts);
        command.output().unwrap().status.code()
    };
    assert_eq!(start("1"), Some(BEGUN_BEFORE), "Slurm began it anew");
    assert_eq!(start("0"), Some(4));
    assert_eq!(std::fs::read_to_string(run.join("out/ended")).unwrap(), "4 exit\n");
    assert!(house.folder.path().join("signs/3.0.0#2").exists());
    assert_eq!(start("0"), Some(BEGUN_BEFORE), "a second job of the same attempt");
    std::fs::remove_dir_all(&run).unwrap();
    let text = house.with(|making| making.batch());
    let done = std::process::Command::new("sh").arg("-c").arg(text).output().unwrap();
    assert_eq!(done.status.code(), Some(NO_FOLDER));
}

/// A script whose workers were asked to go and left with 0 says so, in its record and in its status; one whose folder is
/// gone has no record, and is not taken for done unless its only worker told of its end itself.
#[test]
fn a_script_whose_workers_were_asked_to_go_does_not_end_with_0() {
    let mut house = House::new(program(&["true"]));
    let bin = house.folder.path().join("bin");
    std::fs::create_dir(&bin).unwrap();
    std::fs::create_dir(house.folder.path().join("signs")).unwrap();
    let run = house.folder.path().join("run/3.0.0#2");
    let srun = bin.join("srun");
    let play = |house: &House, text: &str| {
        let _ = std::fs::remove_dir_all(&run);
        std::fs::create_dir_all(run.join("out")).unwrap();
        std::fs::write(&srun, format!("#!/bin/sh\n{text}\nexit 0\n")).unwrap();
        std::fs::set_permissions(&srun, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let batch = house.folder.path().join("batch.sh");
        std::fs::write(&batch, house.with(|making| making.batch())).unwrap();
        let mut command = std::process::Command::new("sh");
        let path = format!("{}:/usr/bin:/bin", bin.display());
        let status = command.arg(&batch).env("PATH", path).env("RUN", &run).status().unwrap();
        (status.code(), std::fs::read_to_string(run.join("out/ended")).unwrap_or_default())
    };
    let asked = (Some(143), "0 asked\n".to_owned());
    for ranks in [vec![0], vec![0, 1]] {
        house.devices = ranks;
        // Slurm's own preemption: the steps are asked, perhaps the script too, and there is no marker of ours.
        for told in ["", "kill -TERM $PPID; "] {
            let left = format!("{told}echo 0 > $RUN/out/gone.0; echo 0 > $RUN/out/gone.1");
            assert_eq!(play(&house, &left), asked, "{told}");
            let done = format!("{told}: > $RUN/out/done.0; : > $RUN/out/done.1");
            assert_eq!(play(&house, &done), (Some(0), "0 exit\n".into()), "{told}");
        }
        assert_eq!(
            play(&house, "touch $RUN/stop; echo 0 > $RUN/out/gone.0; echo 0 > $RUN/out/gone.1"),
            asked
        );
        let lost = play(&house, "rm -r $RUN").0;
        assert_eq!(lost, Some(if house.devices.len() == 1 { 0 } else { NO_RECORD }));
    }
}

/// Nothing that was submitted reaches the script itself, whichever shell runs it.
#[test]
fn the_environment_of_the_work_is_private_to_it() {
    let mut house = House::new(program(&["/usr/bin/env", "-0"]));
    let own = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    // Every variable of our scripts, and everything that a shell takes to heart.
    let text = house.with(|making| making.task().unwrap() + &making.batch());
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let mut names: Vec<&str> =
        text.split(|letter| !is_word(letter)).filter(|word| word.starts_with("consort_")).collect();
    assert!(names.len() > 20);
    names.extend([
        "OPTIND",
        "IFS",
        "PATH",
        "ENV",
        "BASH_ENV",
        "SHELLOPTS",
        "PS4",
        "UID",
        "PPID",
        "LC_ALL",
        "PWD",
    ]);
    names.extend(["CDPATH", "RANDOM", "_", "LD_X", "-u", "RANK", "LOCAL_RANK", "ROLE_RANK", "run", "out"]);
    house.work.env = names.iter().map(|name| own(name, "x y")).collect();
    for shell in ["dash", "bash"] {
        let _ = std::fs::remove_dir_all(house.folder.path().join("logs"));
        let _ = std::fs::remove_dir_all(house.folder.path().join("run"));
        let (done, log, seen) = house.task_by(shell, "n1", 0, &[]);
        assert!(done.status.success(), "{shell}: {done:?} {log}");
        for name in &names {
            assert_eq!(seen.get(*name).map(String::as_str), Some("x y"), "{shell}: {name}");
        }
        let out = house.folder.path().join("run/3.0.0#2/out");
        assert!(out.join("done.0").exists() && out.join("ended").exists(), "{shell}");
    }
}

/// Exit status 0 after it was asked to go is not the same as exit status 0.
#[test]
fn whether_it_was_asked_to_go_is_told() {
    let house =
        House::new(program(&["sh", "-c", "trap 'exit 0' TERM; kill -TERM $PPID; kill -TERM $$; exit 9"]));
    assert!(house.task("n1", 0, &[]).0.status.success());
    let out = house.folder.path().join("run/3.0.0#2/out");
    assert_eq!(std::fs::read_to_string(out.join("gone.0")).unwrap(), "0\n");
    assert!(!out.join("done.0").exists() && !out.join("ended").exists());
    // The marker alone does, because the signal may come too late.
    let mut house = House::new(program(&["true"]));
    let run = house.folder.path().join("run/3.0.0#2");
    house.work.stages[0].commands = vec![program(&["touch", run.join("stop").to_str().unwrap()])];
    house.task("n1", 0, &[]);
    assert_eq!(std::fs::read_to_string(run.join("out/gone.0")).unwrap(), "0\n");
    // One that ended before is done, whatever is asked later.
    let house = House::new(program(&["true"]));
    house.task("n1", 0, &[]);
    let run = house.folder.path().join("run/3.0.0#2");
    std::fs::write(run.join("stop"), "").unwrap();
    assert_eq!(std::fs::read_to_string(run.join("out/ended")).unwrap(), "0 exit\n");
}
