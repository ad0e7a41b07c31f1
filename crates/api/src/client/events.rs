//! Events as they happen: server-sent events, taken up again where the connection broke.
//!
//! Whoever takes a stream up again says when the last event happened that it saw. A journal that was cut short or
//! replaced meanwhile has another event there, or none, and the stream ends with an error instead of silence or a gap.

use super::http::Client;
use super::{ClientError, EventQuery, Result};
use crate::Moment;
use crate::shapes::EventLine;
use std::io::{BufRead, BufReader, Read};
use std::time::{Duration, Instant};

/// How long a server that went away is waited for.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two attempts, at first; doubles up to [`PAUSE_MOST`].
const PAUSE: Duration = Duration::from_millis(100);
const PAUSE_MOST: Duration = Duration::from_secs(3);
/// How long a stream may be silent before it is opened anew: the other side may be gone without a word.
const SILENCE: Duration = Duration::from_secs(90);
/// A line longer than this is no event of ours.
const LINE: u64 = 16 << 20;

type Lines = BufReader<Box<dyn Read + Send>>;

/// What happens, one event after the other; never ends by itself, except with an error.
pub struct Events {
    client: Client,
    /// Which events are wanted.
    query: EventQuery,
    lines: Option<Lines>,
    /// The first position that has not been seen; the server's choice before the first event.
    next: Option<u64>,
    /// When the event before that happened, once one has been seen.
    seen: Option<Moment>,
    over: bool,
}

impl Events {
    pub(super) fn open(client: Client, query: EventQuery) -> Result<Self> {
        let (lines, from) = (Some(connect(&client, &query, None)?), query.from);
        Ok(Self { client, query, lines, next: from, seen: None, over: false })
    }

    /// The next event of this connection; nothing when it broke.
    fn read(&mut self) -> Option<Result<EventLine>> {
        let lines = self.lines.as_mut()?;
        let (mut line, mut data) = (String::new(), String::new());
        loop {
            line.clear();
            match lines.by_ref().take(LINE).read_line(&mut line) {
                Ok(0) | Err(_) => return None,
                Ok(_) if !line.ends_with('\n') => return None,
                Ok(_) => {}
            }
            match line.trim_end_matches(['\r', '\n']).split_once(':') {
                Some(("data", text)) => {
                    if !data.is_empty() {
                        data.push('\n');
                    }
                    data.push_str(text.strip_prefix(' ').unwrap_or(text));
                }
                // The position is part of the event itself; names and comments say nothing more.
                Some(_) => {}
                None if data.is_empty() => {}
                None => {
                    let event = serde_json::from_str(&data);
                    return Some(event.map_err(|error| ClientError::garbled(self.client.url(), error)));
                }
            }
        }
    }

    /// Connects again, for as long as it is worth it.
    fn reconnect(&mut self) -> Result<()> {
        let (since, mut pause) = (Instant::now(), PAUSE);
        loop {
            std::thread::sleep(pause);
            self.query.from = self.next;
            match connect(&self.client, &self.query, self.seen) {
                Ok(lines) => {
                    self.lines = Some(lines);
                    return Ok(());
                }
                Err(ClientError::Unreachable(_) | ClientError::Problem(503, _))
                    if since.elapsed() < PATIENCE =>
                {
                    pause = (pause * 2).min(PAUSE_MOST);
                }
                Err(error) => return Err(error),
            }
        }
    }
}

fn connect(client: &Client, query: &EventQuery, seen: Option<Moment>) -> Result<Lines> {
    let mut parameters = query.parameters().to_vec();
    parameters.extend([("follow", Some("true".into())), ("seen", seen.map(|seen| seen.to_string()))]);
    Ok(BufReader::new(client.stream("/v1/events", &parameters, "text/event-stream", Some(SILENCE))?.reader()))
}

impl Iterator for Events {
    type Item = Result<EventLine>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.over {
            match self.read() {
                // What was already told is told again by a server that is asked from an earlier position.
                Some(Ok(event)) if self.next.is_some_and(|next| event.position < next) => {}
                Some(Ok(event)) => {
                    (self.next, self.seen) = (Some(event.position + 1), Some(event.at));
                    return Some(Ok(event));
                }
                Some(Err(error)) => {
                    self.over = true;
                    return Some(Err(error));
                }
                None => {
                    self.lines = None;
                    if let Err(error) = self.reconnect() {
                        self.over = true;
                        return Some(Err(error));
                    }
                }
            }
        }
        None
    }
}
