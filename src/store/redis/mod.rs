//! Locks on Redis or Valkey, 6.2 or newer: every verb is one Lua script.
//!
//! The top of `wire/lua/holders.lua` describes how a resource is kept, and that of `wire/lua/queue.lua` its queue.

mod calls;
mod confirmed;
mod credentials;
mod listing;
pub(crate) mod net;
pub(crate) mod probe;
mod replicas;
mod store;
mod thin;
mod vouched;
mod wire;

use std::{fmt, sync::Arc, time::Duration};

pub use self::{
    credentials::{Credentials, CredentialsProvider},
    net::options::{Layout, RedisOptions},
};
use self::{
    net::{
        address::Nodes,
        clients,
        status::KnownIncarnation,
        topology::Topology,
        urls::{self, NamedServers},
        watch::Watch,
    },
    replicas::Replicas,
    vouched::Thin,
    wire::{encoder::Encoder, scripts},
};
use crate::core::{InvalidValue, ensure};
#[cfg(any(doc, test))]
use crate::store::Store;
#[cfg(doc)]
use crate::store::StoreError;

/// Locks on one Redis or Valkey server, on the master that sentinels name, or on a cluster.
///
/// Creating a store needs neither a server nor a runtime: the first verb opens the connection, and every verb opens it
/// again if it broke. A verb takes at most the time to connect and the time for an answer, and twice that if its
/// connection turned out to be gone. An acquisition by [plain commands](#rights) may take the calls of a script besides.
///
/// # Requirements for the server
/// The server must keep what it acknowledged: a server that restarts without persistence, evicts keys, or fails over to
/// a replica that lags forgets locks. Its clock must not jump. A proxy must end its clients' connections when it goes on with
/// another server.
///
/// # Sentinel
/// The store connects to the server that the sentinel with the latest failover names, and only if that server says
/// itself that it is a master. It asks the sentinels again once a second, and whenever the connection breaks or a
/// replica answers. Until there is a new master, verbs are [`StoreError::Unavailable`]; the outcome of those that were
/// in flight is unknown.
///
/// # A cluster
/// All keys of a resource are in one slot, and so is the counter of its fences. A request that is refused because of a
/// failover or a move of its slot is sent again until its verb has taken the time to connect and the time for an
/// answer. While a slot moves, nothing in it is granted or released; renewals go on for exclusive holds. Resources in
/// different slots are not acquired at one moment ([`Store::acquire_all`]).
///
/// # A full server
/// At `maxmemory` an acquisition is [`StoreError::OutOfMemory`], unless it holds or waits already, or goes out in one call
/// with one that does. Renewing, releasing and handing over still work.
///
/// # Rights
/// A user of the server needs the keys `<prefix>:*`, all of them, the channels `<prefix>:inbox:*`, and the commands
/// `EVALSHA`, `SCRIPT LOAD`, `GET`, `GETRANGE`, `MGET`, `SET`, `SETRANGE`, `DEL`, `UNLINK`, `EXISTS`, `TIME`, `PTTL`,
/// `PEXPIRE`, `PEXPIREAT`, `HSET`, `HGET`, `HDEL`, `HLEN`, `HINCRBY`, `ZADD`, `ZREM`, `ZCARD`, `ZCOUNT`, `ZSCORE`,
/// `ZRANK`, `ZRANGE`, `ZREVRANGE`, `ZRANGEBYSCORE`, `PUBLISH`, `SUBSCRIBE` and
/// `PING`. Free locks are taken without scripts if the user also has `INCRBY`. Listing resources also needs
/// `SCAN`, confirmation by replicas `WAIT`, Sentinel `ROLE`, a cluster `CLUSTER SLOTS` and `ASKING`, a quorum `INFO`,
/// and [watching leases](RedisOptions::watch_leases) `CLIENT TRACKING`.
///
/// If some of these rights are missing, a verb may stop half-way, answer [`StoreError::Denied`], and have done a part
/// all the same. One name that is out of bounds denies everything that goes out in one call with it.
///
/// # Replicas
/// With [`replicas_ack`](RedisOptions::replicas_ack) a grant or a renewal counts only when that many replicas have
/// confirmed it. Otherwise it is [`StoreError::Unacknowledged`]. A grant has then been released (if that is certain,
/// the error says `undone`). A renewal has moved the end on the master, and must not be relied on. Confirmation costs a
/// round trip to the replicas, and connections of its own.
///
/// # Notifications
/// [`listen`](Store::listen) uses a connection of its own, and needs the right to subscribe to the channels
/// `<prefix>:inbox:*`. A client that releases needs the right to publish there; without it the hand-over happens all
/// the same, but nobody is notified, and [notices to holders](Store::notify_holders) are [`StoreError::Denied`].
pub struct RedisStore {
    topology: Topology,
    /// The sender of calls that replicas must confirm, if that is asked for.
    counting: Replicas,
    /// The same for renewals alone, which stand behind nothing else.
    renewals: Replicas,
    /// The watch over the leases that are renewed.
    watch: Option<Arc<Watch>>,
    encoder: Encoder,
    thin: Thin,
    known: KnownIncarnation,
    response_timeout: Duration,
    /// The URL without user and password.
    address: String,
}

