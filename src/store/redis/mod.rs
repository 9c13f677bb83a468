//! Locks on Redis or Valkey, 6.2 or newer: every verb is one Lua script.
//!
//! How a resource is kept is told at the top of `lua/holders.lua`, and how it is waited for in `lua/queue.lua`.

mod answers;
mod batch;
mod call;
mod cluster;
mod connection;
mod errors;
mod inbox;
mod instance;
mod keys;
mod listing;
mod options;
mod plain;
mod record;
mod replicas;
mod scripts;
mod sentinel;
mod servers;
mod target;
mod tls;
mod urls;

use std::{borrow::Borrow, fmt, slice, sync::Arc, time::Duration};

use futures_util::{FutureExt, StreamExt, stream};

use self::{
    call::{Call, Caller},
    instance::Known,
    replicas::{Confirmed, Replicas},
    servers::Servers,
};
pub use self::{
    options::{Layout, RedisOptions},
    tls::TlsFiles,
};
use super::{
    Acquired, AcquiredAll, Acquisition, Announcements, Hold, Inbox, Inspection, Instance, Listing, Metadata,
    Passed, Released, Renewed, Replies, Reply, Safety, Store, StoreError, all,
};
use crate::protocol::{Fence, Invalid, ResourceName};

/// Locks on one Redis or Valkey server, on the master that sentinels name, or on a cluster.
///
/// Making one needs neither a server nor a runtime: the first verb opens the connection, and every verb opens it
/// again if it broke. A verb takes at most the time to connect and the time for an answer, and twice that if its
/// connection turned out to be gone.
///
/// # What the server has to promise
/// It must keep what it acknowledged: a server that restarts without persistence, evicts keys or fails over to
/// a replica that lags forgets locks. Its clock must not jump.
///
/// # Sentinel
/// A connection is opened to the server that the sentinel with the latest failover names, and only if that says itself that it is
/// a master. The sentinels are asked again, once a second and whenever the connection breaks or a replica answers; until
/// there is a new master, verbs are [`StoreError::Unavailable`] or, if they were on their way, unknown.
///
/// # A cluster
/// All keys of a resource are in one slot, and so is the counter of its fences. What is refused because of a failover or a
/// move is sent again until a verb has taken the time to connect and the time for an answer. While a slot moves, nothing in
/// it is granted or released; renewals go on for exclusive holds. Resources in different slots are not taken at one moment
/// ([`Store::acquire_all`]).
///
/// # A full server
/// At `maxmemory` an acquisition is [`StoreError::Full`], unless it holds or waits already, or goes out in one call with
/// one that does. Renewing, releasing and handing over still work.
///
/// # Rights
/// A user of the server needs the keys `<prefix>:*`, all of them, the channels `<prefix>:inbox:*`, and the commands
/// `EVALSHA`, `SCRIPT LOAD`, `GET`, `MGET`, `SET`, `SETRANGE`, `DEL`, `EXISTS`, `TIME`, `PTTL`, `PEXPIRE`, `PEXPIREAT`,
/// `HSET`, `HGET`, `HDEL`, `HLEN`, `HINCRBY`, `ZADD`, `ZREM`, `ZCARD`, `ZCOUNT`, `ZSCORE`, `ZRANK`, `ZRANGE`, `ZREVRANGE`,
/// `ZRANGEBYSCORE`, `ZREMRANGEBYSCORE`, `PUBLISH`, `SUBSCRIBE` and `PING`; to list resources `SCAN` too. With some of them a
/// verb may stop half-way, answer [`StoreError::Denied`], and have done a part all the same; and one name that is out of
/// bounds denies all that goes out in one call with it.
///
/// # Replicas
/// With [`replicas_ack`](RedisOptions::replicas_ack) a grant or a renewal counts only when so many replicas have confirmed
/// it. What falls short is [`StoreError::Unacknowledged`]: a grant has then been given back (if that is certain, it says
/// `undone`), and a renewal, which has moved the end on the master, must not be relied on. It costs a round trip to the
/// replicas, and connections of its own.
///
/// # Listening
/// [`listen`](Store::listen) uses a connection of its own, and needs the right to subscribe to the channels
/// `<prefix>:inbox:*`. Who releases needs the right to publish there; without it the hand-over happens all the same, but
/// nobody is told.
pub struct RedisStore {
    servers: Servers,
    /// What grants or renews is sent by it, if replicas must confirm that.
    replicas: Option<Replicas>,
    caller: Caller,
    known: Known,
    response_timeout: Duration,
}

