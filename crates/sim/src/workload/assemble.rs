//! From jobs in the order of a file to submissions in the order of time.
//!
//! Keeps names unique, finds the jobs that others wait for, and collects the tenants and queues that are named.
//! A job can wait only for what is submitted before it, so a circle cannot be written down at all.

use super::{Submission, Workload, limits, plain_queue, plain_tenant, value};
use consort_types::{Condition, QueueSpec, TenantSpec};
use std::collections::{BTreeSet, HashMap};

/// Jobs read so far. `P` is how the reader keeps the place of a name that is resolved only at the end.
pub(super) struct Assembly<P> {
    submissions: Vec<Submission>,
    /// Looked up, never iterated: its order is not the same twice.
    positions: HashMap<String, usize>,
    waits: Vec<(usize, Vec<Wait<P>>)>,
    tenants: Named<TenantSpec>,
    queues: Named<QueueSpec>,
}

/// A job that is waited for, by name.
pub(super) struct Wait<P> {
    pub name: String,
    pub when: Condition,
    pub place: P,
}

impl<P: Copy> Assembly<P> {
    /// Nothing yet.
    pub fn new() -> Self {
        let (tenants, queues) = (Named::default(), Named::default());
        Self { submissions: vec![], positions: HashMap::new(), waits: vec![], tenants, queues }
    }

    /// Takes one job. What is wrong is returned in words; the reader knows the place of the job's name.
    pub fn add(&mut self, submission: Submission, waits: Vec<Wait<P>>) -> Result<(), String> {
        let position = self.submissions.len();
        if position == limits::JOBS {
            return Err("is beyond the limit of 5,000,000 jobs".into());
        }
        if self.positions.insert(submission.label.clone(), position).is_some() {
            return Err(format!("duplicate job name {}", value::quoted(&submission.label)));
        }
        self.tenants.note(&submission.spec.tenant, plain_tenant);
        self.queues.note(&submission.spec.queue, plain_queue);
        if !waits.is_empty() {
            self.waits.push((position, waits));
        }
        self.submissions.push(submission);
        Ok(())
    }

    /// Sorts by time, keeps the order of the file within one instant, and resolves who waits for whom. What is wrong
    /// comes with the place of the name.
    pub fn finish(self) -> Result<Workload, (P, String)> {
        let Assembly { mut submissions, positions, waits, tenants, queues } = self;
        let mut order: Vec<usize> = (0..submissions.len()).collect();
        order.sort_by_key(|&position| (submissions[position].at, position));
        let mut rank = vec![0; order.len()];
        for (new, &old) in order.iter().enumerate() {
            rank[old] = new;
        }
        for (position, waits) in waits {
            let mut seen = BTreeSet::new();
            for Wait { name, when, place } in waits {
                let fail =
                    |what: &str| Err((place, format!("`after` names {}, {what}", value::quoted(&name))));
                match positions.get(&name) {
                    None => return fail("expected the name of a job in this file"),
                    Some(&other) if !seen.insert(other) => return fail("expected each job only once"),
                    Some(&other) if submissions[other].at > submissions[position].at => {
                        return fail("expected a job submitted earlier");
                    }
                    Some(&other)
                        if other >= position && submissions[other].at == submissions[position].at =>
                    {
                        return fail("expected a job listed above this one");
                    }
                    Some(&other) => submissions[position].after.push((rank[other], when)),
                }
            }
        }
        submissions.sort_by_key(|submission| submission.at);
        Ok(Workload { submissions, tenants: tenants.list, queues: queues.list, notes: vec![] })
    }
}

/// Things in the order in which their names first came up.
struct Named<T> {
    seen: BTreeSet<String>,
    list: Vec<T>,
}

impl<T> Default for Named<T> {
    fn default() -> Self {
        Self { seen: BTreeSet::new(), list: vec![] }
    }
}

impl<T> Named<T> {
    fn note(&mut self, name: &str, make: impl FnOnce(&str) -> T) {
        if !self.seen.contains(name) {
            self.seen.insert(name.into());
            self.list.push(make(name));
        }
    }
}

/// The rows of a table, whose ids are unique and who wait for nobody.
pub(super) fn table(rows: impl Iterator<Item = Submission>) -> Workload {
    let mut assembly = Assembly::<()>::new();
    for row in rows {
        let added = assembly.add(row, vec![]);
        assert!(added.is_ok(), "rows of a table have unique ids and are few enough");
    }
    assembly.finish().expect("nobody waits for anybody")
}
