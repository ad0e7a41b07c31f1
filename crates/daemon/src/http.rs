//! The API, served. Translation only: requests become letters to the loop, questions go to the replica.
//!
//! For: the command line, other programs, Prometheus.
//! Promises: everything under `/v1` needs the token, or a connection over the Unix socket of the owner. Nothing is served
//! to whoever believes to speak to another host. What changes something is answered once it is on disk. Nobody who is
//! slow, or has no token, keeps out the owner.
//! Never: decides. What changes something goes through the loop; reading never disturbs it.
//!
//! | read | for |
//! |---|---|
//! | [`problem`] | everything that went wrong, in one shape |
//! | `door`, `seats`, `caller`, `steady` | connections: how many, of whom, and how long they may stand still |
//! | `host`, `token`, `users` | who may come in, and what they are called |
//! | `parts` | how requests are taken apart |
//! | `jobs`, `logs`, `cluster`, `events`, `server` | what can be asked |
//! | `progress` | what jobs report of themselves, with a token of their own |

mod caller;
mod cluster;
pub(crate) mod door;
mod events;
mod host;
mod jobs;
mod logs;
mod parts;
mod problem;
pub(crate) mod progress;
mod seats;
mod server;
mod steady;
mod token;
mod users;

pub use problem::Trouble;

use crate::clock::Clock;
use crate::feed::Feed;
use crate::journal::Shelf;
use crate::mail::{self, Accepted, Letter, Mailbox};
use crate::meters::Meters;
use crate::replica::{Replica, Shared};
use crate::rows::{self, Figures, Wanted};
use crate::site::Site;
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::{get, post, put};
use bytes::Bytes;
use consort_api::shapes::Workers;
use consort_sched::Reading;
use consort_types::{Actor, AllocationId, Input, Time, Work};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{oneshot, watch};

/// How long a request waits for a full disk before its client is told.
const PATIENCE: Duration = Duration::from_secs(3);
/// The largest request, in bytes.
pub const LARGEST: usize = 4 << 20;

/// Everything that answering needs.
pub struct Desk {
    /// To the loop.
    pub mailbox: Mailbox,
    /// The state, for reading.
    pub replica: Replica,
    /// Questions that many ask at once.
    pub lists: Shared<(Wanted, usize), (Bytes, bool)>,
    /// The same.
    pub figures: Shared<(), Figures>,
    /// What happened.
    pub feed: Arc<Feed>,
    /// What is counted.
    pub meters: Arc<Meters>,
    /// The journal, for reading.
    pub shelf: Arc<Shelf>,
    /// The time, as the loop has it.
    pub clock: Clock,
    /// The world, for looking.
    pub site: Arc<dyn Site>,
    /// The secret that clients bring.
    pub token: String,
    /// What does not change while we run.
    pub about: About,
    /// What somebody should know, from the start.
    pub notes: Vec<String>,
    /// Turns true when we go, so that streams end.
    pub leaving: watch::Sender<bool>,
    /// Whoever asks us to go says what becomes of the work.
    pub asked_to_go: Mutex<Option<oneshot::Sender<Workers>>>,
}

/// What does not change while we run.
#[derive(Clone, Debug)]
pub struct About {
    /// Where the journal is.
    pub data_dir: String,
    /// Where we listen.
    pub url: String,
    /// The socket that needs no token.
    pub socket: Option<String>,
    /// Since when.
    pub started: Time,
    /// Who decides.
    pub policy: String,
}

