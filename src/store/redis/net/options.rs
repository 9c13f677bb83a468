//! The settings of a Redis store, checked: where the server is, and how it is used.

use std::{path::PathBuf, time::Duration};

use redis::{
    Client, ConnectionAddr, ConnectionInfo, IntoConnectionInfo, ProtocolVersion,
    io::tcp::socket2::TcpKeepalive,
};

use crate::{
    core::{InvalidValue, in_range},
    store::redis::net::{tls, url_faults},
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
            connect_timeout: SECOND,
            response_timeout: Duration::from_millis(500),
            keepalive: 30 * SECOND,
            fence_retention: 3600 * SECOND,
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
        if !(shortest..=64).contains(&prefix.len()) || !prefix.bytes().all(plain) {
            return Err(InvalidValue::new("store.prefix", format_args!("{prefix:?}"), allowed));
        }
        if *replicas_ack > MOST_REPLICAS {
            let allowed = format!("0 to {MOST_REPLICAS}");
            return Err(InvalidValue::new("store.replicas_ack", replicas_ack, allowed));
        }
        let millisecond = Duration::from_millis(1);
        in_range("store.connect_timeout", *connect_timeout, millisecond, 60 * SECOND)?;
        in_range("store.response_timeout", *response_timeout, millisecond, 60 * SECOND)?;
        in_range("store.keepalive", *keepalive, SECOND, DAY)?;
        in_range("store.fence_retention", *fence_retention, SECOND, 365 * DAY)
    }
}

/// Reads the URL of one server. Nothing is sent.
///
/// The error about a wrong URL shows the scheme and what is wrong, and nothing that may be a password.
pub(crate) fn client(url: &str, options: &RedisOptions) -> Result<Client, InvalidValue> {
    const ALLOWED: &str = "redis://[user:password@]host[:port][/db], the same with rediss:// for TLS, \
                           redis+unix:///path[?db=…&user=…&pass=…], \
                           redis+sentinel://host[:port],…/service[/db], or redis+cluster://host[:port],…";
    let scheme = url.split_once("://").map(|(scheme, _)| scheme);
    let known = scheme.filter(|scheme| ["redis", "rediss", "redis+unix", "unix"].contains(scheme));
    let Some(scheme) = known else {
        return Err(InvalidValue::new("store.url", url_faults::of_scheme(url), ALLOWED));
    };
    if scheme == "rediss" && !cfg!(feature = "tls") {
        let allowed = "redis://… unless built with the cargo feature `tls`";
        return Err(InvalidValue::new("store.url", "rediss://…", allowed));
    }
    let rest = &url[scheme.len() + "://".len()..];
    let wrong = |_| url_faults::invalid(scheme, rest, ALLOWED);
    let info = url.into_connection_info().map_err(wrong)?;
    if matches!(info.addr(), ConnectionAddr::TcpTls { insecure: true, .. }) {
        let allowed = "rediss://… without it; whoever vouches for the server is named by store.tls_ca";
        return Err(InvalidValue::new("store.url", "rediss://…#insecure", allowed));
    }
    if let Some(part) = url_faults::unused(scheme, rest, info.redis_settings()) {
        return Err(InvalidValue::new("store.url", format_args!("{scheme}://… {part}"), ALLOWED));
    }
    tls::client(tuned(info, options), options, scheme == "rediss")?.map_err(wrong)
}

/// Returns a client of the same server as one of the application, with the settings of the store. Nothing is sent.
pub(crate) fn of_client(client: &Client, options: &RedisOptions) -> Result<Client, InvalidValue> {
    let info = client.get_connection_info().clone();
    let is_tls = match info.addr() {
        ConnectionAddr::TcpTls { insecure: true, .. } => {
            let allowed = "one that verifies the certificate of the server";
            return Err(InvalidValue::new("client", "insecure", allowed));
        }
        ConnectionAddr::TcpTls { .. } => true,
        _ => false,
    };
    tls::refuse_files(options, "nothing: the client has its own certificates")?;
    // The answers to verbs are read in the older protocol, which every server speaks and every user may.
    let redis = info.redis_settings().clone().set_protocol(ProtocolVersion::RESP2);
    let info = tuned(info.set_redis_settings(redis), options);
    // The library's words about a client that it has opened before show nothing but what they are about.
    tls::client(info, options, is_tls)?
        .map_err(|error| InvalidValue::new("client", error, "one that can be opened"))
}

