//! URLs that name several servers: `redis+sentinel://` and `redis+cluster://`, and the same with `rediss`.

use std::fmt;

use redis::{Client, ConnectionAddr, ConnectionInfo};

use crate::{
    core::InvalidValue,
    store::{
        StoreError,
        redis::net::{
            errors,
            options::{self, RedisOptions},
            url_faults,
        },
    },
};

const SENTINEL: &str = "redis+sentinel://[user:password@]host[:port],…/service[/db]\
                        [?sentinel_user=…&sentinel_password=…]";
const CLUSTER: &str = "redis+cluster://[user:password@]host[:port],…";

/// The address of a server.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Node {
    host: String,
    port: u16,
}

impl Node {
    pub(crate) const fn new(host: String, port: u16) -> Self {
        Self { host, port }
    }

    /// Reads `host:port`; an IPv6 address may stand in brackets. Without a host, the host is that of `near`. A question
    /// mark stands for a host that is not known, and returns `None`.
    pub(crate) fn of_redirect(text: &str, near: &Self) -> Option<Self> {
        let (host, port) = text.rsplit_once(':')?;
        let host = match host.trim_start_matches('[').trim_end_matches(']') {
            "?" => return None,
            "" => &near.host,
            host => host,
        };
        Some(Self::new(host.to_owned(), port.parse().ok()?))
    }

    pub(crate) fn host(&self) -> &str {
        &self.host
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port } = self;
        if host.contains(':') { write!(f, "[{host}]:{port}") } else { write!(f, "{host}:{port}") }
    }
}

/// The settings for connections to servers, wherever they are. They include the password, so they are not shown.
#[derive(Clone)]
pub(crate) struct Nodes(ConnectionInfo);

impl Nodes {
    /// Returns the settings for connections to servers like this one; `user` is `user:password@` or nothing, and
    /// `db` is `/db` or nothing. All that is needed of files is read here, once.
    fn like(
        node: &Node,
        (scheme, user, db): (&str, &str, &str),
        options: &RedisOptions,
    ) -> Result<Self, InvalidValue> {
        let client = options::client(&format!("{scheme}://{user}{node}{db}"), options)?;
        Ok(Self(client.get_connection_info().clone()))
    }

    /// Creates a client of one of them. Nothing is sent.
    pub(crate) fn client(&self, node: &Node) -> Result<Client, StoreError> {
        let Node { host, port } = node.clone();
        let addr = match self.0.addr().clone() {
            ConnectionAddr::TcpTls { insecure, tls_params, .. } => {
                ConnectionAddr::TcpTls { host, port, insecure, tls_params }
            }
            _ => ConnectionAddr::Tcp(host, port),
        };
        Client::open(self.0.clone().set_addr(addr)).map_err(errors::before_sending)
    }
}

/// The servers that a URL names.
pub(crate) enum Named {
    One(Box<Client>),
    Sentinel { sentinels: Vec<Client>, service: String, nodes: Nodes },
    Cluster { seeds: Vec<Node>, nodes: Nodes },
}

/// Reads a URL of any kind. Nothing is sent, and the error about a wrong one shows no password.
pub(crate) fn named(url: &str, options: &RedisOptions) -> Result<Named, InvalidValue> {
    let (kind, rest) = url.split_once("://").unwrap_or_default();
    let (scheme, kind) = kind.split_once('+').unwrap_or_default();
    let known = matches!(scheme, "redis" | "rediss");
    match kind {
        "sentinel" if known => sentinel(scheme, rest, options),
        "cluster" if known => cluster(scheme, rest, options),
        _ => options::client(url, options).map(|client| Named::One(Box::new(client))),
    }
}

fn cluster(scheme: &str, rest: &str, options: &RedisOptions) -> Result<Named, InvalidValue> {
    let wrong = || url_faults::invalid(&format!("{scheme}+cluster"), rest, CLUSTER);
    let (user, hosts) = split_user(rest).ok_or_else(wrong)?;
    let seeds = nodes(hosts.strip_suffix('/').unwrap_or(hosts), 6379).ok_or_else(wrong)?;
    let nodes = Nodes::like(&seeds[0], (scheme, &user, ""), options)?;
    Ok(Named::Cluster { seeds, nodes })
}

