//! The names of the keys in which a resource is kept, and of the channels of hand-over notifications.

use std::fmt::{self, Display};

use crate::{
    core::ResourceName,
    store::{
        Inbox, Names,
        redis::net::{cluster::slot, options::Layout},
    },
};

/// Returns the main key of a resource, or with this behind it another one that the scripts make from it.
pub(crate) fn of_resource(prefix: &str, resource: &ResourceName, behind: &str) -> Vec<u8> {
    [prefix.as_bytes(), b":{", &resource.encoded_bytes(), b"}", behind.as_bytes()].concat()
}

/// Returns the key of a resource in the plain layout, as other libraries write it: the bytes of the name behind the prefix,
/// if there is one.
pub(crate) fn plain(prefix: &str, resource: &ResourceName) -> Vec<u8> {
    [&before_plain(prefix), resource.as_bytes()].concat()
}

fn before_plain(prefix: &str) -> Vec<u8> {
    let colon = if prefix.is_empty() { "" } else { ":" };
    [prefix, colon].concat().into_bytes()
}

/// Returns the key of the last fencing number, without the word `fence` at its end: one counter for all resources of a
/// server, or of a slot.
pub(crate) fn fence(prefix: &str, slot: Option<u16>) -> String {
    match slot {
        None => format!("{prefix}:"),
        Some(slot) => format!("{prefix}:{{{}}}:", slot::tag(slot)),
    }
}

/// Returns the key of the last fencing number of a server.
pub(crate) fn counter(prefix: &str) -> Vec<u8> {
    [prefix, ":fence"].concat().into_bytes()
}

/// Returns the slot of a cluster in which all keys of a resource are.
pub fn slot(layout: Layout, prefix: &str, resource: &ResourceName) -> u16 {
    match layout {
        Layout::Full => slot::of_tag(resource.encoded().as_bytes()),
        Layout::Plain => slot::of_key(&plain(prefix, resource)),
    }
}

/// Returns the channel on which an inbox is notified of hand-overs.
pub(crate) fn channel(prefix: &str, inbox: &Inbox) -> impl Display {
    fmt::from_fn(move |f| write!(f, "{prefix}:inbox:{}", inbox.0.hex()))
}

/// Returns the channel on which all inboxes are notified: of notices to holders, whose records name no inbox.
pub(crate) fn channel_of_all(prefix: &str) -> String {
    format!("{prefix}:inbox:all")
}

/// The shape of the keys, one a resource, that tell the names of one kind.
pub(crate) struct KeyShape {
    /// The beginning of each key, in front of the name.
    pub(crate) before: Vec<u8>,
    /// The end of each key. Without one the name stands in the key as it is, and is not encoded.
    behind: Option<&'static str>,
    /// The type of the keys, where other keys may have the same names.
    pub(crate) kind: Option<&'static str>,
}

impl KeyShape {
    pub(crate) fn new(layout: Layout, prefix: &str, names: Names) -> Self {
        let (behind, kind) = match (names, layout) {
            (Names::Held, Layout::Plain) => (None, Some("string")),
            (Names::Held, Layout::Full) => (Some("}"), None),
            (Names::WaitedFor, _) => (Some("}:q"), None),
            // Both layouts have the same registers.
            (Names::Registers, Layout::Plain) => (Some("}:r"), Some("hash")),
            (Names::Registers, Layout::Full) => (Some("}:r"), None),
        };
        let before = match behind {
            None => before_plain(prefix),
            Some(_) => format!("{prefix}:{{").into_bytes(),
        };
        Self { before, behind, kind }
    }

    /// Returns the pattern that matches the keys of all names that start like this, and of the encoded ones no other key.
    pub(crate) fn pattern(&self, start: &[u8]) -> Vec<u8> {
        let start = match self.behind {
            None => start.iter().flat_map(|&byte| glob(byte)).collect(),
            Some(_) => ResourceName::encode_prefix(start).into_bytes(),
        };
        [&self.before[..], &start, b"*", self.behind.unwrap_or_default().as_bytes()].concat()
    }

    /// Returns the name that this key stands for; `None` for another key, or one that is too long for a name.
    pub(crate) fn resource(&self, key: &[u8]) -> Option<ResourceName> {
        let name = key.strip_prefix(&self.before[..])?;
        let Some(behind) = self.behind else { return ResourceName::new(name).ok() };
        let name = name.strip_suffix(behind.as_bytes())?;
        ResourceName::decode(str::from_utf8(name).ok()?).ok()
    }
}

fn glob(byte: u8) -> impl Iterator<Item = u8> {
    b"*?[]^-\\".contains(&byte).then_some(b'\\').into_iter().chain([byte])
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELD: Names = Names::Held;

    fn main(prefix: &str, name: &[u8]) -> String {
        String::from_utf8(of_resource(prefix, &ResourceName::new(name).unwrap(), "")).unwrap()
    }

    #[test]
    fn the_main_key_reads_back_whatever_the_name() {
        let [held, queued] =
            [HELD, Names::WaitedFor].map(|names| KeyShape::new(Layout::Full, "leasehold", names));
        for name in [&b"orders/42"[..], b"}{", b"a*b", b"\xff\0", &[b'x'; 512]] {
            let key = main("leasehold", name);
            let named = Some(ResourceName::new(name).unwrap());
            assert_eq!(held.resource(key.as_bytes()), named);
            assert_eq!(queued.resource(format!("{key}:q").as_bytes()), named);
            for other in ["h", "d", "o", "q", "w", "p", "r"].map(|part| format!("{key}:{part}")) {
                assert_eq!(held.resource(other.as_bytes()), None, "{other}");
                let is_queue = other.ends_with(":q");
                assert_eq!(queued.resource(other.as_bytes()).is_some(), is_queue, "{other}");
            }
        }
        for slot in [None, Some(7)] {
            assert_eq!(held.resource((fence("leasehold", slot) + "fence").as_bytes()), None);
        }
    }

    #[test]
    fn a_name_cannot_break_out_of_its_key() {
        assert_eq!(main("p", b"a}b"), "p:{a%7Db}");
        assert_eq!(KeyShape::new(Layout::Full, "p", HELD).pattern(b"a}"), b"p:{a%7D*}");
        assert_eq!(KeyShape::new(Layout::Full, "p", Names::WaitedFor).pattern(b"a}"), b"p:{a%7D*}:q");
    }

    #[test]
    fn the_key_of_the_plain_layout_is_the_name_behind_a_prefix_if_any_and_reads_back_whatever_the_name() {
        let name = ResourceName::new("orders/{42}").unwrap();
        assert_eq!(plain("", &name), b"orders/{42}");
        assert_eq!(plain("shop", &name), b"shop:orders/{42}");
        let shape = |prefix| KeyShape::new(Layout::Plain, prefix, HELD);
        for name in [&b"orders/42"[..], b"}{", b"a*b", b"\xff\0", &[b'x'; 512]] {
            let name = ResourceName::new(name).unwrap();
            for prefix in ["", "p"] {
                assert_eq!(shape(prefix).resource(&plain(prefix, &name)).as_ref(), Some(&name));
            }
        }
        assert_eq!(shape("p").resource(b"orders"), None);
        assert_eq!(shape("").resource(&[b'x'; 513]), None);
    }
}
