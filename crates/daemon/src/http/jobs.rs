//! Jobs: submitted, listed, shown, explained, waited for, ended.

use super::cluster::parsed;
use super::parts::{Asked, Named, Sender, Whole};
use super::{Desk, Trouble};
use crate::fault::Fault;
use crate::journal::Shelf;
use crate::journal::history::{Filter, Record};
use crate::rows::{self, Wanted};
use crate::telling;
use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use consort_api::client::MOST_AT_ONCE;
use consort_api::shapes::{
    Acted, Explanation, Job, JobDetail, JobList, OutputLost, State as JobState, Submitted,
};
use consort_api::{Moment, routes};
use consort_sched::Reading;
use consort_types::file::job as job_file;
use consort_types::{Actor, Command, Input, JobId, Span, Total, Work};
use serde::Deserialize;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

type Answer<T> = Result<T, Trouble>;

/// A job id in a path.
pub(super) fn id(text: &str) -> Answer<JobId> {
    let number = text.parse().ok().filter(|&number: &u64| number > 0);
    number.map(JobId).ok_or_else(|| Trouble::not_there(format!("{text} is not a job id; ids count from 1")))
}

pub(super) fn never_there(id: JobId) -> Trouble {
    Trouble::not_there(format!("unknown job {id}; `consort jobs --all` lists all jobs"))
}

pub(super) async fn submit(
    State(desk): State<Arc<Desk>>,
    headers: HeaderMap,
    Sender(actor): Sender,
    Whole(body): Whole,
) -> Answer<Response> {
    let began = Instant::now();
    let around = job_file::Around { now: desk.clock.now(), workdir: "" };
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or("");
    let read = match kind.contains("json") {
        true => job_file::read_json("job", &body, &around),
        false => {
            let text =
                std::str::from_utf8(&body).map_err(|_| Trouble::unreadable("the job file is not UTF-8"))?;
            job_file::read("job", text, &around)
        }
    };
    let file = read.map_err(|error| Trouble::file(&error))?;
    if let Some(error) = consort_agent::launch::output_refusal(&file.spec, &file.work) {
        return Err(Trouble::misplaced("output", error));
    }
    if file.work.images().next().is_some() {
        let site = desk.site.clone();
        let refusal = tokio::task::spawn_blocking(move || site.image_refusal()).await;
        if let Some(error) = refusal.unwrap_or_default() {
            return Err(Trouble::misplaced("image", error));
        }
    }
    let name = file.spec.name.clone();
    let accepted = desk.put(actor, Input::Submit(Arc::new(file.spec)), Some(Box::new(file.work))).await?;
    desk.meters.answered(began.elapsed());
    let id = accepted.job.map_or(0, |job| job.0);
    Ok((StatusCode::CREATED, Json(Submitted { id, name })).into_response())
}

/// What follows the question mark of a list.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Listing {
    all: Option<String>,
    limit: Option<usize>,
    before: Option<u64>,
    state: Option<String>,
    tenant: Option<String>,
    queue: Option<String>,
    name: Option<String>,
}

pub(super) fn flag(value: &Option<String>) -> bool {
    value.as_deref().is_some_and(|value| !matches!(value, "false" | "0" | "no"))
}

/// Rows of one answer.
const MOST: usize = 10_000;

