//! Looking at Slurm: at everything now and then, and at what is about to change in between.

use super::{LINGERS, Poller, by_name, leader};
use crate::attempt::{Attempt, Sight, State, sight};
use crate::census::{Occupied, Ours};
use crate::cluster::{self, Found};
use crate::shapes::Job;
use consort_types::Input;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

impl Poller {
    /// Looks at all nodes and all jobs.
    pub(super) fn sweep(&mut self) {
        let (began, was_silent) = (Instant::now(), self.sweep.is_silent());
        self.board.asks();
        let seen = self.engine.nodes().and_then(|nodes| Ok((nodes, self.engine.jobs()?)));
        self.sweep.done(began.elapsed(), seen.is_ok());
        let (nodes, jobs) = match seen {
            Ok(seen) => seen,
            Err(trouble) => return self.board.silent(trouble.words()),
        };
        // In Slurm's order, so that ids are given in an order that people recognise.
        let mut found = cluster::find(&nodes, &self.setup.reading);
        self.keep_unreadable(&mut found);
        if found.is_empty() && !self.nodes.is_empty() {
            return self.board.silent("it lists no node in the partition");
        }
        self.board.answered();
        if self.introduced {
            self.compare(&found, &jobs);
            self.end_strays(&jobs);
        }
        self.nodes = by_name(found);
        if was_silent {
            // What could not be seen was no waiting of Slurm's.
            for attempt in self.attempts.values_mut() {
                attempt.waits_anew();
            }
        }
        let ids: Vec<u64> = self.attempts.values().filter_map(Attempt::job).collect();
        self.absorb(&ids, &jobs);
        self.board.looked(began.elapsed(), self.nodes.len());
        self.glance.done(began.elapsed(), true);
    }

    /// Tells what is new about nodes. Nodes were asked for before jobs: what ran in the last answer about jobs and still does
    /// in this one is counted in what nodes say.
    fn compare(&mut self, found: &[Found], jobs: &[Job]) {
        let living = || self.attempts.values().filter(|one| !one.done);
        let up: BTreeSet<u64> = living().filter(|one| one.is_up()).filter_map(Attempt::job).collect();
        let mut rows: BTreeMap<u64, Vec<Job>> = BTreeMap::new();
        for job in jobs.iter().filter(|job| up.contains(&leader(job))) {
            rows.entry(leader(job)).or_default().push(job.clone());
        }
        let mut ours = Ours::default();
        for attempt in living() {
            let still = attempt.job().and_then(|job| rows.get(&job)).map(|rows| sight(rows));
            ours.add(attempt.grants(), still == Some(Sight::Up));
        }
        self.just_freed.iter().for_each(|(_, grants)| ours.add(grants, false));
        let occupied = match living().any(Attempt::may_be_anywhere) {
            true => Occupied::Any,
            false => Occupied::These(living().flat_map(|one| one.nodes.iter().flatten().cloned()).collect()),
        };
        self.census.set_occupied(occupied);
        self.just_freed.retain(|(at, _)| at.elapsed() < LINGERS);
        self.recent.retain(|_, at| at.elapsed() < LINGERS);
        for input in self.census.compare(found, &ours) {
            let input = match input {
                Input::SetKind(kind) => Input::SetKind(self.setup.reading.declared(kind)),
                other => other,
            };
            self.news.push(input);
        }
    }

    /// Looks at jobs that are about to change.
    pub(super) fn glance(&mut self) {
        let restless = self.attempts.values().filter(|one| one.is_restless());
        let ids: Vec<u64> = restless.filter_map(Attempt::job).collect();
        self.look_at(&ids);
    }

    pub(super) fn look_at(&mut self, ids: &[u64]) {
        if ids.is_empty() {
            return;
        }
        let began = Instant::now();
        self.board.asks();
        match self.engine.look(ids) {
            Ok(jobs) => {
                self.board.answered();
                self.glance.done(began.elapsed(), true);
                self.absorb(ids, &jobs);
            }
            Err(trouble) => {
                self.board.silent(trouble.words());
                self.glance.done(began.elapsed(), false);
            }
        }
    }

    /// A node is not gone because its row could not be read: then all that are missing stay as they were last seen.
    fn keep_unreadable(&mut self, found: &mut Vec<Found>) {
        let skipped = self.engine.skipped();
        self.board.skipped(skipped.nodes + skipped.jobs);
        if skipped.nodes == 0 || found.is_empty() {
            return;
        }
        let there: BTreeSet<&str> = found.iter().map(|node| node.spec.name.as_str()).collect();
        let missing: Vec<Found> =
            self.nodes.values().filter(|node| !there.contains(node.spec.name.as_str())).cloned().collect();
        found.extend(missing);
    }

    /// Jobs that are not in an answer with unreadable rows may still exist: each is asked for alone. Returns what is said
    /// of them, and those of which nothing is known.
    fn ask_again(&mut self, asked: &BTreeSet<u64>, jobs: &[Job]) -> (Vec<Job>, BTreeSet<u64>) {
        let (mut more, mut unclear) = (vec![], BTreeSet::new());
        if self.engine.skipped().jobs == 0 {
            return (more, unclear);
        }
        let there: BTreeSet<u64> = jobs.iter().map(leader).collect();
        for &id in asked.iter().filter(|id| !there.contains(id) && **id > 0) {
            match self.engine.look(&[id]) {
                Ok(rows) if rows.is_empty() && self.engine.skipped().jobs > 0 => drop(unclear.insert(id)),
                Ok(rows) => more.extend(rows),
                Err(_) => drop(unclear.insert(id)),
            }
        }
        (more, unclear)
    }

    /// What Slurm says of these jobs. Those it does not mention it does not know.
    fn absorb(&mut self, asked: &[u64], jobs: &[Job]) {
        let mut asked: BTreeSet<u64> = asked.iter().copied().collect();
        let (more, unclear) = self.ask_again(&asked, jobs);
        asked.retain(|id| !unclear.contains(id));
        let mut rows: BTreeMap<u64, Vec<&Job>> = BTreeMap::new();
        for job in jobs.iter().chain(&more).filter(|job| asked.contains(&leader(job))) {
            rows.entry(leader(job)).or_default().push(job);
        }
        let mut changed = vec![];
        for attempt in self.attempts.values_mut() {
            let State::InSlurm { job, rows: known, missing, .. } = &mut attempt.state else { continue };
            if !asked.contains(job) {
                continue;
            }
            let is_new = match rows.get(job) {
                Some(now) => {
                    *missing = 0;
                    known.update(now)
                }
                None => {
                    *missing += 1;
                    true
                }
            };
            if is_new || !attempt.is_settled() {
                changed.push(attempt.id);
            }
        }
        for id in changed {
            self.advance(id);
        }
    }
}
