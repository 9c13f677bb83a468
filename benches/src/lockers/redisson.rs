//! A lock with the commands of Redisson (a Java library), because among those that are used much it hands over best.
//!
//! A failed try tells how long the holder has left. Whoever fails waits for a message on the lock's channel, which
//! a release publishes; each message wakes one waiter of each process, who tries again. A process subscribes to
//! a channel once and stays subscribed (Redisson unsubscribes when its last waiter is served, which costs more).
//! What is held is renewed by one task, a hundred locks a script.

use std::{
    collections::HashMap,
    sync::{
        Arc, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use futures_util::StreamExt;
use redis::{
    Client, Script,
    aio::{MultiplexedConnection, PubSubSink},
};
use tokio::sync::{Mutex, Notify};

use super::raw::{connection, token};
use crate::{Failure, workloads::TTL};

/// How many locks are renewed by one call.
const RENEWED_AT_ONCE: usize = 100;

const TRY: &str = "\
if redis.call('exists', KEYS[1]) == 0 or redis.call('hexists', KEYS[1], ARGV[2]) == 1 then
  redis.call('hincrby', KEYS[1], ARGV[2], 1)
  redis.call('pexpire', KEYS[1], ARGV[1])
  return nil
end
return redis.call('pttl', KEYS[1])";

const RELEASE: &str = "\
if redis.call('hexists', KEYS[1], ARGV[3]) == 0 then
  return nil
end
if redis.call('hincrby', KEYS[1], ARGV[3], -1) > 0 then
  redis.call('pexpire', KEYS[1], ARGV[2])
  return 0
end
redis.call('del', KEYS[1])
redis.call('publish', KEYS[2], ARGV[1])
return 1";

const RENEW: &str = "\
local renewed = {}
for i, key in ipairs(KEYS) do
  if redis.call('hexists', key, ARGV[i + 1]) == 1 then
    redis.call('pexpire', key, ARGV[1])
    renewed[i] = 1
  else
    renewed[i] = 0
  end
end
return renewed";

/// Data that threads share; nobody waits while it is locked.
type Shared<T> = std::sync::Mutex<T>;

pub(crate) struct Redisson {
    connection: MultiplexedConnection,
    subscriber: Mutex<PubSubSink>,
    /// The waiters of each channel that is subscribed to.
    channels: Arc<Shared<HashMap<String, Arc<Notify>>>>,
    scripts: Arc<Scripts>,
    process: String,
    next: AtomicU64,
    kept: Arc<Shared<Vec<Held>>>,
}

struct Scripts {
    attempt: Script,
    release: Script,
    renew: Script,
}

pub(crate) struct Held {
    resource: String,
    /// The process and, instead of a thread, the acquisition.
    owner: String,
}

impl Redisson {
    pub(crate) async fn connect(url: &str) -> Result<Self, Failure> {
        let (subscriber, mut messages) = Client::open(url)?.get_async_pubsub().await?.split();
        let channels = Arc::new(Shared::<HashMap<String, Arc<Notify>>>::default());
        let known = Arc::clone(&channels);
        actix_rt::spawn(async move {
            while let Some(message) = messages.next().await {
                if let Some(waiters) = lock(&known).get(message.get_channel_name()) {
                    waiters.notify_one();
                }
            }
        });
        let locker = Self {
            connection: connection(url, None).await?,
            subscriber: Mutex::new(subscriber),
            channels,
            scripts: Arc::new(Scripts {
                attempt: Script::new(TRY),
                release: Script::new(RELEASE),
                renew: Script::new(RENEW),
            }),
            process: token(),
            next: AtomicU64::new(0),
            kept: Arc::default(),
        };
        actix_rt::spawn(renewing(
            locker.connection.clone(),
            Arc::clone(&locker.scripts),
            Arc::clone(&locker.kept),
        ));
        Ok(locker)
    }

    pub(crate) async fn acquire(&self, resource: &str) -> Result<Held, Failure> {
        let owner = format!("{}:{}", self.process, self.next.fetch_add(1, Ordering::Relaxed));
        let held = Held { resource: resource.to_owned(), owner };
        if self.attempt(&held).await?.is_none() {
            return Ok(held);
        }
        let released = self.subscribed(resource).await?;
        while let Some(left) = self.attempt(&held).await? {
            // Woken or not: the next attempt decides.
            drop(tokio::time::timeout(left, released.notified()).await);
        }
        Ok(held)
    }

    /// Takes the lock, or answers how long its holder has left.
    async fn attempt(&self, held: &Held) -> Result<Option<Duration>, Failure> {
        let mut call = self.scripts.attempt.key(&held.resource);
        call.arg(TTL.as_millis() as u64).arg(&held.owner);
        let left: Option<i64> = call.invoke_async(&mut self.connection.clone()).await?;
        Ok(left.map(|left| Duration::from_millis(left.max(0).unsigned_abs())))
    }

    async fn subscribed(&self, resource: &str) -> Result<Arc<Notify>, Failure> {
        let channel = channel(resource);
        let mut subscriber = self.subscriber.lock().await;
        if let Some(waiters) = lock(&self.channels).get(&channel) {
            return Ok(Arc::clone(waiters));
        }
        subscriber.subscribe(&channel).await?;
        let waiters = Arc::new(Notify::new());
        lock(&self.channels).insert(channel, Arc::clone(&waiters));
        Ok(waiters)
    }

    pub(crate) async fn release(&self, held: Held) -> Result<(), Failure> {
        let mut call = self.scripts.release.key(&held.resource);
        call.key(channel(&held.resource)).arg(0).arg(TTL.as_millis() as u64).arg(&held.owner);
        let done: Option<i64> = call.invoke_async(&mut self.connection.clone()).await?;
        done.map(drop).ok_or_else(|| "the lock was not held".into())
    }

    pub(crate) async fn keep(&self, resource: &str) -> Result<(), Failure> {
        let held = self.acquire(resource).await?;
        lock(&self.kept).push(held);
        Ok(())
    }
}

fn channel(resource: &str) -> String {
    format!("redisson_lock__channel:{{{resource}}}")
}

/// Renews all that is kept, three times a TTL, for as long as the server answers.
async fn renewing(
    mut connection: MultiplexedConnection,
    scripts: Arc<Scripts>,
    kept: Arc<Shared<Vec<Held>>>,
) {
    loop {
        tokio::time::sleep(TTL / 3).await;
        let count = lock(&kept).len();
        for start in (0..count).step_by(RENEWED_AT_ONCE) {
            let mut call = scripts.renew.prepare_invoke();
            call.arg(TTL.as_millis() as u64);
            for held in &lock(&kept)[start..count.min(start + RENEWED_AT_ONCE)] {
                call.key(&held.resource).arg(&held.owner);
            }
            let renewed: Result<Vec<i64>, _> = call.invoke_async(&mut connection).await;
            if let Err(error) = renewed {
                // What is not renewed ends, and is counted as lost.
                return eprintln!("redisson: renewing: {error}");
            }
        }
    }
}

fn lock<T>(shared: &Shared<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