impl RedisStore {
    /// A store on the server at this URL, with the default [`RedisOptions`].
    ///
    /// The URL is `redis://[user:password@]host[:port][/db]`, the same with `rediss://` for TLS (cargo feature `tls`),
    /// or `redis+unix:///path`. Several servers are named by
    /// `redis+sentinel://[user:password@]host[:port],…/service[/db][?sentinel_user=…&sentinel_password=…]`, where the hosts
    /// are the sentinels, and by `redis+cluster://[user:password@]host[:port],…`, where they are some of the nodes;
    /// `rediss+…` is the same over TLS.
    ///
    /// # Errors
    /// [`Invalid`] when it is none of these. It shows no password.
    pub fn open(url: &str) -> Result<Self, Invalid> {
        Self::with_options(url, RedisOptions::default())
    }

    /// A store on the server at this URL.
    ///
    /// # Errors
    /// [`Invalid`] when the URL or an option is wrong, naming it as in `config.toml`: `store.url`, `store.prefix`, …
    pub fn with_options(url: &str, options: RedisOptions) -> Result<Self, Invalid> {
        options.check()?;
        let servers = Servers::new(url, scripts::loading(), &options)?;
        let replicas = (options.replicas_ack > 0).then(|| Replicas::new(servers.beside(), &options));
        let RedisOptions { prefix, layout, fence_retention, response_timeout, .. } = options;
        let caller = Caller::new(layout, prefix, fence_retention);
        let caller = if servers.is_cluster() { caller.on_slots() } else { caller };
        Ok(Self { servers, replicas, caller, known: Known::default(), response_timeout })
    }

    fn is_plain(&self) -> bool {
        self.caller.layout() == Layout::Plain
    }

    /// The slot of what a hold is of, on a cluster.
    fn slot(&self, hold: &Hold) -> Option<u16> {
        self.caller.slot(&hold.resource)
    }

    /// Sends what grants or renews.
    async fn send_counting(&self, call: &Call) -> Result<Confirmed, StoreError> {
        match &self.replicas {
            None => self.servers.send(call).await.map(Confirmed::from),
            Some(replicas) => replicas.send(call).await,
        }
    }

    /// [`Store::acquire`] for each of these, in calls that are executed in their order.
    async fn acquire_in_order(&self, asked: Vec<Arc<Acquisition>>) -> Vec<Result<Acquired, StoreError>> {
        let calls = batch::split(&asked, |asked| bytes(&asked.hold) + bytes_of_metadata(&asked.metadata));
        if self.replicas.is_none() {
            return batch::together(calls.into_iter().map(|asked| self.acquire_in_one_call(asked))).await;
        }
        // Each takes a connection of its own, so that one of several on their way could overtake another.
        let mut answers = Vec::with_capacity(asked.len());
        for asked in calls {
            answers.extend(self.acquire_in_one_call(asked).await);
        }
        answers
    }

    /// [`Store::acquire`] for each of these, in one call.
    async fn acquire_in_one_call<A: Borrow<Acquisition>>(
        &self,
        asked: &[A],
    ) -> Vec<Result<Acquired, StoreError>> {
        let (answered, shortfall) = replicas::parted(self.send_counting(&self.caller.acquire(asked)).await);
        let mut answers = answers::each(answered, asked.len(), |number, answer| {
            answers::acquired(answer, asked[number].borrow().mode)
        });
        if let Some(shortfall) = shortfall {
            let holds = asked.iter().map(|asked| &asked.borrow().hold);
            let granted =
                holds.zip(&mut answers).filter(|(_, answer)| matches!(answer, Ok(Acquired::Granted(_))));
            let (holds, granted): (Vec<_>, Vec<_>) = granted.unzip();
            let undone = self.take_back(holds).await;
            granted
                .into_iter()
                .zip(undone)
                .for_each(|(answer, undone)| *answer = Err(shortfall.error(undone)));
        }
        answers
    }

    /// Releases what replicas did not confirm. Answers of each whether it is certain.
    async fn take_back(&self, holds: Vec<&Hold>) -> Vec<bool> {
        let releases: Vec<_> = holds.into_iter().map(|hold| (hold, Duration::ZERO)).collect();
        self.release_each(&releases).await.into_iter().map(|released| released.is_ok()).collect()
    }

    /// [`Store::renew`] for each of these, in one call.
    async fn renew_in_one_call(&self, renewals: &[(&Hold, Duration)]) -> Vec<Result<Renewed, StoreError>> {
        let (answered, shortfall) = replicas::parted(self.send_counting(&self.caller.renew(renewals)).await);
        answers::each(answered, renewals.len(), |_, answer| match (answers::renewed(answer)?, &shortfall) {
            (Renewed::Extended, Some(shortfall)) => Err(shortfall.error(false)),
            (renewed, _) => Ok(renewed),
        })
    }

