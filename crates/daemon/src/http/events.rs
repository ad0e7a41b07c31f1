//! What happened, as a list or as a stream of server-sent events.
//!
//! A stream has every event once, in order, from the position it asks for, and may come back with the last one it saw.

use super::parts::Asked as Query;
use super::{Desk, Trouble, within};
use crate::fault::Fault;
use crate::feed::{self, Feed, Next};
use crate::journal::Shelf;
use crate::telling::{self, Known};
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use consort_api::Moment;
use consort_api::shapes::{EventChange, EventLine};
use consort_types::directory::Placed;
use consort_types::{AllocationId, Event, JobId, narrate};
use futures_util::stream::unfold;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};
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
    job: Option<u64>,
    tenant: Option<String>,
    node: Option<String>,
    kind: Option<String>,
}

/// Which events are wanted.
#[derive(Clone, Debug, Default)]
struct Chosen {
    job: Option<u64>,
    tenant: Option<String>,
    node: Option<String>,
    /// Any of these; all when empty.
    kinds: Vec<String>,
}

impl Chosen {
    fn of(asked: &Asked) -> Self {
        let kinds = asked.kind.iter().flat_map(|kinds| kinds.split(',')).filter(|kind| !kind.is_empty());
        let kinds = kinds.map(Into::into).collect();
        Self { job: asked.job, tenant: asked.tenant.clone(), node: asked.node.clone(), kinds }
    }

    fn is_any(&self) -> bool {
        self.job.is_none() && self.tenant.is_none() && self.node.is_none() && self.kinds.is_empty()
    }

    /// Of a plan, what one of its changes is about counts.
    fn admits(&self, line: &EventLine) -> bool {
        let changes = || line.changes.iter();
        let is_about = |job: u64| {
            let of = |change: &EventChange| change.job == Some(job) || change.by == Some(job);
            line.job == Some(job) || changes().any(of)
        };
        let is_of = |tenant: &String| {
            line.tenant.as_ref() == Some(tenant)
                || changes().any(|change| change.tenant.as_ref() == Some(tenant))
        };
        let is_on = |node: &String| {
            line.node.as_ref() == Some(node) || changes().any(|change| change.nodes.contains(node))
        };
        self.job.is_none_or(is_about)
            && self.tenant.as_ref().is_none_or(is_of)
            && self.node.as_ref().is_none_or(is_on)
            && (self.kinds.is_empty() || self.kinds.contains(&line.kind))
    }

    /// Those of some events that are wanted, as they are sent.
    fn filter(&self, sent: &Bytes) -> Bytes {
        let text = String::from_utf8_lossy(sent);
        let is_wanted = |event: &&str| {
            let data = event.lines().find_map(|line| line.strip_prefix("data: "));
            data.and_then(|data| serde_json::from_str(data).ok()).is_some_and(|line| self.admits(&line))
        };
        text.split_inclusive("\n\n").filter(is_wanted).collect::<String>().into()
    }
}

/// Events read from the journal at once.
const PAGE: usize = 1_000;
/// Events of a list that says neither where it begins nor how long it is.
const LATEST: usize = 100;
/// Events of one list.
const MOST: usize = 10_000;
/// Events that are looked through for those that are wanted.
const SCANNED: u64 = 100_000;
/// Events before a page that may say what its attempts hold.
const BEFORE: u64 = 1_000;
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
        let (feed, chosen) = (desk.feed.clone(), Chosen::of(&asked));
        let lines = desk.read(move |shelf| match (from, chosen.is_any()) {
            (_, true) => {
                let behind = from.map_or(last.saturating_sub(limit as u64), |from| from.saturating_sub(1));
                lines(shelf, &feed, behind, limit)
            }
            (Some(from), false) => on_from(shelf, &feed, from.saturating_sub(1), limit, &chosen),
            (None, false) => back_from(shelf, &feed, last, limit, &chosen),
        });
        return Ok(Json(lines.await?).into_response());
    }
    let chosen = Chosen::of(&asked);
    let behind = from.map_or(last, |from| from.saturating_sub(1));
    require_seen(&desk, behind, last, asked.seen).await?;
    let follower = Follower::new(desk, behind, chosen);
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
fn read(shelf: &Shelf, feed: &Feed, behind: u64, limit: usize) -> Result<(Vec<Stored>, Known), Fault> {
    let events = shelf.events(behind, limit)?;
    let named: BTreeSet<JobId> = events.iter().flat_map(|(_, event, _)| narrate::jobs(event)).collect();
    let jobs = shelf.specs(named)?;
    let attempts: BTreeSet<AllocationId> =
        events.iter().filter_map(|(_, event, _)| narrate::attempts(event)).collect();
    let mut placed = feed.placed(attempts.iter().copied());
    if placed.len() < attempts.len() {
        // Of attempts that are over, the plan that started them says it, if that is not long ago.
        let (mut plans, begin) = (Placed::default(), behind.saturating_sub(BEFORE));
        let before = shelf.events(begin, (behind - begin) as usize)?;
        before.iter().for_each(|(_, event, _)| plans.learn(event));
        for (_, event, _) in &events {
            plans.learn(event);
            let id = narrate::attempts(event);
            placed.extend(id.and_then(|id| Some((id, plans.of(id)?.clone()))));
        }
    }
    Ok((events, Known { nodes: feed.nodes(), jobs, placed }))
}

