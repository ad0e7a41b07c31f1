//! Who holds a connection, and how many of them there may be.
//!
//! Any user of this machine can connect over TCP without a token. Such a connection is a *guest*: there are few seats for
//! guests, each for a short time and one question, and when all are taken the oldest goes of the user who has the most.
//! So a new connection always gets a seat, and the owner, who sends the token with the first bytes, leaves that seat at
//! once for one of the owner's. Those are never given to anybody else, however many guests there are.
//!
//! ```text
//! TCP  ──▶ guest ──token──▶ owner          Unix socket ──kernel says it is our user──▶ owner
//!            └── too long, or the oldest of too many: closed
//! ```

use super::users::user;
use consort_types::Actor;
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

/// How long a connection may be a guest, whatever it does.
const STAY: Duration = Duration::from_secs(10);

/// All seats.
pub(super) struct Seats {
    owners: Arc<Semaphore>,
    owner_count: usize,
    /// Guests in the order in which they came.
    guests: Mutex<VecDeque<Arc<Guest>>>,
    guest_count: usize,
    /// Bounds guests that were sent away and are not gone yet.
    held: Arc<Semaphore>,
}

/// A connection that has not proven to be the owner's.
pub(super) struct Guest {
    /// Whose process it is, if the kernel tells.
    user: Option<u32>,
    sent_away: Notify,
    place: Mutex<Place>,
}

/// What a connection over TCP holds.
enum Place {
    /// Its share of the descriptors that guests may use.
    Guest { _held: OwnedSemaphorePermit },
    /// A seat of the owner's.
    Owner { _seat: OwnedSemaphorePermit },
}

/// All seats of the owner are taken.
pub(super) struct Full;

/// Who sent a request: goes with it to those who judge it.
#[derive(Clone)]
pub(super) enum Visitor {
    /// A process of our user or of root, by the word of the kernel: which of them.
    Owner(u32),
    /// A process of whichever user, at this address.
    Guest(Arc<Guest>, Arc<Seats>, SocketAddr),
}

impl Visitor {
    /// The request brought the token: its connection is the owner's from now on.
    pub fn admit(&self) -> Result<(), Full> {
        match self {
            Visitor::Owner(_) => Ok(()),
            Visitor::Guest(guest, seats, _) => seats.admit(guest),
        }
    }

    /// Whether the kernel says that this is our user. A request that brought the token says nothing about the next one.
    pub fn is_owner(&self) -> bool {
        matches!(self, Visitor::Owner(_))
    }

    /// Whether the connection is on a seat of the owner's.
    pub fn is_seated(&self) -> bool {
        match self {
            Visitor::Owner(_) => true,
            Visitor::Guest(guest, ..) => matches!(*locked(&guest.place), Place::Owner { .. }),
        }
    }