fn sentinel(scheme: &str, rest: &str, options: &RedisOptions) -> Result<Named, InvalidValue> {
    let wrong = || url_faults::invalid(&format!("{scheme}+sentinel"), rest, SENTINEL);
    let Service { hosts, of_sentinels, user, name, db } = Service::read(rest).ok_or_else(wrong)?;
    let nodes = Nodes::like(&hosts[0], (scheme, &user, &db), options)?;
    let of_sentinels = Nodes::like(&hosts[0], (scheme, &of_sentinels, ""), options)?;
    let sentinels: Result<_, _> = hosts.iter().map(|sentinel| of_sentinels.client(sentinel)).collect();
    Ok(Named::Sentinel { sentinels: sentinels.map_err(|_| wrong())?, service: name, nodes })
}

/// The part of a URL behind `redis+sentinel://`.
struct Service {
    hosts: Vec<Node>,
    /// `user:password@` of the sentinels, or nothing.
    of_sentinels: String,
    user: String,
    name: String,
    db: String,
}

impl Service {
    fn read(text: &str) -> Option<Self> {
        let (place, query) = text.split_once('?').unwrap_or((text, ""));
        let (user, place) = split_user(place)?;
        let (hosts, path) = place.split_once('/')?;
        let (name, db) = path.split_once('/').unwrap_or((path, ""));
        let plain = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
        if name.is_empty() || !name.chars().all(plain) {
            return None;
        }
        let db = if db.is_empty() { String::new() } else { format!("/{}", db.parse::<u32>().ok()?) };
        let (hosts, of_sentinels) = (nodes(hosts, 26379)?, sentinel_user(query)?);
        Some(Self { hosts, of_sentinels, user, name: name.to_owned(), db })
    }
}

/// Returns `user:password@` of the sentinels themselves, or nothing.
fn sentinel_user(query: &str) -> Option<String> {
    let (mut user, mut password) = (None, None);
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let before = match pair.split_once('=')? {
            ("sentinel_user", name) => user.replace(name),
            ("sentinel_password", secret) => password.replace(secret),
            _ => return None,
        };
        if before.is_some() {
            return None;
        }
    }
    let user = user.unwrap_or_default();
    match password {
        Some(password) => Some(format!("{user}:{password}@")).filter(|user| is_encoded(user)),
        None => user.is_empty().then(String::new),
    }
}

/// Splits a text into `user:password@`, or nothing, and the rest.
fn split_user(text: &str) -> Option<(String, &str)> {
    match text.rsplit_once('@') {
        Some((user, rest)) => Some((format!("{user}@"), rest)).filter(|(user, _)| is_encoded(user)),
        None => Some((String::new(), text)),
    }
}

/// Returns true if a URL with this user cannot be read in another way: characters that end a user or a host are written
/// as `%40` and the like.
fn is_encoded(user: &str) -> bool {
    user.find(['/', '?', '#', '@']) == user.len().checked_sub(1)
}

fn nodes(hosts: &str, usual_port: u16) -> Option<Vec<Node>> {
    hosts.split(',').map(|host| node(host, usual_port)).collect()
}

