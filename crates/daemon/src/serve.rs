//! All of it put together: a data directory, a journal, a world, a loop, and somebody who answers.
//!
//! The order matters. The directory is judged and locked before anything is read. The port is taken before anything is
//! changed.
//! The journal is replayed and the machine introduced before the world is told what is desired; and only then is
//! anybody let in.

mod announced;
pub mod local;
pub mod slurm;
mod socket;

use crate::clock::{self, Clock};
use crate::fault::Fault;
use crate::feed::Feed;
use crate::folder::{self, Folder};
use crate::http::{self, About, Desk};
use crate::journal::{Journal, Shelf};
use crate::mail::{Letters, Mailbox};
use crate::meters::Meters;
use crate::replica::{Replica, Shared};
use crate::run::{Parts, Run};
use crate::site::Site;
use announced::Announced;
use consort_api::shapes::Workers;
use consort_sched::{Policy, Scheduler};
use consort_types::directory::Nodes;
use consort_types::{Directory, JobId, World};
use socket::Socket;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{oneshot, watch};

/// What whoever starts a daemon decides.
#[derive(Clone)]
pub struct Options {
    /// Where the journal is.
    pub data_dir: PathBuf,
    /// Where to listen; a loopback address.
    pub listen: SocketAddr,
    /// Who decides.
    pub policy: Arc<dyn Policy>,
    /// Go on although acknowledged events are lost to damage.
    pub accept_loss: bool,
    /// Where the user's token is.
    pub token: PathBuf,
    /// Where clients of this user look for the address; not written when absent.
    pub address: Option<PathBuf>,
    /// Where they look for the socket; not written when absent.
    pub socket: Option<PathBuf>,
}

/// What is told once requests are taken.
#[derive(Clone, Debug)]
pub struct Ready {
    /// Where it listens.
    pub url: String,
    /// Where the journal is.
    pub data_dir: PathBuf,
    /// Where the token is.
    pub token: PathBuf,
    /// Jobs that were alive when it started.
    pub living: usize,
    /// Devices by kind.
    pub devices: Vec<(String, u64)>,
    /// What somebody should know.
    pub notes: Vec<String>,
}

/// Whoever started the daemon, for what only they can say.
pub trait Host: Send + Sync {
    /// Requests are taken from now on.
    fn ready(&self, ready: &Ready);

    /// It was told to go by another program: what becomes of the work?
    fn terminated(&self) -> Workers;

    /// Somebody interrupted it while so many jobs run: what becomes of them? `None` means go on as if nothing happened.
    fn interrupted(&self, running: u64) -> Option<Workers>;
}

/// A world that can end everything it runs.
pub trait Halt {
    /// Ends all work, waits until it is gone, and says nothing of it: the next start finds out.
    fn halt(&mut self);
}

/// A daemon whose world is chosen.
pub(crate) struct Assembly<W> {
    pub folder: Folder,
    pub listener: TcpListener,
    pub journal: Journal,
    pub scheduler: Scheduler,
    pub clock: Clock,
    pub world: W,
    pub site: Arc<dyn Site>,
    pub mailbox: Mailbox,
    pub letters: Letters,
    pub notes: Vec<String>,
    /// Events that were replayed on top of a snapshot.
    pub replayed: u64,
}

/// Takes the port, on loopback only.
pub(crate) fn listen(address: SocketAddr) -> Result<TcpListener, Fault> {
    if !address.ip().is_loopback() {
        return Err(Fault::request(
            format!("{address} is not a loopback address, and the server has no TLS"),
            "listen on a loopback address such as 127.0.0.1:7467, behind a proxy with TLS if needed",
        ));
    }
    let listener = TcpListener::bind(address).map_err(|error| match error.kind() {
        std::io::ErrorKind::AddrInUse => Fault::new(
            format!("{address} is in use by another program"),
            format!("stop that program, or choose another port with --listen {}:0", address.ip()),
        ),
        _ => Fault::new(format!("cannot listen on {address}: {error}"), "give another --listen address"),
    })?;
    listener.set_nonblocking(true).map_err(|error| Fault::new(error.to_string(), "try again"))?;
    Ok(listener)
}

