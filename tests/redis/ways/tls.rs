//! TLS: who is trusted, and who is not.

use leasehold::{
    Certainty, Config, RedisOptions, RedisStore, StoreError,
    store::{Acquired, Store},
};

use crate::redis::ways::exclusive;
use leasehold_testing::servers::RedisServer;
use support::{
    patient::patient,
    tls::{Certificates, TlsServer},
};

fn open(url: &str, options: RedisOptions) -> RedisStore {
    RedisStore::with_options(url, options).unwrap()
}

async fn denied(store: &RedisStore) {
    let error = store.acquire(&exclusive("r", 1)).await.unwrap_err();
    assert!(matches!(error, StoreError::Denied { .. }), "{error}");
}

async fn granted(store: &RedisStore) {
    let answer = store.acquire(&exclusive("r", 1)).await.unwrap();
    assert!(matches!(answer, Acquired::Granted(_)), "{answer:?}");
}

#[tokio::test]
async fn a_server_is_served_by_if_its_authority_is_trusted() {
    let server = TlsServer::start();
    granted(&open(&server.url(), server.certificates.trust())).await;
    denied(&open(&server.url(), patient())).await;
    denied(&open(&server.url(), Certificates::new().trust())).await;
}

#[tokio::test]
async fn a_server_of_another_name_is_not_trusted() {
    let server = TlsServer::start();
    let url = server.url().replace("127.0.0.1", "localhost");
    denied(&open(&url, server.certificates.trust())).await;
}

#[tokio::test]
async fn a_server_that_asks_for_a_certificate_serves_who_has_one() {
    let server = TlsServer::for_known_clients();
    granted(&open(&server.url(), server.certificates.trust_and_show())).await;
    let strangers = Certificates::new();
    let stranger = RedisOptions { tls_ca: server.certificates.trust().tls_ca, ..strangers.trust_and_show() };
    for files in [server.certificates.trust(), stranger] {
        let error = open(&server.url(), files).acquire(&exclusive("s", 1)).await.unwrap_err();
        // The server closes the connection; whether its reason is read before that is chance.
        let known = matches!(error, StoreError::Denied { .. } | StoreError::Unavailable { .. });
        assert!(known && error.certainty() == Certainty::NotExecuted, "{error}");
    }
}

#[tokio::test]
async fn a_configuration_names_the_files() {
    let server = TlsServer::for_known_clients();
    let path = |name| server.certificates.path(name).display().to_string();
    let config = Config::from_sources(
        "config",
        &format!(
            "store.url = '{}'\nstore.connect_timeout = '10s'\nstore.response_timeout = '10s'\nstore.tls_ca = '{}'",
            server.url(),
            path("ca.crt")
        ),
        [
            ("LEASEHOLD_STORE_TLS_CERTIFICATE", path("client.crt")),
            ("LEASEHOLD_STORE_TLS_KEY", path("client.key")),
        ],
    );
    let store = config.unwrap().open_store().unwrap();
    assert!(matches!(store.acquire(&exclusive("r", 1)).await, Ok(Acquired::Granted(_))));
}

#[tokio::test]
async fn a_port_without_tls_is_the_wrong_kind_of_server() {
    let server = RedisServer::start();
    let store = open(&server.url().replace("redis://", "rediss://"), patient());
    let error = store.acquire(&exclusive("r", 1)).await.unwrap_err();
    assert!(matches!(error, StoreError::Misconfigured { .. }), "{error}");
}

#[test]
fn wrong_files_are_refused_by_name() {
    let good = Certificates::new();
    let own = |name| Some(good.path(name));
    let none = RedisOptions::default;
    let cases = [
        ("store.tls_ca", RedisOptions { tls_ca: own("missing.crt"), ..none() }),
        ("store.tls_ca", RedisOptions { tls_ca: own("client.key"), ..none() }),
        (
            "store.tls_certificate",
            RedisOptions { tls_certificate: own("client.key"), tls_key: own("client.key"), ..none() },
        ),
        (
            "store.tls_key",
            RedisOptions { tls_certificate: own("client.crt"), tls_key: own("client.crt"), ..none() },
        ),
        (
            "store.tls_key",
            RedisOptions { tls_certificate: own("client.crt"), tls_key: own("server.key"), ..none() },
        ),
        ("store.tls_key", RedisOptions { tls_certificate: own("client.crt"), ..none() }),
        ("store.tls_certificate", RedisOptions { tls_key: own("client.key"), ..none() }),
    ];
    for (field, options) in cases {
        let error = RedisStore::with_options("rediss://host", options).unwrap_err();
        assert_eq!(error.field, field, "{error}");
        assert!(!error.to_string().contains("PRIVATE KEY-----\n"), "{error}");
    }
    let error = RedisStore::with_options("redis://host", good.trust()).unwrap_err();
    assert_eq!(error.field, "store.tls_ca", "{error}");
}
