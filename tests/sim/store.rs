//! The network between the managers and the store: it drops, delays, reorders and loses, and at times stands still.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures_util::{StreamExt, stream};
use leasehold::{
    MemoryStore, ResourceName, Store, StoreError,
    store::{
        Acquired, Acquisition, Announcement, Announcements, Hold, Inbox, Inspection, Listing, Passed,
        Released, Renewed, Reply,
    },
};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use tokio::{sync::oneshot, time};

use super::{
    history::{History, Wanted, What},
    queue::Seen,
};

/// How long an answer is waited for at most.
pub(crate) const PATIENCE: Duration = Duration::from_millis(1_200);

/// The store as it is seen through a bad network. Every request that is not dropped is executed, late perhaps: after
/// its answer has been given up, and after requests that were sent later.
#[derive(Debug)]
pub(crate) struct FaultyStore {
    inner: MemoryStore,
    network: Network,
    /// How often in a row its managers pass a resource on.
    limit: u32,
}

/// What lies between: the same weather for requests and announcements.
#[derive(Clone, Debug)]
struct Network {
    history: Arc<History>,
    calm: Arc<AtomicBool>,
    weather: Arc<Mutex<Weather>>,
}

#[derive(Debug)]
struct Weather {
    rng: StdRng,
    /// How often something goes wrong.
    rate: f64,
    stalled_until: Duration,
}

/// What happens to one request.
struct Fate {
    dropped: bool,
    before: Duration,
    after: Duration,
    lost: bool,
}

impl FaultyStore {
    pub(crate) fn new(
        inner: MemoryStore,
        history: Arc<History>,
        calm: Arc<AtomicBool>,
        (seed, limit): (u64, u32),
    ) -> Self {
        let mut rng = StdRng::seed_from_u64(seed);
        let rate = [0.02, 0.08, 0.16, 0.3][rng.random_range(0..4)];
        let weather = Arc::new(Mutex::new(Weather { rng, rate, stalled_until: Duration::ZERO }));
        Self { inner, network: Network { history, calm, weather }, limit }
    }

    /// Sends a request through the weather. It goes its own way: nobody has to wait for it.
    fn send<T, F>(&self, execute: F) -> Reply<'static, T>
    where
        T: Send + 'static,
        F: AsyncFnOnce(MemoryStore, Arc<History>) -> Result<T, StoreError> + 'static,
    {
        let Fate { dropped, before, after, lost } = self.network.fate();
        if dropped {
            return Box::pin(async move {
                time::sleep(after).await;
                Err(unavailable())
            });
        }
        let (answered, answer) = oneshot::channel();
        let (inner, history) = (self.inner.clone(), Arc::clone(&self.network.history));
        actix_rt::spawn(async move {
            time::sleep(before).await;
            let outcome = execute(inner, history).await;
            time::sleep(after).await;
            if !lost {
                // Whoever asked may have stopped waiting.
                let _ = answered.send(outcome);
            }
        });
        Box::pin(async move {
            match time::timeout(PATIENCE, answer).await {
                Ok(Ok(outcome)) => outcome,
                Ok(Err(_)) => Err(StoreError::Lost { doing: "simulated".to_owned(), source: None }),
                Err(_) => Err(StoreError::TimedOut { within: PATIENCE }),
            }
        })
    }
}

impl Network {
    fn fate(&self) -> Fate {
        let mut weather = self.weather.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.history.now();
        let Weather { rng, rate, stalled_until } = &mut *weather;
        let mut before = millis(rng.random_range(0..4));
        let mut after = millis(rng.random_range(0..4));
        if self.calm.load(Ordering::Relaxed) {
            return Fate { dropped: false, before, after, lost: false };
        }
        if rng.random_bool(*rate / 50.0) {
            *stalled_until = now + millis(rng.random_range(100..3_000));
        }
        if rng.random_bool(*rate) {
            before += millis(rng.random_range(0..1_500));
        }
        if rng.random_bool(*rate) {
            after += millis(rng.random_range(0..1_100));
        }
        before = before.max(stalled_until.saturating_sub(now));
        Fate { dropped: rng.random_bool(*rate / 2.0), before, after, lost: rng.random_bool(*rate / 2.0) }
    }

