//! URLs that name several servers: `redis+sentinel://` and `redis+cluster://`, and the same with `rediss`.

use std::fmt;

use redis::Client;

use super::options::{self, RedisOptions};
use crate::{protocol::Invalid, store::StoreError};

const SENTINEL: &str = "redis+sentinel://[user:password@]host[:port],…/service[/db]\
                        [?sentinel_user=…&sentinel_password=…]";
const CLUSTER: &str = "redis+cluster://[user:password@]host[:port],…";

/// Where a server listens.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Node {
    host: String,
    port: u16,
}

impl Node {
    pub(super) const fn new(host: String, port: u16) -> Self {
        Self { host, port }
    }

    /// Reads `host:port`, where an address of version 6 may stand in brackets; without a host it is that of `near`.
    pub(super) fn of_redirect(text: &str, near: &Self) -> Option<Self> {
        let (host, port) = text.rsplit_once(':')?;
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let host = if host.is_empty() { &near.host } else { host };
        Some(Self::new(host.to_owned(), port.parse().ok()?))
    }

    pub(super) fn host(&self) -> &str {
        &self.host
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port } = self;
        if host.contains(':') { write!(f, "[{host}]:{port}") } else { write!(f, "{host}:{port}") }
    }
}

/// How the servers are spoken to, wherever they are. It knows the password, so it is not shown.
#[derive(Clone)]
pub(super) struct Nodes {
    scheme: &'static str,
    /// `user:password@`, or nothing.
    user: String,
    /// `/db`, or nothing.
    db: String,
    options: RedisOptions,
}

impl Nodes {
    fn client(&self, node: &Node) -> Result<Client, Invalid> {
        let Self { scheme, user, db, options } = self;
        options::client(&format!("{scheme}://{user}{node}{db}"), options)
    }

    /// A client of a server whose address a server has told.
    pub(super) fn client_at(&self, node: &Node) -> Result<Client, StoreError> {
        let unusable = |_| StoreError::Unavailable { reason: format!("{node} is no address"), source: None };
        self.client(node).map_err(unusable)
    }
}

/// What a URL names.
pub(super) enum Named {
    One(Box<Client>),
    Sentinel { sentinels: Vec<Client>, service: String, nodes: Nodes },
    Cluster { seeds: Vec<Node>, nodes: Nodes },
}

/// Reads a URL of any kind. Nothing is sent, and of a wrong one only the scheme is shown.
pub(super) fn named(url: &str, options: &RedisOptions) -> Result<Named, Invalid> {
    let (kind, rest) = url.split_once("://").unwrap_or_default();
    let (scheme, kind) = kind.split_once('+').unwrap_or_default();
    let (scheme, kind) = match (scheme, kind) {
        ("redis", kind) => ("redis", kind),
        ("rediss", kind) => ("rediss", kind),
        _ => return options::client(url, options).map(|client| Named::One(Box::new(client))),
    };
    match kind {
        "sentinel" => sentinel(scheme, rest, options)
            .ok_or_else(|| Invalid::new("store.url", format_args!("{scheme}+sentinel://…"), SENTINEL))?,
        "cluster" => cluster(scheme, rest, options)
            .ok_or_else(|| Invalid::new("store.url", format_args!("{scheme}+cluster://…"), CLUSTER))?,
        _ => options::client(url, options).map(|client| Named::One(Box::new(client))),
    }
}

fn cluster(scheme: &'static str, rest: &str, options: &RedisOptions) -> Option<Result<Named, Invalid>> {
    let (user, hosts) = split_user(rest);
    let seeds = nodes(hosts.strip_suffix('/').unwrap_or(hosts), 6379)?;
    let nodes = Nodes { scheme, user, db: String::new(), options: options.clone() };
    let readable = seeds.iter().try_for_each(|seed| nodes.client(seed).map(drop)).is_ok();
    readable.then_some(Ok(Named::Cluster { seeds, nodes }))
}

fn sentinel(scheme: &'static str, rest: &str, options: &RedisOptions) -> Option<Result<Named, Invalid>> {
    let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (user, place) = split_user(place);
    let (hosts, path) = place.split_once('/')?;
    let (service, db) = path.split_once('/').unwrap_or((path, ""));
    let plain = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
    if service.is_empty() || !service.chars().all(plain) {
        return None;
    }
    let db = if db.is_empty() { String::new() } else { format!("/{}", db.parse::<u32>().ok()?) };
    let of_sentinels =
        Nodes { scheme, user: sentinel_user(query)?, db: String::new(), options: options.clone() };
    let sentinels: Result<Vec<_>, _> =
        nodes(hosts, 26379)?.iter().map(|sentinel| of_sentinels.client(sentinel)).collect();
    let nodes = Nodes { scheme, user, db, options: options.clone() };
    Some(Ok(Named::Sentinel { sentinels: sentinels.ok()?, service: service.to_owned(), nodes }))
}

/// `user:password@` of the sentinels themselves, or nothing.
fn sentinel_user(query: &str) -> Option<String> {
    let (mut user, mut password) = ("", None);
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        match pair.split_once('=')? {
            ("sentinel_user", name) => user = name,
            ("sentinel_password", secret) => password = Some(secret),
            _ => return None,
        }
    }
    match password {
        Some(password) => Some(format!("{user}:{password}@")),
        None => user.is_empty().then(String::new),
    }
}

fn split_user(text: &str) -> (String, &str) {
    match text.rsplit_once('@') {
        Some((user, rest)) => (format!("{user}@"), rest),
        None => (String::new(), text),
    }
}

fn nodes(hosts: &str, usual_port: u16) -> Option<Vec<Node>> {
    hosts.split(',').map(|host| node(host, usual_port)).collect()
}

fn node(text: &str, usual_port: u16) -> Option<Node> {
    // The colons of an address of version 6 stand in brackets.
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

    fn hosts(url: &str) -> String {
        match named(url, &RedisOptions::default()) {
            Ok(Named::One(client)) => format!("one {}", client.get_connection_info().addr()),
            Ok(Named::Sentinel { sentinels, service, nodes }) => {
                let hosts: Vec<_> =
                    sentinels.iter().map(|it| it.get_connection_info().addr().to_string()).collect();
                format!("{} for {service}{}", hosts.join(" "), nodes.db)
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
            ("redis+sentinel://a,b:1/locks", "a:26379 b:1 for locks"),
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
            ("redis+cluster://:s3cret@a:1,", CLUSTER),
            ("redis+cluster://:s3cret@a:1/2", CLUSTER),
            ("redis+cluster://a?s3cret", CLUSTER),
            ("rediss+cluster://:s3cret", CLUSTER),
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
        assert!(Node::of_redirect("far", &near).is_none());
    }
}
