//! What a worker finds in its environment.
//!
//! Precedence, low to high, as on one machine: what the submitter had around them, what frameworks look for, what the job
//! file asks for by name, and then `CONSORT_*`. `SLURM_*` and device masks are Slurm's and cannot be set.
//!
//! Plain names are exported by a function that only runs in a subshell about to become the worker, so values do not show
//! in a list of processes. Names that mean something to a shell (`OPTIND`, `IFS`, `SHELLOPTS`), to a loader (`LD_PRELOAD`)
//! or to our scripts (`consort_*`), and names that no shell can have, are set by `env`, past every shell.

use super::{Making, quoted};
use consort_agent::environment::{OURS, port};
use consort_agent::launch::allocation_name;
use consort_types::{Command, Form};
use std::fmt::Write;

/// Variables that say which devices a worker sees. Slurm sets them.
pub const MASKS: &[&str] = &[
    "CUDA_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "GPU_DEVICE_ORDINAL",
    "ZE_AFFINITY_MASK",
    "NVIDIA_VISIBLE_DEVICES",
];

/// Variables that describe the submitter's shell, not what the submitter wants. Not inherited.
const OF_A_SHELL: &[&str] = &[
    "PWD",
    "OLDPWD",
    "SHLVL",
    "_",
    "HOSTNAME",
    "UID",
    "EUID",
    "PPID",
    "SHELLOPTS",
    "BASHOPTS",
    "BASH_VERSINFO",
    "IFS",
];

/// Variables that a shell reads, computes or refuses to set.
const SPECIAL: &[&str] = &[
    "CDPATH",
    "COLUMNS",
    "DIRSTACK",
    "EDITOR",
    "ENV",
    "EUID",
    "EXECIGNORE",
    "FCEDIT",
    "FIGNORE",
    "FPATH",
    "FUNCNAME",
    "FUNCNEST",
    "GLOBIGNORE",
    "GROUPS",
    "HOSTNAME",
    "HOSTTYPE",
    "IFS",
    "IGNOREEOF",
    "INPUTRC",
    "LANG",
    "LANGUAGE",
    "LINENO",
    "LINES",
    "MACHTYPE",
    "OLDPWD",
    "OPTARG",
    "OPTERR",
    "OPTIND",
    "OSTYPE",
    "PIPESTATUS",
    "POSIXLY_CORRECT",
    "PPID",
    "PROMPT_COMMAND",
    "PWD",
    "RANDOM",
    "REPLY",
    "SECONDS",
    "SHELLOPTS",
    "SHLVL",
    "SRANDOM",
    "TERM",
    "TIMEFORMAT",
    "TMOUT",
    "UID",
    "_",
];

/// Beginnings of such names, and of those that only the worker's own loader is to see.
const SPECIAL_PREFIXES: &[&str] =
    &["consort_", "BASH", "COMP_", "EPOCH", "HIST", "KSH_", "LC_", "LD_", "MAIL", "PS", "ZSH_"];

