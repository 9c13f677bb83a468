//! The target `name`: names, owners and tokens, which read back from what keys contain.

use leasehold::{InvalidValue, Layout, Owner, ResourceName, Token, TokenPrefix, probe};
use leasehold_testing::servers::slot_of_tag;

/// The prefixes of keys: the usual one, and one of every character that may be in one.
const PREFIXES: [&str; 2] = ["leasehold", "A-Z_a.z:0"];

/// Reads bytes as names of all kinds, and as what keys contain of them.
pub fn name(data: &[u8]) {
    match ResourceName::new(data) {
        Ok(name) => is_safe_in_keys(&name, data),
        Err(error) => refused(&error, "resource", !(1..=512).contains(&data.len())),
    }
    let text = String::from_utf8_lossy(data);
    if let Ok(name) = ResourceName::decode(&text) {
        assert_eq!(name.encoded(), text, "two texts for one name");
    }
    match Owner::new(&text) {
        Ok(owner) => {
            assert_eq!(Owner::decode(&owner.encoded()).as_ref(), Ok(&owner));
            assert_eq!(owner.as_str(), text);
            is_printable(&owner.encoded());
        }
        Err(error) => refused(&error, "owner", !(1..=512).contains(&text.len())),
    }
    if let Ok(owner) = Owner::decode(&text) {
        assert_eq!(owner.encoded(), text, "two texts for one owner");
    }
    if let Ok(token) = text.parse::<Token>() {
        assert_eq!(token.to_hex(), text);
        assert!(!format!("{token:?}").contains(&token.to_hex()), "a token is shown whole");
    }
    if let Ok(prefix) = text.parse::<TokenPrefix>() {
        assert_eq!(prefix.to_string(), text.to_lowercase());
    }
}

fn is_safe_in_keys(name: &ResourceName, data: &[u8]) {
    let encoded = name.encoded();
    assert_eq!(name.as_bytes(), data);
    assert_eq!(ResourceName::decode(&encoded).as_ref(), Ok(name));
    is_printable(&encoded);
    for end in [0, data.len() / 2, data.len()] {
        assert!(encoded.starts_with(&ResourceName::encode_prefix(&data[..end])), "{encoded}");
    }
    for prefix in PREFIXES {
        let slot = probe::slot(Layout::Full, prefix, name);
        for behind in ["", ":h", ":d", ":o", ":q", ":w", ":p", ":r"] {
            let key = format!("{prefix}:{{{encoded}}}{behind}");
            assert_eq!(slot, slot_of_tag(tag_of(&key)), "{key}");
        }
    }
}

/// Returns the part of a key that decides about its slot: what stands in the first braces, unless that is nothing.
fn tag_of(key: &str) -> &str {
    let inside = key.split_once('{').and_then(|(_, rest)| rest.split_once('}')).map(|(tag, _)| tag);
    inside.filter(|tag| !tag.is_empty()).unwrap_or(key)
}

fn is_printable(encoded: &str) {
    assert!(encoded.bytes().all(|byte| byte.is_ascii_graphic()), "{encoded:?}");
    assert!(!encoded.contains(['{', '}', '*', '?', '[', ']', '\\', '^', '"']), "{encoded:?}");
}

#[track_caller]
fn refused(error: &InvalidValue, field: &str, is_out_of_bounds: bool) {
    assert!(error.field == field && is_out_of_bounds, "{error}");
}
