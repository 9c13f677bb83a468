//! The addresses of servers of one kind, and the clients of them.

use std::fmt;

use redis::{Client, ConnectionAddr};

use super::{errors, server::Server};
use crate::store::StoreError;

/// The host and the port of a server.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeAddress {
    /// The name of the host, or its address.
    pub host: String,
    port: u16,
}

impl NodeAddress {
    /// Returns the address of this port of this host.
    pub const fn new(host: String, port: u16) -> Self {
        Self { host, port }
    }

    /// Reads `host:port`; an IPv6 address may stand in brackets. Without a host, the host is that of `near`. A question
    /// mark stands for a host that is not known, and returns `None`.
    pub fn of_redirect(text: &str, near: &Self) -> Option<Self> {
        let (host, port) = text.rsplit_once(':')?;
        let host = match host.trim_start_matches('[').trim_end_matches(']') {
            "?" => return None,
            "" => &near.host,
            host => host,
        };
        Some(Self::new(host.to_owned(), port.parse().ok()?))
    }
}

impl fmt::Display for NodeAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port } = self;
        if host.contains(':') { write!(f, "[{host}]:{port}") } else { write!(f, "{host}:{port}") }
    }
}

/// The settings for connections to servers, those of one of them. They include the password, so they are not shown.
#[derive(Clone)]
pub struct Nodes(pub(crate) Server);

impl Nodes {
    /// Returns one of them. Nothing is sent.
    pub fn server(&self, node: &NodeAddress) -> Result<Server, StoreError> {
        let NodeAddress { host, port } = node.clone();
        let info = self.0.get_connection_info().clone();
        let addr = match info.addr().clone() {
            ConnectionAddr::TcpTls { insecure, tls_params, .. } => {
                ConnectionAddr::TcpTls { host, port, insecure, tls_params }
            }
            _ => ConnectionAddr::Tcp(host, port),
        };
        let client = Client::open(info.set_addr(addr)).map_err(errors::before_sending)?;
        Ok(self.0.with(client))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redirection_without_a_host_is_to_another_port_of_the_same() {
        let near = NodeAddress::new("near".to_owned(), 1);
        for (text, expected) in
            [(":7", "near:7"), ("far:7", "far:7"), ("::1:7", "[::1]:7"), ("[::1]:7", "[::1]:7")]
        {
            assert_eq!(NodeAddress::of_redirect(text, &near).unwrap().to_string(), expected);
        }
        for unknown in ["far", "?:7"] {
            assert!(NodeAddress::of_redirect(unknown, &near).is_none());
        }
    }
}
