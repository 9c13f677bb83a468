//! The settings of a Redis store, checked.

use std::{path::PathBuf, time::Duration};

use crate::{
    core::{InvalidValue, ensure, in_range},
    store::redis::credentials::CredentialsProvider,
};

const SECOND: Duration = Duration::from_secs(1);
const MOST_REPLICAS: u32 = 100;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Options of a [`RedisStore`](crate::RedisStore).
///
/// # Default
/// Prefix `leasehold`, 1 s to connect, 500 ms for an answer, a keepalive of 30 s, fences kept for 1 h.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedisOptions {
    /// The start of all keys: 1 to 64 of `A-Z a-z 0-9 _ . : -`. All who share locks must use the same prefix. Default:
    /// `leasehold`. In the plain layout it may be empty.
    pub prefix: String,
    /// The layout of locks. All who share locks must use the same one. Default: [`Layout::Full`].
    pub layout: Layout,
    /// The number of replicas that must confirm a grant or a renewal before it counts, 0 to 100; see
    /// [`Durability`](crate::Durability). They have half of [`response_timeout`](Self::response_timeout) for it.
    /// Default: 0, which asks none.
    pub replicas_ack: u32,
    /// The certificates of the authorities that may vouch for a `rediss://` server; no others may. This file and the two
    /// below are in PEM form, and read once, when the store is opened, also for servers that become known later. Default:
    /// the public authorities.
    pub tls_ca: Option<PathBuf>,
    /// The certificate that the client shows to the server, with those between it and its authority. Default: none.
    pub tls_certificate: Option<PathBuf>,
    /// The private key of [`tls_certificate`](Self::tls_certificate); neither is given without the other. Default: none.
    pub tls_key: Option<PathBuf>,
    /// The provider of user and password, for credentials that change while the store is open; the URL or the client then has
    /// none. Default: none.
    pub credentials: Option<CredentialsProvider>,
    /// The same for the sentinels themselves, if they have users of their own. Default: none.
    pub sentinel_credentials: Option<CredentialsProvider>,
    /// The longest time to wait for a connection, TLS and password included. From 1 ms to 1 minute. Default: 1 s.
    pub connect_timeout: Duration,
    /// The longest time to wait for the answer to a verb. From 1 ms to 1 minute. It should be well below a third of the
    /// shortest TTL, so that a renewal can be tried again. Default: 500 ms.
    pub response_timeout: Duration,
    /// The time without traffic after which the system asks over TCP whether the other end is there, so that a firewall does
    /// not forget the connection, and its end is noticed. From 1 s to 1 day. Default: 30 s.
    pub keepalive: Duration,
    /// The time for which the last fencing number is kept. It matters only if the server's clock steps back: by less
    /// than this, fences still grow. A node of a quorum keeps the number for ever. From 1 s to 365 days. Default: 1 h.
    pub fence_retention: Duration,
    /// True if the server is to tell when anybody takes, deletes, evicts or flushes an exclusive lease without an owner that was
    /// renewed; otherwise the next renewal finds that out. Not on a cluster, nor with [`replicas_ack`](Self::replicas_ack). The
    /// user needs `CLIENT TRACKING`. Default: false.
    pub watch_leases: bool,
}

/// The layout of locks on a Redis server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Layout {
    /// The layout with everything that this library offers.
    #[default]
    Full,
    /// The textbook lock: `SET key token NX PX ttl`, compare and delete, compare and pexpire. It is shared with redis-py's
    /// `Lock`, node-redlock, rslock, redsync and others that keep a lock as one string with a random value.
    ///
    /// The key is the prefix, a colon, and the name of the resource, byte by byte. With an empty prefix it is the name
    /// alone, which is what these libraries write. The value is the token as 32 hex digits.
    ///
    /// It has only exclusive locks without owner and lock delay; all else is
    /// [`Unsupported`](crate::StoreError::Unsupported). There are no fences, no metadata, and no queue: a waiter
    /// attempts again and again. With an empty prefix a list is a list of all strings of the database.
    Plain,
}

impl Default for RedisOptions {
    fn default() -> Self {
        Self {
            prefix: "leasehold".into(),
            layout: Layout::Full,
            replicas_ack: 0,
            tls_ca: None,
            tls_certificate: None,
            tls_key: None,
            credentials: None,
            sentinel_credentials: None,
            connect_timeout: SECOND,
            response_timeout: Duration::from_millis(500),
            keepalive: 30 * SECOND,
            fence_retention: 3600 * SECOND,
            watch_leases: false,
        }
    }
}

impl RedisOptions {
    pub(crate) fn check(&self) -> Result<(), InvalidValue> {
        // The files are checked when they are read, together with the URL.
        let Self { prefix, layout, replicas_ack, .. } = self;
        let Self { connect_timeout, response_timeout, keepalive, fence_retention, .. } = self;
        let plain = |b: u8| b.is_ascii_alphanumeric() || b"_.:-".contains(&b);
        let (shortest, allowed) = match layout {
            Layout::Full => (1, "1 to 64 of A-Z a-z 0-9 _ . : -"),
            Layout::Plain => (0, "0 to 64 of A-Z a-z 0-9 _ . : -"),
        };
        let is_prefix = (shortest..=64).contains(&prefix.len()) && prefix.bytes().all(plain);
        ensure(is_prefix, "store.prefix", format_args!("{prefix:?}"), allowed)?;
        let allowed = format!("0 to {MOST_REPLICAS}");
        ensure(*replicas_ack <= MOST_REPLICAS, "store.replicas_ack", replicas_ack, allowed)?;
        let millisecond = Duration::from_millis(1);
        in_range("store.connect_timeout", *connect_timeout, millisecond, 60 * SECOND)?;
        in_range("store.response_timeout", *response_timeout, millisecond, 60 * SECOND)?;
        in_range("store.keepalive", *keepalive, SECOND, DAY)?;
        in_range("store.fence_retention", *fence_retention, SECOND, 365 * DAY)?;
        self.credentials.iter().chain(&self.sentinel_credentials).try_for_each(CredentialsProvider::check)
    }

    /// Returns the same for sentinels, which have credentials of their own.
    pub(crate) fn for_sentinels(&self) -> Self {
        Self { credentials: self.sentinel_credentials.clone(), ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_option_is_checked_by_name() {
        let good = RedisOptions::default;
        assert_eq!(good().check(), Ok(()));
        let plain = RedisOptions { prefix: String::new(), layout: Layout::Plain, ..good() };
        assert_eq!(plain.check(), Ok(()));
        for (field, wrong) in [
            ("store.prefix", RedisOptions { prefix: "a{b}".into(), ..good() }),
            ("store.prefix", RedisOptions { prefix: String::new(), ..good() }),
            ("store.prefix", RedisOptions { prefix: "a b".into(), layout: Layout::Plain, ..good() }),
            ("store.replicas_ack", RedisOptions { replicas_ack: 101, ..good() }),
            ("store.connect_timeout", RedisOptions { connect_timeout: Duration::ZERO, ..good() }),
            ("store.response_timeout", RedisOptions { response_timeout: 61 * SECOND, ..good() }),
            ("store.keepalive", RedisOptions { keepalive: Duration::ZERO, ..good() }),
            ("store.fence_retention", RedisOptions { fence_retention: Duration::ZERO, ..good() }),
        ] {
            assert_eq!(wrong.check().unwrap_err().field, field);
        }
    }
}
