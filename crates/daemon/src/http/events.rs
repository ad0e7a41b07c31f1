//! What happened, as a list or as a stream of server-sent events.
//!
//! A stream has every event once, in order, from the position it asks for, and may come back with the last one it saw.

use super::parts::Asked as Query;
use super::{Desk, Trouble, within};
use crate::feed::{self, Next};
use crate::journal::Shelf;
use crate::telling::{self, Known};
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use consort_api::Moment;
use consort_api::shapes::EventLine;
use consort_types::directory::Nodes;
use consort_types::{Event, JobId, narrate};
use futures_util::stream::unfold;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// What follows the question mark.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Asked {
    from: Option<u64>,
    follow: Option<String>,
    /// When the event before `from` happened, by the word of whoever saw it.
    seen: Option<String>,
    limit: Option<usize>,
}

/// Events read from the journal at once.
const PAGE: usize = 1_000;
/// Events of a list that says neither where it begins nor how long it is.
const LATEST: usize = 100;
/// Events of one list.
const MOST: usize = 10_000;
/// Silence after which a stream says that it is still there.
const STILL_HERE: Duration = Duration::from_secs(15);

pub(super) async fn events(
    State(desk): State<Arc<Desk>>,
    headers: HeaderMap,
    Query(asked): Query<Asked>,
) -> Result<Response, Trouble> {
    let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or("");
    let last = *desk.feed.watch().borrow();
    let is_stream = accept.contains("text/event-stream") || super::jobs::flag(&asked.follow);
    let again = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse::<u64>().ok());
    let from = again.map(|id| id.saturating_add(1)).or(asked.from).map(within);
    if !is_stream {
        let usual = if from.is_some() { PAGE } else { LATEST };
        let limit = asked.limit.unwrap_or(usual).clamp(1, MOST);
        let behind = from.map_or(last.saturating_sub(limit as u64), |from| from.saturating_sub(1));
        let nodes = desk.feed.nodes();
        let lines = desk.read(move |shelf| {
            let (events, known) = read(shelf, nodes, behind, limit)?;
            let line = |(position, event, job): &Stored| telling::line(*position, event, *job, &known);
            Ok(events.iter().map(line).collect::<Vec<EventLine>>())
        });
        return Ok(Json(lines.await?).into_response());
    }
    let behind = from.map_or(last, |from| from.saturating_sub(1));
    require_seen(&desk, behind, last, asked.seen).await?;
    let follower = Follower::new(desk, behind);
    let stream = unfold(follower, |mut follower| async move {
        let bytes = follower.next().await?;
        Some((Ok::<Bytes, Infallible>(bytes), follower))
    });
    let kind = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-store")];
    Ok((kind, Body::from_stream(stream)).into_response())
}

/// A stream goes on behind an event that this journal has. One that was cut short, or brought back from a copy, may end
/// before it, or have another event there: going on would mean silence, or a gap that nobody notices.
async fn require_seen(desk: &Arc<Desk>, behind: u64, last: u64, seen: Option<String>) -> Result<(), Trouble> {
    let last = match behind > last {
        true => desk.read(Shelf::last).await?.max(last), // it may have been listed before it was published
        false => last,
    };
    let replaced = |what: String| {
        let remedy = format!("follow again with `from={}`, or without a position", last + 1);
        Err(Trouble::said(StatusCode::CONFLICT, format!("{what}: it was cut short or replaced; {remedy}")))
    };
    if behind > last {
        return replaced(format!("the journal ends with event {last}, before event {behind}"));
    }
    let Some(seen) = seen.filter(|_| behind > 0) else { return Ok(()) };
    let there = desk.read(move |shelf| shelf.events(behind - 1, 1)).await?;
    match there.first() {
        Some((position, event, _)) if *position == behind && Moment(event.at).to_string() == seen => Ok(()),
        _ => replaced(format!("event {behind} of the journal is not the one of {seen}")),
    }
}

type Stored = (u64, Event, Option<JobId>);

/// Events from the journal, with the names of what they are about.
fn read(
    shelf: &Shelf,
    nodes: Arc<Nodes>,
    behind: u64,
    limit: usize,
) -> Result<(Vec<Stored>, Known), crate::fault::Fault> {
    let events = shelf.events(behind, limit)?;
    let named: BTreeSet<JobId> = events.iter().flat_map(|(_, event, _)| narrate::jobs(event)).collect();
    let jobs = shelf.specs(named)?;
    Ok((events, Known { nodes, jobs }))
}

struct Follower {
    desk: Arc<Desk>,
    behind: u64,
    news: watch::Receiver<u64>,
    leaving: watch::Receiver<bool>,
    greeted: bool,
}

impl Follower {
    fn new(desk: Arc<Desk>, behind: u64) -> Self {
        desk.meters.streams(1);
        let (news, leaving) = (desk.feed.watch(), desk.leaving.subscribe());
        Self { desk, behind, news, leaving, greeted: false }
    }

    /// The next bytes to send; none when the server goes.
    async fn next(&mut self) -> Option<Bytes> {
        if !std::mem::replace(&mut self.greeted, true) {
            return Some(Bytes::from_static(b": hello\n\n")); // so that the client sees the stream begin
        }
        loop {
            match self.desk.feed.next(self.behind) {
                Next::Some(bytes, last) => {
                    self.behind = last;
                    return Some(bytes);
                }
                Next::Gone => return self.read_journal().await,
                Next::Nothing => {}
            }
            // Many who follow are woken together less often: each then gets more at once.
            let pace = Duration::from_millis((self.desk.meters.stream_count() / 16).min(50));
            if *self.leaving.borrow() {
                return None;
            }
            tokio::select! {
                _ = self.leaving.changed() => return None,
                changed = tokio::time::timeout(STILL_HERE, self.news.changed()) => match changed {
                    Ok(Ok(())) => tokio::time::sleep(pace).await,
                    Ok(Err(_)) => return None,
                    Err(_) => return Some(Bytes::from_static(b": still here\n\n")),
                },
            }
        }
    }

    async fn read_journal(&mut self) -> Option<Bytes> {
        let behind = self.behind;
        let nodes = self.desk.feed.nodes();
        let (events, known) = self.desk.read(move |shelf| read(shelf, nodes, behind, PAGE)).await.ok()?;
        let mut sent = vec![];
        for (position, event, job) in &events {
            feed::write(&mut sent, *position, event, *job, &known);
            self.behind = *position;
        }
        (!sent.is_empty()).then(|| sent.into())
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.desk.meters.streams(-1);
    }
}
