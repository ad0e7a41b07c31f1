//! `consort logs`: what a job has written, byte for byte.

use super::server::{Server, job_id};
use crate::failure::Failure;
use consort_api::client::LogQuery;
use consort_api::shapes::Job;
use consort_api::{Client, ClientError};
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::path::Path;
use std::time::{Duration, Instant};

const EXAMPLES: &str = "\
Examples:
  consort logs 17
  consort logs -f 17                        until it has ended
  consort logs 17 --tail 50
  consort logs 17 --task 3 --rank 1 --attempt 2";

/// Show what a job has written
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The id of a job
    #[arg(value_name = "JOB", value_parser = job_id)]
    job: u64,
    /// Stay until it has ended
    #[arg(long, short)]
    follow: bool,
    /// Which task of a bag or replica of a service
    #[arg(long, value_name = "N")]
    task: Option<u64>,
    /// Which worker
    #[arg(long, value_name = "N")]
    rank: Option<u64>,
    /// Which attempt; the last when absent
    #[arg(long, value_name = "N")]
    attempt: Option<u64>,
    /// Only the last so many lines
    #[arg(long, value_name = "N")]
    tail: Option<usize>,
    #[command(flatten)]
    server: Server,
}

/// The command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let client = args.server.client()?;
    let mut query =
        LogQuery { from: 0, follow: false, task: args.task, rank: args.rank, attempt: args.attempt };
    if let Some(lines) = args.tail {
        let log = client.logs(args.job, &query)?;
        let next = log.next;
        let (tail, bytes) = last_lines(BufReader::new(log.reader), lines).map_err(|_| broken(&client))?;
        write(&tail)?;
        if !args.follow {
            return Ok(());
        }
        query.from = next.unwrap_or(bytes);
    }
    if !args.follow {
        let log = client.logs(args.job, &query)?;
        return copy(log.reader, &mut 0)?.map_or(Ok(()), |_| Err(broken(&client)));
    }
    follow(&client, args.job, query).map(drop)
}

/// The last lines of a text, and how long the text was.
fn last_lines(mut reader: impl BufRead, lines: usize) -> std::io::Result<(Vec<u8>, u64)> {
    let (mut kept, mut bytes) = (VecDeque::new(), 0);
    loop {
        let mut line = vec![];
        let read = reader.read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok((kept.into_iter().flatten().collect(), bytes));
        }
        bytes += read as u64;
        kept.push_back(line);
        if kept.len() > lines {
            kept.pop_front();
        }
    }
}

/// How long a server that went away is waited for.
const PATIENCE: Duration = Duration::from_secs(60);

/// Writes what a job writes, until it has ended, and returns the job. A stream that breaks is taken up again at the
/// byte where it broke.
pub fn follow(client: &Client, id: u64, mut query: LogQuery) -> Result<Job, Failure> {
    query.follow = true;
    let mut silent = Instant::now();
    loop {
        match client.logs(id, &query) {
            Ok(log) => {
                copy(log.reader, &mut query.from)?;
                silent = Instant::now();
            }
            // There may be no worker yet, or the server may be away for a moment.
            Err(ClientError::Problem(404 | 409 | 503, _)) => {}
            Err(ClientError::Unreachable(_)) if silent.elapsed() < PATIENCE => {}
            Err(error) => return Err(error.into()),
        }
        match client.wait(id, Duration::ZERO) {
            Ok(job) if job.state.has_ended() => {
                // What was written between the end of the stream and the end of the job.
                query.follow = false;
                if let Ok(log) = client.logs(id, &query) {
                    copy(log.reader, &mut query.from)?;
                }
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

/// Copies to standard output as it comes, and counts. A stream that breaks is returned as an error in the answer; what
/// is wrong with our own output ends the command.
fn copy(mut reader: impl Read, from: &mut u64) -> Result<Option<std::io::Error>, Failure> {
    let mut buffer = vec![0; 64 << 10];
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => return Ok(None),
            Ok(read) => {
                write(&buffer[..read])?;
                *from += read as u64;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Ok(Some(error)),
        }
    }
}

/// To standard output, unchanged: what a program writes is between it and whoever reads it.
fn write(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush()).map_err(|error| match error.kind() {
        ErrorKind::BrokenPipe => Failure::ReaderLeft,
        _ => Failure::file(Path::new("standard output"), "written", &error),
    })
}

fn broken(client: &Client) -> Failure {
    Failure::Outside(format!("the connection to {} broke in the middle of the log; ask again", client.url()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_kept_and_all_bytes_counted() {
        let (tail, bytes) = last_lines("a\nbb\nccc".as_bytes(), 2).unwrap();
        assert_eq!((tail, bytes), (b"bb\nccc".to_vec(), 8));
        assert_eq!(last_lines("a\n".as_bytes(), 0).unwrap(), (vec![], 2));
        assert_eq!(last_lines("".as_bytes(), 5).unwrap(), (vec![], 0));
    }
}
