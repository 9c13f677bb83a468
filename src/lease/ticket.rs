//! The hand-over of a lease by a ticket, and the form of the ticket for other processes.

use std::{fmt, num::NonZeroU32, sync::Arc, time::Duration};

use humantime_serde::Serde;
use serde::{Deserialize, Deserializer, Serialize, de::Error};

use crate::{
    core::{Fence, InvalidValue, LossReason, Mode, Moment, Owner, ResourceName, Token},
    lease::{HandOver, Lease, LeaseLostError, LeaseShared, Release},
    store::Hold,
};

/// The version of the form of tickets.
const VERSION: u32 = 1;

/// A lease on its way to another process, or to this one after a restart: [`Lease::into_ticket`](crate::Lease::into_ticket) makes
/// it, and [`Adopt`](crate::Adopt) takes it. Nobody renews it on the way: unless it is adopted, it ends with its TTL.
///
/// **It is a secret**: whoever has it has the lease. Serialised, in any format of `serde`, it contains the whole token, of which
/// `Debug` shows the beginning. **Give it to one adopter.** Nobody can tell two copies from each other: two managers that adopt them
/// share one lease, and when one of them releases it the other is told at its next renewal
/// ([`LossReason::NotHeld`](crate::LossReason::NotHeld)).
#[derive(Clone, Serialize, Deserialize)]
#[must_use = "a lease whose ticket is lost ends with its TTL"]
pub struct LeaseTicket {
    /// The first field, so that another version is refused before what only that version has.
    #[serde(deserialize_with = "known")]
    version: u32,
    resource: String,
    token: String,
    owner: Option<String>,
    fence: Option<u64>,
    pub(crate) holds: u64,
    #[serde(default)]
    pub(crate) slot: Option<u32>,
    #[serde(with = "ModeForm")]
    pub(crate) mode: Mode,
    pub(crate) ttl: Serde<Duration>,
    valid_for: Serde<Duration>,
    pub(crate) min_hold: Serde<Duration>,
    pub(crate) lock_delay: Serde<Duration>,
    pub(crate) renew_every: Serde<Option<Duration>>,
    pub(crate) max_renewals: Option<u32>,
    pub(crate) max_hold: Serde<Option<Duration>>,
    pub(crate) heartbeat: Serde<Option<Duration>>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Mode", rename_all = "snake_case")]
enum ModeForm {
    Exclusive,
    Shared,
    Permits { count: NonZeroU32, of: NonZeroU32 },
}

/// Reads the version, and refuses another one.
fn known<'de, D: Deserializer<'de>>(form: D) -> Result<u32, D::Error> {
    match u32::deserialize(form)? {
        VERSION => Ok(VERSION),
        other => Err(D::Error::custom(format_args!("a ticket of version {other}, where {VERSION} is known"))),
    }
}

impl Lease {
    /// Hands the lease over: returns a ticket, with which [`Adopt`](crate::Adopt) makes a lease of it elsewhere. The store is not
    /// asked, and the resource stays held. From here on this process neither renews nor releases it: a renewal that was on its way
    /// was answered or given up before there is a ticket. Whoever watches the lease here is told
    /// [`Released`](crate::LossReason::Released).
    ///
    /// With the lease go its mode, owner, TTL and fence, and what is left of `max_hold`, `max_renewals` and `min_hold`, for which
    /// the time on the way, less than one TTL, does not count. Its `events`, `bound_to` and `class` stay behind, and others go on
    /// to see the metadata of this process, until the adopter [describes](Lease::describe) it. A [`LeaseSet`](crate::LeaseSet)
    /// cannot be handed over.
    ///
    /// ```
    /// use leasehold::{Acquire, Adopt, LeaseTicket};
    /// # use leasehold::{LockManager, MemoryStore};
    /// # #[actix::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let locks = LockManager::builder(std::sync::Arc::new(MemoryStore::default())).start()?;
    /// let lease = locks.send(Acquire::new("orders/42")).await??;
    /// let job = serde_json::to_string(&lease.into_ticket().await?)?; // a secret
    /// let ticket: LeaseTicket = serde_json::from_str(&job)?; // in another process, within `valid_for`
    /// let lease = locks.send(Adopt(ticket)).await??;
    /// lease.release().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`LeaseLostError`] when the lease is over, or its manager is gone: there is no ticket.
    ///
    /// # Cancel safety
    /// A caller that drops the future has no ticket, and the lease is released.
    pub async fn into_ticket(mut self) -> Result<LeaseTicket, LeaseLostError> {
        let answer = self.manager.hand_over.send(HandOver(Arc::clone(&self.state))).await;
        let lost = |reason| LeaseLostError { resource: self.resource().clone(), reason };
        let end = answer.unwrap_or(Err(LossReason::ShutDown)).map_err(lost)?;
        self.state.until_no_renewal().await;
        if self.state.present().found_lost {
            return Err(lost(LossReason::NotHeld));
        }
        if end.remaining(self.state.clock.now()).is_zero() {
            return Err(lost(LossReason::Expired));
        }
        self.released = true;
        Ok(LeaseTicket::of(&self.state, end))
    }
}

impl LeaseTicket {
    fn of(lease: &LeaseShared, end: Moment) -> Self {
        let (now, asked, plan) = (lease.clock.now(), &lease.terms.acquisition, lease.terms.plan);
        let renewals = lease.present().renewals;
        Self {
            version: VERSION,
            resource: asked.hold.resource.encoded(),
            token: asked.hold.token.to_hex(),
            owner: asked.hold.owner.as_ref().map(|owner| owner.as_str().to_owned()),
            fence: lease.fence.map(Fence::get),
            holds: lease.holds,
            slot: lease.slot,
            mode: asked.mode,
            ttl: asked.ttl.into(),
            valid_for: end.remaining(now).into(),
            min_hold: lease.terms.min_hold.saturating_sub(lease.held_for_at(now)).into(),
            lock_delay: asked.lock_delay.into(),
            renew_every: plan.interval.into(),
            max_renewals: plan.max_renewals.map(|most| most.saturating_sub(renewals.made())),
            max_hold: renewals.hold_left(now).into(),
            heartbeat: plan.heartbeat.into(),
        }
    }

