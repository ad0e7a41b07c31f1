//! What happened, for those who follow: every event, once, in order, from whatever position.
//!
//! The latest events are kept in memory, already in the form in which they are sent, and shared by all who follow.
//! Somebody who is slow holds up nobody and costs nothing: what has left the memory is read from the journal.

use crate::journal::Batch;
use crate::telling;
use bytes::Bytes;
use consort_api::shapes::Job;
use consort_types::directory::Nodes;
use consort_types::narrate::Names;
use consort_types::{Actor, AllocationId, Directory, Event, Fact, Grant, Input, JobId};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use tokio::sync::watch;

/// Events kept in memory.
const KEPT: u64 = 32_768;

/// Several events that were committed together.
#[derive(Clone)]
struct Chunk {
    first: u64,
    last: u64,
    /// As server-sent events, one behind the other.
    sent: Bytes,
    /// Where each of them begins.
    begins: Arc<[u32]>,
}

/// The feed.
pub struct Feed {
    chunks: RwLock<VecDeque<Chunk>>,
    /// What nodes and living jobs are called.
    directory: Mutex<Directory>,
    /// Who submitted which living job.
    users: Mutex<BTreeMap<JobId, String>>,
    last: watch::Sender<u64>,
}

/// What there is behind a position.
pub enum Next {
    /// These bytes, up to this position.
    Some(Bytes, u64),
    /// Nothing yet.
    Nothing,
    /// It is no longer in memory.
    Gone,
}

impl Feed {
    /// A feed that begins behind a position, with the names of nodes and jobs at that position.
    pub fn new(last: u64, directory: Directory) -> Self {
        let (chunks, directory) = (RwLock::default(), Mutex::new(directory));
        Self { chunks, directory, users: Mutex::default(), last: watch::Sender::new(last) }
    }

    /// Learns who submitted jobs that were there before.
    pub fn learn_users(&self, known: BTreeMap<JobId, String>) {
        self.users.lock().unwrap_or_else(PoisonError::into_inner).extend(known);
    }

    /// Says who submitted these living jobs, as far as that is known.
    pub fn name_users(&self, rows: &mut [Job]) {
        let users = self.users.lock().unwrap_or_else(PoisonError::into_inner);
        rows.iter_mut().for_each(|row| row.user = users.get(&JobId(row.id)).cloned());
    }

    /// What these attempts hold, as far as that is known.
    pub fn placed(
        &self,
        attempts: impl Iterator<Item = AllocationId>,
    ) -> BTreeMap<AllocationId, Arc<[Grant]>> {
        let directory = self.directory.lock().unwrap_or_else(PoisonError::into_inner);
        attempts.filter_map(|id| Some((id, directory.placed(id)?.clone()))).collect()
    }

    /// The nodes.
    pub fn nodes(&self) -> Arc<Nodes> {
        self.directory.lock().unwrap_or_else(PoisonError::into_inner).nodes()
    }

    /// Adds events that are now on disk, the first of them at `first`.
    pub fn publish(&self, first: u64, batch: &Batch) {
        if batch.events.is_empty() {
            return;
        }
        let (mut sent, mut begins) = (vec![], vec![]);
        let mut directory = self.directory.lock().unwrap_or_else(PoisonError::into_inner);
        let mut users = self.users.lock().unwrap_or_else(PoisonError::into_inner);
        for (position, event) in (first..).zip(&batch.events) {
            begins.push(sent.len() as u32);
            directory.learn(event);
            let is_submission = matches!(event.fact, Fact::Accepted(Input::Submit(_)));
            let job = is_submission.then(|| directory.last_job());
            let user = event.actor.as_ref().filter(|actor| actor.is_client()).map(Actor::who);
            users.extend(job.zip(user));
            write(&mut sent, position, event, job, &*directory);
        }
        for ended in &batch.ended {
            directory.forget(ended.job);
            users.remove(&ended.job);
        }
        drop((directory, users));
        let last = first + batch.events.len() as u64 - 1;
        let chunk = Chunk { first, last, sent: sent.into(), begins: begins.into() };
        {
            let mut chunks = self.chunks.write().unwrap_or_else(PoisonError::into_inner);
            chunks.push_back(chunk);
            while chunks.front().is_some_and(|chunk| chunk.last + KEPT < last) {
                chunks.pop_front();
            }
        }
        self.last.send_replace(last);
    }

    /// Tells when there is something new: holds the last position.
    pub fn watch(&self) -> watch::Receiver<u64> {
        self.last.subscribe()
    }

    /// The next bytes behind a position: the rest of one chunk.
    pub fn next(&self, behind: u64) -> Next {
        if behind >= *self.last.borrow() {
            return Next::Nothing;
        }
        let chunks = self.chunks.read().unwrap_or_else(PoisonError::into_inner);
        let index = chunks.partition_point(|chunk| chunk.last <= behind);
        match chunks.get(index) {
            Some(chunk) if chunk.first <= behind + 1 => {
                let from = chunk.begins[(behind + 1 - chunk.first) as usize] as usize;
                Next::Some(chunk.sent.slice(from..), chunk.last)
            }
            _ => Next::Gone,
        }
    }
}

/// One event as it is sent.
pub fn write(sent: &mut Vec<u8>, position: u64, event: &Event, submitted: Option<JobId>, names: &impl Names) {
    let line = telling::line(position, event, submitted, names);
    sent.extend_from_slice(format!("id: {position}\nevent: {}\ndata: ", line.kind).as_bytes());
    serde_json::to_writer(&mut *sent, &line).expect("plain data");
    sent.extend_from_slice(b"\n\n");
}
