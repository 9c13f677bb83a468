//! The target `url`: addresses of stores of every kind, of which nothing may show a password.

use leasehold::{Config, RedisOptions, RedisStore, StoreUrl};

use crate::secrets;

/// Reads a text as the address of a store.
pub fn url(data: &[u8]) {
    let text = secrets::planted(&String::from_utf8_lossy(data));
    let url = StoreUrl::from(text.as_str());
    assert_eq!(url.reveal(), text);
    secrets::are_kept(format!("{url} {url:?}"));
    match url.nodes() {
        Ok(None) => {}
        Ok(Some(nodes)) => {
            assert!(text.starts_with("quorum://"), "{text}");
            nodes.iter().for_each(|node| secrets::are_kept(node.to_string()));
        }
        Err(error) => {
            assert_eq!(error.field, "store.url");
            secrets::are_kept(format!("{error} {error:?}"));
        }
    }
    let opened = RedisStore::with_options(&text, RedisOptions::default());
    match &opened {
        Ok(store) => {
            use leasehold::store::Store;
            secrets::are_kept(format!("{} {store:?}", store.describe()));
        }
        Err(error) => {
            assert_eq!(error.field, "store.url", "{error}");
            secrets::are_kept(format!("{error} {error:?}"));
        }
    }
    let is_one_store = !text.starts_with("memory://") && !text.starts_with("quorum://");
    match Config::from_sources("", "", [("LEASEHOLD_STORE_URL", &text)]) {
        Ok(config) => {
            assert!(
                !is_one_store || opened.is_ok(),
                "the store refuses what the configuration takes: {text}"
            );
            assert_eq!(config.store.url.reveal(), text);
            secrets::are_kept(format!("{config:?}"));
        }
        Err(error) => {
            assert!(
                !is_one_store || opened.is_err(),
                "the configuration refuses what the store takes: {text}"
            );
            assert!(error.to_string().contains("store.url"), "{error}");
            secrets::are_kept(format!("{error} {error:?}"));
        }
    }
}