    /// Announcements come in their order, late perhaps; some get lost, with the connection or without anybody's notice.
    fn carry(&self, announcement: Announcement) -> Announcements {
        let Fate { dropped, before, lost, .. } = self.fate();
        match (dropped, lost) {
            (false, false) => stream::once(async move {
                time::sleep(before).await;
                announcement
            })
            .boxed(),
            (true, false) => stream::empty().boxed(),
            (_, true) => {
                let deaf = Announcement::Deaf(unavailable());
                let back = async move {
                    time::sleep(before).await;
                    Announcement::Listening
                };
                stream::iter([deaf]).chain(stream::once(back)).boxed()
            }
        }
    }
}

impl Store for FaultyStore {
    fn acquire<'a>(&'a self, asked: &'a Acquisition) -> Reply<'a, Acquired> {
        let asked = asked.clone();
        self.send(async move |store, history| {
            let answer = store.acquire(&asked).await;
            let seen = seen(&store, &asked.hold).await?;
            let resource = number(&asked.hold.resource);
            let asked = wanted(asked);
            history.add(resource, What::Acquired { asked, answer: answer.clone(), seen });
            answer
        })
    }

    fn renew<'a>(&'a self, hold: &'a Hold, ttl: Duration) -> Reply<'a, Renewed> {
        let (resource, token, hold) = (number(&hold.resource), hold.token, hold.clone());
        self.network.history.add(resource, What::RenewalSent { token });
        self.send(async move |store, history| {
            let answer = store.renew(&hold, ttl).await?;
            history.add(resource, What::Renewed { token, ttl, answer });
            Ok(answer)
        })
    }

    fn release<'a>(&'a self, hold: &'a Hold, closed_for: Duration) -> Reply<'a, Released> {
        let (resource, hold) = (number(&hold.resource), hold.clone());
        self.network.history.add(resource, What::ReleaseSent { token: hold.token });
        self.send(async move |store, history| {
            let answer = store.release(&hold, closed_for).await?;
            let seen = seen(&store, &hold).await?;
            let Hold { token, owner, .. } = hold;
            history.add(resource, What::Released { token, owner, closed_for, answer, seen });
            Ok(answer)
        })
    }

    fn pass<'a>(&'a self, from: &'a Hold, to: &'a Acquisition, overtake: bool) -> Reply<'a, Passed> {
        let (resource, from, to, limit) = (number(&from.resource), from.clone(), to.clone(), self.limit);
        self.network.history.add(resource, What::ReleaseSent { token: from.token });
        self.send(async move |store, history| {
            let answer = store.pass(&from, &to, overtake).await?;
            let seen = seen(&store, &from).await?;
            let (from, to) = (from.token, wanted(to));
            history.add(resource, What::Passed { from, to, overtake, limit, answer: answer.clone(), seen });
            Ok(answer)
        })
    }

    fn is_held<'a>(&'a self, hold: &'a Hold) -> Reply<'a, bool> {
        self.inner.is_held(hold)
    }

    fn inspect<'a>(&'a self, resource: &'a ResourceName, limit: usize) -> Reply<'a, Inspection> {
        self.inner.inspect(resource, limit)
    }

    fn list<'a>(&'a self, prefix: &'a [u8], limit: usize) -> Reply<'a, Listing> {
        self.inner.list(prefix, limit)
    }

    fn force_release<'a>(&'a self, resource: &'a ResourceName) -> Reply<'a, u64> {
        self.inner.force_release(resource)
    }

    fn listen(&self, inbox: &Inbox) -> Announcements {
        let network = self.network.clone();
        self.inner.listen(inbox).flat_map(move |announcement| network.carry(announcement)).boxed()
    }
}

/// What the resource is at this moment.
async fn seen(store: &MemoryStore, hold: &Hold) -> Result<Seen, StoreError> {
    Ok(store.inspect(&hold.resource, usize::MAX).await?.into())
}

fn unavailable() -> StoreError {
    StoreError::Unavailable { reason: "simulated".to_owned(), source: None }
}

/// The number of a resource stands at the end of its name.
fn number(resource: &ResourceName) -> usize {
    usize::from(resource.as_bytes().last().map_or(0, |digit| digit - b'0'))
}

fn wanted(asked: Acquisition) -> Wanted {
    let request = asked.metadata.get("request").and_then(|number| number.parse().ok());
    Wanted {
        request: request.expect("every simulated request tells its number"),
        token: asked.hold.token,
        owner: asked.hold.owner,
        mode: asked.mode,
        reentrant: asked.reentrant,
        ttl: asked.ttl,
        lock_delay: asked.lock_delay,
        patience: asked.place.map(|place| place.patience),
        window: asked.place.map_or(Duration::ZERO, |place| place.grant_window),
    }
}

const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}
