//! `consort logs`: what a job has written, byte for byte; of several workers line by line.

use super::server::{Server, job_id};
use super::wording;
use crate::failure::{Failure, note};
use consort_api::client::{Lines, LogQuery, Mark};
use consort_api::shapes::Job;
use consort_api::{Client, ClientError};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::{BufReader, ErrorKind, Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const EXAMPLES: &str = "\
Examples:
  consort logs 17
  consort logs -f 17                        follow until the job has ended
  consort logs 17 --tail 50
  consort logs 17 --task 3 --rank 1 --attempt 2
  consort logs 17 --json                    one JSON object per line

With -f, --tail counts for each worker. An object has worker, stage, task, rank, attempt and text.";

/// Show the output of a job
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Job id
    #[arg(value_name = "JOB", value_parser = job_id)]
    job: u64,
    /// Follow the output until the job has ended
    #[arg(long, short)]
    follow: bool,
    /// Task of a bag, or replica of a service
    #[arg(long, value_name = "N", value_parser = position)]
    task: Option<u64>,
    /// Rank of the worker
    #[arg(long, value_name = "N", value_parser = position)]
    rank: Option<u64>,
    /// Attempt [default: the last]
    #[arg(long, value_name = "N", value_parser = super::jobs::number)]
    attempt: Option<u64>,
    /// Last N lines only
    #[arg(long, value_name = "N", value_parser = position)]
    tail: Option<u64>,
    /// Print JSON, one object per line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: Server,
}

/// A number from 0 on.
fn position(text: &str) -> Result<u64, String> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| digits).ok_or_else(|| "expected a whole number from 0 on".into())
}

/// Whether anything was written.
static HAS_WRITTEN: AtomicBool = AtomicBool::new(false);

/// The command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let client = args.server.client()?;
    tell(args, &client)?;
    // What is not there cannot be told from what was never written.
    let Ok(detail) = client.job(args.job) else { return Ok(()) };
    let job = &detail.job;
    let is_one = detail.parts <= 1 && job.attempts == job.restarts + 1;
    if job.started.is_none() && !HAS_WRITTEN.load(Ordering::Relaxed) {
        let why = match job.state.has_ended() {
            true => "ended before it started".into(),
            false => format!("has not started yet ({})", job.state),
        };
        note(&format!("consort: {} {why}, so there is no output", wording::subject(job)));
    } else if is_one && job.restarts > 0 && args.attempt.is_none() && !args.follow {
        note(&format!(
            "consort: this is attempt {} of job {}; --attempt {} shows the one before",
            job.attempts,
            job.id,
            job.attempts - 1
        ));
    }
    if let Some(lost) = detail.output_lost {
        note(&format!(
            "consort: output of job {} was lost: {}",
            args.job,
            wording::lost(lost, wording::now())
        ));
    }
    Ok(())
}

fn tell(args: &Args, client: &Client) -> Result<(), Failure> {
    let (task, rank, attempt) = (args.task, args.rank, args.attempt);
    let tail = args.tail;
    let mut query = LogQuery { task, rank, attempt, tail, ..LogQuery::default() };
    let mut told = Told { json: args.json, ..Told::default() };
    if args.follow {
        return go_on(client, args.job, query, &mut told).map(drop);
    }
    if args.tail.is_none() && !args.json {
        return copy(client.logs(args.job, &query)?.reader)?.map_or(Ok(()), |_| Err(broken(client)));
    }
    query.marks = true;
    // Each worker sends its last lines; of them all, the last are wanted.
    let mut last = args.tail.map(|lines| LastLines::new(usize::try_from(lines).unwrap_or(usize::MAX)));
    let mut show = |bytes: &[u8]| match &mut last {
        Some(last) => {
            last.add(bytes);
            Ok(())
        }
        None => write(bytes),
    };
    let reader = client.logs(args.job, &query)?.reader;
    let is_whole = read(reader, |mark, bytes| show(&told.take(&mark, bytes)))?;
    show(&told.finish())?;
    if let Some(last) = last.filter(|_| is_whole) {
        write(&last.bytes())?;
    }
    if is_whole { Ok(()) } else { Err(broken(client)) }
}

