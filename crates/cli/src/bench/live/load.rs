//! Many clients at once. They speak as little HTTP as they can, so that the daemon is measured and not they.

use super::daemon::{Daemon, broken_off, connect};
use crate::failure::Failure;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long requests took.
pub struct Taken {
    sorted: Vec<Duration>,
    wall: Duration,
}

impl Taken {
    fn new(mut each: Vec<Duration>, wall: Duration) -> Self {
        each.sort();
        Self { sorted: each, wall }
    }

    /// Requests in a second.
    pub fn per_s(&self) -> f64 {
        self.sorted.len() as f64 / self.wall.as_secs_f64()
    }

    /// The time below which this part of them stayed, in milliseconds.
    pub fn at(&self, part: f64) -> f64 {
        let last = self.sorted.len().saturating_sub(1);
        let index = (self.sorted.len() as f64 * part) as usize;
        self.sorted.get(index.min(last)).map_or(f64::NAN, |took| took.as_secs_f64() * 1e3)
    }
}

/// A connection that is used again and again.
pub struct Client {
    stream: BufReader<TcpStream>,
    token: String,
}

impl Client {
    /// Connects.
    pub fn new(address: SocketAddr, token: &str) -> std::io::Result<Self> {
        Ok(Self { stream: BufReader::new(connect(address)?), token: token.trim().into() })
    }

    /// Asks and waits for the answer.
    pub fn ask(&mut self, method: &str, path: &str, body: &str) -> std::io::Result<(u16, String)> {
        self.send(method, path, body, "application/json")?;
        let (status, length) = self.head()?;
        let mut answer = vec![0; length];
        self.stream.read_exact(&mut answer)?;
        Ok((status, String::from_utf8(answer).map_err(|_| std::io::ErrorKind::InvalidData)?))
    }

    fn send(&mut self, method: &str, path: &str, body: &str, accept: &str) -> std::io::Result<()> {
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\nAccept: {accept}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.token,
            body.len()
        );
        self.stream.get_mut().write_all(request.as_bytes())
    }

    /// The status and the length of what follows.
    fn head(&mut self) -> std::io::Result<(u16, usize)> {
        let (mut status, mut length, mut line) = (0, 0, String::new());
        loop {
            line.clear();
            if self.stream.read_line(&mut line)? == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            let text = line.trim_end();
            if text.is_empty() {
                return Ok((status, length));
            }
            if let Some(rest) = text.strip_prefix("HTTP/1.1 ") {
                status = rest.get(..3).and_then(|code| code.parse().ok()).unwrap_or(0);
            }
            if let Some((name, value)) = text.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().unwrap_or(0);
            }
        }
    }
}

/// One question on a connection of its own.
pub fn ask(
    address: SocketAddr,
    token: &str,
    method: &str,
    path: &str,
    body: &str,
) -> std::io::Result<(u16, String)> {
    Client::new(address, token)?.ask(method, path, body)
}

/// A number of clients submit a number of jobs between them, each waiting for its answer before the next.
pub fn submit(daemon: &Daemon, clients: usize, jobs: u64, job: &str) -> Result<Taken, Failure> {
    submit_with(daemon, clients, jobs, job, Duration::ZERO)
}

/// The same with a pause of 10 ms behind every answer, so that the daemon is not saturated.
pub fn submit_paced(daemon: &Daemon, clients: usize, jobs: u64, job: &str) -> Result<Taken, Failure> {
    submit_with(daemon, clients, jobs, job, Duration::from_millis(10))
}

fn submit_with(
    daemon: &Daemon,
    clients: usize,
    jobs: u64,
    job: &str,
    pause: Duration,
) -> Result<Taken, Failure> {
    let (left, start) = (AtomicU64::new(jobs), Barrier::new(clients + 1));
    let client = || -> std::io::Result<Vec<Duration>> {
        let mut client = Client::new(daemon.address, &daemon.token)?;
        let mut taken = vec![];
        start.wait();
        while left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok() {
            let began = Instant::now();
            let (status, answer) = client.ask("POST", "/v1/jobs", job)?;
            taken.push(began.elapsed());
            std::thread::sleep(pause);
            if status != 201 {
                return Err(std::io::Error::other(format!(
                    "a submission was answered with {status}: {answer}"
                )));
            }
        }
        Ok(taken)
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..clients).map(|_| scope.spawn(client)).collect();
        start.wait();
        let began = Instant::now();
        let mut all = vec![];
        for thread in threads {
            all.extend(thread.join().expect("it does not panic").map_err(broken_off)?);
        }
        Ok(Taken::new(all, began.elapsed()))
    })
}

/// What those who follow saw.
pub struct Followed {
    /// Streams that saw every event, once and in order.
    pub whole: usize,
    /// How many that is.
    pub events: u64,
    /// How the submissions fared meanwhile.
    pub submitted: Taken,
}

/// A number of streams follow while jobs are submitted.
pub fn followed(daemon: &Daemon, streams: usize, jobs: u64) -> Result<Followed, Failure> {
    let from = daemon.get("/v1/status")?["position"].as_u64().unwrap_or(0) + 1;
    let last = from + jobs - 1; // they find no room, so each submission is one event
    let open = || -> std::io::Result<Client> {
        let mut client = Client::new(daemon.address, &daemon.token)?;
        client.send("GET", &format!("/v1/events?from={from}"), "", "text/event-stream")?;
        client.head()?;
        Ok(client)
    };
    let mut followers = vec![];
    for _ in 0..streams {
        followers.push(open().map_err(broken_off)?);
    }
    std::thread::scope(|scope| {
        // A few threads read for all, so that reading costs what it must and no more.
        let readers: Vec<_> = followers
            .chunks_mut(streams.div_ceil(50))
            .map(|some| {
                scope.spawn(move || {
                    some.iter_mut().map(|one| usize::from(is_whole(one, from, last))).sum::<usize>()
                })
            })
            .collect();
        let submitted = submit(daemon, 8, jobs, super::daemon::WAITS)?;
        let whole = readers.into_iter().map(|reader| reader.join().expect("it does not panic")).sum();
        Ok(Followed { whole, events: jobs, submitted })
    })
}

/// Reads one stream to its end: every position once, in order.
fn is_whole(client: &mut Client, from: u64, last: u64) -> bool {
    let (mut next, mut line) = (from, String::new());
    while next <= last {
        line.clear();
        match client.stream.read_line(&mut line) {
            Ok(0) | Err(_) => return false,
            Ok(_) => {}
        }
        if let Some(position) = line.strip_prefix("id: ") {
            if position.trim().parse() != Ok(next) {
                return false;
            }
            next += 1;
        }
    }
    true
}
