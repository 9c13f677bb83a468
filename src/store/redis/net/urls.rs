//! URLs that name several servers: `redis+sentinel://` and `redis+cluster://`, and the same with `rediss`.

use super::{
    address::{NodeAddress, Nodes},
    clients,
    options::RedisOptions,
    server::Server,
    url_parts::{self, ENDS, UrlParts},
};
use crate::core::InvalidValue;

const SENTINEL: &str = "redis+sentinel://[user:password@]host[:port],…/service[/db]\
                        [?sentinel_user=…&sentinel_password=…]";
const CLUSTER: &str = "redis+cluster://[user:password@]host[:port],…";

/// The servers that a URL names.
#[expect(missing_docs, reason = "the names say what they are, and only the doctor sees them")]
pub enum NamedServers {
    One(Box<Server>),
    Sentinel { sentinels: Vec<Server>, service: String, nodes: Nodes },
    Cluster { seeds: Vec<NodeAddress>, nodes: Nodes },
}

/// Reads a URL of any kind. Nothing is sent, and the error about a wrong one shows no password.
pub fn named(url: &str, options: &RedisOptions) -> Result<NamedServers, InvalidValue> {
    let (kind, rest) = url.split_once("://").unwrap_or_default();
    let (scheme, kind) = kind.split_once('+').unwrap_or_default();
    let known = matches!(scheme, "redis" | "rediss");
    match kind {
        "sentinel" if known => sentinel(scheme, rest, options),
        "cluster" if known => cluster(scheme, rest, options),
        _ => clients::of_url(url, options).map(|server| NamedServers::One(Box::new(server))),
    }
}

fn cluster(scheme: &str, rest: &str, options: &RedisOptions) -> Result<NamedServers, InvalidValue> {
    let kind = format!("{scheme}+cluster");
    let parts = UrlParts::read(&kind, rest).ok().filter(|parts| parts.query.is_empty());
    let parts = parts.ok_or_else(|| url_parts::invalid(&kind, rest, CLUSTER))?;
    let nodes = like(scheme, (parts.user, &parts.hosts[0], ""), options)?;
    Ok(NamedServers::Cluster { seeds: parts.hosts, nodes })
}

fn sentinel(scheme: &str, rest: &str, options: &RedisOptions) -> Result<NamedServers, InvalidValue> {
    let kind = format!("{scheme}+sentinel");
    let wrong = || url_parts::invalid(&kind, rest, SENTINEL);
    let UrlParts { user, hosts, service, database, query } =
        UrlParts::read(&kind, rest).map_err(|_| wrong())?;
    let of_sentinels = sentinel_user(query).ok_or_else(wrong)?;
    let nodes = like(scheme, (user, &hosts[0], database), options)?;
    let of_sentinels = like(scheme, (&of_sentinels, &hosts[0], ""), &options.for_sentinels())?;
    let sentinels = hosts.iter().map(|sentinel| of_sentinels.server(sentinel));
    let sentinels = sentinels.collect::<Result<_, _>>().map_err(|_| wrong())?;
    Ok(NamedServers::Sentinel { sentinels, service: service.to_owned(), nodes })
}

/// Returns the settings for connections to servers like this one; `user` is `user:password@` or nothing. All that is
/// needed of files is read here, once.
fn like(
    scheme: &str,
    (user, node, database): (&str, &NodeAddress, &str),
    options: &RedisOptions,
) -> Result<Nodes, InvalidValue> {
    clients::of_url(&format!("{scheme}://{user}{node}/{database}"), options).map(Nodes)
}

/// Returns `user:password@` of the sentinels themselves, or nothing; `None` if the query cannot be read.
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
        Some(password) => Some(format!("{user}:{password}@")).filter(|_| !query.contains(ENDS)),
        None => user.is_empty().then(String::new),
    }
}

#[cfg(test)]
mod tests {
    use redis::ConnectionAddr;

    use super::*;
    use crate::store::redis::net::opening::address;

