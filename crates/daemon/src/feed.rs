//! What happened, for those who follow: every event, once, in order, from whatever position.
//!
//! The latest events are kept in memory, already in the form in which they are sent, and shared by all who follow.
//! Somebody who is slow holds up nobody and costs nothing: what has left the memory is read from the journal.

use crate::journal::Batch;
use crate::telling::{self, NodeNames};
use bytes::Bytes;
use consort_types::{Event, Fact, Input, JobId};
use std::collections::VecDeque;
use std::sync::{Arc, RwLock};
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
    names: RwLock<Arc<NodeNames>>,
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
    /// A feed that begins behind a position, with the nodes that have joined by then.
    pub fn new(last: u64, names: NodeNames) -> Self {
        Self { chunks: RwLock::default(), names: RwLock::new(names.into()), last: watch::Sender::new(last) }
    }

    /// What nodes are called.
    pub fn names(&self) -> Arc<NodeNames> {
        self.names.read().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }

    /// Adds events that are now on disk, the first of them at `first`.
    pub fn publish(&self, first: u64, batch: &Batch) {
        if batch.events.is_empty() {
            return;
        }
        let (mut sent, mut begins) = (vec![], vec![]);
        let mut names = self.names.write().unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut submitted = batch.works.iter().peekable();
        for (position, event) in (first..).zip(&batch.events) {
            begins.push(sent.len() as u32);
            let job =
                submitted.next_if(|(_, submission)| submission.position == position).map(|(job, _)| *job);
            if matches!(event.fact, Fact::Accepted(Input::NodeJoined(_))) {
                Arc::make_mut(&mut names).learn(event);
            }
            write(&mut sent, position, event, job, &names);
        }
        drop(names);
        let last = first + batch.events.len() as u64 - 1;
        let chunk = Chunk { first, last, sent: sent.into(), begins: begins.into() };
        {
            let mut chunks = self.chunks.write().unwrap_or_else(std::sync::PoisonError::into_inner);
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
        let chunks = self.chunks.read().unwrap_or_else(std::sync::PoisonError::into_inner);
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
pub fn write(sent: &mut Vec<u8>, position: u64, event: &Event, submitted: Option<JobId>, names: &NodeNames) {
    let line = telling::line(position, event, submitted, names);
    sent.extend_from_slice(format!("id: {position}\nevent: {}\ndata: ", line.kind).as_bytes());
    serde_json::to_writer(&mut *sent, &line).expect("plain data");
    sent.extend_from_slice(b"\n\n");
}
