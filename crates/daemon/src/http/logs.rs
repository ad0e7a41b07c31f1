//! What a job has written: read from its files, or followed until it has ended.
//!
//! One worker is told as it wrote. Several are told line by line, each line behind the name of its worker.

use super::jobs::{flag, id, never_there};
use super::{Desk, Trouble};
use crate::site::LogFile;
use axum::body::Body;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderName, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use consort_api::routes;
use consort_types::JobId;
use futures_util::stream::unfold;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// What follows the question mark.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Asked {
    from: Option<u64>,
    follow: Option<String>,
    task: Option<u32>,
    rank: Option<u32>,
    attempt: Option<u32>,
}

/// Bytes sent at once.
const PIECE: usize = 256 << 10;
/// How often a file is looked at while nothing is new.
const PAUSE: Duration = Duration::from_millis(50);

pub(super) async fn read(
    State(desk): State<Arc<Desk>>,
    Path(text): Path<String>,
    query: Result<Query<Asked>, axum::extract::rejection::QueryRejection>,
) -> Result<Response, Trouble> {
    let id = id(&text)?;
    let Query(asked) = query.map_err(|error| Trouble::unreadable(error.body_text()))?;
    if !is_known(&desk, id).await? {
        return Err(never_there(id));
    }
    let follow = flag(&asked.follow);
    let mut reader = Reader::new(desk, id, asked);
    reader.find().await?;
    let kind = (header::CONTENT_TYPE, "text/plain; charset=utf-8".to_string());
    if !follow {
        let next = reader.skip + reader.total();
        let header = (HeaderName::from_static(routes::NEXT), next.to_string());
        return Ok(([kind, header], Body::from_stream(pieces(reader, false))).into_response());
    }
    Ok(([kind], Body::from_stream(pieces(reader, true))).into_response())
}

async fn is_known(desk: &Arc<Desk>, id: JobId) -> Result<bool, Trouble> {
    desk.look(move |scheduler, _| id.0 > 0 && id < scheduler.view().next_job()).await
}

fn pieces(reader: Reader, follow: bool) -> impl futures_core::Stream<Item = Result<Bytes, Infallible>> {
    unfold((reader, false), move |(mut reader, mut over)| async move {
        loop {
            let piece = reader.piece();
            if !piece.is_empty() {
                return Some((Ok(piece), (reader, over)));
            }
            if !follow || over || *reader.desk.leaving.borrow() {
                return None;
            }
            // Once it has ended there is one more look: the last words may have come in between.
            over = reader.has_ended().await;
            if !over {
                tokio::time::sleep(PAUSE).await;
            }
            if reader.find().await.is_err() {
                return None;
            }
        }
    })
}

struct Reader {
    desk: Arc<Desk>,
    id: JobId,
    asked: Asked,
    skip: u64,
    tails: BTreeMap<(u16, u32, u32, u32), Tail>,
}

impl Reader {
    fn new(desk: Arc<Desk>, id: JobId, asked: Asked) -> Self {
        let skip = asked.from.unwrap_or(0);
        Self { desk, id, asked, skip, tails: BTreeMap::new() }
    }

    /// Looks which files there are now.
    async fn find(&mut self) -> Result<(), Trouble> {
        let id = self.id;
        let Some((spec, work)) = self.desk.read(move |shelf| shelf.work(id)).await? else { return Ok(()) };
        let files = self.desk.site.logs(id, &spec, &work);
        let task_of = |file: &LogFile| {
            let indices = work.stages.get(usize::from(file.stage)).map_or(&[][..], |stage| &stage.indices);
            indices.get(file.task as usize).copied().unwrap_or(file.task)
        };
        let is_wanted = |file: &&LogFile| {
            self.asked.task.is_none_or(|task| task == task_of(file))
                && self.asked.rank.is_none_or(|rank| rank == file.rank)
                && self.asked.attempt.is_none_or(|attempt| attempt == file.attempt)
        };
        let wanted: Vec<&LogFile> = files.iter().filter(is_wanted).collect();
        // Of each worker the last attempt, unless another is asked for.
        let mut last: BTreeMap<(u16, u32, u32), u32> = BTreeMap::new();
        for file in &wanted {
            let attempt = last.entry((file.stage, file.task, file.rank)).or_default();
            *attempt = file.attempt.max(*attempt);
        }
        for file in wanted {
            let is_last = last.get(&(file.stage, file.task, file.rank)) == Some(&file.attempt);
            let key = (file.stage, file.task, file.rank, file.attempt);
            if is_last && !self.tails.contains_key(&key) {
                let name = match spec.stages.len() > 1 || files.iter().any(|other| other.task != file.task) {
                    true => format!("[{}.{} {}] ", file.stage, task_of(file), file.rank),
                    false => format!("[{}] ", file.rank),
                };
                self.tails.insert(key, Tail::new(file.path.clone(), name));
            }
        }
        Ok(())
    }