pub(super) async fn list(State(desk): State<Arc<Desk>>, Asked(listing): Asked<Listing>) -> Answer<Response> {
    let states = states(listing.state.as_deref())?;
    let limit = listing.limit.unwrap_or(1_000).clamp(1, MOST);
    let before = listing.before.map(|before| JobId(super::within(before)));
    let (tenant, queue, name) = (listing.tenant.clone(), listing.queue.clone(), listing.name.clone());
    let wanted = Wanted { before, states: states.clone(), tenant, queue, name };
    let words = desk.words();
    let more_header =
        |more: bool| (HeaderName::from_static(routes::MORE), if more { "true" } else { "false" });
    let ended_wanted = flag(&listing.all) || states.iter().any(|state| state.has_ended());
    if !ended_wanted {
        let key = (wanted.clone(), limit);
        let feed = desk.feed.clone();
        let look = move |reading: &Reading<'_>, now| {
            let (mut rows, more) = rows::living(reading, now, &words, &wanted, limit);
            rows.reverse();
            feed.name_users(&mut rows);
            // As text already here: the thread that looks is below all others, those that answer are not.
            (Bytes::from(serde_json::to_vec(&rows).expect("plain data")), more)
        };
        let (body, more) = desk.look_together(&desk.lists, key, look).await?;
        let json = (header::CONTENT_TYPE, "application/json");
        return Ok(([more_header(more)], [json], body).into_response());
    }
    let (mut rows, mut more) =
        desk.look(move |reading, now| rows::living(reading, now, &words, &wanted, limit)).await?;
    let filter = Filter {
        before,
        states: states.iter().map(|state| state.word().to_string()).collect(),
        tenant: listing.tenant,
        queue: listing.queue,
        name: listing.name,
    };
    desk.feed.name_users(&mut rows);
    let ended = desk.read(move |shelf| {
        let mut ended: Vec<Job> = shelf.history(&filter, limit + 1)?.iter().map(Record::row).collect();
        name_users(shelf, &mut ended)?;
        Ok(ended)
    });
    rows.extend(ended.await?);
    rows.sort_unstable_by_key(|row| std::cmp::Reverse(row.id));
    rows.dedup_by_key(|row| row.id); // one may have ended between the two looks
    more |= rows.len() > limit;
    rows.truncate(limit);
    rows.reverse();
    Ok(([more_header(more)], Json(rows)).into_response())
}

/// Says who submitted jobs that have ended.
fn name_users(shelf: &Shelf, rows: &mut [Job]) -> Result<(), Fault> {
    let mut users = shelf.users(rows.iter().map(|row| JobId(row.id)))?;
    rows.iter_mut().for_each(|row| row.user = users.remove(&JobId(row.id)));
    Ok(())
}

fn states(text: Option<&str>) -> Answer<Vec<JobState>> {
    let known = |word: &str| {
        JobState::ALL.into_iter().find(|state| state.word() == word).ok_or_else(|| {
            let all: Vec<&str> = JobState::ALL.iter().map(|state| state.word()).collect();
            Trouble::unreadable(format!("{word} is not a state of a job; expected one of {}", all.join(", ")))
        })
    };
    text.map_or(Ok(vec![]), |text| text.split(',').filter(|word| !word.is_empty()).map(known).collect())
}

async fn row(desk: &Arc<Desk>, id: JobId) -> Answer<Job> {
    let mut rows = rows_of(desk, vec![id]).await?;
    rows.pop().flatten().ok_or_else(|| never_there(id))
}

/// The rows of these jobs, absent for those that never were.
async fn rows_of(desk: &Arc<Desk>, ids: Vec<JobId>) -> Answer<Vec<Option<Job>>> {
    let (words, living) = (desk.words(), ids.clone());
    let look = move |reading: &Reading<'_>, now| {
        let mut reasons = rows::Reasons::default();
        let mut row = |id| Some(rows::row(reading, now, &words, &reading.view().job(id)?, &mut reasons));
        living.into_iter().map(&mut row).collect::<Vec<Option<Job>>>()
    };
    let mut rows = desk.look(look).await?;
    for (row, id) in rows.iter_mut().zip(ids) {
        match row {
            Some(row) => desk.feed.name_users(std::slice::from_mut(row)),
            None => {
                let ended = desk.read(move |shelf| {
                    let mut row: Vec<Job> = shelf.ended(id)?.iter().map(Record::row).collect();
                    name_users(shelf, &mut row)?;
                    Ok(row.pop())
                });
                *row = ended.await?;
            }
        }
    }
    Ok(rows)
}