    /// [`Store::release`] for each of these, in one call.
    async fn release_in_one_call(&self, releases: &[(&Hold, Duration)]) -> Vec<Result<Released, StoreError>> {
        let answered = self.servers.send(&self.caller.release(releases)).await;
        let repeated = answered.as_ref().is_ok_and(|answered| answered.repeated);
        let value = answered.map(|answered| answered.value);
        answers::each(value, releases.len(), |_, answer| certain(answers::released(answer)?, repeated))
    }

    /// [`Store::raise_fences`] for each of these, in one call.
    async fn raise_in_one_call(&self, raises: &[(&Hold, Fence)]) -> Vec<Result<bool, StoreError>> {
        let answered = self.servers.send(&self.caller.raise(raises)).await;
        let value = answered.map(|answered| answered.value);
        answers::each(value, raises.len(), |_, answer| {
            answers::renewed(answer).map(|renewed| renewed == Renewed::Extended)
        })
    }
}

impl Store for RedisStore {
    fn acquire<'a>(&'a self, asked: &'a Acquisition) -> Reply<'a, Acquired> {
        async move {
            match plain::lacks(asked).filter(|_| self.is_plain()) {
                Some(error) => Err(error),
                None => only(self.acquire_in_one_call(slice::from_ref(asked)).await),
            }
        }
        .boxed()
    }

    fn renew<'a>(&'a self, hold: &'a Hold, ttl: Duration) -> Reply<'a, Renewed> {
        async move { only(self.renew_in_one_call(&[(hold, ttl)]).await) }.boxed()
    }

    fn release<'a>(&'a self, hold: &'a Hold, closed_for: Duration) -> Reply<'a, Released> {
        async move { only(self.release_in_one_call(&[(hold, closed_for)]).await) }.boxed()
    }

    fn acquire_each<'a>(&'a self, asked: &'a [Arc<Acquisition>]) -> Replies<'a, Acquired> {
        if self.is_plain() && asked.iter().any(|asked| plain::lacks(asked).is_some()) {
            return plain::acquire_each(self, asked).boxed();
        }
        batch::by_slot(asked, |asked| self.slot(&asked.hold), |asked| self.acquire_in_order(asked)).boxed()
    }

