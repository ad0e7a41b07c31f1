//! One golden directory, unpacked for a test of its own.

use crate::told::Told;
use consort_daemon::journal::{Shelf, history::Record};
use consort_sched::{Policy, Scheduler, stock};
use consort_types::Capabilities;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use tempfile::TempDir;

pub const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden");

/// A data directory of an older version, in a folder that goes away with it.
pub struct Story {
    name: String,
    folder: TempDir,
}

impl Story {
    /// Unpacks it with `tar`, which keeps modes, links and odd files as they were.
    pub fn unpack(name: &str) -> Self {
        let folder = TempDir::new().expect("a folder");
        let packed = Path::new(GOLDEN).join(format!("{name}.tar.gz"));
        let mut tar = Command::new("tar");
        tar.arg("-xzpf").arg(&packed).arg("--no-same-owner").arg("-C").arg(folder.path());
        let done = tar.status().expect("tar is there");
        assert!(done.success(), "{} cannot be unpacked: {done}", packed.display());
        Self { name: name.into(), folder }
    }

    /// Where the journal is.
    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// The policy under which it was written, which is what explains.
    pub fn policy(&self) -> Arc<dyn Policy> {
        stock::find("priority").expect("it is a stock policy").policy()
    }

    /// What its world is able to do.
    pub fn capabilities(&self) -> Capabilities {
        match self.name.split_once('-').expect("WORLD-VERSION").0 {
            "local" => Capabilities::default(),
            "slurm" => consort_slurm::CAPABILITIES,
            other => panic!("what can the world `{other}` do?"),
        }
    }

    /// Reads beside the journal.
    pub fn shelf(&self) -> Shelf {
        Shelf::open(&self.data().join("journal.db")).expect("there is a journal")
    }

    /// Every event from the first, without a snapshot; with the jobs that ended on the way.
    pub fn replay(&self) -> (Scheduler, Vec<Record>) {
        let mut scheduler = Scheduler::new(self.policy(), self.capabilities());
        let mut ended = vec![];
        let torn = self.shelf().each_event(0, |_, event| {
            scheduler.apply(&event);
            ended.extend(scheduler.take_ended().iter().map(Record::of));
            scheduler.forget_outboxes();
        });
        assert_eq!(torn.expect("the journal can be read"), None, "the journal is whole");
        (scheduler, ended)
    }

    fn expectation_path(&self) -> PathBuf {
        Path::new(GOLDEN).join(format!("{}.jsonl", self.name))
    }

    /// Where the digests of what was known in its course are.
    pub fn steps_path(&self) -> PathBuf {
        Path::new(GOLDEN).join(format!("{}.steps", self.name))
    }

    pub fn has_expectation(&self) -> bool {
        self.expectation_path().exists()
    }

    pub fn expectation(&self) -> Vec<Told> {
        let text = fs::read_to_string(self.expectation_path()).expect("an expectation");
        text.lines().map(Told::parse).collect()
    }

    pub fn expect(&self, told: &[Told]) {
        let text: String = told.iter().map(|told| told.line() + "\n").collect();
        fs::write(self.expectation_path(), text).expect("an expectation is written");
    }
}
