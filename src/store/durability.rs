//! The extent of loss that makes a store forget a hold.

/// The durability of a lease: see [`Store::durability`](crate::store::Store::durability).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Durability {
    /// One server, or one process, certainly knows of the lease. The lease may be forgotten when that one fails, even if
    /// there are replicas.
    OneCopy,
    /// A number of replicas, besides the master, have confirmed the grant and every renewal that counts.
    Replicated {
        /// The smallest number of replicas that confirmed; 1 or more.
        replicas: u32,
    },
    /// A majority of independent nodes certainly knows of the lease. It survives the loss of all other nodes.
    Majority {
        /// The smallest number of nodes that know of the grant and of every renewal that counts.
        nodes: usize,
        /// The number of nodes.
        of: usize,
    },
}
