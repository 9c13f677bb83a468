//! The entry of one lease in a history.

use std::time::Duration;

use leasehold::{Fence, LossReason, Mode, Owner, ResourceName, env::Moment};
use serde::{Deserialize, Serialize};

use super::wire::Wire;

/// One lease, as its holder saw it.
///
/// It can be serialized, so that processes of one host can hand in what they held. Its moments are worth nothing on
/// another host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Wire", try_from = "Wire")]
pub struct Held {
    /// The resource.
    pub resource: ResourceName,
    /// The share of the resource that was taken.
    pub mode: Mode,
    /// The owner, if one was named: the exclusive leases of one owner do not conflict.
    pub owner: Option<Owner>,
    /// True if the store granted it as one more hold of its owner.
    pub reentered: bool,
    /// The fence, if the store has fences.
    pub fence: Option<Fence>,
    /// The TTL that was asked for.
    pub ttl: Duration,
    /// The moment at which it was asked for.
    pub asked: Moment,
    /// The moment at which the holder had the answer.
    pub granted: Moment,
    /// The end of its validity, as the holder was told last.
    pub valid_until: Moment,
    /// The moment at which the holder stopped: it was done, or was told of the loss.
    pub stopped: Moment,
    /// The reason of its loss, if it was lost.
    pub lost: Option<LossReason>,
}

impl Held {
    /// Returns the moment from which the holder did not believe in the lease any more: it had stopped, or the validity was
    /// over.
    pub fn ended(&self) -> Moment {
        self.stopped.min(self.valid_until)
    }
}
