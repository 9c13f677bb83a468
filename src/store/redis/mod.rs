//! Locks on one Redis or Valkey server, 6.2 or newer: every verb is one Lua script.
//!
//! How a resource is kept is told at the top of `lua/holders.lua`, and how it is waited for in `lua/queue.lua`.

mod answers;
mod batch;
mod call;
mod connection;
mod errors;
mod inbox;
mod instance;
mod keys;
mod listing;
mod options;
mod record;
mod scripts;

use std::{borrow::Borrow, fmt, slice, sync::Arc, time::Duration};

use futures_util::{FutureExt, StreamExt};

pub use self::options::RedisOptions;
use self::{call::Caller, connection::Connection, instance::Known};
use super::{
    Acquired, AcquiredAll, Acquisition, Announcements, Hold, Inbox, Inspection, Instance, Listing, Metadata,
    Passed, Released, Renewed, Replies, Reply, Store, StoreError,
};
use crate::protocol::{Fence, Invalid, ResourceName};

/// Locks on one Redis or Valkey server.
///
/// Making one needs neither a server nor a runtime: the first verb opens the connection, and every verb opens it
/// again if it broke. A verb takes at most the time to connect and the time for an answer, and twice that if its
/// connection turned out to be gone.
///
/// # What the server has to promise
/// It must keep what it acknowledged: a server that restarts without persistence, evicts keys or fails over to
/// a replica that lags forgets locks. Its clock must not jump.
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
/// # Listening
/// [`listen`](Store::listen) uses a connection of its own, and needs the right to subscribe to the channels
/// `<prefix>:inbox:*`. Who releases needs the right to publish there; without it the hand-over happens all the same, but
/// nobody is told.
pub struct RedisStore {
    connection: Connection,
    caller: Caller,
    known: Known,
}

impl RedisStore {
    /// A store on the server at this URL, with the default [`RedisOptions`].
    ///
    /// The URL is `redis://[user:password@]host[:port][/db]`, the same with `rediss://` for TLS (cargo feature `tls`),
    /// or `redis+unix:///path`.
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
        let connection = Connection::new(options::client(url, &options)?, scripts::loading(), &options);
        let RedisOptions { prefix, fence_retention, connect_timeout: _, response_timeout: _ } = options;
        Ok(Self { connection, caller: Caller::new(prefix, fence_retention), known: Known::default() })
    }

    /// [`Store::acquire`] for each of these, in one call.
    async fn acquire_in_one_call<A: Borrow<Acquisition>>(
        &self,
        asked: &[A],
    ) -> Vec<Result<Acquired, StoreError>> {
        let answered = self.connection.send(&self.caller.acquire(asked)).await;
        answers::each(answered.map(|answered| answered.value), asked.len(), |number, answer| {
            answers::acquired(answer, asked[number].borrow().mode)
        })
    }

    /// [`Store::renew`] for each of these, in one call.
    async fn renew_in_one_call(&self, renewals: &[(&Hold, Duration)]) -> Vec<Result<Renewed, StoreError>> {
        let answered = self.connection.send(&self.caller.renew(renewals)).await;
        let value = answered.map(|answered| answered.value);
        answers::each(value, renewals.len(), |_, answer| answers::renewed(answer))
    }

    /// [`Store::release`] for each of these, in one call.
    async fn release_in_one_call(&self, releases: &[(&Hold, Duration)]) -> Vec<Result<Released, StoreError>> {
        let answered = self.connection.send(&self.caller.release(releases)).await;
        let repeated = answered.as_ref().is_ok_and(|answered| answered.repeated);
        let value = answered.map(|answered| answered.value);
        answers::each(value, releases.len(), |_, answer| certain(answers::released(answer)?, repeated))
    }

    /// [`Store::raise_fences`] for each of these, in one call.
    async fn raise_in_one_call(&self, raises: &[(&Hold, Fence)]) -> Vec<Result<bool, StoreError>> {
        let answered = self.connection.send(&self.caller.raise(raises)).await;
        let value = answered.map(|answered| answered.value);
        answers::each(value, raises.len(), |_, answer| {
            answers::renewed(answer).map(|renewed| renewed == Renewed::Extended)
        })
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
        let calls = batch::split(asked, |asked| bytes(&asked.hold) + bytes_of_metadata(&asked.metadata));
        batch::together(calls.into_iter().map(|asked| self.acquire_in_one_call(asked))).boxed()
    }

    fn renew_each<'a>(&'a self, renewals: &'a [(&'a Hold, Duration)]) -> Replies<'a, Renewed> {
        let calls = batch::split(renewals, |(hold, _)| bytes(hold));
        batch::together(calls.into_iter().map(|renewals| self.renew_in_one_call(renewals))).boxed()
    }

    fn release_each<'a>(&'a self, releases: &'a [(&'a Hold, Duration)]) -> Replies<'a, Released> {
        let calls = batch::split(releases, |(hold, _)| bytes(hold));
        batch::together(calls.into_iter().map(|releases| self.release_in_one_call(releases))).boxed()
    }

    fn pass<'a>(&'a self, from: &'a Hold, to: &'a Acquisition, overtake: bool) -> Reply<'a, Passed> {
        async move {
            let answer = self.connection.send(&self.caller.pass(from, to, overtake)).await?;
            let passed = answers::passed(answer.value, to.mode)?;
            Ok(Passed { released: certain(passed.released, answer.repeated)?, ..passed })
        }
        .boxed()
    }

    fn acquire_all<'a>(&'a self, asked: &'a [Arc<Acquisition>]) -> Reply<'a, AcquiredAll> {
        async move {
            let answer = self.connection.send(&self.caller.acquire_all(asked)).await?;
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
        async move { answers::is_held(self.connection.send(&self.caller.is_held(hold)).await?.value) }.boxed()
    }

    fn inspect<'a>(&'a self, resource: &'a ResourceName, limit: usize) -> Reply<'a, Inspection> {
        async move {
            let call = self.caller.inspect(resource, limit);
            answers::inspected(self.connection.send(&call).await?.value)
        }
        .boxed()
    }

    fn list<'a>(&'a self, prefix: &'a [u8], limit: usize) -> Reply<'a, Listing> {
        listing::list(&self.connection, self.caller.prefix(), prefix, limit).boxed()
    }

    fn force_release<'a>(&'a self, resource: &'a ResourceName) -> Reply<'a, u64> {
        async move {
            // Sent once: a second try could take the resource from somebody who got it after the first.
            let call = self.caller.force_release(resource);
            answers::opened(self.connection.send_once(&call).await?)
        }
        .boxed()
    }

    fn raise_fences<'a>(&'a self, raises: &'a [(&'a Hold, Fence)]) -> Replies<'a, bool> {
        let calls = batch::split(raises, |(hold, _)| bytes(hold));
        batch::together(calls.into_iter().map(|raises| self.raise_in_one_call(raises))).boxed()
    }

    fn instance(&self) -> Reply<'_, Instance> {
        self.known.instance(&self.connection).boxed()
    }

    fn listen(&self, inbox: &Inbox) -> Announcements {
        let channel = keys::channel(self.caller.prefix(), inbox);
        self.connection.listener(channel).announcements().boxed()
    }
}

impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { connection, caller, known: _ } = self;
        f.debug_struct("RedisStore")
            .field("connection", connection)
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