fn node(text: &str, usual_port: u16) -> Option<Node> {
    // The colons of an IPv6 address stand in brackets.
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port.parse().ok()?),
        _ => (text, usual_port),
    };
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let known = |c: char| c.is_ascii_alphanumeric() || ".-_:".contains(c);
    (!host.is_empty() && host.chars().all(known)).then(|| Node::new(host.to_owned(), port))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::redis::net::dial::address;

    fn hosts(url: &str) -> String {
        match named(url, &RedisOptions::default()) {
            Ok(Named::One(client)) => format!("one {}", client.get_connection_info().addr()),
            Ok(Named::Sentinel { sentinels, service, nodes }) => {
                let hosts: Vec<_> = sentinels.iter().map(address).collect();
                let db = nodes.0.redis_settings().db();
                format!("{} for {service}/{db}", hosts.join(" "))
            }
            Ok(Named::Cluster { seeds, .. }) => {
                seeds.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
            }
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn a_url_names_several_servers() {
        for (url, expected) in [
            ("redis://h", "one h:6379"),
            ("redis+sentinel://a,b:1/locks", "a:26379 b:1 for locks/0"),
            ("redis+sentinel://u:p@a/my-locks/3?sentinel_password=x", "a:26379 for my-locks/3"),
            ("redis+cluster://u:p@a,[::1]:7000", "a:6379 [::1]:7000"),
            ("redis+cluster://a:7000/", "a:7000"),
        ] {
            assert_eq!(hosts(url), expected, "{url}");
        }
    }

    #[test]
    fn a_wrong_url_is_told_how_it_should_be_and_shows_no_password() {
        for (url, kind) in [
            ("redis+sentinel://:s3cret@a:1", SENTINEL),
            ("redis+sentinel://:s3cret@a:1/", SENTINEL),
            ("redis+sentinel://:s3cret@a:x/locks", SENTINEL),
            ("redis+sentinel://:s3cret@a/locks/one", SENTINEL),
            ("redis+sentinel://a/locks?password=s3cret", SENTINEL),
            ("redis+sentinel://a/locks?sentinel_user=s3cret", SENTINEL),
            ("redis+sentinel://a/locks?sentinel_password=s3cret&sentinel_password=x", SENTINEL),
            ("redis+sentinel://a/locks?db=s3cret", SENTINEL),
            ("redis+sentinel://a/locks#s3cret", SENTINEL),
            ("redis+cluster://a:1#s3cret", CLUSTER),
            ("redis+cluster://:s3cret@a:1,", CLUSTER),
            ("redis+cluster://:s3cret@a:1/2", CLUSTER),
            ("redis+cluster://a?s3cret", CLUSTER),
            ("rediss+cluster://:s3cret", CLUSTER),
            ("redis+cluster://:s3cret@a,:s3cret@b", CLUSTER),
            ("redis+cluster://u:12?s3cret@a", CLUSTER),
            ("redis+sentinel://u:12#s3cret@a/locks", SENTINEL),
            ("redis+sentinel://a/locks?sentinel_password=12/s3cret", SENTINEL),
        ] {
            let text = hosts(url);
            assert!(text.starts_with("invalid store.url") && text.contains(kind), "{text}");
            assert!(!text.contains("s3cret"), "{text}");
        }
    }

    #[test]
    fn a_redirection_without_a_host_is_to_another_port_of_the_same() {
        let near = Node::new("near".to_owned(), 1);
        for (text, expected) in
            [(":7", "near:7"), ("far:7", "far:7"), ("::1:7", "[::1]:7"), ("[::1]:7", "[::1]:7")]
        {
            assert_eq!(Node::of_redirect(text, &near).unwrap().to_string(), expected);
        }
        for unknown in ["far", "?:7"] {
            assert!(Node::of_redirect(unknown, &near).is_none());
        }
    }

    #[cfg(feature = "tls")]
    #[test]
    fn a_wrong_file_is_told_by_its_name_however_many_servers_there_are() {
        let options = RedisOptions { tls_ca: Some("missing.crt".into()), ..RedisOptions::default() };
        for url in ["rediss://a", "rediss+sentinel://a,b/locks", "rediss+cluster://a,b"] {
            let Err(error) = named(url, &options) else { panic!("{url}") };
            assert!(error.field == "store.tls_ca" && error.to_string().contains("missing.crt"), "{error}");
        }
    }

    #[test]
    fn every_node_is_spoken_to_as_the_url_says() {
        let Ok(Named::Cluster { nodes, .. }) = named("redis+cluster://u:p@a,b", &RedisOptions::default())
        else {
            panic!("no cluster")
        };
        let client = nodes.client(&Node::new("::1".to_owned(), 7)).unwrap();
        let info = client.get_connection_info();
        assert_eq!(*info.addr(), ConnectionAddr::Tcp("::1".to_owned(), 7));
        assert_eq!(
            (info.redis_settings().username(), info.redis_settings().password()),
            (Some("u"), Some("p"))
        );
    }
}
