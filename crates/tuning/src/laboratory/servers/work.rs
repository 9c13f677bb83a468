//! The processor time of a server for each kind of command, by what `INFO` tells before and after many of them.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures_util::{StreamExt, future::join_all};
use leasehold::{
    Mode, ResourceName, StoreError,
    env::{Random, SystemRandom},
    store::{Acquired, Acquisition, Hold, Inbox, Notification, QueueTicket, Store},
};
use tokio::time::{sleep, timeout};

use super::{Failure, info::Servers};
use crate::laboratory::profile::ServerProfile;

/// The number of samples of each kind.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Samples {
    /// The round trips.
    pub trips: u32,
    /// The commands of each kind.
    pub work: u32,
    /// The time in which nothing is done, to see what an idle server needs.
    pub idle: Duration,
}

impl Samples {
    /// The samples of about ten seconds.
    pub const USUAL: Self = Self { trips: 250, work: 80, idle: Duration::from_secs(1) };
    /// The samples of about a second.
    pub const QUICK: Self = Self { trips: 30, work: 12, idle: Duration::from_millis(150) };
}

/// The pause between two samples. A server that is asked a hundred times a second has cold caches and a processor that sleeps,
/// and needs several times as long as one that is asked all the time.
pub(super) const BETWEEN: Duration = ServerProfile::COLD_AFTER;

/// The longest time for which what is taken holds.
const TTL: Duration = Duration::from_secs(50);
/// The number of commands that are sent at once to a server that is to be busy, or travel in one call.
const AT_ONCE: u32 = 32;

/// A store whose server is measured, and what the server tells of itself.
pub(super) struct ServerMeter<'a> {
    store: &'a dyn Store,
    servers: Servers,
    samples: Samples,
    /// The share of a core that the server needs while it has nothing to do.
    idle: f64,
    inbox: Inbox,
}

/// A measured figure: processor time for each repetition, in microseconds.
type MeasuredTime = Result<f64, Failure>;

impl<'a> ServerMeter<'a> {
    pub(super) fn new(store: &'a dyn Store, servers: Servers, samples: Samples) -> Self {
        Self { store, servers, samples, idle: 0.0, inbox: Inbox(SystemRandom.token()) }
    }

    /// Measures everything. What is negative by chance counts as nothing.
    pub(super) async fn measure(mut self, profile: &mut ServerProfile) -> Result<(), Failure> {
        // Without a subscriber waiters would be taken for dead.
        let mut told = self.store.listen(&self.inbox);
        let has_queue = self.subscribed(&mut told).await;
        let listening = actix_rt::spawn(async move { while told.next().await.is_some() {} });
        self.release_all(&self.grants("warm", AT_ONCE)).await?;
        self.idle = self.idle().await?;
        let (first, second, third) = (self.one_each(), self.one_each(), self.one_each());
        let store = self.store;
        let granted = self.each(&first, async |it| acquire(store, it).await).await?;
        let (in_a_row, in_a_call) = (self.in_a_row().await?, self.in_a_call().await?);
        let tries: Vec<_> = second.iter().map(as_try).collect();
        let refused = self.each(&tries, async |it| acquire(store, it).await).await?;
        let renew = async |it: &Arc<Acquisition>| store.renew(&it.hold, TTL).await.map(drop);
        let renewed = self.each(&first, renew).await?;
        let queue = if has_queue { Some(self.queue(&first, &second, &third).await?) } else { None };
        let last = if has_queue { &third } else { &first };
        let released = self.each(last, async |it| release(store, it).await).await?;
        let alone = granted.min(refused).min(renewed).min(released);
        let more = f64::from(AT_ONCE - 1);
        // A call that finds the server busy costs as much as one more in a row; of that, the acquisition alone is what one
        // more in the same call costs.
        profile.call = positive((in_a_row - in_a_call) / more);
        profile.wake = positive(alone - profile.call);
        let work = |whole: f64| positive(whole - alone);
        (profile.granted, profile.refused) = (work(granted), work(refused));
        (profile.renewed, profile.released) = (work(renewed), work(released));
        let [queued, handed_over, taken_up, handed_off] = match queue {
            Some(whole) => whole.map(work),
            // Who waits is refused again, and a hand-off is two calls.
            None => [profile.refused, profile.released, profile.granted, profile.released + profile.granted],
        };
        (profile.queued, profile.handed_over) = (queued, handed_over);
        (profile.taken_up, profile.handed_off) = (taken_up, handed_off);
        profile.idle = (self.idle * 1e5).round() / 1e5;
        listening.abort();
        Ok(())
    }

    /// Measures what only stores with a queue have: waiters in it, hand-overs to them, taking these up, and hand-offs.
    async fn queue(
        &mut self,
        holders: &[Arc<Acquisition>],
        waiters: &[Arc<Acquisition>],
        next: &[Arc<Acquisition>],
    ) -> Result<[f64; 4], Failure> {
        let store = self.store;
        let queued = self.each(waiters, async |it| acquire(store, it).await).await?;
        let handed_over = self.each(holders, async |it| release(store, it).await).await?;
        let taken_up = self.each(waiters, async |it| acquire(store, it).await).await?;
        let next: BTreeMap<_, _> = next.iter().map(|it| (&it.hold.resource, it)).collect();
        let hand_off = async |from: &Arc<Acquisition>| {
            store.hand_off(&from.hold, next[&from.hold.resource], true).await.map(drop)
        };
        Ok([queued, handed_over, taken_up, self.each(waiters, hand_off).await?])
    }

