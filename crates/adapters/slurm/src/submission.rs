//! A job, as Slurm is asked for it.
//!
//! For: one value that becomes arguments of `sbatch` or a body for slurmrestd.
//! Promises: pinned to nodes and to counts of devices on each; never begun a second time by Slurm itself. Nodes that are
//! asked for different things are different parts of one job, which Slurm starts together or not at all.
//! Never: contains what a user wrote where something could read it as an option.

use crate::gres::Gres;
use consort_types::file::hosts;
use std::path::PathBuf;

/// A job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submission {
    /// For those who look at `squeue`.
    pub name: String,
    /// By which we find it again.
    pub tag: String,
    /// Where it goes.
    pub partition: String,
    /// Whom Slurm charges.
    pub account: Option<String>,
    /// Slurm's quality of service.
    pub qos: Option<String>,
    /// Slurm's reservation.
    pub reservation: Option<String>,
    /// The script, on disk.
    pub script: PathBuf,
    /// The same as text.
    pub text: String,
    /// Where the script's own words go.
    pub output: PathBuf,
    /// A limit of Slurm's own.
    pub minutes: Option<u64>,
    /// What it needs; more than one where nodes differ.
    pub parts: Vec<Part>,
}

/// Nodes that are asked for the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Which.
    pub nodes: Vec<String>,
    /// Workers on each.
    pub tasks: u32,
    /// Processors for each worker.
    pub cpus: u32,
    /// Memory on each node.
    pub memory_mb: Option<u64>,
    /// Devices on each node.
    pub gres: Vec<Gres>,
}

impl Part {
    /// Devices on each node, as they are asked for; empty for none.
    pub fn gres(&self) -> String {
        self.gres.iter().map(Gres::request).collect::<Vec<_>>().join(",")
    }

    /// Workers on all its nodes.
    pub fn all_tasks(&self) -> u32 {
        self.tasks * self.nodes.len() as u32
    }

    /// Its nodes as one list.
    pub fn nodelist(&self) -> String {
        hosts::compress(self.nodes.iter().map(String::as_str))
    }
}

impl Submission {
    /// What `sbatch` is called with.
    pub fn arguments(&self) -> Vec<String> {
        let mut all = vec!["--parsable".to_owned()];
        for (index, part) in self.parts.iter().enumerate() {
            if index > 0 {
                all.push(":".into());
            }
            all.extend([
                format!("--job-name={}", self.name),
                format!("--comment={}", self.tag),
                format!("--partition={}", self.partition),
                "--no-requeue".into(),
                "--export=ALL".into(),
                "--chdir=/".into(),
                format!("--output={}", self.output.display()),
                format!("--nodes={0}-{0}", part.nodes.len()),
                format!("--nodelist={}", part.nodelist()),
                format!("--ntasks={}", part.all_tasks()),
                format!("--ntasks-per-node={}", part.tasks),
                format!("--cpus-per-task={}", part.cpus),
            ]);
            let optional = [
                ("time", self.minutes.map(|minutes| minutes.to_string())),
                ("account", self.account.clone()),
                ("qos", self.qos.clone()),
                ("reservation", self.reservation.clone()),
                ("mem", part.memory_mb.map(|memory| format!("{memory}M"))),
                ("gres", Some(part.gres()).filter(|gres| !gres.is_empty())),
            ];
            all.extend(optional.into_iter().filter_map(|(name, value)| Some(format!("--{name}={}", value?))));
        }
        all.push(self.script.display().to_string());
        all
    }
}

/// A name that can stand in a list: whatever a user wrote, in one line.
pub fn name(text: &str) -> String {
    let clean = |letter: char| if letter.is_control() { '_' } else { letter };
    let name: String = text.chars().map(clean).take(120).collect();
    if name.trim().is_empty() { "consort".into() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_one_line() {
        assert_eq!(name("a b\n--uid=0"), "a b_--uid=0");
        assert_eq!(name("\u{1b}[1m$(reboot)"), "_[1m$(reboot)");
        assert_eq!(name(" "), "consort");
        assert_eq!(name(&"ä".repeat(500)).chars().count(), 120);
    }

    #[test]
    fn parts_become_a_job_of_several() {
        let part = |nodes: &[&str], tasks, gres: &str| Part {
            nodes: nodes.iter().map(|&name| name.into()).collect(),
            tasks,
            cpus: 2,
            memory_mb: Some(100),
            gres: crate::gres::parse(gres),
        };
        let submission = Submission {
            name: "--wrap=x".into(),
            tag: "consort:1:1.0.0#1".into(),
            partition: "p".into(),
            account: None,
            qos: Some("q".into()),
            reservation: None,
            script: "/s/batch.sh".into(),
            text: String::new(),
            output: "/s/batch.log".into(),
            minutes: Some(7),
            parts: vec![part(&["n1", "n2"], 4, "gpu:a100:4"), part(&["n3"], 1, "")],
        };
        let all = submission.arguments();
        let colon = all.iter().position(|one| one == ":").unwrap();
        let (first, second) = all.split_at(colon);
        for expected in [
            "--nodes=2-2",
            "--nodelist=n[1-2]",
            "--ntasks=8",
            "--gres=gpu:a100:4",
            "--time=7",
            "--mem=100M",
            "--qos=q",
        ] {
            assert!(first.iter().any(|one| one == expected), "{expected}: {first:?}");
        }
        assert!(
            second.iter().any(|one| one == "--nodelist=n3") && !second.iter().any(|one| one.contains("gres"))
        );
        assert!(first.contains(&"--job-name=--wrap=x".to_owned()), "no option of its own");
        assert_eq!(all.last().unwrap(), "/s/batch.sh");
    }
}
