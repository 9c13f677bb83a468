//! How much has to be lost before a store forgets a hold.

/// What stands behind a lease: see [`Store::safety`](super::Store::safety).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Safety {
    /// One server, or one process, certainly knows of it. It may be forgotten when that one fails, even if there are
    /// replicas.
    OneCopy,
    /// So many replicas, besides the master, have confirmed the grant and every renewal that counts.
    Replicated {
        /// How many at least; 1 or more.
        replicas: u32,
    },
    /// A majority of independent nodes certainly knows of it: it survives the loss of all the others.
    Majority {
        /// How many nodes know of the grant and of every renewal that counts, at least.
        nodes: usize,
        /// How many nodes there are.
        of: usize,
    },
}
