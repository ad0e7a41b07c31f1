//! What a job has written: read from its files, or followed until it has ended.
//!
//! One worker is told as it wrote. Several are told line by line, each line behind the name of its worker, or with
//! marks: every piece as it was written, behind a line that says where it is from. Files are read on threads that may
//! wait, never on those that answer.
//!
//! | read | for |
//! |---|---|
//! | `choice` | which workers are wanted, and what they are called |
//! | `files` | all of their files, in turn |
//! | `tail` | one file, and those that were put aside |

mod choice;
mod files;
mod tail;

use super::jobs::{flag, id, never_there};
use super::parts::{Asked, Named};
use super::{Desk, Trouble};
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderName, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use choice::Choice;
use consort_api::routes;
use consort_types::JobId;
use files::{Files, Living};
use futures_util::stream::unfold;
use serde::Deserialize;
use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// What follows the question mark.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted {
    from: Option<u64>,
    follow: Option<String>,
    marks: Option<String>,
    task: Option<u32>,
    rank: Option<u32>,
    attempt: Option<u32>,
    since: Option<u32>,
    tail: Option<u64>,
}

/// How often a file is looked at while nothing is new.
const PAUSE: Duration = Duration::from_millis(50);
/// So many files are looked for again in every pause; more, the more seldom.
const FEW: u32 = 200;

pub(super) async fn read(
    State(desk): State<Arc<Desk>>,
    Named(text): Named,
    Asked(wanted): Asked<Wanted>,
) -> Result<Response, Trouble> {
    let id = id(&text)?;
    let is_known = desk.look(move |reading, _| id.0 > 0 && id < reading.view().next_job()).await?;
    let submitted = if is_known { desk.read(move |shelf| shelf.work(id)).await? } else { None };
    let Some((spec, work)) = submitted else { return Err(never_there(id)) };
    let Wanted { task, rank, attempt, since, .. } = wanted;
    let choice = Choice { task, rank, attempt, since, several: false }.among(id, &spec, &work)?;
    let (follow, marks) = (flag(&wanted.follow), flag(&wanted.marks));
    if wanted.from.is_some() && (choice.several || marks) {
        let error =
            "`from` needs the output of one worker; choose it with task and rank, or leave out `from`";
        return Err(Trouble::unreadable(error));
    }
    if wanted.from.is_some() && wanted.tail.is_some() {
        return Err(Trouble::unreadable("`from` cannot be used with `tail`; leave one out"));
    }
    let files = Files {
        site: desk.site.clone(),
        id,
        spec,
        work,
        choice,
        follow,
        marks,
        skip: wanted.from.unwrap_or(0),
        tail: wanted.tail,
        living: Living::new(),
        known: BTreeMap::new(),
        queue: VecDeque::new(),
        asleep: vec![],
        searched: false,
        cut: false,
    };
    let (answer, end) = oneshot::channel();
    if follow {
        // Absent when the loop is gone: then the stream ends by itself.
        let _ = desk.mailbox.send(crate::mail::Letter::Wait { job: id, answer });
    }
    let end = Some(end).filter(|_| follow);
    let mut stream = Stream { desk, id, files: Some(files), follow, over: false, end, found: Instant::now() };
    stream.on_disk(|files| files.find()).await.ok_or_else(Trouble::busy)?;
    stream.over = stream.look().await;
    // How much there is, and whether the attempt that is asked for ever was.
    let looked = stream.on_disk(move |files| {
        let others = || files.listed(&Choice { attempt: None, ..files.choice.clone() });
        let missing = attempt.filter(|_| files.queue.is_empty()).map(|wanted| (wanted, others()));
        (files.total(), files.choice.several, missing)
    });
    let (total, several, missing) = looked.await.ok_or_else(Trouble::busy)?;
    if let Some((wanted, others)) = missing.filter(|(_, others)| !others.is_empty()) {
        let there = choice::told("attempt", others.iter().map(|file| file.attempt).collect());
        let error = format!("job {id} has no output of attempt {wanted}; there {there}");
        return Err(Trouble::not_there(error));
    }
    let kind = if marks { "application/octet-stream" } else { "text/plain; charset=utf-8" };
    let mut response = Body::from_stream(unfold(stream, |mut stream| async move {
        let piece = stream.next().await?;
        Some((Ok::<Bytes, Infallible>(piece.into()), stream))
    }))
    .into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, header::HeaderValue::from_static(kind));
    if !follow && !several && !marks && wanted.tail.is_none() {
        headers.insert(HeaderName::from_static(routes::NEXT), total.max(wanted.from.unwrap_or(0)).into());
    }
    Ok(response)
}

/// The files of a job, on their way to somebody.
struct Stream {
    desk: Arc<Desk>,
    id: JobId,
    /// Always there, except while they are being read.
    files: Option<Files>,
    follow: bool,
    /// Whether the job had ended when files were last looked for.
    over: bool,
    /// Answers when the job ends, so that a reader is not kept for the rest of a pause.
    end: Option<oneshot::Receiver<()>>,
    /// When that was.
    found: Instant,
}

impl Stream {
    /// Does something that may wait for a disk.
    async fn on_disk<T: Send + 'static>(
        &mut self,
        act: impl FnOnce(&mut Files) -> T + Send + 'static,
    ) -> Option<T> {
        let mut files = self.files.take()?;
        let done = tokio::task::spawn_blocking(move || {
            let done = act(&mut files);
            (files, done)
        });
        let (files, done) = done.await.ok()?;
        self.files = Some(files);
        Some(done)
    }

    /// Looks what runs, after the files were looked for: what exists and is not among it is written no more. Whether
    /// the job has ended.
    async fn look(&mut self) -> bool {
        let id = self.id;
        let looked = self.desk.look(move |reading, _| {
            let view = reading.view();
            let running = view.granted().filter(|ask| ask.job == id).filter_map(|ask| view.ask(ask));
            let living: Living =
                running.map(|ask| (ask.id().stage, ask.id().task, ask.allocation().attempt)).collect();
            (living, view.job(id).is_none())
        });
        let (living, over) = looked.await.unwrap_or((Living::new(), true));
        if let Some(files) = &mut self.files {
            files.living = living;
        }
        over
    }

    /// Waits for a pause, or for the end of the job.
    async fn pause(&mut self) {
        match &mut self.end {
            Some(end) => {
                if tokio::time::timeout(PAUSE, end).await.is_ok() {
                    self.end = None;
                }
            }
            None => tokio::time::sleep(PAUSE).await,
        }
    }

    /// The next bytes; none at the end.
    async fn next(&mut self) -> Option<Vec<u8>> {
        loop {
            let piece = self.on_disk(Files::piece).await?;
            if !piece.is_empty() {
                return Some(piece);
            }
            if !self.follow || self.over || *self.desk.leaving.borrow() {
                return None;
            }
            self.pause().await;
            let known = self.files.as_ref().map_or(0, |files| files.known.len() as u32);
            if self.found.elapsed() >= PAUSE * (known / FEW) {
                self.on_disk(Files::find).await?;
                self.found = Instant::now();
            }
            self.over = self.look().await;
            if self.over {
                // There is one more look: the last words may have come in between.
                self.on_disk(Files::find).await?;
            }
        }
    }
}