impl RedisStore {
    /// Creates a store on the server at this URL, with the default [`RedisOptions`].
    ///
    /// The URL is `redis://[user:password@]host[:port][/db]`, the same with `rediss://` for TLS (cargo feature
    /// `tls`), or `redis+unix:///path`.
    ///
    /// Two kinds of URL name several servers. In
    /// `redis+sentinel://[user:password@]host[:port],…/service[/db][?sentinel_user=…&sentinel_password=…]` the hosts are
    /// the sentinels. In `redis+cluster://[user:password@]host[:port],…` they are some of the nodes. `rediss+…` is the same
    /// over TLS. In these URLs `/`, `?`, `#` and `@` within a user or a password are written `%2F`, `%3F`, `%23` and `%40`.
    ///
    /// # Errors
    /// [`InvalidValue`] if the URL is none of these. The error shows no password.
    pub fn open(url: &str) -> Result<Self, InvalidValue> {
        Self::with_options(url, RedisOptions::default())
    }

    /// Creates a store on the server at this URL, with these options.
    ///
    /// # Errors
    /// [`InvalidValue`] if the URL or an option is wrong. The error names it as in `config.toml`: `store.url`,
    /// `store.prefix`, …
    pub fn with_options(url: &str, options: RedisOptions) -> Result<Self, InvalidValue> {
        options.check()?;
        let named = urls::named(url, &options)?;
        Self::on(named, without_user(url), options)
    }

