//! Locks on one Redis or Valkey server, 6.2 or newer: every verb is one Lua script.
//!
//! How a resource is kept is told at the top of `lua/holders.lua`, and how it is waited for in `lua/queue.lua`.

mod answers;
mod connection;
mod errors;
mod inbox;
mod keys;
mod options;
mod record;
mod scripts;

use std::{collections::BTreeSet, fmt, time::Duration};

use futures_util::{FutureExt, StreamExt};
use redis::{RedisResult, Value, aio::MultiplexedConnection};
use tokio::time::Instant;

pub use self::options::RedisOptions;
use self::{
    connection::{Connection, Request},
    keys::Keys,
};
use super::{
    Acquired, Acquisition, Announcements, Hold, Inbox, Inspection, Listing, Released, Renewed, Reply, Store,
    StoreError,
};
use crate::protocol::{Invalid, ResourceName};

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
/// At `maxmemory` an acquisition is [`StoreError::Full`], unless it waits already. Renewing, releasing and handing over
/// still work.
///
/// # Listening
/// [`listen`](Store::listen) uses a connection of its own, and needs the right to subscribe to the channels
/// `<prefix>:inbox:*`. Who releases needs the right to publish there; without it the hand-over happens all the same, but
/// nobody is told.
pub struct RedisStore {
    connection: Connection,
    prefix: String,
    fence_retention: Duration,
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
        Ok(Self { connection, prefix, fence_retention })
    }

    fn keys(&self, resource: &ResourceName) -> Keys {
        Keys::of(&self.prefix, resource)
    }

    async fn list_all(&self, start: &[u8], limit: usize) -> Result<Listing, StoreError> {
        // A walk over millions of keys takes a while; it is cut off rather than bounded by the answer to one step.
        const STEPS: u32 = 10;
        let give_up = Instant::now() + STEPS * self.connection.response_timeout();
        let mut scan = Scan { pattern: keys::pattern(&self.prefix, start), cursor: 0 };
        let mut found = BTreeSet::new();
        let mut complete = true;
        loop {
            let (cursor, keys) = answers::scanned(self.connection.send(&scan).await?.value)?;
            // A key that is not even text is not ours.
            let ours = keys.iter().filter_map(|key| keys::resource(&self.prefix, str::from_utf8(key).ok()?));
            found.extend(ours);
            while found.len() > limit {
                found.pop_last();
                complete = false;
            }
            scan.cursor = cursor;
            if cursor == 0 {
                break;
            }
            if Instant::now() >= give_up {
                complete = false;
                break;
            }
        }
        Ok(Listing { resources: found.into_iter().collect(), complete })
    }
}

impl Store for RedisStore {
    fn acquire<'a>(&'a self, asked: &'a Acquisition) -> Reply<'a, Acquired> {
        async move {
            let channel = |inbox: &Inbox| keys::channel(&self.prefix, inbox);
            let keys = self.keys(&asked.hold.resource);
            let call = scripts::acquire(&keys, asked, self.fence_retention, channel);
            answers::acquired(self.connection.send(&call).await?.value, asked.mode)
        }
        .boxed()
    }

    fn renew<'a>(&'a self, hold: &'a Hold, ttl: Duration) -> Reply<'a, Renewed> {
        async move {
            let call = scripts::renew(&self.keys(&hold.resource), hold, ttl);
            answers::renewed(self.connection.send(&call).await?.value)
        }
        .boxed()
    }

    fn release<'a>(&'a self, hold: &'a Hold, closed_for: Duration) -> Reply<'a, Released> {
        async move {
            let keys = self.keys(&hold.resource);
            let call = scripts::release(&keys, hold, self.fence_retention, closed_for);
            let answer = self.connection.send(&call).await?;
            match answers::released(answer.value)? {
                // The first try may have given it back; or the server may have lost it before that.
                Released::NotHeld { .. } if answer.repeated => {
                    let doing = "release: an earlier try of it was lost, and now it is not held".to_owned();
                    Err(StoreError::Lost { doing, source: None })
                }
                released => Ok(released),
            }
        }
        .boxed()
    }

    fn is_held<'a>(&'a self, hold: &'a Hold) -> Reply<'a, bool> {
        async move {
            let call = scripts::is_held(&self.keys(&hold.resource), hold.token);
            answers::is_held(self.connection.send(&call).await?.value)
        }
        .boxed()
    }

    fn inspect<'a>(&'a self, resource: &'a ResourceName, limit: usize) -> Reply<'a, Inspection> {
        async move {
            let call = scripts::inspect(&self.keys(resource), limit);
            answers::inspected(self.connection.send(&call).await?.value)
        }
        .boxed()
    }

    fn list<'a>(&'a self, prefix: &'a [u8], limit: usize) -> Reply<'a, Listing> {
        self.list_all(prefix, limit).boxed()
    }

    fn force_release<'a>(&'a self, resource: &'a ResourceName) -> Reply<'a, u64> {
        async move {
            // Sent once: a second try could take the resource from somebody who got it after the first.
            let call = scripts::force_release(&self.keys(resource), self.fence_retention);
            answers::opened(self.connection.send_once(&call).await?)
        }
        .boxed()
    }

    fn listen(&self, inbox: &Inbox) -> Announcements {
        let channel = keys::channel(&self.prefix, inbox);
        self.connection.listener(channel).announcements().boxed()
    }
}

impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { connection, prefix, fence_retention: _ } = self;
        f.debug_struct("RedisStore")
            .field("connection", connection)
            .field("prefix", prefix)
            .finish_non_exhaustive()
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