    /// Returns true once notifications arrive, and false if the store has none.
    async fn subscribed(&self, told: &mut leasehold::store::Notifications) -> bool {
        let subscribed = async {
            while let Some(notification) = told.next().await {
                if matches!(notification, Notification::Subscribed) {
                    return true;
                }
            }
            false
        };
        timeout(Duration::from_secs(2), subscribed).await.unwrap_or(false)
    }

    async fn idle(&mut self) -> MeasuredTime {
        let before = self.servers.done()?;
        sleep(self.samples.idle).await;
        let spent = self.servers.done()?.since(before).processor;
        Ok(spent.as_secs_f64() / self.samples.idle.as_secs_f64())
    }

    /// Runs a command for each of these, with pauses.
    async fn each<T>(
        &mut self,
        all: &[T],
        command: impl AsyncFn(&T) -> Result<(), StoreError>,
    ) -> MeasuredTime {
        self.spent(all.len(), async {
            for one in all {
                sleep(BETWEEN).await;
                command(one).await?;
            }
            Ok(())
        })
        .await
    }

    /// Measures calls that find the server busy: many at once, each with one acquisition.
    async fn in_a_row(&mut self) -> MeasuredTime {
        let store = self.store;
        self.rounds("row", async |round| {
            let answers = join_all(round.iter().map(|it| acquire(store, it))).await;
            answers.into_iter().collect()
        })
        .await
    }

    /// Measures calls with many acquisitions each.
    async fn in_a_call(&mut self) -> MeasuredTime {
        let store = self.store;
        self.rounds("call", async |round| {
            store.acquire_each(round).await.into_iter().try_for_each(|answer| answer.map(drop))
        })
        .await
    }

    /// Measures rounds of many acquisitions, which are released in the end.
    async fn rounds(
        &mut self,
        name: &str,
        acquire: impl AsyncFn(&Vec<Arc<Acquisition>>) -> Result<(), StoreError>,
    ) -> MeasuredTime {
        let count = (self.samples.work / 4).max(5);
        let rounds: Vec<_> =
            (0..count).map(|round| self.grants(&format!("{name}{round}"), AT_ONCE)).collect();
        let spent = self.each(&rounds, acquire).await?;
        self.release_all(&rounds.concat()).await?;
        Ok(spent)
    }

    /// Returns the processor time of the server for each of `count` repetitions, without what it needs anyway.
    async fn spent(
        &mut self,
        count: usize,
        work: impl Future<Output = Result<(), StoreError>>,
    ) -> MeasuredTime {
        let (before, began) = (self.servers.done()?, tokio::time::Instant::now());
        work.await?;
        let (done, took) = (self.servers.done()?.since(before), began.elapsed());
        let spent = done.processor.as_secs_f64() - self.idle * took.as_secs_f64();
        Ok(spent * 1e6 / count as f64)
    }

    async fn release_all(&self, asked: &[Arc<Acquisition>]) -> Result<(), Failure> {
        let releases: Vec<_> = asked.iter().map(|it| (&it.hold, Duration::ZERO)).collect();
        for answer in self.store.release_each(&releases).await {
            let _ = answer?;
        }
        Ok(())
    }

    /// Returns acquisitions of different resources, with tickets.
    fn grants(&self, name: &str, count: u32) -> Vec<Arc<Acquisition>> {
        (0..count).filter_map(|number| self.acquisition(&format!("{name}/{number}"))).collect()
    }

    /// Returns one acquisition of each of the resources that are measured, with a token of its own each time.
    fn one_each(&self) -> Vec<Arc<Acquisition>> {
        self.grants("one", self.samples.work)
    }

    fn acquisition(&self, name: &str) -> Option<Arc<Acquisition>> {
        let resource = ResourceName::new(name).ok()?;
        let ticket =
            QueueTicket { inbox: self.inbox, ttl: TTL, grant_window: TTL, max_waiters: 1_000, place: None };
        Some(Arc::new(Acquisition {
            hold: Hold { resource, token: SystemRandom.token(), owner: None },
            mode: Mode::Exclusive,
            reentrant: false,
            ttl: TTL,
            lock_delay: Duration::ZERO,
            metadata: Arc::new(BTreeMap::from([("host".to_owned(), "tune".to_owned())])),
            ticket: Some(ticket),
        }))
    }
}

fn as_try(asked: &Arc<Acquisition>) -> Arc<Acquisition> {
    Arc::new(Acquisition { ticket: None, ..Acquisition::clone(asked) })
}

async fn acquire(store: &dyn Store, asked: &Arc<Acquisition>) -> Result<(), StoreError> {
    let answers = store.acquire_each(std::slice::from_ref(asked)).await;
    answers.into_iter().try_for_each(|answer: Result<Acquired, _>| answer.map(drop))
}

async fn release(store: &dyn Store, asked: &Arc<Acquisition>) -> Result<(), StoreError> {
    store.release(&asked.hold, Duration::ZERO).await.map(drop)
}

/// Returns a time in tenths of a microsecond, or nothing if it is negative.
fn positive(micros: f64) -> f64 {
    (micros.max(0.0) * 10.0).round() / 10.0
}
