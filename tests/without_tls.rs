//! What a store leaves alone that does not use TLS.

use leasehold::RedisStore;
use rustls::crypto::CryptoProvider;
use support::alone::alone;

#[test]
fn only_a_store_with_tls_chooses_the_cryptography_of_the_process() {
    alone("without_tls::only_a_store_with_tls_chooses_the_cryptography_of_the_process", || {
        RedisStore::open("redis://host").unwrap();
        assert!(CryptoProvider::get_default().is_none());
        RedisStore::open("rediss://host").unwrap();
        assert!(CryptoProvider::get_default().is_some());
    });
}