    /// Creates a store on the server of this client, with these options: for an application that has a client already, with
    /// the address, the TLS and the credentials that it came by in its own way. A client is made of a
    /// `redis::ConnectionInfo` by `redis::Client::open`. It has to be one of the crate `redis` 1.x.
    ///
    /// The store takes from it where the server is, the certificates, the user, the password and the database, and opens
    /// connections of its own: locks never share one with other commands. All of that is copied now: a password that changes
    /// later is one of [`RedisOptions::credentials`]. Timeouts, protocol and library name are those of the store, whatever the
    /// client has. Nothing is sent before the first verb.
    ///
    /// # Errors
    /// [`InvalidValue`] if an option is wrong, if it names a file for TLS, which the client has to have already, or if the
    /// client does not verify the certificate of the server. No error shows a password.
    ///
    /// ```
    /// use leasehold::{RedisOptions, RedisStore};
    ///
    /// let client = redis::Client::open("redis://127.0.0.1/2")?; // the application's
    /// let store = RedisStore::with_client(&client, RedisOptions::default())?;
    /// # let _ = store;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_client(client: &redis::Client, options: RedisOptions) -> Result<Self, InvalidValue> {
        options.check()?;
        let server = clients::of_client(client, &options)?;
        let address = clients::url_of(&server);
        Self::on(NamedServers::One(Box::new(server)), address, options)
    }

    /// Creates a store on the master of a service, by clients of all its sentinels. The client of any `server` of the service has the
    /// certificates, the user, the password and the database for every master. All else is as for
    /// [`with_client`](Self::with_client).
    ///
    /// # Errors
    /// [`InvalidValue`] as for [`with_client`](Self::with_client), or if there is no sentinel.
    pub fn with_sentinel_clients(
        sentinels: &[redis::Client],
        service: &str,
        server: &redis::Client,
        options: RedisOptions,
    ) -> Result<Self, InvalidValue> {
        options.check()?;
        let of_sentinels = options.for_sentinels();
        let address = format!("{service} by {}", clients::urls_of("sentinels", sentinels)?);
        let sentinels = sentinels.iter().map(|client| clients::of_client(client, &of_sentinels));
        let sentinels = sentinels.collect::<Result<_, _>>()?;
        let nodes = Nodes(clients::of_client(server, &options)?);
        let named = NamedServers::Sentinel { sentinels, service: service.to_owned(), nodes };
        Self::on(named, address, options)
    }

    /// Creates a store on a cluster, by clients of some of its nodes. The first has the certificates, the user and the password for
    /// every node. All else is as for [`with_client`](Self::with_client).
    ///
    /// # Errors
    /// [`InvalidValue`] as for [`with_client`](Self::with_client), if there is no node, or if a client leads to a socket.
    ///
    /// ```
    /// use leasehold::{RedisOptions, RedisStore};
    ///
    /// let nodes = [redis::Client::open("redis://locker:secret@a")?, redis::Client::open("redis://b")?];
    /// let store = RedisStore::with_cluster_clients(&nodes, RedisOptions::default())?;
    /// # let _ = store;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_cluster_clients(
        nodes: &[redis::Client],
        options: RedisOptions,
    ) -> Result<Self, InvalidValue> {
        options.check()?;
        let address = format!("cluster of {}", clients::urls_of("nodes", nodes)?);
        let seeds = nodes.iter().map(clients::node_of).collect::<Result<_, _>>()?;
        let nodes = Nodes(clients::of_client(&nodes[0], &options)?);
        Self::on(NamedServers::Cluster { seeds, nodes }, address, options)
    }

    /// Creates a store on these servers; `address` says where they are, without user and password.
    fn on(named: NamedServers, address: String, options: RedisOptions) -> Result<Self, InvalidValue> {
        let is_cluster = matches!(named, NamedServers::Cluster { .. });
        let may_watch = !options.watch_leases || !is_cluster && options.replicas_ack == 0;
        let allowed = "false on a cluster, and with store.replicas_ack";
        ensure(may_watch, "store.watch_leases", true, allowed)?;
        let topology = Topology::new(named, scripts::loading(), &options);
        let counting = Replicas::new(topology.clone(), &options);
        let watch = options.watch_leases.then(Arc::<Watch>::default);
        let renewals = Replicas::new(topology.clone_connections(watch.clone()), &options);
        let thin = Thin::new(topology.is_cluster(), &options);
        let RedisOptions { prefix, layout, fence_retention, response_timeout, .. } = options;
        let encoder = Encoder::new(layout, prefix, fence_retention, topology.is_cluster());
        let known = KnownIncarnation::default();
        Ok(Self { topology, counting, renewals, watch, encoder, thin, known, response_timeout, address })
    }
}

impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { address, encoder, .. } = self;
        f.debug_struct("RedisStore")
            .field("servers", address)
            .field("prefix", &encoder.prefix)
            .finish_non_exhaustive()
    }
}

/// Returns a valid URL without user, password and options.
fn without_user(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("redis", url));
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    format!("{scheme}://{}", rest.rsplit('@').next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_is_made_without_a_runtime_and_shows_where_it_is_and_no_password() {
        let of_url = |url| RedisStore::open(url).unwrap();
        let of_client = |url| {
            let client = redis::Client::open(url).unwrap();
            RedisStore::with_client(&client, RedisOptions::default()).unwrap()
        };
        let sentinel =
            "redis+sentinel://user:s3cret@a:1,b/orders?sentinel_user=user&sentinel_password=s3cret";
        for (store, expected) in [
            (of_url("redis://user:s3cret@127.0.0.1:1/2"), "redis://127.0.0.1:1/2"),
            (of_url(sentinel), "redis+sentinel://a:1,b/orders"),
            (of_client("redis://user:s3cret@host:1/2"), "redis://host:1/2"),
            (of_client("redis://:s3cret@host:1"), "redis://host:1"),
            (of_client("redis+unix:///run/r.sock?pass=s3cret&db=2"), "redis+unix:///run/r.sock?db=2"),
            (of_client("redis://[::1]:6379/2"), "redis://[::1]:6379/2"),
        ] {
            assert_eq!(store.describe(), format!("{expected}, prefix leasehold"));
            let shown = format!("{store:?}");
            assert!(shown.contains(expected), "{shown}");
            assert!(!shown.contains("s3cret") && !shown.contains("user"), "{shown}");
        }
    }
}