    fn hosts(url: &str) -> String {
        match named(url, &RedisOptions::default()) {
            Ok(NamedServers::One(client)) => format!("one {}", client.get_connection_info().addr()),
            Ok(NamedServers::Sentinel { sentinels, service, nodes }) => {
                let hosts: Vec<_> = sentinels.iter().map(|it| address(it)).collect();
                let db = nodes.0.get_connection_info().redis_settings().db();
                format!("{} for {service}/{db}", hosts.join(" "))
            }
            Ok(NamedServers::Cluster { seeds, .. }) => {
                seeds.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
            }
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn a_url_names_one_server_or_several() {
        for (url, expected) in [
            ("redis://h", "one h:6379"),
            ("redis://u:p@h:1/3", "one h:1"),
            ("unix:///run/r.sock", "one /run/r.sock"),
            ("redis+unix:///run/r.sock?db=2", "one /run/r.sock"),
            ("redis+sentinel://a,b:1/locks", "a:26379 b:1 for locks/0"),
            ("redis+sentinel://u:p@a/my-locks/3?sentinel_password=x", "a:26379 for my-locks/3"),
            ("redis+cluster://u:p@a,[::1]:7000", "a:6379 [::1]:7000"),
            ("redis+cluster://a:7000/", "a:7000"),
        ] {
            assert_eq!(hosts(url), expected, "{url}");
        }
        assert_eq!(hosts("rediss://h") == "one h:6379", cfg!(feature = "tls"));
    }

    #[test]
    fn what_is_wrong_with_a_url_is_told_with_how_it_should_be_and_without_a_password() {
        const HOST: &str = "with a host that cannot be read";
        const PORT: &str = "with a port that is no number from 1 to 65535";
        const QUERY: &str = "with a query that cannot be read";
        const SERVICE: &str = "without a service behind the hosts";
        const USER: &str = "with one of / ? # @ in its user or password: there";
        for (url, fault) in [
            ("s3cret", "without a scheme"),
            ("redis:s3cret@host", "without a scheme"),
            ("http://user:s3cret@host", "unknown scheme http://"),
            ("redis://", "without a host"),
            ("redis://user:s3cret@", "without a host"),
            ("redis://:s3cret:6379", HOST),
            ("redis://user:s3cret@host:port", PORT),
            ("redis://host:123456", PORT),
            ("redis://:s3cret@host:99999", "with port 99999, which is more than 65535"),
            ("redis://:s3cret@host/abc", "with database \"abc\", which is no number"),
            ("rediss://:s3cret@host/notanumber", "rediss://…"),
            ("rediss://:s3cret@host#insecure", "rediss://…"),
            ("redis://:s3/cret@host", USER),
            ("redis://:s3?cret@host", USER),
            ("redis://user:12?s3cret@host", "with ? and more"),
            ("redis://host?password=s3cret", "with ? and more"),
            ("redis://host#s3cret", "with # and more"),
            ("redis://s3cret@host", "with a user and no password"),
            ("redis+unix://", "without a path"),
            ("unix://s3cret", "unix://…"),
            ("redis+unix:///run/redis.sock?pass=s3cret&db=x", QUERY),
            ("redis+sentinel://:s3cret@a:1", SERVICE),
            ("redis+sentinel://:s3cret@a:1/", SERVICE),
            ("redis+sentinel://:s3cret@a:x/locks", PORT),
            ("redis+sentinel://:s3cret@a/locks/one", "with database \"one\", which is no number"),
            ("redis+sentinel://a/lo cks", "with a service of other letters than A-Z a-z 0-9 . - _"),
            ("redis+sentinel://a/locks#s3cret", "with a service of other letters"),
            ("redis+sentinel://u:12#s3cret@a/locks", USER),
            ("redis+sentinel://a/locks?password=s3cret", QUERY),
            ("redis+sentinel://a/locks?sentinel_user=s3cret", QUERY),
            ("redis+sentinel://a/locks?sentinel_password=s3cret&sentinel_password=x", QUERY),
            ("redis+sentinel://a/locks?sentinel_password=12/s3cret", QUERY),
            ("redis+sentinel://a/locks?db=s3cret", QUERY),
            ("redis+cluster://a:1,", "without a host"),
            ("redis+cluster://:s3cret@a:1,", "without a host"),
            ("redis+cluster://:s3cret@a:1/2", "with a path: a cluster has no databases"),
            ("redis+cluster://a:1#s3cret", PORT),
            ("redis+cluster://:s3cret:6379", HOST),
            ("rediss+cluster://:s3cret", "without a host"),
            ("redis+cluster://:s3cret@a,:s3cret@b", USER),
            ("redis+cluster://u:12?s3cret@a", USER),
            ("redis+cluster://a?s3cret", QUERY),
        ] {
            let text = hosts(url);
            assert!(text.starts_with("invalid store.url: ") && text.contains(fault), "{text}");
            assert!(!text.contains("s3cret"), "{text}");
            assert_eq!(text.contains(SENTINEL), url.contains("+sentinel:"), "{text}");
            assert_eq!(text.contains(CLUSTER), url.contains("+cluster:"), "{text}");
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
        let named = named("redis+cluster://u:p@a,b", &RedisOptions::default());
        let Ok(NamedServers::Cluster { nodes, .. }) = named else { panic!("no cluster") };
        let client = nodes.server(&NodeAddress::new("::1".to_owned(), 7)).unwrap();
        let (info, redis) = (client.get_connection_info(), client.get_connection_info().redis_settings());
        assert_eq!(*info.addr(), ConnectionAddr::Tcp("::1".to_owned(), 7));
        assert_eq!((redis.username(), redis.password()), (Some("u"), Some("p")));
    }
}
