//! What Slurm runs: a script for the job, and one for each worker.
//!
//! ```text
//! SHARED/run/12.0.0#1/          one attempt at one ask
//!                     batch.sh  what Slurm starts on the first node: begins once, calls srun, writes down how it ended
//!                     task.sh   what srun starts for every worker: finds its seat, its environment and its log
//!                     script.0  the text of a script, by role
//!                     hosts     a line for each rank, where ranks and Slurm's own order must agree
//!                     intent    we are about to submit it        id     the number Slurm gave it
//!                     stop      it is to go; whoever has not begun yet does not
//!                     out/      the jobs' own: begun/ (it has begun, whoever says otherwise), failed.N (when and how rank
//!                               N failed), up.N and done.N (it began, it succeeded), ended (how it all ended), batch.log (what Slurm and srun had to say)
//! SHARED/signs/12.0.0#1         something happened: look at Slurm now
//! ```
//! For: nodes need nothing installed; all they must see is the shared folder.
//! Promises: `SLURM_*` is what Slurm says, and so are device masks, unless several workers with several devices each share
//! a node. Whatever was submitted is quoted, never evaluated.
//! Never: runs an attempt twice: `mkdir begun` succeeds once, whatever Slurm does.

use crate::ended::{BEGUN_BEFORE, LOST, NO_FOLDER};
use crate::layout::{Layout, Seat};
use consort_agent::environment::port;
use consort_agent::launch::{allocation_name, output_path};
use consort_types::{AllocationId, Command, Form, JobSpec, Work};
use std::fmt::Write;
use std::path::Path;

/// Everything a script is made of.
pub struct Making<'a> {
    /// Which attempt.
    pub allocation: AllocationId,
    /// What was submitted.
    pub spec: &'a JobSpec,
    /// What it runs.
    pub work: &'a Work,
    /// Who sits where.
    pub layout: &'a Layout,
    /// Where nodes can be reached, in the order of the layout.
    pub addresses: &'a [String],
    /// The folder that all nodes see.
    pub shared: &'a Path,
}

/// Writes down how it ended. What cannot be written is no reason to fail: Slurm knows it too. (`:` would end the shell.)
const ENDED: &str = r#"{ echo "$code ${cause:-exit}" > "$out/ended.new" && mv "$out/ended.new" "$out/ended"; } 2> /dev/null
{ true > "$sign"; } 2> /dev/null
"#;

/// Signals are for the work, not for the scripts around it: slurmrestd's old shapes send them to the batch script too.
const HEARD: &str = "trap : HUP INT QUIT USR1 USR2 ALRM\n";

/// One word of a shell.
pub fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Variables that say which devices a worker sees. Slurm sets them.
const MASKS: &[&str] = &[
    "CUDA_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "GPU_DEVICE_ORDINAL",
    "ZE_AFFINITY_MASK",
    "NVIDIA_VISIBLE_DEVICES",
];

/// Variables that say where a shell is, not what its owner wants.
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

