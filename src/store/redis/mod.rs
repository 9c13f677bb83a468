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
mod keys;
mod options;
mod record;
mod scripts;
mod sentinel;
mod servers;
mod target;
mod urls;

use std::{borrow::Borrow, collections::BTreeSet, fmt, slice, sync::Arc, time::Duration};

use futures_util::FutureExt;
use redis::{RedisResult, Value, aio::MultiplexedConnection};
use tokio::time::Instant;

pub use self::options::RedisOptions;
use self::{
    call::Caller,
    connection::{Connection, Request},
    servers::Servers,
};
use super::{
    Acquired, AcquiredAll, Acquisition, Announcements, Hold, Inbox, Inspection, Listing, Metadata, Passed,
    Released, Renewed, Replies, Reply, Store, StoreError, all,
};
use crate::protocol::{Invalid, ResourceName};

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
/// At `maxmemory` an acquisition is [`StoreError::Full`], unless it waits already. Renewing, releasing and handing over
/// still work.
///
/// # Listening
/// [`listen`](Store::listen) uses a connection of its own, and needs the right to subscribe to the channels
/// `<prefix>:inbox:*`. Who releases needs the right to publish there; without it the hand-over happens all the same, but
/// nobody is told.
pub struct RedisStore {
    servers: Servers,
    caller: Caller,
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
        let RedisOptions { prefix, fence_retention, connect_timeout: _, response_timeout } = options;
        let caller = Caller::new(prefix, fence_retention);
        let caller = if servers.is_cluster() { caller.on_slots() } else { caller };
        Ok(Self { servers, caller, response_timeout })
    }

    /// [`Store::acquire`] for each of these, in one call.
    async fn acquire_in_one_call<A: Borrow<Acquisition>>(
        &self,
        asked: &[A],
    ) -> Vec<Result<Acquired, StoreError>> {
        let answered = self.servers.send(&self.caller.acquire(asked)).await;
        answers::each(answered.map(|answered| answered.value), asked.len(), |number, answer| {
            answers::acquired(answer, asked[number].borrow().mode)
        })
    }

    /// [`Store::renew`] for each of these, in one call.
    async fn renew_in_one_call(&self, renewals: &[(&Hold, Duration)]) -> Vec<Result<Renewed, StoreError>> {
        let answered = self.servers.send(&self.caller.renew(renewals)).await;
        let value = answered.map(|answered| answered.value);
        answers::each(value, renewals.len(), |_, answer| answers::renewed(answer))
    }

    /// [`Store::release`] for each of these, in one call.
    async fn release_in_one_call(&self, releases: &[(&Hold, Duration)]) -> Vec<Result<Released, StoreError>> {
        let answered = self.servers.send(&self.caller.release(releases)).await;
        let repeated = answered.as_ref().is_ok_and(|answered| answered.repeated);
        let value = answered.map(|answered| answered.value);
        answers::each(value, releases.len(), |_, answer| certain(answers::released(answer)?, repeated))
    }

    async fn list_all(&self, start: &[u8], limit: usize) -> Result<Listing, StoreError> {
        // A walk over millions of keys takes a while; it is cut off rather than bounded by the answer to one step.
        const STEPS: u32 = 10;
        let give_up = Instant::now() + STEPS * self.response_timeout;
        let mut found = Found { names: BTreeSet::new(), limit, complete: true };
        for server in self.servers.each().await? {
            self.list_on(&server, start, give_up, &mut found).await?;
        }
        Ok(Listing { resources: found.names.into_iter().collect(), complete: found.complete })
    }

    async fn list_on(
        &self,
        server: &Connection,
        start: &[u8],
        give_up: Instant,
        found: &mut Found,
    ) -> Result<(), StoreError> {
        let mut scan = Scan { pattern: keys::pattern(self.caller.prefix(), start), cursor: 0 };
        loop {
            let (cursor, keys) = answers::scanned(server.send(&scan).await?.value)?;
            // A key that is not even text is not ours.
            let ours =
                keys.iter().filter_map(|key| keys::resource(self.caller.prefix(), str::from_utf8(key).ok()?));
            found.add(ours);
            scan.cursor = cursor;
            if cursor == 0 {
                return Ok(());
            }
            if Instant::now() >= give_up {
                found.complete = false;
                return Ok(());
            }
        }
    }

    /// The slot of what a hold is of, on a cluster.
    fn slot(&self, hold: &Hold) -> Option<u16> {
        self.caller.slot(&hold.resource)
    }
}

