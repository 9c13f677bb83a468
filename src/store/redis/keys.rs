//! The names of the keys in which a resource is kept, and of the channels on which hand-overs are announced.

use crate::{protocol::ResourceName, store::Inbox};

/// The keys of one resource. All but the fence share one hash tag.
pub(super) struct Keys {
    /// Exists exactly while the resource is not free.
    pub(super) main: String,
    /// The ends of several holders.
    pub(super) ends: String,
    /// The records of several holders.
    pub(super) records: String,
    /// Permits taken and holds an owner.
    pub(super) counts: String,
    /// The last fencing number: one counter for all resources of a server.
    pub(super) fence: String,
    /// Who waits, in order of arrival. Exists exactly while somebody waits.
    pub(super) queue: String,
    /// What those who wait asked for.
    pub(super) waiters: String,
    /// Until when those who wait have a place.
    pub(super) places: String,
}

impl Keys {
    pub(super) fn of(prefix: &str, resource: &ResourceName) -> Self {
        let main = format!("{prefix}:{{{}}}", resource.encoded());
        Self {
            ends: format!("{main}:h"),
            records: format!("{main}:d"),
            counts: format!("{main}:o"),
            fence: format!("{prefix}:fence"),
            queue: format!("{main}:q"),
            waiters: format!("{main}:w"),
            places: format!("{main}:p"),
            main,
        }
    }
}

/// The channel on which an inbox is told of hand-overs.
pub(super) fn channel(prefix: &str, inbox: &Inbox) -> String {
    format!("{prefix}:inbox:{}", inbox.0.to_hex())
}

/// The pattern that matches the main keys of all resources whose name starts like this, and no other key.
pub(super) fn pattern(prefix: &str, start: &[u8]) -> String {
    format!("{prefix}:{{{}*}}", ResourceName::encode_prefix(start))
}

/// The resource of a main key; `None` for a key that this library does not write.
pub(super) fn resource(prefix: &str, key: &str) -> Option<ResourceName> {
    let name = key.strip_prefix(prefix)?.strip_prefix(":{")?.strip_suffix('}')?;
    ResourceName::decode(name).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_main_key_reads_back_whatever_the_name() {
        for name in [&b"orders/42"[..], b"}{", b"a*b", b"\xff\0", &[b'x'; 512]] {
            let name = ResourceName::new(name).unwrap();
            let keys = Keys::of("leasehold", &name);
            assert_eq!(resource("leasehold", &keys.main), Some(name));
            let Keys { main: _, ends, records, counts, fence, queue, waiters, places } = keys;
            for other in [ends, records, counts, fence, queue, waiters, places] {
                assert_eq!(resource("leasehold", &other), None, "{other}");
            }
        }
    }

    #[test]
    fn the_keys_of_a_resource_share_one_hash_tag() {
        let keys = Keys::of("p", &ResourceName::new("a}b").unwrap());
        assert_eq!(keys.main, "p:{a%7Db}");
        assert_eq!([keys.ends, keys.records, keys.counts], ["p:{a%7Db}:h", "p:{a%7Db}:d", "p:{a%7Db}:o"]);
        assert_eq!([keys.queue, keys.waiters, keys.places], ["p:{a%7Db}:q", "p:{a%7Db}:w", "p:{a%7Db}:p"]);
        assert_eq!(pattern("p", b"a}"), "p:{a%7D*}");
    }
}