impl Making<'_> {
    fn run(&self) -> String {
        self.shared.join("run").join(allocation_name(self.allocation)).display().to_string()
    }

    /// The script that Slurm starts.
    pub fn batch(&self) -> String {
        let name = allocation_name(self.allocation);
        let sign = self.shared.join("signs").join(&name).display().to_string();
        let mut text = format!(
            "#!/bin/sh\n# Consort's job {}, attempt {}.\nrun={}\nsign={}\nout=\"$run/out\"\n{HEARD}trap 'told=1' TERM\n",
            self.allocation.ask,
            self.allocation.attempt,
            quoted(&self.run()),
            quoted(&sign)
        );
        text += &format!(
            r#"if [ "${{SLURM_RESTART_COUNT:-0}}" != 0 ]; then exit {BEGUN_BEFORE}; fi
if ! mkdir "$out/begun"; then
    [ -d "$out/begun" ] && exit {BEGUN_BEFORE}
    exit {NO_FOLDER}
fi
{{ true > "$sign"; }} 2> /dev/null
"#
        );
        text += &self.srun();
        // A lone worker has told of its end itself, and it may have been heard by now.
        text += "code=$?\nif [ -e \"$out/ended\" ] || [ ! -d \"$out\" ]; then exit \"$code\"; fi\n";
        // `srun` may come back content although a node was lost: success is what all workers say.
        let _ = write!(
            text,
            r#"tries=0
while [ "$code" = 0 ] && [ "$(ls "$out" | grep -c '^done\.')" -lt {} ]; do
    tries=$((tries + 1))
    [ "$tries" -gt 20 ] && exit {LOST}
    sleep 0.2
done
"#,
            self.layout.seats.len()
        );
        text += r#"first=$(cat "$out"/failed.* 2>/dev/null | sort -n | head -n 1)
if [ -n "$first" ]; then
    set -- $first
    code=$2 cause=$3
elif [ "$code" != 0 ]; then
    cause=srun
    ls "$out" | grep -q '^up\.' && cause=lost
fi
if [ -n "$told" ] && [ ! -e "$run/stop" ]; then exit "$code"; fi
if [ "$code" != 0 ] && grep -qiE 'oom.kill|out of memory' "$out/batch.log" 2>/dev/null; then cause=out-of-memory; fi
"#;
        text += ENDED;
        text += "exit \"$code\"\n";
        text
    }

    fn srun(&self) -> String {
        let parts = &self.layout.parts;
        let is_one = parts.len() == 1;
        let mut call = String::new();
        // Slurm's order of ranks is ours where it can be told.
        if is_one && self.layout.nodes.len() > 1 {
            call += "SLURM_HOSTFILE=\"$run/hosts\" ";
        }
        call += "srun";
        for (index, part) in parts.iter().enumerate() {
            if index > 0 {
                call += " \\\n  :";
            }
            if !is_one {
                let _ = write!(call, " --het-group={index}");
            }
            let _ = write!(call, " --nodes={} --ntasks={}", part.nodes.len(), part.all_tasks());
            if is_one && self.layout.nodes.len() > 1 {
                call += " --distribution=arbitrary";
            } else {
                let _ = write!(call, " --ntasks-per-node={}", part.tasks);
            }
            let _ = write!(call, " --cpus-per-task={} --mem=0", part.cpus);
            call += " --kill-on-bad-exit=1 --wait=0 --input=none sh \"$run/task.sh\"";
        }
        call += "\n";
        call
    }

    /// A line for each rank.
    pub fn hosts(&self) -> String {
        self.layout.seats.iter().map(|seat| format!("{}\n", self.layout.nodes[seat.node])).collect()
    }

    /// The texts of scripts, by role.
    pub fn scripts(&self) -> Vec<(usize, String)> {
        let stage = self.work.stages.get(usize::from(self.allocation.ask.stage));
        let commands = stage.map_or(&[][..], |stage| &stage.commands);
        let text = |(role, command): (usize, &Command)| match command {
            Command::Script { text, .. } => Some((role, text.clone())),
            Command::Program(_) => None,
        };
        commands.iter().enumerate().filter_map(text).collect()
    }

    /// The script of every worker; in words why there can be none.
    pub fn task(&self) -> Result<String, String> {
        let mut text = self.inherited();
        let _ = writeln!(text, "run={}\nout=\"$run/out\"", quoted(&self.run()));
        text += r#"failed() { echo "$(date +%s%N) $1 $2" > "$out/failed.$RANK"; exit "$1"; }
seat() { RANK=$1 LOCAL_RANK=$2 LOCAL_WORLD_SIZE=$3 GROUP_RANK=$4 role=$5 ROLE_RANK=$6 ROLE_WORLD_SIZE=$7 first=$8 devices=$9; }
"#;
        text += "case \"$SLURMD_NODENAME:$SLURM_LOCALID\" in\n";
        for seat in &self.layout.seats {
            text += &self.seat(seat);
        }
        text += "*) RANK=${SLURM_PROCID:-0}; echo \"consort: there is no seat $SLURM_LOCALID on $SLURMD_NODENAME\"; failed 70 not-run ;;\nesac\n";
        text += r#"mkdir -p -- "${log%/*}" 2>/dev/null
( : >> "$log" ) 2>/dev/null || { echo "consort: the log $log cannot be written on $SLURMD_NODENAME"; failed 73 not-run; }
exec >> "$log" 2>&1 < /dev/null
"#;
        text += &self.narrow();
        text += &self.environment()?;
        text += &self.command()?;
        let limits = &self.work.limits;
        if let Some(files) = limits.open_files {
            let _ = writeln!(text, "ulimit -n {files}");
        }
        if let Some(processes) = limits.processes {
            let _ = writeln!(text, "ulimit -u {processes} 2>/dev/null");
        }
        let _ = writeln!(
            text,
            "cd -- {0} || {{ echo \"consort: the working directory does not exist on $SLURMD_NODENAME:\" {0}; failed 127 not-run; }}",
            quoted(&self.work.workdir)
        );
        text += HEARD;
        text += r#"command -v -- "$program" > /dev/null 2>&1 || { echo "consort: $program does not exist or cannot be executed on $SLURMD_NODENAME"; failed 127 not-run; }
trap 'told=1' TERM
[ -e "$run/stop" ] && exit 143
{ true > "$out/up.$RANK"; } 2> /dev/null
"$@"
code=$?
[ "$code" = 0 ] || [ -e "$run/stop" ] || failed "$code" exit
[ "$code" = 0 ] && { true > "$out/done.$RANK"; } 2> /dev/null
"#;
        if self.layout.seats.len() == 1 {
            text += &self.hand_over();
        }
        text += "exit \"$code\"\n";
        Ok(text)
    }

    /// The end of a lone worker that succeeded. It waits until its end is heard, but not for long: whoever is next then
    /// already waits in Slurm for these devices. And it tells from within its step, so that the step is the last thing
    /// that Slurm puts away: a job whose steps are all gone by then is put away without a word to the scheduler, and
    /// whoever waits for its devices waits for the next round.
    fn hand_over(&self) -> String {
        let sign = self.shared.join("signs").join(allocation_name(self.allocation)).display().to_string();
        let mut text = format!("if [ \"$code\" = 0 ] && [ -z \"$told\" ]; then\nsign={}\n", quoted(&sign));
        text += ENDED;
        text += r#"heard=0
while [ -e "$out/ended" ] && [ "$heard" -lt 15 ]; do
    sleep 0.02
    heard=$((heard + 1))
done
fi
"#;
        text
    }

    fn seat(&self, seat: &Seat) -> String {
        let log = output_path(&self.shared.join("logs"), self.allocation, self.spec, self.work, seat.rank);
        let node = &self.layout.nodes[seat.node];
        format!(
            "{}) seat {} {} {} {} {} {} {} {} {}; log={} ;;\n",
            quoted(&format!("{node}:{}", seat.local_rank)),
            seat.rank,
            seat.local_rank,
            self.layout.local_size(seat.node),
            seat.node,
            seat.role,
            seat.role_rank,
            seat.role_size,
            seat.first,
            seat.devices,
            quoted(&log.display().to_string())
        )
    }

    /// Workers with several devices each cannot find their own by counting themselves.
    fn narrow(&self) -> String {
        let is_shared = |seat: &Seat| seat.devices > 1 && self.layout.local_size(seat.node) > 1;
        if !self.layout.seats.iter().any(is_shared) {
            return String::new();
        }
        let mut text =
            "narrow() { echo \"$1\" | cut -d, -f \"$((first + 1))-$((first + devices))\"; }\n".to_owned();
        for mask in MASKS {
            let _ = writeln!(text, "[ -n \"${{{mask}:-}}\" ] && {mask}=$(narrow \"${mask}\")");
        }
        text
    }

    /// What the submitter had around them: first, so that everything else wins.
    fn inherited(&self) -> String {
        let mut text = "unset SLURM_JWT\n".to_owned();
        for (name, value) in self.work.inherited.iter().filter(|(name, _)| !is_given(name) && is_name(name)) {
            export(&mut text, name, value);
        }
        text
    }

    fn environment(&self) -> Result<String, String> {
        let stage = &self.spec.stages[usize::from(self.allocation.ask.stage)];
        let mut text = String::new();
        let ask = self.allocation.ask;
        let size = self.layout.seats.len();
        let (address, port) = (&self.addresses[0], port(self.allocation));
        let retries = self.spec.retries.to_string();
        let attempt = self.allocation.attempt;
        let given = [
            ("WORLD_SIZE", size.to_string()),
            ("GROUP_WORLD_SIZE", self.layout.nodes.len().to_string()),
            ("MASTER_ADDR", address.clone()),
            ("MASTER_PORT", port.to_string()),
            ("TORCHELASTIC_RUN_ID", ask.job.0.to_string()),
            ("TORCHELASTIC_RESTART_COUNT", attempt.saturating_sub(1).to_string()),
            ("TORCHELASTIC_MAX_RESTARTS", retries),
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
        text += "case $role in\n";
        for (index, role) in stage.roles.iter().enumerate() {
            let _ = writeln!(text, "{index}) ROLE_NAME={} ;;", quoted(&role.name));
        }
        text += "esac\n";
        text += r#"export RANK LOCAL_RANK LOCAL_WORLD_SIZE GROUP_RANK ROLE_NAME ROLE_RANK ROLE_WORLD_SIZE
export JAX_PROCESS_ID=$RANK HOROVOD_RANK=$RANK OMPI_COMM_WORLD_RANK=$RANK PMI_RANK=$RANK
export HOROVOD_LOCAL_RANK=$LOCAL_RANK HOROVOD_LOCAL_SIZE=$LOCAL_WORLD_SIZE HOROVOD_CROSS_RANK=$GROUP_RANK
export OMPI_COMM_WORLD_LOCAL_RANK=$LOCAL_RANK OMPI_COMM_WORLD_LOCAL_SIZE=$LOCAL_WORLD_SIZE OMPI_COMM_WORLD_NODE_RANK=$LOCAL_RANK
"#;
        let _ = writeln!(
            text,
            "export TF_CONFIG={}\"$ROLE_RANK\"{}\"$ROLE_NAME\"{}",
            quoted(&format!("{{\"cluster\":{},\"task\":{{\"index\":", self.tf_cluster())),
            quoted(",\"type\":\""),
            quoted("\"}}")
        );
        let has_threads = self.work.inherited.iter().any(|(name, _)| name == "OMP_NUM_THREADS");
        if let Some(seat) = self.layout.seats.first().filter(|seat| seat.cpus > 0 && !has_threads) {
            export(&mut text, "OMP_NUM_THREADS", &seat.cpus.to_string());
        }
        for (name, value) in self.work.env.iter().filter(|(name, _)| !is_given(name) && is_name(name)) {
            export(&mut text, name, value);
        }
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
            ("CONSORT_ATTEMPT", attempt.to_string()),
            ("CONSORT_STAGE", stage.name.clone()),
            ("CONSORT_TASK", task.to_string()),
            ("CONSORT_SIZE", size.to_string()),
        ];
        for (name, value) in &own {
            export(&mut text, name, value);
        }
        if let Some(tasks) = tasks {
            export(&mut text, "CONSORT_TASKS", &tasks.to_string());
        }
        if let (Form::Bag { tasks }, Some(count)) = (stage.form, tasks) {
            // An array of ours is no array of Slurm's: these are not Slurm's to say.
            let last = tasks.saturating_sub(1);
            export(&mut text, "SLURM_ARRAY_JOB_ID", &ask.job.0.to_string());
            export(&mut text, "SLURM_ARRAY_TASK_ID", &task.to_string());
            export(&mut text, "SLURM_ARRAY_TASK_COUNT", &count.to_string());
            export(
                &mut text,
                "SLURM_ARRAY_TASK_MIN",
                &indices.iter().min().copied().unwrap_or(0).to_string(),
            );
            export(
                &mut text,
                "SLURM_ARRAY_TASK_MAX",
                &indices.iter().max().copied().unwrap_or(last).to_string(),
            );
        }
        text += r#"export CONSORT_RANK=$RANK CONSORT_ROLE="$ROLE_NAME" CONSORT_LOCAL_RANK=$LOCAL_RANK CONSORT_LOCAL_SIZE=$LOCAL_WORLD_SIZE
CONSORT_DEVICES= position=$first
while [ "$position" -lt "$((first + devices))" ]; do
    CONSORT_DEVICES=${CONSORT_DEVICES:+$CONSORT_DEVICES,}$position
    position=$((position + 1))
done
export CONSORT_DEVICES
"#;
        Ok(text)
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

    /// What is run, as the positional parameters; `$program` is what has to exist.
    fn command(&self) -> Result<String, String> {
        let (job, ask) = (self.allocation.ask.job, self.allocation.ask);
        let stage = self.work.stages.get(usize::from(ask.stage));
        let stage = stage.ok_or_else(|| format!("job {job} says nothing about stage {}", ask.stage))?;
        let roles = self.spec.stages[usize::from(ask.stage)].roles.len();
        let mut text = "case $role in\n".to_owned();
        for role in 0..roles {
            let command = stage
                .commands
                .get(role)
                .ok_or_else(|| format!("job {job} has no command for role {role}"))?;
            let words = match command {
                Command::Program(words) => words.iter().map(|word| quoted(word)).collect::<Vec<_>>(),
                Command::Script { text, arguments } => {
                    let file = format!("\"$run/script.{role}\"");
                    let shell = if text.starts_with("#!") { vec![] } else { vec!["\"$shell\"".to_owned()] };
                    let words = shell.into_iter().chain([file]);
                    words.chain(arguments.iter().map(|word| quoted(word))).collect()
                }
            };
            if words.is_empty() {
                return Err(format!("job {job} has an empty command for role {role}"));
            }
            let _ = writeln!(text, "{role}) set -- {} ;;", words.join(" "));
        }
        text += "esac\nprogram=$1\n";
        // Names that a shell cannot have as variables.
        let odd: Vec<String> = (self.work.inherited.iter().chain(&self.work.env))
            .filter(|(name, value)| {
                !is_name(name)
                    && !is_given(name)
                    && !name.is_empty()
                    && !name.contains(['=', '\0'])
                    && !value.contains('\0')
            })
            .map(|(name, value)| quoted(&format!("{name}={value}")))
            .collect();
        if !odd.is_empty() {
            let _ = writeln!(text, "set -- env {} \"$@\"", odd.join(" "));
        }
        Ok(format!("shell=/bin/sh; [ -x /bin/bash ] && shell=/bin/bash\n{text}"))
    }
}

/// Words that Slurm, the shell or we ourselves say, and nobody else.
fn is_given(name: &str) -> bool {
    name.starts_with("SLURM")
        || name.starts_with("CONSORT_")
        || MASKS.contains(&name)
        || OF_A_SHELL.contains(&name)
}

/// Variables of the script itself: who submits one of that name gets it past the shell.
const OURS: &[&str] = &[
    "run", "out", "sign", "role", "first", "devices", "log", "code", "cause", "program", "shell", "position",
    "heard", "told",
];

/// Whether the script's shell can have a variable of this name for the worker.
fn is_name(name: &str) -> bool {
    let mut letters = name.bytes();
    !OURS.contains(&name)
        && letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == b'_')
}

fn export(text: &mut String, name: &str, value: &str) {
    if !value.contains('\0') {
        let _ = writeln!(text, "export {name}={}", quoted(value));
    }
}

#[cfg(test)]
mod tests;
