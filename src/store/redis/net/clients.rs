//! Clients of one server, with the settings of a store.

use std::time::Duration;

use redis::{
    Client, ConnectionAddr, ConnectionInfo, IntoConnectionInfo, ProtocolVersion, RedisResult,
    io::tcp::socket2::TcpKeepalive,
};

#[cfg(feature = "tls")]
use crate::store::redis::net::tls;
use crate::{
    core::{InvalidValue, ensure},
    store::redis::net::{address::NodeAddress, options::RedisOptions, server::Server, url_parts},
};

/// Reads the URL of one server. Nothing is sent, and the error about a wrong one shows nothing that may be a password.
pub(crate) fn of_url(url: &str, options: &RedisOptions) -> Result<Server, InvalidValue> {
    const ALLOWED: &str = "redis://[user:password@]host[:port][/db], the same with rediss:// for TLS, \
                           redis+unix:///path[?db=…&user=…&pass=…], \
                           redis+sentinel://host[:port],…/service[/db], or redis+cluster://host[:port],…";
    let scheme = url.split_once("://").map(|(scheme, _)| scheme);
    let known = scheme.filter(|scheme| ["redis", "rediss", "redis+unix", "unix"].contains(scheme));
    let Some(scheme) = known else {
        return Err(InvalidValue::new("store.url", url_parts::of_scheme(url), ALLOWED));
    };
    let allowed = "redis://… unless built with the cargo feature `tls`";
    ensure(scheme != "rediss" || cfg!(feature = "tls"), "store.url", "rediss://…", allowed)?;
    let rest = &url[scheme.len() + "://".len()..];
    let wrong = |_| url_parts::invalid(scheme, rest, ALLOWED);
    let info = url.into_connection_info().map_err(wrong)?;
    let is_insecure = matches!(info.addr(), ConnectionAddr::TcpTls { insecure: true, .. });
    let allowed = "rediss://… without it; whoever vouches for the server is named by store.tls_ca";
    ensure(!is_insecure, "store.url", "rediss://…#insecure", allowed)?;
    if let Some(part) = url_parts::unused(scheme, rest, info.redis_settings()) {
        return Err(InvalidValue::new("store.url", format_args!("{scheme}://… {part}"), ALLOWED));
    }
    Server::new(open(tuned(info, options), options, scheme == "rediss")?.map_err(wrong)?, options)
}

/// Returns the server of a client of the application, with the settings of the store. Nothing is sent.
pub(crate) fn of_client(client: &Client, options: &RedisOptions) -> Result<Server, InvalidValue> {
    let info = client.get_connection_info().clone();
    let (is_tls, is_insecure) = match info.addr() {
        ConnectionAddr::TcpTls { insecure, .. } => (true, *insecure),
        _ => (false, false),
    };
    ensure(!is_insecure, "client", "insecure", "one that verifies the certificate of the server")?;
    refuse_files(options, "nothing: the client has its own certificates")?;
    // The answers to verbs are read in the older protocol, which every server speaks and every user may.
    let redis = info.redis_settings().clone().set_protocol(ProtocolVersion::RESP2);
    let info = tuned(info.set_redis_settings(redis), options);
    // The library's words about a client that it has opened before show nothing but what they are about.
    let wrong = |error| InvalidValue::new("client", error, "one that can be opened");
    Server::new(open(info, options, is_tls)?.map_err(wrong)?, options)
}

/// Returns the host and port of a client of the application.
pub(crate) fn node_of(client: &Client) -> Result<NodeAddress, InvalidValue> {
    match client.get_connection_info().addr() {
        ConnectionAddr::Tcp(host, port) | ConnectionAddr::TcpTls { host, port, .. } => {
            Ok(NodeAddress::new(host.clone(), *port))
        }
        _ => Err(InvalidValue::new("nodes", "a client of a socket", "clients of a host and a port")),
    }
}

/// Returns the addresses of clients, of which there has to be one.
pub(crate) fn urls_of(field: &str, clients: &[Client]) -> Result<String, InvalidValue> {
    ensure(!clients.is_empty(), field, "nothing", "one client or more")?;
    Ok(clients.iter().map(url_of).collect::<Vec<_>>().join(","))
}

/// Creates the client of a server. The inner error is about the URL. Files that cannot be meant are refused: any for a
/// connection without TLS, and a certificate or a key alone.
fn open(
    info: ConnectionInfo,
    options: &RedisOptions,
    is_tls: bool,
) -> Result<RedisResult<Client>, InvalidValue> {
    if !is_tls {
        refuse_files(options, "nothing, unless store.url is rediss://…")?;
    }
    let (certificate, key) = (options.tls_certificate.is_some(), options.tls_key.is_some());
    ensure(key || !certificate, "store.tls_key", "nothing", "the key of store.tls_certificate")?;
    ensure(certificate || !key, "store.tls_certificate", "nothing", "the certificate of store.tls_key")?;
    #[cfg(feature = "tls")]
    if is_tls {
        return tls::client(info, options);
    }
    Ok(Client::open(info))
}

/// Refuses every file: there may be none of them, for this reason.
fn refuse_files(options: &RedisOptions, allowed: &str) -> Result<(), InvalidValue> {
    let RedisOptions { tls_ca, tls_certificate, tls_key, .. } = options;
    let files =
        [("store.tls_ca", tls_ca), ("store.tls_certificate", tls_certificate), ("store.tls_key", tls_key)];
    match files.iter().find(|(_, file)| file.is_some()) {
        Some((field, _)) => Err(InvalidValue::new(*field, "given", allowed)),
        None => Ok(()),
    }
}

fn tuned(info: ConnectionInfo, options: &RedisOptions) -> ConnectionInfo {
    let keepalive = TcpKeepalive::new().with_time(options.keepalive);
    let tcp = info.tcp_settings().clone().set_nodelay(true).set_keepalive(keepalive);
    // A server that has vanished without a word would otherwise be noticed after a quarter of a minute or later. A
    // server that only stalls is not affected: its kernel still confirms what it receives.
    #[cfg(target_os = "linux")]
    let tcp =
        tcp.set_user_timeout(Duration::from_secs(1).max(options.connect_timeout + options.response_timeout));
    // The name of the client library is not worth a right that a restricted user may not have.
    let redis = info.redis_settings().clone().set_skip_set_lib_name();
    info.set_tcp_settings(tcp).set_redis_settings(redis)
}

/// Returns the address of a server as a URL, with the database and without user and password.
pub(crate) fn url_of(client: &Client) -> String {
    let info = client.get_connection_info();
    let node = |host: &String, port: &u16| NodeAddress::new(host.clone(), *port).to_string();
    let (scheme, server) = match info.addr() {
        ConnectionAddr::Tcp(host, port) => ("redis", node(host, port)),
        ConnectionAddr::TcpTls { host, port, .. } => ("rediss", node(host, port)),
        other => ("redis+unix", other.to_string()),
    };
    let database = match info.redis_settings().db() {
        0 => String::new(),
        database if scheme == "redis+unix" => format!("?db={database}"),
        database => format!("/{database}"),
    };
    format!("{scheme}://{server}{database}")
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
