//! The names of the keys in which a resource is kept, and of the channels of hand-over notifications.

use std::fmt::{self, Display};

use crate::{
    core::ResourceName,
    store::{Inbox, redis::net::cluster::slot},
};

/// Returns the main key of a resource. The scripts make all other keys of the resource from it.
pub(crate) fn main(prefix: &str, resource: &ResourceName) -> impl Display {
    fmt::from_fn(move |f| write!(f, "{prefix}:{{{resource}}}"))
}

/// Returns the key of the last fencing number, without the word `fence` at its end: one counter for all resources of a
/// server, or of a slot.
pub(crate) fn fence(prefix: &str, slot: Option<u16>) -> String {
    match slot {
        None => format!("{prefix}:"),
        Some(slot) => format!("{prefix}:{{{}}}:", slot::tag(slot)),
    }
}

/// Returns the slot of a cluster in which all keys of a resource are.
pub(crate) fn slot(resource: &ResourceName) -> u16 {
    slot::of_tag(resource.encoded().as_bytes())
}

/// Returns the channel on which an inbox is notified of hand-overs.
pub(crate) fn channel(prefix: &str, inbox: &Inbox) -> impl Display {
    fmt::from_fn(move |f| write!(f, "{prefix}:inbox:{}", inbox.0.hex()))
}

/// Returns the channel on which all inboxes are notified: of notices to holders, whose records name no inbox.
pub(crate) fn channel_of_all(prefix: &str) -> String {
    format!("{prefix}:inbox:all")
}

/// Returns the pattern that matches one key of all resources whose name starts like this, and no other key: the main key and
/// this part behind it.
pub(crate) fn pattern(prefix: &str, start: &[u8], part: &str) -> String {
    format!("{prefix}:{{{}*}}{part}", ResourceName::encode_prefix(start))
}

/// Returns the resource of a main key with this part behind it; `None` for another key.
pub(crate) fn resource(prefix: &str, key: &str, part: &str) -> Option<ResourceName> {
    let name = key.strip_suffix(part)?.strip_prefix(prefix)?.strip_prefix(":{")?.strip_suffix('}')?;
    ResourceName::decode(name).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn main(prefix: &str, name: &[u8]) -> String {
        super::main(prefix, &ResourceName::new(name).unwrap()).to_string()
    }

    #[test]
    fn the_main_key_reads_back_whatever_the_name() {
        for name in [&b"orders/42"[..], b"}{", b"a*b", b"\xff\0", &[b'x'; 512]] {
            let key = main("leasehold", name);
            let named = Some(ResourceName::new(name).unwrap());
            assert_eq!(resource("leasehold", &key, ""), named);
            assert_eq!(resource("leasehold", &format!("{key}:q"), ":q"), named);
            for other in ["h", "d", "o", "q", "w", "p", "r"].map(|part| format!("{key}:{part}")) {
                assert_eq!(resource("leasehold", &other, ""), None, "{other}");
                let is_queue = other.ends_with(":q");
                assert_eq!(resource("leasehold", &other, ":q").is_some(), is_queue, "{other}");
            }
        }
        for slot in [None, Some(7)] {
            assert_eq!(resource("leasehold", &(fence("leasehold", slot) + "fence"), ""), None);
        }
    }

    #[test]
    fn a_name_cannot_break_out_of_its_key() {
        assert_eq!(main("p", b"a}b"), "p:{a%7Db}");
        assert_eq!(pattern("p", b"a}", ""), "p:{a%7D*}");
        assert_eq!(pattern("p", b"a}", ":q"), "p:{a%7D*}:q");
    }
}
