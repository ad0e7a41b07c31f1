//! A Slurm cluster and a daemon that is served by it.

use super::daemon::House;
use consort_slurm_fixture::{Cluster, Make};
use serde_json::{Value, json};
use std::ops::{Deref, DerefMut};
use std::time::{Duration, Instant};

/// Both. The daemon goes before the cluster.
pub struct Site {
    pub house: House,
    pub cluster: Cluster,
}

impl Deref for Site {
    type Target = House;
    fn deref(&self) -> &House {
        &self.house
    }
}

impl DerefMut for Site {
    fn deref_mut(&mut self) -> &mut House {
        &mut self.house
    }
}

impl Site {
    /// A cluster, and no daemon yet; reached by the tools.
    pub fn new(make: Make) -> Self {
        let cluster = Cluster::start(make);
        let mut house = House::empty("serve");
        let conf = cluster.conf().display().to_string();
        let words = ["--world", "slurm", "--slurm-partition", cluster.partition(), "--slurm-conf", &conf];
        house.words.extend(words.map(str::to_owned));
        house.words.extend(["--slurm-poll".into(), "1s".into()]);
        Self { house, cluster }
    }

    /// The same, reached through slurmrestd on its socket; jobs run as its user.
    pub fn by_rest() -> Self {
        let mut site = Self::new(Make { rest: true, ..Make::default() });
        let (socket, shared) = (site.cluster.rest_socket(), site.cluster.folder().join("work/shared"));
        let rest = format!("unix:{}", socket.display());
        site.house.words.extend([
            "--slurm-rest".into(),
            rest,
            "--slurm-shared".into(),
            shared.display().to_string(),
        ]);
        site
    }

    /// A cluster with a daemon.
    pub fn up() -> Self {
        let mut site = Self::new(Make::default());
        site.start();
        site
    }

    /// Submits a line of shell for so many devices of a kind; the job's id.
    pub fn submit_sh(&self, kind: &str, devices: u32, text: &str) -> u64 {
        self.submit(json!({"name": "work", "kind": kind, "devices": devices, "workdir": "/", "run": text}))
    }

    /// Submits a job; its id.
    pub fn submit(&self, job: Value) -> u64 {
        let submitted = self.client().expect("it is up").submit(&job);
        submitted.unwrap_or_else(|error| panic!("{job}: {error}")).id
    }

    /// Everything that happened.
    pub fn story(&self) -> String {
        self.said(&["events", "--from", "0", "--limit", "1000"])
    }

    /// What `explain` says of a job.
    pub fn explained(&self, id: u64) -> String {
        self.said(&["explain", &id.to_string()])
    }

    /// Every job that Slurm still knows under our tag: its number, the attempt, its state.
    pub fn tagged(&self) -> Vec<(u64, String, String)> {
        let said = self.cluster.run("squeue", &["--json"]);
        let all: Value = serde_json::from_str(&said).expect("JSON");
        let jobs = all["jobs"].as_array().expect("a list");
        let tagged = |job: &Value| {
            let tag = job["comment"].as_str()?.strip_prefix("consort:")?;
            // `tag:attempt:secret`; jobs of older daemons have no secret.
            let attempt = tag.split(':').nth(1)?;
            let state = job["job_state"].as_str().unwrap_or_default();
            Some((job["job_id"].as_u64()?, attempt.to_owned(), state.to_owned()))
        };
        jobs.iter().filter_map(tagged).collect()
    }

    /// The number that Slurm gave to a running job of ours.
    pub fn slurm_id(&self, job: u64) -> u64 {
        let mine = |(_, attempt, state): &(u64, String, String)| {
            attempt.starts_with(&format!("{job}.")) && ["RUNNING", "PENDING"].contains(&state.as_str())
        };
        let found =
            super::daemon::until(&format!("job {job} in Slurm"), || self.tagged().into_iter().find(mine));
        found.0
    }
}

/// Waits until something is so; longer than `until`, because Slurm takes its time.
pub fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(began.elapsed() < Duration::from_secs(120), "waited too long for {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}