    /// Bytes that there are now.
    fn total(&self) -> u64 {
        let sum: u64 = self.tails.values().map(Tail::size).sum();
        sum.saturating_sub(self.skip)
    }

    /// The next bytes, as far as there are any.
    fn piece(&mut self) -> Bytes {
        let is_alone = self.tails.len() == 1;
        for tail in self.tails.values_mut() {
            let mut bytes = if is_alone { tail.read() } else { tail.lines() };
            if self.skip > 0 {
                let skipped = self.skip.min(bytes.len() as u64);
                bytes.drain(..skipped as usize);
                self.skip -= skipped;
            }
            if !bytes.is_empty() {
                return bytes.into();
            }
        }
        Bytes::new()
    }

    async fn has_ended(&self) -> bool {
        let id = self.id;
        self.desk.look(move |scheduler, _| scheduler.view().job(id).is_none()).await.unwrap_or(true)
    }
}

/// The end of one log that may be put aside and begun anew while it is read.
struct Tail {
    path: PathBuf,
    name: String,
    /// The file being read, and which one it is.
    open: Option<(File, u64)>,
    /// The last line, while it is not whole.
    rest: Vec<u8>,
}

impl Tail {
    fn new(path: PathBuf, name: String) -> Self {
        Self { path, name, open: None, rest: vec![] }
    }

    /// The files there are: those put aside, oldest first, and the one being written.
    fn files(&self) -> Vec<PathBuf> {
        let aside = |number: u32| PathBuf::from(format!("{}.{number}", self.path.display()));
        let mut files: Vec<PathBuf> = (1..).map(aside).take_while(|path| path.exists()).collect();
        files.reverse();
        files.push(self.path.clone());
        files
    }

    fn size(&self) -> u64 {
        self.files().iter().filter_map(|path| Some(path.metadata().ok()?.len())).sum()
    }

    fn read(&mut self) -> Vec<u8> {
        loop {
            let Some((file, inode)) = &mut self.open else {
                let first = self.files().into_iter().find_map(|path| open(&path));
                self.open = Some(match first {
                    Some(found) => found,
                    None => return vec![],
                });
                continue;
            };
            let mut bytes = vec![0; PIECE];
            let read = file.read(&mut bytes).unwrap_or(0);
            if read > 0 {
                bytes.truncate(read);
                return bytes;
            }
            // At its end: has it been put aside? Then the next younger file goes on.
            let inode = *inode;
            let files: Vec<(File, u64)> = self.files().iter().filter_map(|path| open(path)).collect();
            let here = files.iter().position(|(_, other)| *other == inode);
            let next = here.map_or(0, |here| here + 1);
            match files.into_iter().nth(next) {
                Some(younger) => self.open = Some(younger),
                None => return vec![],
            }
        }
    }

    /// The same, whole lines only, each behind the name.
    fn lines(&mut self) -> Vec<u8> {
        let bytes = self.read();
        self.rest.extend_from_slice(&bytes);
        let end = match bytes.is_empty() {
            true => self.rest.len(), // nothing more for now: what there is counts as a line
            false => self.rest.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1),
        };
        let mut told = vec![];
        for line in self.rest.drain(..end).collect::<Vec<u8>>().split_inclusive(|&byte| byte == b'\n') {
            told.extend_from_slice(self.name.as_bytes());
            told.extend_from_slice(line);
            if !line.ends_with(b"\n") {
                told.push(b'\n');
            }
        }
        told
    }
}

fn open(path: &FilePath) -> Option<(File, u64)> {
    let mut file = File::open(path).ok()?;
    let inode = file.metadata().ok()?.ino();
    file.seek(SeekFrom::Start(0)).ok()?;
    Some((file, inode))
}
