//! The answers of the store, as plain values: what [`sample`](super::sample) reports and [`state`](super::state) remembers.

use leasehold::{ResourceName, store::ServerLoad};
use leasehold_console::view::ResourceView;

/// Names that a walk over the keys has found.
#[derive(Clone, Debug)]
pub(super) struct Walk {
    pub(super) names: Vec<ResourceName>,
    /// False if there are more, which were not returned.
    pub(super) complete: bool,
    /// The number of keys that the walk looked at.
    pub(super) walked: u64,
}

/// The reason why a look shows nothing.
#[derive(Clone, Debug)]
pub(super) enum Missing {
    /// The store gave no answer.
    Answer(String),
    /// The record of this one resource cannot be read.
    Record(String),
}

/// An answer of the store, or the reason why there is none.
#[derive(Clone, Debug)]
pub(super) enum Report {
    /// The resources that somebody waits for.
    Contended(Result<Walk, String>),
    /// The resources that are not free.
    Names(Result<Walk, String>),
    /// The resources that were asked about. The last error, if some of them gave none.
    Looks(Vec<(ResourceName, ResourceView)>, Option<Missing>),
    /// The loads of the servers. `None` if this kind of store cannot tell them.
    Server(Result<Option<Vec<ServerLoad>>, String>),
    /// The end of a revoke.
    Revoked(ResourceName, Result<String, String>),
}
