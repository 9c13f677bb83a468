//! A redis-server that also speaks TLS, with certificates made for it.

use std::{
    fs,
    path::{Path, PathBuf},
};

use leasehold::RedisOptions;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use tempfile::TempDir;

use crate::patient::patient;
use leasehold_testing::servers::{Port, RedisServer};

/// An authority of its own, and what it vouches for, as files.
pub struct Certificates {
    directory: TempDir,
}

impl Certificates {
    /// An authority that vouches for a server on this host, and for a client.
    pub fn new() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let mut authority = CertificateParams::new([]).expect("no names");
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let certificate = authority.self_signed(&key).expect("a certificate");
        fs::write(directory.path().join("ca.crt"), certificate.pem()).expect("a file");
        let authority = Issuer::new(authority, key);
        for (who, host) in [("server", "127.0.0.1"), ("client", "client.test")] {
            let key = KeyPair::generate().expect("a key");
            let mut named = CertificateParams::new([host.to_owned()]).expect("a name");
            // With the name of its issuer it would pass for one that vouches for itself.
            named.distinguished_name.push(DnType::CommonName, who);
            let certificate = named.signed_by(&key, &authority).expect("a certificate");
            fs::write(directory.path().join(format!("{who}.crt")), certificate.pem()).expect("a file");
            fs::write(directory.path().join(format!("{who}.key")), key.serialize_pem()).expect("a file");
        }
        Self { directory }
    }

    /// The path of a file, such as `client.crt`.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// What a client needs that trusts this authority and shows nothing of itself.
    pub fn trust(&self) -> RedisOptions {
        RedisOptions { tls_ca: Some(self.path("ca.crt")), ..patient() }
    }

    /// What a client needs that shows its own certificate as well.
    pub fn trust_and_show(&self) -> RedisOptions {
        let shown = |name| Some(self.path(name));
        RedisOptions { tls_certificate: shown("client.crt"), tls_key: shown("client.key"), ..self.trust() }
    }
}

/// A running redis-server with a port for TLS beside the usual one.
pub struct TlsServer {
    /// The server.
    pub server: RedisServer,
    /// What it and its clients are trusted by.
    pub certificates: Certificates,
    port: Port,
}

impl TlsServer {
    /// A server that asks no client for a certificate.
    pub fn start() -> Self {
        Self::on(RedisServer::with_clock(), "no")
    }

    /// A server that serves only those who show a certificate of its authority.
    pub fn for_known_clients() -> Self {
        Self::on(RedisServer::start(), "yes")
    }

    /// A cluster of one node, which says that it is where it speaks TLS.
    pub fn of_cluster() -> Self {
        let this = Self::on(RedisServer::with_args(&["--cluster-enabled", "yes"]), "no");
        this.server.command(&["CONFIG", "SET", "cluster-announce-port", &this.port.number().to_string()]);
        let slots: Vec<_> = (0..16_384).map(|slot: u16| slot.to_string()).collect();
        let words = ["CLUSTER", "ADDSLOTS"].into_iter().chain(slots.iter().map(String::as_str));
        this.server.command(&words.collect::<Vec<_>>());
        this
    }

    fn on(server: RedisServer, auth_clients: &str) -> Self {
        let certificates = Certificates::new();
        let file = |name| path(&certificates.path(name));
        // Another program may take a port that was free a moment ago.
        for _ in 0..20 {
            let port = Port::reserve();
            let set = [
                ["tls-auth-clients", auth_clients],
                ["tls-ca-cert-file", &file("ca.crt")],
                ["tls-cert-file", &file("server.crt")],
                ["tls-key-file", &file("server.key")],
                ["tls-port", &port.number().to_string()],
            ];
            let words = [&["CONFIG", "SET"][..], set.as_flattened()].concat();
            if server.try_command(&words).is_ok() {
                return Self { server, certificates, port };
            }
        }
        panic!("redis-server does not speak TLS: {:?}", server.try_command(&["CONFIG", "GET", "tls-*"]));
    }

    /// The URL over TLS.
    pub fn url(&self) -> String {
        format!("rediss://127.0.0.1:{}", self.port.number())
    }
}

impl AsRef<RedisServer> for TlsServer {
    fn as_ref(&self) -> &RedisServer {
        &self.server
    }
}

fn path(path: &Path) -> String {
    path.to_str().expect("a path that is text").to_owned()
}