fn lines(shelf: &Shelf, feed: &Feed, behind: u64, limit: usize) -> Result<Vec<EventLine>, Fault> {
    let (events, known) = read(shelf, feed, behind, limit)?;
    let line = |(position, event, job): &Stored| telling::line(*position, event, *job, &known);
    Ok(events.iter().map(line).collect())
}

/// The first events behind a position that are wanted.
fn on_from(
    shelf: &Shelf,
    feed: &Feed,
    mut behind: u64,
    limit: usize,
    chosen: &Chosen,
) -> Result<Vec<EventLine>, Fault> {
    let (mut found, end) = (vec![], behind.saturating_add(SCANNED));
    while found.len() < limit && behind < end {
        let page = lines(shelf, feed, behind, PAGE)?;
        let Some(last) = page.last() else { break };
        behind = last.position;
        found.extend(page.into_iter().filter(|line| chosen.admits(line)));
    }
    found.truncate(limit);
    Ok(found)
}

/// The last events up to a position that are wanted.
fn back_from(
    shelf: &Shelf,
    feed: &Feed,
    last: u64,
    limit: usize,
    chosen: &Chosen,
) -> Result<Vec<EventLine>, Fault> {
    let (mut found, mut end) = (vec![], last);
    while found.len() < limit && end > last.saturating_sub(SCANNED) {
        let begin = end.saturating_sub(PAGE as u64);
        let page = lines(shelf, feed, begin, (end - begin) as usize)?;
        found.extend(page.into_iter().rev().filter(|line| chosen.admits(line)));
        end = begin;
    }
    found.truncate(limit);
    found.reverse();
    Ok(found)
}

struct Follower {
    desk: Arc<Desk>,
    behind: u64,
    news: watch::Receiver<u64>,
    leaving: watch::Receiver<bool>,
    greeted: bool,
    chosen: Chosen,
}

impl Follower {
    fn new(desk: Arc<Desk>, behind: u64, chosen: Chosen) -> Self {
        desk.meters.streams(1);
        let (news, leaving) = (desk.feed.watch(), desk.leaving.subscribe());
        Self { desk, behind, news, leaving, greeted: false, chosen }
    }

    /// The next bytes to send; none when the server goes.
    async fn next(&mut self) -> Option<Bytes> {
        let since = Instant::now();
        loop {
            let bytes = self.all().await?;
            if self.chosen.is_any() || bytes.starts_with(b":") {
                return Some(bytes);
            }
            let wanted = self.chosen.filter(&bytes);
            if !wanted.is_empty() {
                return Some(wanted);
            }
            if since.elapsed() > STILL_HERE {
                return Some(Bytes::from_static(b": still here\n\n")); // nothing of this was wanted
            }
        }
    }

    /// The same, wanted or not.
    async fn all(&mut self) -> Option<Bytes> {
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
        let (behind, feed) = (self.behind, self.desk.feed.clone());
        let (events, known) = self.desk.read(move |shelf| read(shelf, &feed, behind, PAGE)).await.ok()?;
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
