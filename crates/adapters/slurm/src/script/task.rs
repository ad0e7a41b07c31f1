//! The script that `srun` starts for every worker.
//!
//! It finds its rank by the node and the local number that Slurm gave it, opens the log, and runs the work in a subshell
//! that sets the submitted environment and becomes the work. So nothing that was submitted can change a variable that
//! this script still needs.

use super::environment::MASKS;
use super::{ENDED, Making, SIGNALS, quoted};
use crate::layout::Seat;
use consort_agent::launch::output_path;
use consort_agent::oom;
use consort_types::Command;
use std::fmt::Write;

/// SIGTERM, which Slurm itself sends too.
const TERM: i32 = 15;

const FUNCTIONS: &str = r#"consort_env=$(command -v env) consort_nice=$(command -v nice)
consort_fail() { consort_put "$consort_out/failed.$consort_rank" "$(date +%s%N) $1 $2"; exit "$1"; }
consort_asked() { [ -n "$consort_told" ] || [ -e "$consort_run/stop" ]; }
# Asked to go. The status is told by a file: srun would end the other workers, who still have their grace.
consort_leave() { consort_put "$consort_out/gone.$consort_rank" "$1"; exit 0; }
consort_seat() {
    consort_rank=$1 consort_local_rank=$2 consort_local_size=$3 consort_group=$4 consort_role=$5
    shift 5
    consort_role_rank=$1 consort_role_size=$2 consort_first=$3 consort_devices=$4
}
"#;

const OPEN_LOG: &str = r#"mkdir -p -- "${consort_log%/*}" 2>/dev/null
( : >> "$consort_log" ) 2>/dev/null || { echo "consort: the log $consort_log cannot be written on $SLURMD_NODENAME"; consort_fail 73 not-run; }
exec >> "$consort_log" 2>&1 < /dev/null
"#;

const RUN: &str = r#"( consort_export; command -v -- "$1" ) > /dev/null 2>&1 || { echo "consort: $1 does not exist or cannot be executed on $SLURMD_NODENAME"; consort_fail 127 not-run; }
consort_asked && consort_leave 143
consort_put "$consort_out/up.$consort_rank" ""
"#;

const END: &str = r#"consort_code=$?
consort_asked && consort_leave "$consort_code"
[ "$consort_code" = 0 ] || consort_fail "$consort_code" "$(consort_why)"
consort_put "$consort_out/done.$consort_rank" ""
"#;

impl Making<'_> {
    /// The script of every worker; in words why there can be none.
    pub fn task(&self) -> Result<String, String> {
        let mut text = "unset SLURM_JWT\n".to_owned();
        text += &self.folders();
        text += FUNCTIONS;
        text += SIGNALS;
        let _ = writeln!(text, "trap 'consort_told=1' {TERM} {}", self.work.grace.signal);
        text += &self.seats();
        text += OPEN_LOG;
        text += &self.narrow();
        text += &why();
        text += &self.environment();
        text += &self.command()?;
        text += &self.limits();
        text += RUN;
        let _ = writeln!(text, "( consort_export; exec {}\"$@\" )", self.past_the_shell());
        text += END;
        if self.layout.seats.len() == 1 {
            text += ENDED;
            text += AWAIT;
        }
        text += "exit 0\n";
        Ok(text)
    }

    fn seats(&self) -> String {
        let mut text = "case \"$SLURMD_NODENAME:$SLURM_LOCALID\" in\n".to_owned();
        for seat in &self.layout.seats {
            text += &self.seat(seat);
        }
        text += "*) consort_rank=${SLURM_PROCID:-0}; echo \"consort: there is no seat $SLURM_LOCALID on $SLURMD_NODENAME\"; consort_fail 70 not-run ;;\nesac\n";
        text
    }

    fn seat(&self, seat: &Seat) -> String {
        let log = output_path(&self.shared.join("logs"), self.allocation, self.spec, self.work, seat.rank);
        let node = &self.layout.nodes[seat.node];
        format!(
            "{}) consort_seat {} {} {} {} {} {} {} {} {}; consort_log={} ;;\n",
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
        let mut text = "consort_narrow() { echo \"$1\" | cut -d, -f \"$((consort_first + 1))-$((consort_first + consort_devices))\"; }\n".to_owned();
        for mask in MASKS {
            let _ = writeln!(text, "[ -n \"${{{mask}:-}}\" ] && {mask}=$(consort_narrow \"${mask}\")");
        }
        text
    }

    fn limits(&self) -> String {
        let (mut text, limits) = (String::new(), &self.work.limits);
        if let Some(files) = limits.open_files {
            let _ = writeln!(text, "ulimit -n {files}");
        }
        if let Some(processes) = limits.processes {
            let _ = writeln!(text, "ulimit -u {processes} 2>/dev/null");
        }
        let _ = writeln!(
            text,
            "cd -- {0} || {{ echo \"consort: the working directory does not exist on $SLURMD_NODENAME:\" {0}; consort_fail 127 not-run; }}",
            quoted(&self.work.workdir)
        );
        text
    }

    /// Sets the positional parameters to what is run.
    fn command(&self) -> Result<String, String> {
        let (job, ask) = (self.allocation.ask.job, self.allocation.ask);
        let stage = self.work.stages.get(usize::from(ask.stage));
        let stage = stage.ok_or_else(|| format!("job {job} has no stage {}", ask.stage))?;
        let roles = self.spec.stages[usize::from(ask.stage)].roles.len();
        let mut text = "consort_shell=/bin/sh; [ -x /bin/bash ] && consort_shell=/bin/bash\n".to_owned();
        text += "case $consort_role in\n";
        for role in 0..roles {
            let command = stage
                .commands
                .get(role)
                .ok_or_else(|| format!("job {job} has no command for role {role}"))?;
            let words = match command {
                Command::Program(words) => words.iter().map(|word| quoted(word)).collect::<Vec<_>>(),
                Command::Script { text, arguments } => {
                    let file = format!("\"$consort_run/script.{role}\"");
                    let shell =
                        if text.starts_with("#!") { vec![] } else { vec!["\"$consort_shell\"".to_owned()] };
                    let words = shell.into_iter().chain([file]);
                    words.chain(arguments.iter().map(|word| quoted(word))).collect()
                }
            };
            if words.is_empty() {
                return Err(format!("job {job} has an empty command for role {role}"));
            }
            let _ = writeln!(text, "{role}) set -- {} ;;", words.join(" "));
        }
        text += "esac\n";
        Ok(text)
    }
}

/// A function that says what a worker that failed has failed of, by the end of its output.
fn why() -> String {
    let words: Vec<String> = oom::WORDS.iter().map(|words| format!("-e {}", quoted(words))).collect();
    format!(
        "consort_why() {{ tail -c {} -- \"$consort_log\" 2> /dev/null | grep -qF {} 2> /dev/null && echo device-memory || echo exit; }}\n",
        oom::TAIL,
        words.join(" ")
    )
}

/// The end of a lone worker that succeeded. It writes the record from within its step, so that the step is the last thing
/// that Slurm puts away: a job whose steps are all gone by then is put away without a word to Slurm's scheduler, and the
/// next job on its devices waits for the next round. For the same reason it waits until its end was read, but not long.
const AWAIT: &str = r#"consort_heard=0
while [ -e "$consort_out/ended" ] && [ "$consort_heard" -lt 15 ]; do
    sleep 0.02
    consort_heard=$((consort_heard + 1))
done
"#;
