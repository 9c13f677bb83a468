//! A client of the application: the store is where it leads, as the user that it names, on connections of its own.

use leasehold::{RedisStore, store::Store};
use redis::{Client, ProtocolVersion};

use crate::redis::ways::exclusive;
use leasehold_testing::servers::RedisServer;
use support::{
    acl,
    patient::{self, patient},
};

fn open(client: &Client) -> RedisStore {
    RedisStore::with_client(client, patient()).unwrap()
}

#[tokio::test]
async fn locks_are_kept_in_the_database_of_the_client_as_its_user() {
    let server = RedisServer::start();
    let url = acl::url_of(&server, "locker") + "/3";
    server.command(&["ACL", "SETUSER", "locker", "+select"]);
    let store = open(&Client::open(url).unwrap());
    store.acquire(&exclusive("r", 1)).await.unwrap();
    let users = server.command(&["CLIENT", "LIST"]);
    assert!(format!("{users:?}").contains("user=locker"), "{users:?}");
    let of_url = patient::open(&(server.url() + "/3"));
    assert!(of_url.is_held(&exclusive("r", 1).hold).await.unwrap(), "the same lock as by a URL");
    assert_eq!(server.keys(), [], "database 0 is empty");
}
#[tokio::test]
async fn the_certificates_of_the_client_count() {
    let server = support::tls::TlsServer::start();
    let file = server.certificates.trust().tls_ca.unwrap();
    let trusted = redis::TlsCertificates { client_tls: None, root_cert: Some(std::fs::read(file).unwrap()) };
    open(&Client::build_with_tls(server.url(), trusted).unwrap()).acquire(&exclusive("r", 1)).await.unwrap();
    let error = open(&Client::open(server.url()).unwrap()).acquire(&exclusive("s", 1)).await.unwrap_err();
    assert!(matches!(error, leasehold::StoreError::Denied { .. }), "{error}");
}

#[tokio::test]
async fn what_a_client_has_of_the_protocol_is_left_aside() {
    let server = RedisServer::start();
    let client = Client::open(server.url() + "?protocol=resp3").unwrap();
    assert_eq!(client.get_connection_info().redis_settings().protocol(), ProtocolVersion::RESP3);
    open(&client).acquire(&exclusive("r", 1)).await.unwrap();
    let connections = format!("{:?}", server.command(&["CLIENT", "LIST"]));
    assert!(connections.contains("resp=2") && !connections.contains("resp=3"), "{connections}");
}
