//! What a store leaves alone that does not use TLS; in a program of its own, for it is about the whole process.

use leasehold::RedisStore;
use rustls::crypto::CryptoProvider;

#[test]
fn only_a_store_with_tls_chooses_the_cryptography_of_the_process() {
    RedisStore::open("redis://host").unwrap();
    assert!(CryptoProvider::get_default().is_none());
    RedisStore::open("rediss://host").unwrap();
    assert!(CryptoProvider::get_default().is_some());
}