    /// Who it is, for the journal.
    pub fn actor(&self) -> Actor {
        match self {
            Visitor::Owner(uid) => Actor::Socket(user(*uid)),
            Visitor::Guest(guest, _, address) => {
                Actor::Tcp { address: address.to_string().into(), user: guest.user.map(user) }
            }
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Seats {
    /// Seats for this many connections in all: a quarter of them, and not many, for guests.
    pub fn new(room: usize) -> Arc<Self> {
        let guest_count = (room / 4).clamp(4, 256);
        let owner_count = room.saturating_sub(guest_count).max(4);
        Arc::new(Self {
            owners: Arc::new(Semaphore::new(owner_count)),
            owner_count,
            guests: Mutex::default(),
            guest_count,
            held: Arc::new(Semaphore::new(guest_count * 2)),
        })
    }

    /// A seat of the owner's, for a connection that is known to be.
    pub fn owner(&self) -> Result<OwnedSemaphorePermit, Full> {
        self.owners.clone().try_acquire_owned().map_err(|_| Full)
    }

    /// Waits until another guest may be let in, if those that were sent away take their time.
    pub async fn before_guest(&self) -> OwnedSemaphorePermit {
        self.held.clone().acquire_owned().await.expect("never closed")
    }

    /// A seat for a guest of this user. If there is none, the oldest guest goes of the user who has the most of them: so
    /// a user who crowds in pushes out nobody else.
    pub fn guest(&self, held: OwnedSemaphorePermit, user: Option<u32>) -> Arc<Guest> {
        let place = Mutex::new(Place::Guest { _held: held });
        let guest = Arc::new(Guest { user, sent_away: Notify::new(), place });
        let mut guests = locked(&self.guests);
        if guests.len() >= self.guest_count
            && let Some(oldest) = most_frequent(&guests).and_then(|at| guests.remove(at))
        {
            oldest.sent_away.notify_one();
        }
        guests.push_back(guest.clone());
        guest
    }

    fn admit(&self, guest: &Arc<Guest>) -> Result<(), Full> {
        let mut place = locked(&guest.place);
        if matches!(*place, Place::Guest { .. }) {
            *place = Place::Owner { _seat: self.owner()? };
            drop(place);
            self.leave(guest);
        }
        Ok(())
    }

    /// A guest is gone, or is one no more.
    pub fn leave(&self, guest: &Arc<Guest>) {
        locked(&self.guests).retain(|other| !Arc::ptr_eq(other, guest));
    }

    /// Waits until all connections of the owner are closed.
    pub async fn empty(&self) {
        let _ = self.owners.acquire_many(self.owner_count as u32).await;
    }
}

/// Where the oldest guest is of the user who has the most.
fn most_frequent(guests: &VecDeque<Arc<Guest>>) -> Option<usize> {
    let mut counts: BTreeMap<Option<u32>, usize> = BTreeMap::new();
    for guest in guests {
        *counts.entry(guest.user).or_default() += 1;
    }
    let (user, _) = counts.into_iter().max_by_key(|(_, count)| *count)?;
    guests.iter().position(|guest| guest.user == user)
}

impl Guest {
    /// Resolves when this connection has to go; never once it is the owner's.
    pub async fn sent_away(&self) {
        let _ = tokio::time::timeout(STAY, self.sent_away.notified()).await;
        if matches!(*locked(&self.place), Place::Owner { .. }) {
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 1);

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap()
    }

    #[test]
    fn the_oldest_guest_goes_and_the_owner_stays() {
        runtime().block_on(async {
            let seats = Seats::new(16);
            let owner = seats.guest(seats.before_guest().await, None);
            assert!(Visitor::Guest(owner.clone(), seats.clone(), HERE).admit().is_ok());
            let first = seats.guest(seats.before_guest().await, None);
            for _ in 0..4 {
                let _ = seats.guest(seats.before_guest().await, None);
            }
            let began = tokio::time::Instant::now();
            first.sent_away().await;
            assert_eq!(began.elapsed(), Duration::ZERO);
            assert!(tokio::time::timeout(STAY * 10, owner.sent_away()).await.is_err());
        });
    }

    #[test]
    fn a_user_who_crowds_in_pushes_out_nobody_else() {
        runtime().block_on(async {
            let seats = Seats::new(16);
            let other = seats.guest(seats.before_guest().await, Some(1));
            let first = seats.guest(seats.before_guest().await, Some(2));
            for _ in 0..3 {
                let _ = seats.guest(seats.before_guest().await, Some(2));
            }
            let began = tokio::time::Instant::now();
            first.sent_away().await;
            assert_eq!(began.elapsed(), Duration::ZERO);
            other.sent_away().await;
            assert_eq!(began.elapsed(), STAY);
        });
    }

    #[test]
    fn guests_stay_for_a_while_and_take_no_seat_of_the_owner() {
        runtime().block_on(async {
            let seats = Seats::new(16);
            let guests: Vec<_> = [seats.before_guest().await, seats.before_guest().await]
                .map(|held| seats.guest(held, None))
                .into();
            let began = tokio::time::Instant::now();
            guests[0].sent_away().await;
            assert_eq!(began.elapsed(), STAY);
            let taken: Vec<_> = std::iter::from_fn(|| seats.owner().ok()).collect();
            assert_eq!(taken.len(), 12);
            assert!(Visitor::Guest(guests[1].clone(), seats.clone(), HERE).admit().is_err());
            drop(taken);
            seats.empty().await;
        });
    }
}
