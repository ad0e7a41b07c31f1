//! The door: connections come in, and none of them can keep the others out for long.
//!
//! Anybody on this machine may connect, also without a token. So there is a bound on how many are in, and whoever says
//! nothing is shown out. Trouble with one connection, or with all of them for a while, never closes the door.

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rustix::process::{Resource, getrlimit};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};

/// How long the head of a request may take, and how long a connection may be idle between two.
const HEAD: Duration = Duration::from_secs(10);
/// Connections at once, if there are descriptors for so many.
const MOST: u64 = 10_000;
/// How many of those for whom there is no room are told so at once; the others are only shown out.
const TOLD: usize = 64;
/// How long telling them may take.
const TELLING: Duration = Duration::from_secs(1);
/// Between two attempts, when nobody can be let in.
const PAUSE: Duration = Duration::from_millis(100);

/// Half of the descriptors: the rest is for the journal, the logs and the workers.
fn room() -> usize {
    let soft = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    (soft / 2).clamp(16, MOST) as usize
}

/// Lets connections in until we go, then waits until the last of them has gone.
pub(crate) async fn open(listener: TcpListener, router: Router, mut leaving: watch::Receiver<bool>) {
    let room = room();
    let (seats, doormen) = (Arc::new(Semaphore::new(room)), Arc::new(Semaphore::new(TOLD)));
    let mut protocol = http1::Builder::new();
    protocol.timer(TokioTimer::new()).header_read_timeout(HEAD).keep_alive(true);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = leaving.wait_for(|&leaving| leaving) => break,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                // One that broke before it was let in is nobody's trouble; without descriptors there is no hurry.
                if rustix::io::Errno::from_io_error(&error) != Some(rustix::io::Errno::CONNABORTED) {
                    tracing::warn!("nobody can connect for the moment: {error}");
                    tokio::time::sleep(PAUSE).await;
                }
                continue;
            }
        };
        let Ok(seat) = seats.clone().try_acquire_owned() else {
            if let Ok(doorman) = doormen.clone().try_acquire_owned() {
                tokio::spawn(async move {
                    let _ = tokio::time::timeout(TELLING, turn_away(stream)).await;
                    drop(doorman);
                });
            }
            continue;
        };
        let _ = stream.set_nodelay(true); // answers are written whole
        let connection =
            protocol.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router.clone()));
        let mut leaving = leaving.clone();
        tokio::spawn(async move {
            let mut connection = pin!(connection);
            let gone = async { drop(leaving.wait_for(|&leaving| leaving).await) };
            tokio::select! {
                _ = connection.as_mut() => {}
                () = gone => {
                    connection.as_mut().graceful_shutdown();
                    let _ = connection.await;
                }
            }
            drop(seat);
        });
    }
    drop(listener);
    let _ = seats.acquire_many(room as u32).await;
}

/// Says that there is no room. What was asked is read and forgotten: closing on unread words would eat the answer.
async fn turn_away(mut stream: TcpStream) {
    let body = r#"{"error":"too many connections are open; close some, or try again in a moment"}"#;
    let answer = format!(
        "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nConnection: close\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let _ = stream.write_all(answer.as_bytes()).await;
    let _ = stream.shutdown().await;
    let mut forgotten = [0; 4096];
    while stream.read(&mut forgotten).await.is_ok_and(|read| read > 0) {}
}