impl Store for RedisStore {
    fn acquire<'a>(&'a self, asked: &'a Acquisition) -> Reply<'a, Acquired> {
        async move { only(self.acquire_in_one_call(slice::from_ref(asked)).await) }.boxed()
    }

    fn renew<'a>(&'a self, hold: &'a Hold, ttl: Duration) -> Reply<'a, Renewed> {
        async move { only(self.renew_in_one_call(&[(hold, ttl)]).await) }.boxed()
    }

    fn release<'a>(&'a self, hold: &'a Hold, closed_for: Duration) -> Reply<'a, Released> {
        async move { only(self.release_in_one_call(&[(hold, closed_for)]).await) }.boxed()
    }

    fn acquire_each<'a>(&'a self, asked: &'a [Arc<Acquisition>]) -> Replies<'a, Acquired> {
        let answer = async move |asked: Vec<Arc<Acquisition>>| {
            let calls = batch::split(&asked, |asked| bytes(&asked.hold) + bytes_of_metadata(&asked.metadata));
            batch::together(calls.into_iter().map(|asked| self.acquire_in_one_call(asked))).await
        };
        batch::by_slot(asked, |asked| self.slot(&asked.hold), answer).boxed()
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
        async move {
            let answer = self.servers.send(&self.caller.pass(from, to, overtake)).await?;
            let passed = answers::passed(answer.value, to.mode)?;
            Ok(Passed { released: certain(passed.released, answer.repeated)?, ..passed })
        }
        .boxed()
    }

    fn acquire_all<'a>(&'a self, asked: &'a [Arc<Acquisition>]) -> Reply<'a, AcquiredAll> {
        let at_one_place = asked
            .first()
            .is_some_and(|first| asked.iter().all(|asked| self.slot(&asked.hold) == self.slot(&first.hold)));
        if !at_one_place {
            return all::one_after_the_other(self, asked).boxed();
        }
        async move {
            let answer = self.servers.send(&self.caller.acquire_all(asked)).await?;
            match answers::acquired_all(answer.value, asked)? {
                granted @ AcquiredAll::Granted(_) => Ok(granted),
                // What the first try may have granted was held before this one, and has been left as it is.
                _ if answer.repeated => Err(repeated_in_vain("acquire_all", "not granted")),
                kept_out => Ok(kept_out),
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
        self.list_all(prefix, limit).boxed()
    }

    fn force_release<'a>(&'a self, resource: &'a ResourceName) -> Reply<'a, u64> {
        async move {
            // Sent once: a second try could take the resource from somebody who got it after the first.
            let call = self.caller.force_release(resource);
            answers::opened(self.servers.send_once(&call).await?)
        }
        .boxed()
    }

    fn listen(&self, inbox: &Inbox) -> Announcements {
        let channel = keys::channel(self.caller.prefix(), inbox);
        self.servers.announcements(channel)
    }
}

impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { servers, caller, response_timeout: _ } = self;
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

/// What a walk over all keys has found so far.
struct Found {
    names: BTreeSet<ResourceName>,
    limit: usize,
    complete: bool,
}

impl Found {
    fn add(&mut self, names: impl Iterator<Item = ResourceName>) {
        self.names.extend(names);
        while self.names.len() > self.limit {
            self.names.pop_last();
            self.complete = false;
        }
    }
}

/// One step of a walk over all keys.
struct Scan {
    pattern: String,
    cursor: u64,
}

impl Request for Scan {
    async fn send(&self, connection: &mut MultiplexedConnection) -> RedisResult<Value> {
        const KEYS_A_STEP: u32 = 1_000;
        let mut scan = redis::cmd("SCAN");
        scan.arg(self.cursor).arg("MATCH").arg(&self.pattern).arg("COUNT").arg(KEYS_A_STEP);
        scan.query_async(connection).await
    }

    fn is_answered_by(&self, answer: &Value) -> bool {
        // The server has no way to carry a mark here, but no script answers with a list of two whose second is a list.
        matches!(answer, Value::Array(parts) if matches!(parts[..], [_, Value::Array(_)]))
    }
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
