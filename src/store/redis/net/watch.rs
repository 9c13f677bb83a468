//! The watch over leases: the server tells on the connection of renewals when anybody else changes a key that was renewed there.
//!
//! It is told by `CLIENT TRACKING ON NOLOOP`, once for each time that the connection has read a key: a renewal reads it at its
//! end. What the server tells is only a doubt. The manager renews the lease at once, which reads the key again, so the server
//! tells of the next change as well.

use std::{
    collections::HashMap,
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures_util::{Stream, stream};
use parking_lot::Mutex;
use redis::{Client, ProtocolVersion, PushInfo, PushKind, RedisResult, Value, aio::MultiplexedConnection};
use tokio::{
    sync::{mpsc, watch},
    time::{Instant, sleep, timeout_at},
};

use crate::{
    core::Token,
    store::{
        Notification, StoreError,
        redis::net::opening::{address, dial, untimed},
    },
};

/// The longest time between two looks at the connection.
const PERIOD: Duration = Duration::from_secs(1);
/// The shortest time between two looks at all leases.
const GATHERS_FOR: Duration = Duration::from_millis(10);
/// The shortest time between two doubts of one lease: somebody may change its key again and again, and a server that tracks too
/// many keys tells of changes that there were not.
const PAUSE: Duration = Duration::from_secs(5);

/// The leases that are renewed on one connection. One whose renewal has no answer yet is not doubted.
#[derive(Default)]
pub(crate) struct Watch {
    leases: Mutex<HashMap<Vec<u8>, Watched>>,
    /// Counts what the server has told.
    told: watch::Sender<u64>,
    listeners: Mutex<Vec<mpsc::UnboundedSender<Token>>>,
    /// True if the server tells nothing on the current connection.
    refused: AtomicBool,
}

#[derive(Clone)]
struct Watched {
    token: Token,
    /// The number of the connection on which it was seen held last.
    held_on: Option<u64>,
    /// The count at the last change that no answer has explained.
    doubted: Option<u64>,
    quiet_until: Instant,
    ends: Instant,
}

impl Watch {
    /// Opens a connection on which the server tells of changes. If it cannot, or the user may not, the connection is one as any
    /// other.
    pub(super) async fn dial(self: &Arc<Self>, client: &Client) -> RedisResult<MultiplexedConnection> {
        let refusal = match self.dial_told(client).await {
            Ok(connection) => {
                self.refused.store(false, Ordering::Relaxed);
                return Ok(connection);
            }
            // Another attempt would be refused as well, and may count towards a lock-out.
            Err(error) if error.code() == Some("WRONGPASS") => return Err(error),
            // What is between them may end a connection instead of saying what it does not know.
            Err(error) => error,
        };
        let connection = dial(client).await?;
        if !self.refused.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                server = %address(client), error = %super::errors::before_sending(refusal),
                "leases are not watched (store.watch_leases): their loss is found at their next renewal"
            );
        }
        Ok(connection)
    }

    async fn dial_told(self: &Arc<Self>, client: &Client) -> RedisResult<MultiplexedConnection> {
        let info = client.get_connection_info().clone();
        let settings = info.redis_settings().clone().set_protocol(ProtocolVersion::RESP3);
        let watch = Arc::clone(self);
        let config = untimed().set_push_sender(move |push| {
            watch.hear(&push);
            Ok::<_, Infallible>(())
        });
        let client = Client::open(info.set_redis_settings(settings))?;
        let mut connection = client.get_multiplexed_async_connection_with_config(&config).await?;
        redis::cmd("CLIENT").arg(&["TRACKING", "ON", "NOLOOP"]).exec_async(&mut connection).await?;
        Ok(connection)
    }

    /// Handles what the server tells unasked. A flush names no key: everything has changed.
    fn hear(&self, PushInfo { kind, data }: &PushInfo) {
        let mut leases = self.leases.lock();
        let count = *self.told.borrow() + 1;
        let mut is_news = *kind == PushKind::Disconnection;
        let mut doubt = |watched: &mut Watched| {
            watched.doubted = Some(count);
            is_news = true;
        };
        match data.first() {
            Some(Value::Array(keys)) if *kind == PushKind::Invalidate => {
                let keys = keys.iter().filter_map(|key| match key {
                    Value::BulkString(key) => Some(key),
                    _ => None,
                });
                keys.for_each(|key| leases.get_mut(key).into_iter().for_each(&mut doubt));
            }
            _ if *kind == PushKind::Invalidate => leases.values_mut().for_each(doubt),
            _ => {}
        }
        if is_news {
            self.told.send_replace(count);
        }
    }

    /// Returns true if the keys of a renewal are to be read at its end.
    pub(crate) fn is_told(&self) -> bool {
        !self.refused.load(Ordering::Relaxed)
    }

    /// Records that these are about to be renewed. Returns the count for [`answered`](Self::answered).
    pub(crate) fn asks(&self, renewals: impl Iterator<Item = (Vec<u8>, Token, Duration)>) -> u64 {
        let (mut leases, now) = (self.leases.lock(), Instant::now());
        for (key, token, ttl) in renewals {
            let new = Watched { token, held_on: None, doubted: None, quiet_until: now, ends: now + ttl };
            let watched = leases.entry(key).or_insert_with(|| new.clone());
            if watched.token != token {
                *watched = new;
            }
        }
        *self.told.borrow()
    }

    /// Records the answer to a renewal that was sent at this `count`, on the connection of this number: its TTL, if it holds.
    pub(crate) fn answered(
        &self,
        (key, token): (&[u8], Token),
        holds: Option<Duration>,
        (count, connection): (u64, u64),
    ) {
        let mut leases = self.leases.lock();
        let Some(watched) = leases.get_mut(key).filter(|watched| watched.token == token) else { return };
        let Some(ttl) = holds else {
            leases.remove(key);
            return;
        };
        watched.held_on = Some(connection);
        watched.doubted = watched.doubted.filter(|doubted| *doubted > count);
        watched.ends = Instant::now() + ttl;
    }

    /// Records that these are about to be released.
    pub(crate) fn forget(&self, holds: impl Iterator<Item = (Vec<u8>, Token)>) {
        let mut leases = self.leases.lock();
        for (key, token) in holds {
            if leases.get(&key).is_some_and(|watched| watched.token == token) {
                leases.remove(&key);
            }
        }
    }

    /// Returns the doubts from now on, without an end. While they are polled the connection is looked at. `number` makes sure that it
    /// is there, and returns its number.
    pub(super) fn doubts<F>(
        self: Arc<Self>,
        number: impl Fn() -> F + Send + Sync,
    ) -> impl Stream<Item = Notification> + Send
    where
        F: Future<Output = Result<u64, StoreError>> + Send,
    {
        let (listener, doubts) = mpsc::unbounded_channel();
        self.listeners.lock().push(listener);
        let told = self.told.subscribe();
        stream::unfold((self, number, doubts, told), |(watch, number, mut doubts, mut told)| async move {
            loop {
                if let Ok(token) = doubts.try_recv() {
                    return Some((Notification::Doubted(token), (watch, number, doubts, told)));
                }
                // The watch is there, and so is the sender. Other listeners may have been told meanwhile.
                let _ = timeout_at(Instant::now() + PERIOD, told.changed()).await;
                // One look is enough for all that changes in this time.
                sleep(GATHERS_FOR).await;
                if watch.is_empty() {
                    continue;
                }
                match number().await {
                    Ok(number) => watch.tell(number),
                    // Renewals tell of it.
                    Err(_) => sleep(PERIOD).await,
                }
            }
        })
    }

    /// Returns true if no lease is watched that has not ended.
    fn is_empty(&self) -> bool {
        let (mut leases, now) = (self.leases.lock(), Instant::now());
        leases.retain(|_, watched| watched.ends > now);
        leases.is_empty()
    }

    /// Tells the listeners of what is doubted. What was seen held on another connection is, and only once if this one has no watch.
    fn tell(&self, connection: u64) {
        let (mut leases, mut listeners) = (self.leases.lock(), self.listeners.lock());
        let (now, count) = (Instant::now(), *self.told.borrow());
        for watched in leases.values_mut() {
            if watched.held_on.is_some_and(|held_on| held_on != connection) {
                (watched.held_on, watched.doubted) = (Some(connection), Some(count));
            }
            if watched.held_on.is_some() && watched.doubted.is_some() && watched.quiet_until <= now {
                watched.ends = if self.is_told() { watched.ends } else { now };
                watched.quiet_until = now + PAUSE;
                listeners.retain(|listener| listener.send(watched.token).is_ok());
            }
        }
    }
}

#[cfg(test)]
mod tests;
