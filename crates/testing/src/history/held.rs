//! The entry of one lease in a history, and its form between processes.

use std::time::Duration;

use leasehold::{Fence, InvalidValue, LossReason, Mode, Owner, ResourceName, env::Moment};
use serde::{Deserialize, Serialize};

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
    /// Returns an exclusive lease of which only these moments are known: when it was asked for, when it was granted, and until when it
    /// was certainly held.
    pub fn exclusive(resource: ResourceName, fence: Fence, ttl: Duration, known: [Moment; 3]) -> Self {
        let [asked, granted, ended] = known;
        Self {
            resource,
            mode: Mode::Exclusive,
            owner: None,
            reentered: false,
            fence: Some(fence),
            ttl,
            asked,
            granted,
            valid_until: ended,
            stopped: ended,
            lost: None,
        }
    }

    /// Returns the moment from which the holder did not believe in the lease any more: it had stopped, or the validity was
    /// over.
    pub fn ended(&self) -> Moment {
        self.stopped.min(self.valid_until)
    }
}

/// An entry on its way from one process to another, in plain values. Moments are counted from the origin of their clock.
#[derive(Serialize, Deserialize)]
struct Wire {
    resource: String,
    mode: Share,
    owner: Option<String>,
    reentered: bool,
    fence: Option<u64>,
    ttl: Duration,
    asked: Duration,
    granted: Duration,
    valid_until: Duration,
    stopped: Duration,
    lost: Option<String>,
}

#[derive(Serialize, Deserialize)]
enum Share {
    Exclusive,
    Shared,
    Permits(u32, u32),
}

const REASONS: [LossReason; 9] = [
    LossReason::NotHeld,
    LossReason::Expired,
    LossReason::MaxRenewals,
    LossReason::MaxHold,
    LossReason::HeartbeatMissed,
    LossReason::RenewerDied,
    LossReason::ShutDown,
    LossReason::Released,
    LossReason::Forced,
];

/// Returns the reason of a loss that has this name.
pub(super) fn reason(name: &str) -> Result<LossReason, InvalidValue> {
    let known = REASONS.into_iter().find(|reason| reason.as_str() == name);
    known.ok_or_else(|| InvalidValue::new("lost", name, "the name of a reason"))
}

impl From<Held> for Wire {
    fn from(held: Held) -> Self {
        let since = |moment| Moment::since_origin(Duration::ZERO).elapsed(moment);
        Self {
            resource: held.resource.encoded(),
            mode: match held.mode {
                Mode::Exclusive => Share::Exclusive,
                Mode::Shared => Share::Shared,
                Mode::Permits { count, of } => Share::Permits(count.get(), of.get()),
                mode => panic!("a history knows no {mode:?}"),
            },
            owner: held.owner.map(|owner| owner.encoded()),
            reentered: held.reentered,
            fence: held.fence.map(Fence::get),
            ttl: held.ttl,
            asked: since(held.asked),
            granted: since(held.granted),
            valid_until: since(held.valid_until),
            stopped: since(held.stopped),
            lost: held.lost.map(|reason| reason.as_str().to_owned()),
        }
    }
}

impl TryFrom<Wire> for Held {
    type Error = InvalidValue;

    fn try_from(wire: Wire) -> Result<Self, InvalidValue> {
        Ok(Self {
            resource: ResourceName::decode(&wire.resource)?,
            mode: match wire.mode {
                Share::Exclusive => Mode::Exclusive,
                Share::Shared => Mode::Shared,
                Share::Permits(count, of) => Mode::permits(count, of)?,
            },
            owner: wire.owner.map(|owner| Owner::decode(&owner)).transpose()?,
            reentered: wire.reentered,
            fence: wire.fence.map(Fence::new),
            ttl: wire.ttl,
            asked: Moment::since_origin(wire.asked),
            granted: Moment::since_origin(wire.granted),
            valid_until: Moment::since_origin(wire.valid_until),
            stopped: Moment::since_origin(wire.stopped),
            lost: wire.lost.map(|lost| reason(&lost)).transpose()?,
        })
    }
}