/// Runs an assembled daemon until it is asked to go.
pub(crate) fn serve<W>(options: &Options, assembly: Assembly<W>, host: Arc<dyn Host>) -> Result<(), Fault>
where
    W: World + Halt + Send + 'static,
{
    let Assembly {
        mut folder,
        listener,
        journal,
        scheduler,
        clock,
        world,
        site,
        mailbox,
        letters,
        notes,
        replayed,
    } = assembly;
    let address = listener.local_addr().map_err(|error| Fault::new(error.to_string(), "try again"))?;
    let url = format!("http://{address}");
    folder.sign(&url);
    let token = folder::token(&options.token)?;
    let mut notes = notes;
    notes.extend(foreign_memory(&scheduler, options.policy.name()));
    let socket = Socket::open(&folder)?.map_err(|note| notes.push(note)).ok();
    let socket_url = socket.as_ref().map(Socket::url);
    let beside = options.socket.as_deref().map(|path| (path, socket_url.as_deref()));
    let announced = options.address.as_deref().map(|path| Announced::new(path, &url, beside)).transpose()?;
    notes.extend(announced.as_ref().and_then(Announced::note));
    let feed = Arc::new(Feed::new(journal.last(), directory(&scheduler)));
    let meters = Arc::new(Meters::default());
    let (asked, asked_to_go) = oneshot::channel();
    let devices = kinds(&scheduler);
    let ready = Ready {
        url: url.clone(),
        data_dir: folder.path().into(),
        token: options.token.clone(),
        living: scheduler.view().living_count(),
        devices,
        notes: notes.clone(),
    };
    let shelf = Arc::new(journal.shelf()?);
    let replica = Replica::start(scheduler.clone(), clock).map_err(no_thread)?;
    learn_users(&scheduler, &feed, &shelf)?;
    let parts = Parts {
        scheduler,
        clock,
        world,
        journal,
        letters,
        feed: feed.clone(),
        meters: meters.clone(),
        replica: replica.clone(),
        world_name: site.world().into(),
        replayed,
    };
    let desk = Arc::new(Desk {
        mailbox: mailbox.clone(),
        replica,
        lists: Shared::default(),
        figures: Shared::default(),
        feed,
        meters,
        shelf,
        clock,
        site,
        token,
        about: About {
            data_dir: folder.path().display().to_string(),
            url,
            socket: socket_url,
            started: clock::wall(),
            policy: options.policy.name().into(),
        },
        notes,
        leaving: watch::Sender::new(false),
        asked_to_go: Mutex::new(Some(asked)),
    });
    let (gone, loop_gone) = oneshot::channel();
    let thread = std::thread::Builder::new().name("loop".into()).spawn(move || {
        let end = Run::new(parts).run();
        let _ = gone.send(());
        end
    });
    let thread = thread.map_err(no_thread)?;
    let runtime = runtime()?;
    let workers = runtime.block_on(answer((listener, socket), desk, host, ready, asked_to_go, loop_gone));
    mailbox.stop();
    let mut stopped = thread.join().map_err(|_| {
        Fault::new(
            "the main loop panicked: this is a bug",
            "start again; the state is recovered from the journal",
        )
    })??;
    if workers == Some(Workers::Stop) {
        runtime.block_on(async {
            let halt = tokio::task::spawn_blocking(move || stopped.world.halt());
            tokio::select! {
                _ = halt => {}
                _ = signalled() => {} // asked again: go now, the shims end their work without us
            }
        });
    }
    runtime.shutdown_background();
    Ok(())
}

/// Says so if the state holds what another policy remembers. It stays until this one remembers something itself.
fn foreign_memory(scheduler: &Scheduler, policy: &str) -> Option<String> {
    let (other, _) = scheduler.view().remembering().filter(|(other, _)| *other != policy)?;
    Some(format!(
        "policy {other} remembers something that {policy} does not read; it is lost once {policy} remembers something"
    ))
}

/// What nodes and living jobs are called.
fn directory(scheduler: &Scheduler) -> Directory {
    let view = scheduler.view();
    let (vacant, next) = view.vacancies();
    let nodes = Nodes::new(view.nodes().map(|node| (node.id, node.spec, node.first)), vacant.clone(), next);
    let jobs = view.jobs().map(|job| (job.id(), job.shared_spec())).collect();
    let held = view.granted().filter_map(|ask| view.ask(ask)).map(|ask| (ask.allocation(), ask.grants()));
    Directory::new(nodes, jobs, view.next_job().0 - 1).holding(held)
}