    fn renew_each<'a>(&'a self, renewals: &'a [(&'a Hold, Duration)]) -> Replies<'a, Renewed> {
        // A node that gives a slot away refuses calls of which part is gone already; one that asks for a single key it
        // sends to the other node. So leases survive a move that takes longer than they hold.
        let calls = match self.servers.is_cluster() {
            true => renewals.chunks(1).collect(),
            false => batch::split(renewals, |(hold, _)| bytes(hold)),
        };
        batch::together(calls.into_iter().map(|renewals| self.renew_in_one_call(renewals))).boxed()
    }

    fn release_each<'a>(&'a self, releases: &'a [(&'a Hold, Duration)]) -> Replies<'a, Released> {
        let answer = async move |releases: Vec<(&Hold, Duration)>| {
            let calls = batch::split(&releases, |(hold, _)| bytes(hold));
            batch::together(calls.into_iter().map(|releases| self.release_in_one_call(releases))).await
        };
        batch::by_slot(releases, |(hold, _)| self.slot(hold), answer).boxed()
    }

    fn pass<'a>(&'a self, from: &'a Hold, to: &'a Acquisition, overtake: bool) -> Reply<'a, Passed> {
        if self.is_plain() {
            // Not at one moment: else those of other libraries, who can only ask again and again, would never get it.
            return all::release_then_acquire(self, from, to).boxed();
        }
        async move {
            let Confirmed { answered, shortfall } =
                self.send_counting(&self.caller.pass(from, to, overtake)).await?;
            let mut passed = answers::passed(answered.value, to.mode)?;
            if let (Some(shortfall), Ok(Acquired::Granted(_))) = (shortfall, &passed.acquired) {
                let undone = self.take_back(vec![&to.hold]).await;
                passed.acquired = Err(shortfall.error(undone == [true]));
            }
            Ok(Passed { released: certain(passed.released, answered.repeated)?, ..passed })
        }
        .boxed()
    }

    fn acquire_all<'a>(&'a self, asked: &'a [Arc<Acquisition>]) -> Reply<'a, AcquiredAll> {
        let at_one_place = asked
            .first()
            .is_some_and(|first| asked.iter().all(|asked| self.slot(&asked.hold) == self.slot(&first.hold)));
        if self.is_plain() || !at_one_place {
            return all::one_after_the_other(self, asked).boxed();
        }
        async move {
            let Confirmed { answered, shortfall } =
                self.send_counting(&self.caller.acquire_all(asked)).await?;
            match (answers::acquired_all(answered.value, asked)?, shortfall) {
                (AcquiredAll::Granted(_), Some(shortfall)) => {
                    let undone = self.take_back(asked.iter().map(|asked| &asked.hold).collect()).await;
                    Err(shortfall.error(!undone.contains(&false)))
                }
                (granted @ AcquiredAll::Granted(_), None) => Ok(granted),
                // What the first try may have granted was held before this one, and has been left as it is.
                _ if answered.repeated => Err(repeated_in_vain("acquire_all", "not granted")),
                (kept_out, _) => Ok(kept_out),
            }
        }
        .boxed()
    }

    fn is_held<'a>(&'a self, hold: &'a Hold) -> Reply<'a, bool> {
        async move { answers::is_held(self.servers.send(&self.caller.is_held(hold)).await?.value) }.boxed()
    }

    fn inspect<'a>(&'a self, resource: &'a ResourceName, limit: usize) -> Reply<'a, Inspection> {
        async move {
            let call = self.caller.inspect(resource, limit);
            answers::inspected(self.servers.send(&call).await?.value)
        }
        .boxed()
    }

    fn list<'a>(&'a self, prefix: &'a [u8], limit: usize) -> Reply<'a, Listing> {
        listing::list(&self.servers, &self.caller, self.response_timeout, prefix, limit).boxed()
    }

    fn force_release<'a>(&'a self, resource: &'a ResourceName) -> Reply<'a, u64> {
        async move {
            // Sent once: a second try could take the resource from somebody who got it after the first.
            let call = self.caller.force_release(resource);
            answers::opened(self.servers.send_once(&call).await?)
        }
        .boxed()
    }

    fn raise_fences<'a>(&'a self, raises: &'a [(&'a Hold, Fence)]) -> Replies<'a, bool> {
        let answer = async move |raises: Vec<(&Hold, Fence)>| {
            let calls = batch::split(&raises, |(hold, _)| bytes(hold));
            batch::together(calls.into_iter().map(|raises| self.raise_in_one_call(raises))).await
        };
        batch::by_slot(raises, |(hold, _)| self.slot(hold), answer).boxed()
    }

    fn instance(&self) -> Reply<'_, Instance> {
        async move {
            let Servers::One(connection) = &self.servers else {
                let reason = "it is on a cluster, whose servers start one by one".to_owned();
                return Err(StoreError::Unsupported { asked: "lives to tell apart".to_owned(), reason });
            };
            self.known.instance(connection).await
        }
        .boxed()
    }

    fn listen(&self, inbox: &Inbox) -> Announcements {
        if self.is_plain() {
            return stream::empty().boxed();
        }
        let channel = keys::channel(self.caller.prefix(), inbox);
        self.servers.announcements(channel)
    }

    fn safety(&self) -> Safety {
        self.replicas.as_ref().map_or(Safety::OneCopy, Replicas::safety)
    }
}

impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { servers, replicas: _, caller, known: _, response_timeout: _ } = self;
        f.debug_struct("RedisStore")
            .field("servers", servers)
            .field("prefix", &caller.prefix())
            .finish_non_exhaustive()
    }
}

/// What a release did, if that is certain.
fn certain(released: Released, repeated: bool) -> Result<Released, StoreError> {
    match released {
        // The first try may have given it back; or the server may have lost it before that.
        Released::NotHeld { .. } if repeated => Err(repeated_in_vain("release", "not held")),
        released => Ok(released),
    }
}

fn repeated_in_vain(verb: &str, now: &str) -> StoreError {
    let doing = format!("{verb}: an earlier try of it was lost, and now it is {now}");
    StoreError::Lost { doing, source: None }
}

fn only<T>(mut answers: Vec<Result<T, StoreError>>) -> Result<T, StoreError> {
    answers.pop().expect("one answer for one request")
}

/// About how many bytes a request takes.
fn bytes(hold: &Hold) -> usize {
    const REST: usize = 256;
    REST + hold.resource.as_bytes().len() + hold.owner.as_ref().map_or(0, |owner| owner.as_str().len())
}

fn bytes_of_metadata(metadata: &Metadata) -> usize {
    metadata.iter().map(|(name, text)| name.len() + text.len() + 6).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_is_made_without_a_runtime_and_shows_no_password() {
        let store = RedisStore::open("redis://user:s3cret@127.0.0.1:1").unwrap();
        let shown = format!("{store:?}");
        assert!(
            shown.contains("127.0.0.1:1") && !shown.contains("s3cret") && !shown.contains("user"),
            "{shown}"
        );
    }
}