impl Making<'_> {
    /// The function that exports everything a worker finds.
    pub(super) fn environment(&self) -> String {
        let mut text = "consort_export() {\n".to_owned();
        for (name, value) in self.inherited().filter(|(name, _)| is_plain(name)) {
            export(&mut text, name, value);
        }
        text += &self.for_frameworks();
        for (name, value) in self.asked_for().filter(|(name, _)| is_plain(name)) {
            export(&mut text, name, value);
        }
        text += &self.own();
        text += "}\n";
        text
    }

    /// `env` with everything that a shell is not to see; empty if there is nothing of the kind.
    pub(super) fn past_the_shell(&self) -> String {
        let odd: Vec<String> = (self.inherited().chain(self.asked_for()))
            .filter(|(name, value)| {
                !is_plain(name) && !name.is_empty() && !name.contains(['=', '\0']) && !value.contains('\0')
            })
            .map(|(name, value)| quoted(&format!("{name}={value}")))
            .collect();
        if odd.is_empty() {
            return String::new();
        }
        // `env` takes a program with `=` in its path for one more variable.
        let nice = if self.has_equals_sign() { "\"$consort_nice\" -n 0 " } else { "" };
        format!("\"$consort_env\" -- {} {nice}", odd.join(" "))
    }

    fn has_equals_sign(&self) -> bool {
        let commands = self.work.stages.iter().flat_map(|stage| &stage.commands);
        let program = |command: &Command| match command {
            Command::Program(words) => words.first().is_some_and(|word| word.contains('=')),
            Command::Script { .. } => true,
        };
        commands.into_iter().any(program)
    }

    fn inherited(&self) -> impl Iterator<Item = (&str, &str)> {
        let all = self.work.inherited.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        all.filter(|(name, _)| !is_given(name) && !OF_A_SHELL.contains(name))
    }

    fn asked_for(&self) -> impl Iterator<Item = (&str, &str)> {
        let all = self.work.env.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        all.filter(|(name, _)| !is_given(name))
    }

    fn for_frameworks(&self) -> String {
        let (mut text, ask) = (String::new(), self.allocation.ask);
        let stage = &self.spec.stages[usize::from(ask.stage)];
        let size = self.layout.seats.len();
        let (address, port) = (&self.addresses[0], port(self.allocation));
        let given = [
            ("WORLD_SIZE", size.to_string()),
            ("GROUP_WORLD_SIZE", self.layout.nodes.len().to_string()),
            ("MASTER_ADDR", address.clone()),
            ("MASTER_PORT", port.to_string()),
            ("TORCHELASTIC_RUN_ID", ask.job.0.to_string()),
            ("TORCHELASTIC_RESTART_COUNT", self.allocation.attempt.saturating_sub(1).to_string()),
            ("TORCHELASTIC_MAX_RESTARTS", self.spec.retries.to_string()),
            ("JAX_COORDINATOR_ADDRESS", format!("{address}:{port}")),
            ("JAX_NUM_PROCESSES", size.to_string()),
            ("HOROVOD_SIZE", size.to_string()),
            ("HOROVOD_CROSS_SIZE", self.layout.nodes.len().to_string()),
            ("OMPI_COMM_WORLD_SIZE", size.to_string()),
            ("PMI_SIZE", size.to_string()),
        ];
        for (name, value) in &given {
            export(&mut text, name, value);
        }
        text += "case $consort_role in\n";
        for (index, role) in stage.roles.iter().enumerate() {
            let _ = writeln!(text, "{index}) consort_role_name={} ;;", quoted(&role.name));
        }
        text += r#"esac
export RANK=$consort_rank LOCAL_RANK=$consort_local_rank LOCAL_WORLD_SIZE=$consort_local_size GROUP_RANK=$consort_group
export ROLE_NAME="$consort_role_name" ROLE_RANK=$consort_role_rank ROLE_WORLD_SIZE=$consort_role_size
export JAX_PROCESS_ID=$consort_rank HOROVOD_RANK=$consort_rank OMPI_COMM_WORLD_RANK=$consort_rank PMI_RANK=$consort_rank
export HOROVOD_LOCAL_RANK=$consort_local_rank HOROVOD_LOCAL_SIZE=$consort_local_size HOROVOD_CROSS_RANK=$consort_group
export OMPI_COMM_WORLD_LOCAL_RANK=$consort_local_rank OMPI_COMM_WORLD_LOCAL_SIZE=$consort_local_size OMPI_COMM_WORLD_NODE_RANK=$consort_local_rank
"#;
        let _ = writeln!(
            text,
            "export TF_CONFIG={}\"$consort_role_rank\"{}\"$consort_role_name\"{}",
            quoted(&format!("{{\"cluster\":{},\"task\":{{\"index\":", self.tf_cluster())),
            quoted(",\"type\":\""),
            quoted("\"}}")
        );
        let has_threads = self.work.inherited.iter().any(|(name, _)| name == "OMP_NUM_THREADS");
        if let Some(seat) = self.layout.seats.first().filter(|seat| seat.cpus > 0 && !has_threads) {
            export(&mut text, "OMP_NUM_THREADS", &seat.cpus.to_string());
        }
        text
    }

    /// TensorFlow wants every member's address, by task type: roles are task types.
    fn tf_cluster(&self) -> serde_json::Value {
        let stage = &self.spec.stages[usize::from(self.allocation.ask.stage)];
        let mut cluster = serde_json::Map::new();
        for seat in &self.layout.seats {
            let address =
                format!("{}:{}", self.addresses[seat.node], u32::from(port(self.allocation)) + seat.rank);
            let role = stage.roles[seat.role].name.clone();
            let list = cluster.entry(role).or_insert_with(|| serde_json::Value::Array(vec![]));
            list.as_array_mut().expect("just made").push(address.into());
        }
        cluster.into()
    }

    /// `CONSORT_*`, and what Slurm would say if our bag were an array of its own.
    fn own(&self) -> String {
        let (mut text, ask) = (String::new(), self.allocation.ask);
        let stage = &self.spec.stages[usize::from(ask.stage)];
        let tasks = match stage.form {
            Form::Gang => None,
            Form::Bag { tasks } | Form::Service { replicas: tasks } => Some(tasks),
        };
        let indices = self.work.stages.get(usize::from(ask.stage)).map_or(&[][..], |stage| &stage.indices);
        let task = match tasks {
            None => 0,
            Some(_) => indices.get(ask.task as usize).copied().unwrap_or(ask.task),
        };
        let own = [
            ("CONSORT_JOB", ask.job.0.to_string()),
            ("CONSORT_JOB_NAME", self.spec.name.clone()),
            ("CONSORT_ALLOCATION", allocation_name(self.allocation)),
            ("CONSORT_ATTEMPT", self.allocation.attempt.to_string()),
            ("CONSORT_STAGE", stage.name.clone()),
            ("CONSORT_TASK", task.to_string()),
            ("CONSORT_SIZE", self.layout.seats.len().to_string()),
        ];
        for (name, value) in &own {
            export(&mut text, name, value);
        }
        let first = self.layout.seats.first();
        let work = self.work.stages.get(usize::from(ask.stage));
        if let Some(variant) = first.zip(work).and_then(|(seat, work)| work.variant(&seat.kind)) {
            export(&mut text, "CONSORT_VARIANT", &variant.kind);
        }
        for seat in self.layout.seats.iter().filter(|seat| seat.role_rank == 0) {
            // All members of a role have devices of one kind.
            if !seat.kind.is_empty() {
                let kind = quoted(&seat.kind);
                let _ = writeln!(text, "[ $consort_role != {} ] || export CONSORT_KIND={kind}", seat.role);
            }
            if let Some(precision) = seat.precision {
                let _ = writeln!(
                    text,
                    "[ $consort_role != {} ] || export CONSORT_PRECISION={precision}",
                    seat.role
                );
            }
        }
        if let Some(tasks) = tasks {
            export(&mut text, "CONSORT_TASKS", &tasks.to_string());
        }
        if let Form::Bag { tasks } = stage.form {
            let last = tasks.saturating_sub(1);
            let (least, most) = (indices.iter().min().copied(), indices.iter().max().copied());
            export(&mut text, "SLURM_ARRAY_JOB_ID", &ask.job.0.to_string());
            export(&mut text, "SLURM_ARRAY_TASK_ID", &task.to_string());
            export(&mut text, "SLURM_ARRAY_TASK_COUNT", &tasks.to_string());
            export(&mut text, "SLURM_ARRAY_TASK_MIN", &least.unwrap_or(0).to_string());
            export(&mut text, "SLURM_ARRAY_TASK_MAX", &most.unwrap_or(last).to_string());
        }
        text += r#"export CONSORT_RANK=$consort_rank CONSORT_ROLE="$consort_role_name" CONSORT_LOCAL_RANK=$consort_local_rank CONSORT_LOCAL_SIZE=$consort_local_size
CONSORT_DEVICES= consort_position=$consort_first
while [ "$consort_position" -lt "$((consort_first + consort_devices))" ]; do
    CONSORT_DEVICES=${CONSORT_DEVICES:+$CONSORT_DEVICES,}$consort_position
    consort_position=$((consort_position + 1))
done
export CONSORT_DEVICES CONSORT_PROGRESS="$consort_out/progress.$consort_rank"
"#;
        text
    }
}

/// Names that Slurm or we ourselves give a value, and no job.
fn is_given(name: &str) -> bool {
    name.starts_with("SLURM") || OURS.contains(&name) || MASKS.contains(&name)
}

/// Whether a shell can have this variable, and gives it no meaning of its own.
fn is_plain(name: &str) -> bool {
    let mut letters = name.bytes();
    !SPECIAL.contains(&name)
        && !SPECIAL_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        && letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == b'_')
}

fn export(text: &mut String, name: &str, value: &str) {
    if !value.contains('\0') {
        let _ = writeln!(text, "export {name}={}", quoted(value));
    }
}
