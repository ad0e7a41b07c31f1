//! The script that Slurm starts on the first node of a job.
//!
//! Which workers ended by themselves and which were asked to go is told by their own scripts (`done.N`, `gone.N`), because
//! only they know which came first. A worker was asked if the `stop` marker was visible or the signal had arrived when it
//! ended; `stop` is written before the signal is sent. If any worker was asked, the record says so (`asked`), and a work
//! that saved its state and exited with 0 is not taken for one that is done. Slurm may have asked itself, as it does before
//! it preempts: then the record says the same, and Slurm is asked why.

use super::{ENDED, Making, SIGNALS};
use crate::ended::{BEGUN_BEFORE, LOST, NO_FOLDER, NO_RECORD};
use std::fmt::Write;

impl Making<'_> {
    /// The script that Slurm starts.
    pub fn batch(&self) -> String {
        let mut text = format!(
            "#!/bin/sh\n# Consort's job {}, attempt {}.\n",
            self.allocation.ask, self.allocation.attempt
        );
        // `sbatch` passes on every SLURM_* it has. A new shell, because what a process was started with stays readable.
        text += "if [ -n \"${SLURM_JWT+set}\" ]; then unset SLURM_JWT; exec /bin/sh \"$0\"; fi\n";
        text += &self.folders();
        text += SIGNALS;
        let _ = write!(
            text,
            r#"trap 'consort_told=1' TERM
if [ "${{SLURM_RESTART_COUNT:-0}}" != 0 ]; then exit {BEGUN_BEFORE}; fi
if ! mkdir "$consort_out/begun"; then
    [ -d "$consort_out/begun" ] && exit {BEGUN_BEFORE}
    exit {NO_FOLDER}
fi
consort_put "$consort_sign" ""
"#
        );
        text += &self.srun();
        text += "consort_code=$?\n";
        text += &self.conclude();
        text += ENDED;
        let _ = writeln!(text, "[ -z \"$consort_unwritten\" ] || exit {NO_RECORD}");
        // Slurm is not to say COMPLETED of what was asked to go, whoever asked.
        text += r#"if [ "$consort_cause:$consort_code" = asked:0 ]; then exit 143; fi
exit "$consort_code"
"#;
        text
    }

    /// What the markers of the workers come to. Only ranks that exist are looked at, and only plain files are read.
    fn conclude(&self) -> String {
        let ranks = self.layout.seats.len();
        let mut text = String::new();
        if ranks == 1 {
            text += r#"# A lone worker that succeeded has told of its end itself, and its folder may be gone by now.
if [ ! -d "$consort_run" ] && [ "$consort_code" = 0 ]; then exit 0; fi
"#;
        }
        let _ = write!(
            text,
            r#"if [ -f "$consort_out/ended" ]; then exit "$consort_code"; fi
if [ ! -d "$consort_out" ] || [ -L "$consort_out" ]; then exit {NO_RECORD}; fi
consort_silent() {{
    consort_rank=0
    while [ "$consort_rank" -lt {ranks} ]; do
        [ -e "$consort_out/done.$consort_rank" ] || [ -e "$consort_out/gone.$consort_rank" ] || return 0
        consort_rank=$((consort_rank + 1))
    done
    return 1
}}
# `srun` may succeed although a node was lost: success is what all workers say.
consort_tries=0
while [ "$consort_code" = 0 ] && consort_silent; do
    consort_tries=$((consort_tries + 1))
    [ "$consort_tries" -gt 20 ] && exit {LOST}
    sleep 0.2
done
consort_rank=0 consort_first= consort_asked= consort_up=
while [ "$consort_rank" -lt {ranks} ]; do
    [ -e "$consort_out/up.$consort_rank" ] && consort_up=1
    consort_mark="$consort_out/gone.$consort_rank"
    if [ -f "$consort_mark" ] && [ ! -L "$consort_mark" ]; then
        read -r consort_status consort_rest < "$consort_mark"
        case $consort_status in ''|*[!0-9]*) consort_status=1 ;; esac
        [ "${{consort_asked:-0}}" = 0 ] && consort_asked=$consort_status
    fi
    consort_mark="$consort_out/failed.$consort_rank"
    if [ -f "$consort_mark" ] && [ ! -L "$consort_mark" ]; then
        read -r consort_at consort_status consort_why consort_rest < "$consort_mark"
        case $consort_at in ''|*[!0-9]*) consort_at=0 ;; esac
        case $consort_status in ''|*[!0-9]*) consort_status=1 ;; esac
        if [ -z "$consort_first" ] || [ "$consort_at" -lt "$consort_first" ]; then
            consort_first=$consort_at consort_failed=$consort_status consort_cause=$consort_why
        fi
    fi
    consort_rank=$((consort_rank + 1))
done
"#
        );
        text += r#"if [ -n "$consort_first" ]; then
    consort_code=$consort_failed
elif [ -n "$consort_asked" ]; then
    consort_code=$consort_asked consort_cause=asked
elif [ "$consort_code" != 0 ]; then
    consort_cause=srun
    [ -n "$consort_up" ] && consort_cause=lost
fi
# Slurm asked: what it says of a failure counts. That all are done, or that they were asked, only the record tells.
if [ -n "$consort_told" ] && [ ! -e "$consort_run/stop" ] && [ "$consort_code" != 0 ]; then exit "$consort_code"; fi
consort_mark="$consort_out/batch.log"
if [ "$consort_code" != 0 ] && [ -f "$consort_mark" ] && grep -qiE 'oom.kill|out of memory' "$consort_mark" 2>/dev/null; then consort_cause=out-of-memory; fi
"#;
        text
    }

    fn srun(&self) -> String {
        let parts = &self.layout.parts;
        let is_one = parts.len() == 1;
        let mut call = String::new();
        // Slurm's order of ranks is ours where it can be told.
        if is_one && self.layout.nodes.len() > 1 {
            call += "SLURM_HOSTFILE=\"$consort_run/hosts\" ";
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
            call += " --kill-on-bad-exit=1 --wait=0 --input=none sh \"$consort_run/task.sh\"";
        }
        call += "\n";
        call
    }
}