pub(super) async fn show(State(desk): State<Arc<Desk>>, Named(text): Named) -> Answer<Json<JobDetail>> {
    let id = id(&text)?;
    let words = desk.words();
    let living = desk.look(move |reading, now| rows::detail(reading, now, &words, id)).await?;
    let mut detail = match living {
        Some(detail) => detail,
        None => {
            let record = desk.read(move |shelf| shelf.ended(id)).await?;
            ended_detail(&record.ok_or_else(|| never_there(id))?)
        }
    };
    let lost = desk.read(move |shelf| shelf.lost(id)).await?;
    detail.output_lost = lost.map(|(bytes, since)| OutputLost { bytes, since: Moment(since) });
    if let Some((spec, work)) = desk.read(move |shelf| shelf.work(id)).await? {
        let user = desk.read(move |shelf| shelf.users([id])).await?;
        detail.job.user = user.into_values().next();
        detail.workdir = Some(work.workdir.clone());
        detail.command = commands(&work);
        for asked in &mut detail.job.asks_for {
            asked.image = work.image.clone();
        }
        let (site, its, works) = (desk.site.clone(), spec.clone(), work.clone());
        let files = tokio::task::spawn_blocking(move || site.logs(id, &its, &works, &|_, _, _, _| true));
        let files = files.await.unwrap_or_default();
        detail.logs = files.iter().map(|file| file.path().display().to_string()).collect();
        for ask in &mut detail.asks {
            let stage = spec.stages.iter().position(|stage| stage.name == ask.stage).unwrap_or(0);
            let runs = work.stages.get(stage);
            let variant = ask.kind.as_deref().and_then(|kind| runs?.variant(kind));
            ask.variant = variant.map(|variant| variant.kind.clone());
        }
    }
    Ok(Json(detail))
}

fn ended_detail(record: &Record) -> JobDetail {
    let spec = &record.spec;
    JobDetail {
        job: record.row(),
        workdir: None,
        command: vec![],
        after: spec.after.iter().map(|dependency| dependency.job.0).collect(),
        deadline: spec.deadline.map(Moment),
        estimate_s: spec.estimate.map(Span::as_seconds),
        time_limit_s: spec.time_limit.map(Span::as_seconds),
        retries: spec.retries,
        asks: vec![],
        parts: 0,
        ran_on: record.ran_on.clone(),
        logs: vec![],
        story: telling::story(&record.story, spec),
        output_lost: None,
    }
}

fn commands(work: &Work) -> Vec<String> {
    let told = |command: &Command| match command {
        Command::Program(words) => words.join(" "),
        Command::Script { text, arguments } => {
            let first =
                text.lines().find(|line| !line.trim().is_empty() && !line.starts_with('#')).unwrap_or("");
            let rest = if text.lines().count() > 1 { " ..." } else { "" };
            [first, rest, " ", &arguments.join(" ")].concat().trim_end().to_string()
        }
    };
    work.stages.iter().flat_map(|stage| &stage.commands).map(told).collect()
}

pub(super) async fn explain(State(desk): State<Arc<Desk>>, Named(text): Named) -> Answer<Json<Explanation>> {
    let id = id(&text)?;
    let words = desk.words();
    let living = desk.look(move |reading, now| rows::explanation(reading, now, &words, id)).await?;
    if let Some(found) = living {
        return Ok(Json(found));
    }
    let record = desk.read(move |shelf| shelf.ended(id)).await?.ok_or_else(|| never_there(id))?;
    let name = record.spec.name.clone();
    let sentence = format!("Job {id} ({name}) {}: {}.", record.state(), record.why);
    let (waited, served) = (rounded(record.waited), rounded_total(record.served));
    let asks: u64 = record.spec.stages.iter().map(|stage| u64::from(stage.form.asks())).sum();
    let ran = match asks {
        1 => format!("It waited {waited} and ran {served}."),
        _ => format!("Its tasks waited {waited} on average, and ran {served} in all."),
    };
    Ok(Json(Explanation {
        id: id.0,
        name,
        state: record.state(),
        sentences: vec![sentence, ran],
        asks: vec![],
        remedies: vec![],
        story: telling::story(&record.story, &record.spec),
    }))
}

/// To the millisecond: nobody asks for more.
fn rounded(span: Span) -> Span {
    Span(span.0 / 1_000_000 * 1_000_000)
}

fn rounded_total(total: Total) -> Total {
    Total(total.0 / 1_000_000 * 1_000_000)
}

