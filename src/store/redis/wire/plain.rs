//! The plain layout: the features it lacks, its keys, and the verbs that it does one after the other.
//!
//! The top of `lua/plain/holder.lua` describes how a resource is kept in it.

use std::sync::Arc;

use crate::{
    core::{Mode, ResourceName},
    store::{Acquired, Acquisition, Store, StoreError, redis::net::cluster::slot},
};

/// Returns the key of a resource, as other libraries write it: the bytes of the name behind the prefix, if there is one.
pub(crate) fn key(prefix: &str, resource: &ResourceName) -> Vec<u8> {
    let mut key = before_name(prefix);
    key.extend_from_slice(resource.as_bytes());
    key
}

/// Returns the slot of a cluster in which the key of a resource is.
pub(crate) fn slot(prefix: &str, resource: &ResourceName) -> u16 {
    slot::of_key(&key(prefix, resource))
}

/// Returns the resource of a key; `None` for a key with another prefix, or one that is too long for a name.
pub(crate) fn resource(prefix: &str, key: &[u8]) -> Option<ResourceName> {
    let name = key.strip_prefix(&*before_name(prefix))?;
    ResourceName::new(name).ok()
}

/// Returns the pattern that matches the keys of all resources whose name starts like this.
pub(crate) fn pattern(prefix: &str, start: &[u8]) -> Vec<u8> {
    let mut pattern = before_name(prefix);
    for &byte in start {
        if b"*?[]^-\\".contains(&byte) {
            pattern.push(b'\\');
        }
        pattern.push(byte);
    }
    pattern.push(b'*');
    pattern
}

/// Returns the part of a key in front of the name of its resource.
pub(crate) fn before_name(prefix: &str) -> Vec<u8> {
    let colon = if prefix.is_empty() { "" } else { ":" };
    [prefix, colon].concat().into_bytes()
}

/// Returns the error of an acquisition that asks for what the layout lacks: a string that other libraries write too has
/// no place for it.
pub(crate) fn lacks(asked: &Acquisition) -> Option<StoreError> {
    let &Acquisition { ref hold, mode, lock_delay, .. } = asked;
    let what = match mode {
        Mode::Shared => "read locks",
        Mode::Permits { .. } => "permits",
        Mode::Exclusive if hold.owner.is_some() => "owners, and so no re-entry",
        Mode::Exclusive if !lock_delay.is_zero() => "lock delay",
        Mode::Exclusive => return None,
    };
    Some(unsupported(what))
}

pub(crate) fn unsupported(what: &str) -> StoreError {
    let reason = "its layout is plain, for exclusive locks alone; use store.layout = \"full\"";
    StoreError::unsupported(what, reason)
}

/// Runs [`Store::acquire_each`] for acquisitions some of which ask for what the layout lacks: these are refused, and
/// not sent.
pub(crate) async fn acquire_each(
    store: &dyn Store,
    asked: &[Arc<Acquisition>],
) -> Vec<Result<Acquired, StoreError>> {
    let lacking: Vec<_> = asked.iter().map(|asked| lacks(asked)).collect();
    let had = asked.iter().zip(&lacking).filter(|(_, lacking)| lacking.is_none());
    let had: Vec<_> = had.map(|(asked, _)| Arc::clone(asked)).collect();
    let mut answers = store.acquire_each(&had).await.into_iter();
    let mut next = || answers.next().expect("one answer for one request");
    lacking.into_iter().map(|lacking| lacking.map_or_else(&mut next, Err)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(name: &[u8]) -> ResourceName {
        ResourceName::new(name).unwrap()
    }

    #[test]
    fn without_a_prefix_the_key_is_the_name_alone() {
        assert_eq!(key("", &name(b"orders/{42}")), b"orders/{42}");
        assert_eq!(key("shop", &name(b"orders/{42}")), b"shop:orders/{42}");
    }

    #[test]
    fn the_key_reads_back_whatever_the_name() {
        for resource_name in [&b"orders/42"[..], b"}{", b"a*b", b"\xff\0", &[b'x'; 512]].map(name) {
            for prefix in ["", "p"] {
                assert_eq!(resource(prefix, &key(prefix, &resource_name)).as_ref(), Some(&resource_name));
            }
        }
        assert_eq!(resource("p", b"orders"), None);
        assert_eq!(resource("", &[b'x'; 513]), None);
    }
}
