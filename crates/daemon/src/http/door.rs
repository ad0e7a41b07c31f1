//! The door: connections come in, over a Unix socket and over TCP, and none of them can keep the owner out.
//!
//! Only processes of our user come through the socket. Anybody on this machine may connect over TCP, also without a
//! token: see [`seats`](super::seats) for how those are bounded. Whoever says nothing, or never reads its answer, is shown
//! out. Trouble with one connection, or with all of them for a while, never closes the door.

use super::caller::Callers;
use super::seats::{Seats, Visitor};
use super::steady::{STALL, Steady};
use axum::Router;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rustix::process::{Resource, geteuid, getrlimit};
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, UnixListener, UnixStream};
use tokio::sync::watch;

/// How long the head of a request may take, and how long a connection may be idle between two.
const HEAD: Duration = Duration::from_secs(10);
/// Connections at once, if there are descriptors for so many.
const MOST: u64 = 10_000;
/// How long it may take to say that there is no room.
const TELLING: Duration = Duration::from_secs(1);
/// Between two attempts, when nobody can be let in.
const PAUSE: Duration = Duration::from_millis(100);

/// Where connections come from.
pub(crate) struct Listeners {
    pub tcp: TcpListener,
    pub unix: Option<UnixListener>,
}

/// Half of the descriptors: the rest is for the journal, the logs and the workers.
fn room() -> usize {
    let soft = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    (soft / 2).clamp(16, MOST) as usize
}

/// Lets connections in until we go, then waits until the last of them has gone.
pub(crate) async fn open(listeners: Listeners, router: Router, leaving: watch::Receiver<bool>) {
    let Listeners { tcp, unix } = listeners;
    let hall = Hall { router, seats: Seats::new(room()), leaving };
    let mut leaving = hall.leaving.clone();
    let everybody = async {
        tokio::join!(hall.take_tcp(tcp), async {
            match unix {
                Some(unix) => hall.take_unix(unix).await,
                None => std::future::pending().await,
            }
        })
    };
    tokio::select! {
        _ = everybody => {}
        _ = leaving.wait_for(|&leaving| leaving) => {}
    }
    hall.seats.empty().await;
}

/// What every connection needs.
#[derive(Clone)]
struct Hall {
    router: Router,
    seats: Arc<Seats>,
    leaving: watch::Receiver<bool>,
}

impl Hall {
    async fn take_tcp(&self, listener: TcpListener) {
        let callers = Callers::new();
        loop {
            let held = self.seats.before_guest().await;
            let (stream, there) = match listener.accept().await {
                Ok(accepted) => accepted,
                Err(error) => {
                    not_now(&error).await;
                    continue;
                }
            };
            let _ = stream.set_nodelay(true); // answers are written whole
            let user = stream.local_addr().ok().and_then(|here| callers.user(there, here));
            let (guest, hall) = (self.seats.guest(held, user), self.clone());
            tokio::spawn(async move {
                let visitor = Visitor::Guest(guest.clone(), hall.seats.clone(), there);
                tokio::select! {
                    biased; // who has to go gets no more done
                    () = guest.sent_away() => {}
                    () = hall.serve(stream, visitor) => {}
                }
                hall.seats.leave(&guest);
            });
        }
    }

    async fn take_unix(&self, listener: UnixListener) {
        loop {
            let stream = match listener.accept().await {
                Ok((stream, _)) => stream,
                Err(error) => {
                    not_now(&error).await;
                    continue;
                }
            };
            // The folder keeps others out already; this holds also where somebody opened it.
            let Some(user) = our_user(&stream) else { continue };
            let hall = self.clone();
            tokio::spawn(async move {
                match hall.seats.owner() {
                    Ok(_seat) => hall.serve(stream, Visitor::Owner(user)).await,
                    Err(_) => drop(tokio::time::timeout(TELLING, turn_away(stream)).await),
                }
            });
        }
    }

    /// Answers one connection until it ends, or until we go.
    async fn serve(&self, stream: impl AsyncRead + AsyncWrite + Unpin, visitor: Visitor) {
        let mut protocol = http1::Builder::new();
        protocol.timer(TokioTimer::new()).header_read_timeout(HEAD).keep_alive(true);
        let router = TowerToHyperService::new(self.router.clone());
        let service = service_fn(move |mut request: hyper::Request<Incoming>| {
            request.extensions_mut().insert(visitor.clone());
            router.call(request)
        });
        let mut connection =
            pin!(protocol.serve_connection(TokioIo::new(Steady::new(stream, STALL)), service));
        let mut leaving = self.leaving.clone();
        let gone = async { drop(leaving.wait_for(|&leaving| leaving).await) };
        tokio::select! {
            _ = connection.as_mut() => {}
            () = gone => {
                connection.as_mut().graceful_shutdown();
                let _ = connection.await;
            }
        }
    }
}

/// The user whose process connected, if the kernel says that it is ours or root.
fn our_user(stream: &UnixStream) -> Option<u32> {
    let user = stream.peer_cred().ok()?.uid();
    (user == geteuid().as_raw() || user == 0).then_some(user)
}

/// Says that there is no room. What was asked is read and forgotten: closing on unread words would eat the answer.
async fn turn_away(mut stream: UnixStream) {
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

/// One that broke before it was let in is nobody's trouble; without descriptors there is no hurry.
async fn not_now(error: &io::Error) {
    if rustix::io::Errno::from_io_error(error) != Some(rustix::io::Errno::CONNABORTED) {
        tracing::warn!("cannot accept connections for the moment: {error}");
        tokio::time::sleep(PAUSE).await;
    }
}
