//! What a Slurm cluster shows beside its news.

use super::Slurm;
use crate::site::{Admits, LogFile, Reading, Site, log_files};
use consort_agent::untrusted::Owners;
use consort_slurm::board::Board;
use consort_slurm::engine::Engine;
use consort_slurm::engine::rest::Rest;
use consort_slurm::engine::tools::Tools;
use consort_types::{AllocationId, JobId, JobSpec, Work};
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

pub struct SlurmSite {
    pub board: Arc<Board>,
    pub log_dir: PathBuf,
    pub slurm: Slurm,
}

/// Shorter silences are nobody's business.
const HICCUP: Duration = Duration::from_secs(3);

/// The number of a user who is known by name only, as over https. Asked of a tool, because directories of users are not
/// only in files.
fn uid_of(name: &str) -> Option<u32> {
    let said = Command::new("id").args(["-u", "--", name]).output().ok()?;
    String::from_utf8(said.stdout).ok()?.trim().parse().ok()
}

impl Site for SlurmSite {
    fn world(&self) -> &'static str {
        "slurm"
    }

    fn reading(&self, _node: &str, _position: u32) -> Reading {
        Reading::default()
    }

    fn logs(&self, job: JobId, spec: &JobSpec, work: &Work, wanted: &Admits<'_>) -> Vec<LogFile> {
        log_files(&self.log_dir, job, spec, work, wanted)
    }

    fn log_owners(&self) -> Owners {
        static OWNERS: OnceLock<Owners> = OnceLock::new(); // a daemon has one world
        *OWNERS.get_or_init(|| {
            let uid = self.board.about().uid.or_else(|| uid_of(&self.slurm.token.user));
            uid.map_or_else(Owners::ours, Owners::only)
        })
    }

    fn attempt(&self, allocation: AllocationId) -> Option<String> {
        let said = self.board.attempt(allocation);
        match (said, self.trouble()) {
            (Some(said), Some(trouble)) => Some(format!("{said}; {trouble}")),
            (said, trouble) => said.or(trouble),
        }
    }

    fn trouble(&self) -> Option<String> {
        let (since, words) = self.board.away().filter(|(since, _)| *since > HICCUP)?;
        Some(format!("Slurm has not answered for {} s: {words}", since.as_secs()))
    }

    fn image_refusal(&self) -> Option<String> {
        let why = "`image` is not supported on Slurm yet; leave it out, and start the container in `run` with what the \
                   cluster has for it, such as `apptainer exec IMAGE python train.py`";
        Some(why.into())
    }

    fn probe(&self) -> Vec<(String, String)> {
        let about = self.board.about();
        let mut lines = vec![
            ("reached by".to_owned(), about.how.clone()),
            ("Slurm".into(), about.release.clone()),
            ("jobs run as".into(), about.user.clone()),
            ("partition".into(), self.slurm.partition.clone()),
        ];
        if let Some((ago, took, nodes)) = self.board.polled() {
            let text = format!(
                "{nodes} nodes, {:.1} s ago, took {:.0} ms",
                ago.as_secs_f64(),
                took.as_secs_f64() * 1e3
            );
            lines.push(("last poll".into(), text));
        }
        if let rows @ 1.. = self.board.unreadable() {
            lines.push(("unreadable".into(), format!("{rows} rows of Slurm's answers, skipped")));
        }
        let answers = |probed: Result<Box<dyn Engine>, consort_slurm::engine::Trouble>| match probed {
            Ok(engine) => format!("answers: {}, Slurm {}", engine.about().how, engine.about().release),
            Err(trouble) => trouble.to_string(),
        };
        let rest = match &self.slurm.rest {
            Some(place) => {
                answers(Rest::probe(place, self.slurm.token.clone()).map(|rest| Box::new(rest) as _))
            }
            None => "not configured; set it with --slurm-rest".into(),
        };
        lines.push(("REST".into(), rest));
        // With a lock of its own: the daemon holds the one that submissions use.
        let lock = self.log_dir.with_file_name("probing");
        lines.push((
            "tools".into(),
            answers(Tools::probe(&self.slurm.tools, &lock).map(|tools| Box::new(tools) as _)),
        ));
        let _ = std::fs::remove_file(lock);
        if let Some(trouble) = self.trouble() {
            lines.push(("trouble".into(), trouble));
        }
        lines
    }
}