/// The last lines of a text that comes in pieces.
struct LastLines {
    lines: VecDeque<Vec<u8>>,
    most: usize,
}

impl LastLines {
    fn new(most: usize) -> Self {
        Self { lines: VecDeque::new(), most }
    }

    fn add(&mut self, bytes: &[u8]) {
        for line in bytes.split_inclusive(|&byte| byte == b'\n') {
            match self.lines.back_mut().filter(|last| !last.ends_with(b"\n")) {
                Some(last) => last.extend_from_slice(line),
                None => self.lines.push_back(line.to_vec()),
            }
            // One more is kept than is wanted, so that a line that is still coming is never taken for two.
            if self.lines.len() > self.most.saturating_add(1) {
                self.lines.pop_front();
            }
        }
    }

    fn bytes(self) -> Vec<u8> {
        let skipped = self.lines.len().saturating_sub(self.most);
        self.lines.into_iter().skip(skipped).flatten().collect()
    }
}

/// What has been told of every worker, so that nothing is told twice after a stream broke.
#[derive(Default)]
struct Told {
    /// As JSON, an object for each line.
    json: bool,
    workers: BTreeMap<(u16, u32, u32), Place>,
}

/// How far one worker has been told.
#[derive(Default)]
struct Place {
    name: String,
    attempt: u32,
    /// The file, and the position in it.
    file: u64,
    at: u64,
    /// The files of this attempt before that one.
    older: BTreeSet<u64>,
    /// Whether a new stream has come to where the last one broke.
    is_caught_up: bool,
    /// Whether the server's own words were told.
    is_noted: bool,
    lines: Lines,
}

impl Told {
    /// What is to be written of a piece.
    fn take(&mut self, mark: &Mark, bytes: &[u8]) -> Vec<u8> {
        let worker = (mark.stage, mark.task, mark.rank);
        let place = self.workers.entry(worker).or_default();
        place.name.clone_from(&mark.name);
        let mut told = vec![];
        let new = if mark.file == 0 {
            if std::mem::replace(&mut place.is_noted, true) { &[] } else { bytes }
        } else {
            let new = place.new_of(mark, bytes);
            if place.is_caught_up {
                let attempt = place.attempt;
                let left = place.go_to(mark);
                told = if self.json {
                    objects(worker, &place.name, attempt, &left)
                } else {
                    named(&place.name, left)
                };
            }
            new
        };
        told.extend(match (self.json, place.name.is_empty()) {
            (true, _) => objects(worker, &place.name, mark.attempt, &place.lines.add("", new)),
            (false, true) => new.to_vec(),
            (false, false) => place.lines.add(&place.name, new),
        });
        told
    }

    /// A new stream begins: what it has in common with the last one is not told again.
    fn begin(&mut self) {
        self.workers.values_mut().for_each(|place| place.is_caught_up = false);
    }

    /// The first attempt that a new stream has to have.
    fn since(&self) -> Option<u64> {
        self.workers.values().map(|place| place.attempt.into()).filter(|attempt| *attempt > 0).min()
    }

    /// The last lines, although they have no end.
    fn finish(&mut self) -> Vec<u8> {
        let json = self.json;
        let rest = self.workers.iter_mut().map(|(worker, place)| {
            let rest = place.lines.finish("");
            if json { objects(*worker, &place.name, place.attempt, &rest) } else { named(&place.name, rest) }
        });
        rest.flatten().collect()
    }
}

/// The last line of a worker, behind its name.
fn named(name: &str, line: Vec<u8>) -> Vec<u8> {
    if line.is_empty() { line } else { [name.as_bytes(), &line].concat() }
}

/// Whole lines of a worker (stage by position, index of the task, rank) as JSON, one object for each. `worker` is what its lines
/// stand behind where there are several, as in `task 13`.
fn objects((stage, task, rank): (u16, u32, u32), name: &str, attempt: u32, lines: &[u8]) -> Vec<u8> {
    let worker = name.trim_end().trim_start_matches('[').trim_end_matches(']');
    let object = |line: &[u8]| {
        let text = String::from_utf8_lossy(line.strip_suffix(b"\n").unwrap_or(line));
        let at = json!({"worker": worker, "stage": stage, "task": task, "rank": rank, "attempt": attempt, "text": text});
        at.to_string() + "\n"
    };
    lines.split_inclusive(|&byte| byte == b'\n').flat_map(|line| object(line).into_bytes()).collect()
}

