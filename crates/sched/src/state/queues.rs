//! Waiting lines and their parameters. Who waits in them is known by the jobs; in which order, by the policy.

use consort_types::{QueueId, QueueSpec};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Clone, Debug, Default, Hash, Serialize, Deserialize)]
pub(crate) struct Queues {
    pub list: Vec<QueueSpec>,
    by_name: BTreeMap<String, QueueId>,
}

impl Queues {
    pub fn get(&self, id: QueueId) -> &QueueSpec {
        &self.list[id.index()]
    }

    pub fn find(&self, name: &str) -> Option<QueueId> {
        self.by_name.get(name).copied()
    }

    pub fn set(&mut self, spec: &QueueSpec) {
        match self.find(&spec.name) {
            Some(id) => self.list[id.index()] = spec.clone(),
            None => {
                self.by_name.insert(spec.name.clone(), QueueId(self.list.len() as u32));
                self.list.push(spec.clone());
            }
        }
    }
}