impl Desk {
    /// Asks about the state, as of the last batch that is on disk.
    pub async fn look<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Reading<'_>, Time) -> T + Send + 'static,
    ) -> Result<T, Trouble> {
        let (sender, receiver) = oneshot::channel();
        let look = Box::new(move |reading: &Reading<'_>, now: Time| drop(sender.send(look(reading, now))));
        self.replica.look(look).map_err(|_| Trouble::busy())?;
        receiver.await.map_err(|_| Trouble::busy())
    }

    /// The same for a question that others may be asking too: equal keys must mean equal questions.
    async fn look_together<K: Clone + Ord + Send + 'static, T: Clone + Send + 'static>(
        &self,
        shared: &Shared<K, T>,
        key: K,
        look: impl FnOnce(&Reading<'_>, Time) -> T + Send + 'static,
    ) -> Result<T, Trouble> {
        let answer = shared.ask(&self.replica, key, look).map_err(|_| Trouble::busy())?;
        answer.await.map_err(|_| Trouble::busy())
    }

    /// What the status says of the state.
    async fn figures(&self) -> Result<Figures, Trouble> {
        self.look_together(&self.figures, (), |reading, _| rows::figures(reading)).await
    }

    /// Waits until the loop has taken a turn.
    pub async fn turn(&self) -> Result<(), Trouble> {
        let (sender, receiver) = oneshot::channel();
        self.mailbox.send(Letter::Turn(sender)).map_err(|_| Trouble::busy())?;
        receiver.await.map_err(|_| if self.meters.is_full() { Trouble::full() } else { Trouble::busy() })
    }

    /// What the world says of an attempt, for those who look: cheap enough to be asked by the loop.
    pub fn words(&self) -> impl Fn(AllocationId) -> Option<String> + Send + use<> {
        let site = self.site.clone();
        move |id| site.attempt(id)
    }

    /// Puts an input to the loop and waits until it is on disk.
    pub async fn put(
        &self,
        actor: Actor,
        input: Input,
        work: Option<Box<Work>>,
    ) -> Result<Accepted, Trouble> {
        let (answer, receiver) = oneshot::channel();
        self.mailbox.send(Letter::Input { input, work, actor, answer }).map_err(|_| Trouble::busy())?;
        self.answer(receiver).await?.map_err(Trouble::refused)
    }

    /// Puts several inputs to the loop, to be planned for once, and waits until they are on disk.
    pub async fn put_all(&self, actor: Actor, inputs: Vec<Input>) -> Result<Vec<mail::Answer>, Trouble> {
        let (answer, receiver) = oneshot::channel();
        self.mailbox.send(Letter::Inputs { inputs, actor, answer }).map_err(|_| Trouble::busy())?;
        self.answer(receiver).await
    }

    /// What the loop answers. What lies in a batch for which the disk has no room is answered once there is room, which may
    /// be never; the client is told before it gives up and takes the server for dead.
    async fn answer<T>(&self, mut receiver: oneshot::Receiver<T>) -> Result<T, Trouble> {
        loop {
            match tokio::time::timeout(PATIENCE, &mut receiver).await {
                Ok(Ok(answer)) => return Ok(answer),
                Ok(Err(_)) if self.meters.is_full() => return Err(Trouble::full()),
                Ok(Err(_)) => return Err(Trouble::busy()),
                Err(_) if self.meters.is_full() => return Err(Trouble::kept()),
                Err(_) => {}
            }
        }
    }

    /// Reads the journal where it does not hold up others.
    pub async fn read<T: Send + 'static>(
        self: &Arc<Self>,
        read: impl FnOnce(&Shelf) -> Result<T, crate::fault::Fault> + Send + 'static,
    ) -> Result<T, Trouble> {
        let desk = self.clone();
        let result = tokio::task::spawn_blocking(move || read(&desk.shelf)).await;
        result.map_err(|_| Trouble::busy())?.map_err(Trouble::fault)
    }
}

/// A position or an id as the journal counts: what is beyond all of them stays beyond all of them.
fn within(number: u64) -> u64 {
    i64::try_from(number).map_or(i64::MAX as u64, |_| number)
}

/// The whole API.
pub fn router(desk: Arc<Desk>) -> Router {
    let closed = Router::new()
        .route("/v1/jobs", get(jobs::list).post(jobs::submit))
        .route("/v1/jobs/cancel", post(jobs::cancel_all))
        .route("/v1/jobs/pause", post(jobs::pause_all))
        .route("/v1/jobs/resume", post(jobs::resume_all))
        .route("/v1/jobs/{id}", get(jobs::show))
        .route("/v1/jobs/{id}/explain", get(jobs::explain))
        .route("/v1/jobs/{id}/cancel", post(jobs::cancel))
        .route("/v1/jobs/{id}/pause", post(jobs::pause))
        .route("/v1/jobs/{id}/resume", post(jobs::resume))
        .route("/v1/jobs/{id}/wait", get(jobs::wait))
        .route("/v1/jobs/{id}/logs", get(logs::read))
        .route("/v1/nodes", get(cluster::nodes))
        .route("/v1/nodes/{name}/drain", post(cluster::drain))
        .route("/v1/nodes/{name}/undrain", post(cluster::undrain))
        .route("/v1/nodes/{name}/remove", post(cluster::remove))
        .route("/v1/world", get(server::world))
        .route("/v1/devices", get(cluster::devices))
        .route("/v1/queues", get(cluster::queues))
        .route("/v1/queues/{name}", put(cluster::set_queue))
        .route("/v1/tenants", get(cluster::tenants))
        .route("/v1/tenants/{name}", put(cluster::set_tenant))
        .route("/v1/events", get(events::events))
        .route("/v1/status", get(server::status))
        .route("/v1/shutdown", post(server::shutdown))
        .layer(axum::middleware::from_fn_with_state(desk.clone(), token::check));
    let open = Router::new()
        .route("/metrics", get(server::metrics))
        .route("/healthz", get(server::alive))
        .route("/readyz", get(server::ready))
        .route("/openapi.json", get(server::document))
        .route("/v1/progress", post(progress::report))
        .layer(axum::middleware::from_fn(token::in_turn));
    closed
        .merge(open)
        .fallback(problem::no_such_place)
        .method_not_allowed_fallback(problem::no_such_way)
        .layer(DefaultBodyLimit::max(LARGEST))
        .layer(axum::middleware::from_fn(host::check))
        .layer(axum::middleware::from_fn(token::once))
        .with_state(desk)
}