    /// Returns the name of the resource, as [`ResourceName::encoded`](crate::ResourceName::encoded) writes it.
    pub fn resource(&self) -> &str {
        &self.resource
    }

    /// Returns the fence, which stays that of the lease: see [`Lease::fence`](crate::Lease::fence).
    pub fn fence(&self) -> Option<Fence> {
        self.fence.map(Fence::new)
    }

    /// Returns how much of the resource is held.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Returns the time for which the lease certainly held when the ticket was made, if nobody renews it. It is a length, because
    /// the clocks of two machines are never compared, and it counts for nothing when the ticket is adopted.
    pub fn valid_for(&self) -> Duration {
        *self.valid_for
    }

    pub(crate) fn hold(&self) -> Result<Hold, InvalidValue> {
        let owner = self.owner.as_ref().map(Owner::new).transpose()?;
        let token = self.token.parse()?;
        Ok(Hold { resource: ResourceName::decode(&self.resource)?, token, owner })
    }
}

/// Releases the lease of a ticket that nobody is to adopt, at once: no minimum hold counts.
impl From<&LeaseTicket> for Release {
    fn from(ticket: &LeaseTicket) -> Self {
        let hold = ticket.hold();
        let token = hold.as_ref().map_or(Token::from_bits(0), |hold| hold.token);
        Self { resource: hold.map(|hold| hold.resource), token, lease: None, panics: 0 }
    }
}

impl fmt::Debug for LeaseTicket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { resource, token, mode, fence, valid_for, .. } = self;
        let token = token.get(..8).unwrap_or_default();
        write!(f, "LeaseTicket({resource:?}, {token}…, {mode}, {fence:?}, {valid_for:?})")
    }
}