async fn act(desk: Arc<Desk>, actor: Actor, text: &str, input: fn(JobId) -> Input) -> Answer<Json<Job>> {
    let id = id(text)?;
    desk.put(actor, input(id), None).await?;
    row(&desk, id).await.map(Json)
}

pub(super) async fn cancel(
    State(desk): State<Arc<Desk>>,
    Sender(actor): Sender,
    Named(text): Named,
) -> Answer<Json<Job>> {
    act(desk, actor, &text, Input::Cancel).await
}

pub(super) async fn pause(
    State(desk): State<Arc<Desk>>,
    Sender(actor): Sender,
    Named(text): Named,
) -> Answer<Json<Job>> {
    act(desk, actor, &text, Input::Pause).await
}

pub(super) async fn resume(
    State(desk): State<Arc<Desk>>,
    Sender(actor): Sender,
    Named(text): Named,
) -> Answer<Json<Job>> {
    act(desk, actor, &text, Input::Resume).await
}

/// Does the same to many jobs in one batch, so that no job of the list starts because another one of it ended.
async fn act_on_all(
    desk: Arc<Desk>,
    actor: Actor,
    body: &Bytes,
    input: fn(JobId) -> Input,
) -> Answer<Json<Vec<Acted>>> {
    let ids: Vec<JobId> = parsed::<JobList>(body)?.jobs.into_iter().map(JobId).collect();
    if ids.len() > MOST_AT_ONCE {
        let count = ids.len();
        return Err(Trouble::unreadable(format!(
            "`jobs` has {count} ids; send at most {MOST_AT_ONCE} per request"
        )));
    }
    let answers = desk.put_all(actor, ids.iter().map(|&id| input(id)).collect()).await?;
    let mut acted = Vec::with_capacity(ids.len());
    for ((id, answer), row) in ids.iter().zip(answers).zip(rows_of(&desk, ids.clone()).await?) {
        let done = answer.map_err(Trouble::refused).and_then(|_| row.ok_or_else(|| never_there(*id)));
        acted.push(match done.map_err(Trouble::parts) {
            Ok(job) => Acted { id: id.0, status: 200, job: Some(job), problem: None },
            Err((status, problem)) => Acted { id: id.0, status, job: None, problem: Some(problem) },
        });
    }
    Ok(Json(acted))
}

pub(super) async fn cancel_all(
    State(desk): State<Arc<Desk>>,
    Sender(actor): Sender,
    Whole(body): Whole,
) -> Answer<Json<Vec<Acted>>> {
    act_on_all(desk, actor, &body, Input::Cancel).await
}

pub(super) async fn pause_all(
    State(desk): State<Arc<Desk>>,
    Sender(actor): Sender,
    Whole(body): Whole,
) -> Answer<Json<Vec<Acted>>> {
    act_on_all(desk, actor, &body, Input::Pause).await
}

pub(super) async fn resume_all(
    State(desk): State<Arc<Desk>>,
    Sender(actor): Sender,
    Whole(body): Whole,
) -> Answer<Json<Vec<Acted>>> {
    act_on_all(desk, actor, &body, Input::Resume).await
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Patience {
    timeout_ms: Option<u64>,
}

pub(super) async fn wait(
    State(desk): State<Arc<Desk>>,
    Named(text): Named,
    Asked(patience): Asked<Patience>,
) -> Answer<(StatusCode, Json<Job>)> {
    let id = id(&text)?;
    let limit = Duration::from_millis(patience.timeout_ms.unwrap_or(30_000).min(600_000));
    let (answer, ended) = oneshot::channel();
    desk.mailbox.send(crate::mail::Letter::Wait { job: id, answer }).map_err(|_| Trouble::busy())?;
    let mut leaving = desk.leaving.subscribe();
    tokio::select! {
        _ = tokio::time::timeout(limit, ended) => {}
        _ = leaving.wait_for(|&leaving| leaving) => {}
    }
    let row = row(&desk, id).await?;
    let status = if row.state.has_ended() { StatusCode::OK } else { StatusCode::ACCEPTED };
    Ok((status, Json(row)))
}