impl Place {
    /// Those bytes of a piece that were not told yet.
    fn new_of<'a>(&mut self, mark: &Mark, bytes: &'a [u8]) -> &'a [u8] {
        if self.is_caught_up || mark.attempt > self.attempt {
            self.is_caught_up = true;
            return bytes;
        }
        if mark.attempt < self.attempt || (mark.file != self.file && self.older.contains(&mark.file)) {
            return &[];
        }
        if mark.file != self.file {
            self.is_caught_up = true; // the file where we were is gone: what is left is all new
            return bytes;
        }
        let known = usize::try_from(self.at.saturating_sub(mark.at)).unwrap_or(usize::MAX);
        self.is_caught_up = known <= bytes.len();
        &bytes[known.min(bytes.len())..]
    }

    /// Remembers where we are. What is left of an attempt that is over counts as a line.
    fn go_to(&mut self, mark: &Mark) -> Vec<u8> {
        let mut left = vec![];
        if mark.attempt != self.attempt {
            left = self.lines.finish("");
            self.older.clear();
        } else if mark.file != self.file {
            self.older.insert(self.file);
            self.older.remove(&mark.file); // a number may come again once its file was dropped
        }
        (self.attempt, self.file, self.at) = (mark.attempt, mark.file, mark.at + mark.bytes as u64);
        left
    }
}

/// How long a server that went away is waited for.
const PATIENCE: Duration = Duration::from_secs(60);

/// Writes what a job writes, until it has ended, and returns the job. A stream that breaks is taken up again where it
/// broke. With `json`, every line is an object.
pub fn follow(client: &Client, id: u64, query: LogQuery, json: bool) -> Result<Job, Failure> {
    go_on(client, id, query, &mut Told { json, ..Told::default() })
}

fn go_on(client: &Client, id: u64, mut query: LogQuery, told: &mut Told) -> Result<Job, Failure> {
    (query.follow, query.marks) = (true, true);
    let mut silent = Instant::now();
    let mut stream = |query: &mut LogQuery| -> Result<Result<(), ClientError>, Failure> {
        told.begin();
        query.since = if query.attempt.is_none() { told.since() } else { None };
        let log = match client.logs(id, query) {
            Ok(log) => log,
            Err(error) => return Ok(Err(error)),
        };
        // Whoever comes back goes on where they were, however much was written meanwhile.
        query.tail = None;
        let is_whole = read(log.reader, |mark, bytes| write(&told.take(&mark, bytes)))?;
        if is_whole && !query.follow {
            write(&told.finish())?;
        }
        Ok(Ok(()))
    };
    loop {
        match stream(&mut query)? {
            Ok(()) => silent = Instant::now(),
            // The server may be away for a moment.
            Err(ClientError::Problem(503, _) | ClientError::Unreachable(_))
                if silent.elapsed() < PATIENCE => {}
            Err(error) => return Err(error.into()),
        }
        match client.wait(id, Duration::ZERO) {
            Ok(job) if job.state.has_ended() => {
                // What was written between the end of the stream and the end of the job.
                query.follow = false;
                let _ = stream(&mut query)?;
                return Ok(job);
            }
            Ok(_) => silent = Instant::now(),
            Err(ClientError::Problem(503, _) | ClientError::Unreachable(_))
                if silent.elapsed() < PATIENCE => {}
            Err(error) => return Err(error.into()),
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// Hands on the pieces of a marked log; whether it came to its end and did not break.
fn read(
    reader: impl Read,
    mut take: impl FnMut(Mark, &[u8]) -> Result<(), Failure>,
) -> Result<bool, Failure> {
    let mut reader = BufReader::with_capacity(64 << 10, reader);
    loop {
        match Mark::read(&mut reader) {
            Ok(Some((mark, bytes))) => take(mark, &bytes)?,
            Ok(None) => return Ok(true),
            Err(_) => return Ok(false),
        }
    }
}

/// Copies to standard output as it comes. A stream that breaks is returned as an error in the answer; what is wrong
/// with our own output ends the command.
fn copy(mut reader: impl Read) -> Result<Option<std::io::Error>, Failure> {
    let mut buffer = vec![0; 64 << 10];
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => return Ok(None),
            Ok(read) => write(&buffer[..read])?,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Ok(Some(error)),
        }
    }
}

/// To standard output, unchanged: what a program writes is between it and its reader.
fn write(bytes: &[u8]) -> Result<(), Failure> {
    if !bytes.is_empty() {
        HAS_WRITTEN.store(true, Ordering::Relaxed);
    }
    let mut out = std::io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush()).map_err(|error| match error.kind() {
        ErrorKind::BrokenPipe => Failure::ReaderLeft,
        _ => Failure::file(Path::new("standard output"), "written", &error),
    })
}