/// Looks up who submitted the living jobs, beside everything else.
fn learn_users(scheduler: &Scheduler, feed: &Arc<Feed>, shelf: &Arc<Shelf>) -> Result<(), Fault> {
    let jobs: Vec<JobId> = scheduler.view().jobs().map(|job| job.id()).collect();
    let (feed, shelf) = (feed.clone(), shelf.clone());
    let look = move || {
        for some in jobs.chunks(1_000) {
            match shelf.users(some.iter().copied()) {
                Ok(users) => feed.learn_users(users),
                Err(fault) => tracing::warn!(%fault, "cannot tell who submitted some jobs"),
            }
        }
    };
    std::thread::Builder::new().name("users".into()).spawn(look).map(drop).map_err(no_thread)
}

fn no_thread(error: std::io::Error) -> Fault {
    Fault::new(format!("cannot start a thread: {error}"), "raise the limit on processes (ulimit -u)")
}

/// Any signal that asks us to go.
async fn signalled() {
    use tokio::signal::unix::{SignalKind, signal};
    match (signal(SignalKind::interrupt()), signal(SignalKind::terminate())) {
        (Ok(mut interrupt), Ok(mut terminate)) => tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        },
        _ => std::future::pending().await,
    }
}

fn kinds(scheduler: &Scheduler) -> Vec<(String, u64)> {
    let view = scheduler.view();
    let mut counts = std::collections::BTreeMap::new();
    for group in view.nodes().filter(|node| !node.fenced).flat_map(|node| &node.spec.devices) {
        *counts.entry(group.kind.clone()).or_default() += u64::from(group.count);
    }
    counts.into_iter().collect()
}

fn runtime() -> Result<tokio::runtime::Runtime, Fault> {
    let built = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(std::thread::available_parallelism().map_or(2, usize::from).clamp(2, 8))
        .thread_name("http")
        .enable_all()
        .build();
    built.map_err(|error| {
        Fault::new(format!("cannot start threads: {error}"), "raise the limit on processes (ulimit -u)")
    })
}

/// Answers until somebody asks us to go, or the loop is gone. Says what becomes of the work.
async fn answer(
    (tcp, socket): (TcpListener, Option<Socket>),
    desk: Arc<Desk>,
    host: Arc<dyn Host>,
    ready: Ready,
    asked_to_go: oneshot::Receiver<Workers>,
    loop_gone: oneshot::Receiver<()>,
) -> Option<Workers> {
    let listeners = http::door::Listeners {
        tcp: tokio::net::TcpListener::from_std(tcp).expect("within a runtime"),
        unix: socket
            .map(|socket| tokio::net::UnixListener::from_std(socket.listener).expect("within a runtime")),
    };
    let router = http::router(desk.clone());
    let server = tokio::spawn(http::door::open(listeners, router, desk.leaving.subscribe()));
    host.ready(&ready);
    let workers = tokio::select! {
        workers = asked_to_go => workers.ok(),
        workers = signals(desk.clone(), host) => Some(workers),
        _ = loop_gone => None,
    };
    desk.leaving.send_replace(true);
    let _ = tokio::time::timeout(Duration::from_secs(5), server).await;
    workers
}

/// Waits for a signal that ends us, and asks what becomes of the work.
async fn signals(desk: Arc<Desk>, host: Arc<dyn Host>) -> Workers {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut interrupt), Ok(mut terminate)) =
        (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        return std::future::pending().await;
    };
    loop {
        let is_interrupt = tokio::select! {
            _ = interrupt.recv() => true,
            _ = terminate.recv() => false,
        };
        if !is_interrupt {
            return host.terminated();
        }
        let running = desk.look(|reading, _| crate::rows::gauges(reading).running).await.unwrap_or(0);
        let asked = host.clone();
        let question = tokio::task::spawn_blocking(move || asked.interrupted(running));
        tokio::select! {
            answer = question => if let Some(workers) = answer.unwrap_or(Some(Workers::Keep)) { return workers },
            _ = interrupt.recv() => return Workers::Keep, // asked twice: go now
            _ = terminate.recv() => return Workers::Keep,
        }
    }
}
