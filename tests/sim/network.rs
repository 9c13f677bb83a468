//! The network between managers and a store: it drops, delays, reorders and loses, and at times stands still.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures_util::{StreamExt, stream};
use leasehold::{
    StoreError,
    store::{Notification, Notifications, Reply},
};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use tokio::{sync::oneshot, time};

use super::history::History;

/// How long an answer is waited for at most.
pub(crate) const ANSWER_WITHIN: Duration = Duration::from_millis(1_200);

/// What lies between: the same weather for requests and notifications. A clone is the same network.
#[derive(Clone, Debug)]
pub(crate) struct Network {
    pub(crate) history: Arc<History>,
    calm: Arc<AtomicBool>,
    weather: Arc<Mutex<Weather>>,
}

#[derive(Debug)]
struct Weather {
    rng: StdRng,
    /// How often something goes wrong.
    rate: f64,
    stalled_until: Duration,
    cut_until: Duration,
    /// When the last request arrives, if none overtakes another.
    last_arrives: Option<Duration>,
}

/// What happens to one request.
struct Fate {
    dropped: bool,
    before: Duration,
    after: Duration,
    lost: bool,
}

impl Weather {
    /// What happens to a request that is sent now.
    fn fate(&mut self, now: Duration, calm: bool) -> Fate {
        let Self { rng, rate, stalled_until, cut_until, last_arrives: _ } = self;
        let mut before = millis(rng.random_range(0..4));
        let mut after = millis(rng.random_range(0..4));
        if calm {
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
        let dropped = rng.random_bool(*rate / 2.0) || now < *cut_until;
        Fate { dropped, before, after, lost: rng.random_bool(*rate / 2.0) }
    }
}

impl Network {
    /// Weather of one of these rates, until it is `calm`.
    pub(crate) fn new(history: Arc<History>, calm: Arc<AtomicBool>, seed: u64, rates: [f64; 4]) -> Self {
        let mut rng = StdRng::seed_from_u64(seed);
        let rate = rates[rng.random_range(0..4)];
        let (stalled_until, cut_until) = (Duration::ZERO, Duration::ZERO);
        let weather = Weather { rng, rate, stalled_until, cut_until, last_arrives: None };
        Self { history, calm, weather: Arc::new(Mutex::new(weather)) }
    }

    /// The same, as a connection is: what is sent later arrives later.
    pub(crate) fn in_order(self) -> Self {
        self.weather().last_arrives = Some(Duration::ZERO);
        self
    }

    /// Sends a request through the weather. It goes its own way, which is to be spawned: nobody has to wait for it. A
    /// request that is not dropped is executed, late perhaps: after its answer has been given up, and after requests
    /// that were sent later, unless they stay in order.
    pub(crate) fn send<T: Send + 'static, F: Future<Output = Result<T, StoreError>>>(
        &self,
        execute: F,
    ) -> (impl Future<Output = ()> + use<T, F>, Reply<'static, T>) {
        let Fate { dropped, before, after, lost } = self.fate();
        let (answered, answer) = oneshot::channel();
        let way = async move {
            if dropped {
                return;
            }
            time::sleep(before).await;
            let outcome = execute.await;
            time::sleep(after).await;
            if !lost {
                // Whoever asked may have stopped waiting.
                let _ = answered.send(outcome);
            }
        };
        let reply = async move {
            if dropped {
                time::sleep(after).await;
                return Err(unavailable());
            }
            match time::timeout(ANSWER_WITHIN, answer).await {
                Ok(Ok(outcome)) => outcome,
                Ok(Err(_)) => Err(StoreError::reply_lost("simulated")),
                Err(_) => Err(StoreError::timed_out(ANSWER_WITHIN)),
            }
        };
        (way, Box::pin(reply))
    }

    /// Requests arrive only after that.
    pub(crate) fn stall(&self, until: Duration) {
        self.weather().stalled_until = until;
    }

    /// Requests do not arrive until then.
    pub(crate) fn cut(&self, until: Duration) {
        self.weather().cut_until = until;
    }

    fn weather(&self) -> MutexGuard<'_, Weather> {
        self.weather.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fate(&self) -> Fate {
        let mut weather = self.weather();
        let now = self.history.now();
        let mut fate = weather.fate(now, self.calm.load(Ordering::Relaxed));
        if let Some(last) = weather.last_arrives.as_mut().filter(|_| !fate.dropped) {
            *last = (now + fate.before).max(*last + millis(1));
            fate.before = *last - now;
        }
        fate
    }

    /// Notifications come in their order, late perhaps; some get lost, with the connection or without anybody's notice.
    pub(crate) fn carry(&self, notification: Notification) -> Notifications {
        let Fate { dropped, before, lost, .. } = self.fate();
        match (dropped, lost) {
            (false, false) => stream::once(async move {
                time::sleep(before).await;
                notification
            })
            .boxed(),
            (true, false) => stream::empty().boxed(),
            (_, true) => {
                let disconnected = Notification::Disconnected(unavailable());
                let back = async move {
                    time::sleep(before).await;
                    Notification::Subscribed
                };
                stream::iter([disconnected]).chain(stream::once(back)).boxed()
            }
        }
    }
}

fn unavailable() -> StoreError {
    StoreError::unavailable("simulated")
}

pub(crate) const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}