fn broken(client: &Client) -> Failure {
    Failure::Outside(format!(
        "the connection to {} broke in the middle of the log; run the command again",
        client.url()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(rank: u32, attempt: u32, file: u64, at: u64, name: &str) -> Mark {
        Mark { rank, attempt, file, at, name: name.into(), ..Mark::default() }
    }

    fn told(told: &mut Told, mark: Mark, bytes: &str) -> String {
        let mark = Mark { bytes: bytes.len(), ..mark };
        String::from_utf8(told.take(&mark, bytes.as_bytes())).unwrap()
    }

    #[test]
    fn the_last_lines_are_kept() {
        let last = |pieces: &[&str], most| {
            let mut tail = LastLines::new(most);
            pieces.iter().for_each(|piece| tail.add(piece.as_bytes()));
            String::from_utf8(tail.bytes()).unwrap()
        };
        assert_eq!(last(&["a\nb", "b\ncc", "c"], 2), "bb\nccc");
        assert_eq!(last(&["a\n"], 0), "");
        assert_eq!(last(&["a"], 0), "");
        assert_eq!(last(&[], 5), "");
    }

    #[test]
    fn what_was_told_is_not_told_again_and_nothing_is_left_out() {
        let mut all = Told::default();
        assert_eq!(told(&mut all, mark(0, 1, 7, 0, ""), "abc"), "abc");
        assert_eq!(told(&mut all, mark(0, 1, 8, 0, ""), "de"), "de"); // 7 was put aside
        all.begin();
        assert_eq!(all.since(), Some(1));
        assert_eq!(told(&mut all, mark(0, 1, 7, 0, ""), "abc"), "");
        assert_eq!(told(&mut all, mark(0, 1, 8, 0, ""), "def"), "f");
        // 7 was dropped, and its number taken by the file after 8.
        assert_eq!(told(&mut all, mark(0, 1, 7, 0, ""), "g"), "g");
        all.begin();
        // All of them were dropped.
        assert_eq!(told(&mut all, mark(0, 1, 9, 0, ""), "later"), "later");
        all.begin();
        assert_eq!(told(&mut all, mark(0, 1, 9, 0, ""), "later"), "");
        assert_eq!(told(&mut all, mark(0, 2, 3, 0, ""), "again"), "again");
        all.begin();
        assert_eq!(told(&mut all, mark(0, 1, 9, 0, ""), "later"), "");
        assert_eq!(told(&mut all, mark(0, 2, 3, 0, ""), "again!"), "!");
    }

    #[test]
    fn a_line_that_broke_with_the_stream_is_told_whole() {
        let mut all = Told::default();
        assert_eq!(told(&mut all, mark(0, 1, 7, 0, "[0] "), "one\nt"), "[0] one\n");
        assert_eq!(told(&mut all, mark(1, 1, 8, 0, "[1] "), "x"), "");
        all.begin();
        assert_eq!(told(&mut all, mark(1, 1, 8, 0, "[1] "), "xy\n"), "[1] xy\n");
        assert_eq!(told(&mut all, mark(0, 1, 7, 0, "[0] "), "one\ntwo\nth"), "[0] two\n");
        assert_eq!(all.finish(), b"[0] th\n");
    }
}