fn tuned(info: ConnectionInfo, options: &RedisOptions) -> ConnectionInfo {
    let keepalive = TcpKeepalive::new().with_time(options.keepalive);
    let tcp = info.tcp_settings().clone().set_nodelay(true).set_keepalive(keepalive);
    // A server that has vanished without a word would otherwise be noticed after a quarter of a minute or later. A
    // server that only stalls is not affected: its kernel still confirms what it receives.
    #[cfg(target_os = "linux")]
    let tcp = tcp.set_user_timeout(SECOND.max(options.connect_timeout + options.response_timeout));
    // The name of the client library is not worth a right that a restricted user may not have.
    let redis = info.redis_settings().clone().set_skip_set_lib_name();
    info.set_tcp_settings(tcp).set_redis_settings(redis)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(url: &str) -> String {
        client(url, &RedisOptions::default()).map(|_| ()).unwrap_err().to_string()
    }

    #[test]
    fn a_wrong_url_does_not_show_the_password() {
        for url in [
            "redis://user:s3cret@host:port",
            "redis://:s3cret:6379",
            "rediss://:s3cret@host/notanumber",
            "unix://s3cret",
            "redis:s3cret@host",
            "s3cret",
            "http://user:s3cret@host",
            "redis+unix:///run/redis.sock?pass=s3cret&db=x",
            "rediss://:s3cret@host#insecure",
            "redis://host?password=s3cret",
            "redis://host#s3cret",
            "redis://user:12?s3cret@host",
            "redis://s3cret@host",
        ] {
            let text = refusal(url);
            assert!(text.starts_with("invalid store.url: ") && !text.contains("s3cret"), "{text}");
        }
    }

    #[test]
    fn urls_of_every_kind_are_read_without_a_server() {
        for url in
            ["redis://127.0.0.1:1", "redis://u:p@h/3", "unix:///run/r.sock", "redis+unix:///run/r.sock?db=2"]
        {
            assert!(client(url, &RedisOptions::default()).is_ok(), "{url}");
        }
        assert_eq!(client("rediss://h", &RedisOptions::default()).is_ok(), cfg!(feature = "tls"));
    }

    #[test]
    fn a_client_of_the_application_keeps_where_it_leads_and_who_it_is() {
        let theirs = Client::open("redis://u:p@h:1/3?protocol=resp3").unwrap();
        let ours = of_client(&theirs, &RedisOptions::default()).unwrap();
        let (info, redis) = (ours.get_connection_info(), ours.get_connection_info().redis_settings().clone());
        assert_eq!(info.addr().to_string(), "h:1");
        assert_eq!((redis.username(), redis.password(), redis.db()), (Some("u"), Some("p"), 3));
        assert_eq!(redis.protocol(), ProtocolVersion::RESP2);
        let tcp = info.tcp_settings();
        assert!(tcp.nodelay() && tcp.keepalive().is_some());
    }

    #[test]
    fn a_client_is_refused_with_files_of_the_store_and_without_verification() {
        let client = Client::open("redis://h").unwrap();
        let files = RedisOptions { tls_ca: Some("ca.crt".into()), ..RedisOptions::default() };
        let refused = of_client(&client, &files).map(drop).unwrap_err();
        assert!(refused.field == "store.tls_ca" && refused.allowed.contains("the client"), "{refused}");
        if cfg!(feature = "tls") {
            let insecure = Client::open("rediss://u:s3cret@h/#insecure").unwrap();
            let refused = of_client(&insecure, &RedisOptions::default()).map(drop).unwrap_err();
            assert_eq!((&*refused.field, &*refused.value), ("client", "insecure"));
        }
    }

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
