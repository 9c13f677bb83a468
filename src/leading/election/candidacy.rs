//! A candidacy: the request for the lead, and the habits of the candidate.

use std::time::Duration;

use actix::Recipient;

use super::{ElectionEvent, messages::Audience};
use crate::{
    core::{Doubling, InvalidValue, ResourceName, ensure, exact, not_zero},
    lease::LeaseEvent,
    request::{Acquire, Settings, acquire::Takes, options::ROLE, validated::renewal},
};

/// The request of an [`Election`](super::Election) or a [`Singleton`](super::Singleton) for the lead, and its habits.
///
/// The name of the election is that of a resource. A name alone is a candidacy with the defaults, and so is a request, which
/// has the options of the lease:
///
/// ```
/// # use std::time::Duration;
/// use leasehold::{Acquire, election::Candidacy};
///
/// let plain = Candidacy::from("scheduler");
/// let ask = Acquire::new("scheduler").ttl(Duration::from_secs(5)).metadata("address", "10.0.0.7:8080");
/// let with_options = Candidacy::from(ask).budget(Duration::from_secs(1));
/// # let _ = (plain, with_options);
/// ```
///
/// The election itself says how long is waited (without end, and with any number of attempts) and who hears of the lease.
/// Shares and owners cannot be elected, and a minimum hold would delay each hand-over. The metadata of a candidate says that it
/// is one: `role` is `election`, unless the request has a `role` of its own. That takes 12 of the bytes that metadata may have.
///
/// # Default
/// * TTL, renewals and all else about the lease: those of the lock manager.
/// * [`budget`](Self::budget): a tenth of the validity.
/// * [`pauses`](Self::pauses): 100 ms, doubled up to 10 s.
/// * [`look_every`](Self::look_every): 1 s.
/// * [`max_crashes`](Self::max_crashes): 3.
#[derive(Clone, Debug)]
#[must_use = "a candidacy does nothing until an Election or a Singleton is started with it"]
pub struct Candidacy {
    pub(crate) request: Acquire,
    pub(super) tells: Audience,
    pub(crate) stands: bool,
    /// True if somebody else sees to it that the election ends when nobody needs it.
    pub(crate) is_kept: bool,
    /// The time to finish, after the name of its setting.
    pub(crate) budget: Option<(&'static str, Duration)>,
    /// The pauses. A term, or the life of an actor, that is longer than the longest counts as a good one.
    pub(crate) pauses: Doubling,
    pub(crate) look_every: Duration,
    pub(super) max_crashes: u32,
}

impl From<Acquire> for Candidacy {
    fn from(request: Acquire) -> Self {
        Self {
            request,
            tells: Audience::default(),
            stands: true,
            is_kept: false,
            budget: None,
            pauses: Doubling::new(Duration::from_millis(100), Duration::from_secs(10)),
            look_every: Duration::from_secs(1),
            max_crashes: 3,
        }
    }
}

impl From<&str> for Candidacy {
    fn from(name: &str) -> Self {
        Acquire::new(name).into()
    }
}

impl Candidacy {
    /// Adds a recipient of the events. Several are told in the order in which they were added.
    pub fn tell(mut self, recipient: Recipient<ElectionEvent>) -> Self {
        self.tells.0.push(recipient);
        self
    }

    /// Does not stand, until a [`Campaign`](super::Campaign) is sent. The recipients hear of other leaders all the same.
    pub const fn observer(mut self) -> Self {
        self.stands = false;
        self
    }

    /// Sets the time that the recipients have to finish before the validity ends. A term that was not confirmed by then is
    /// ended. At most a third of the TTL. More is refused: at the start if the request has a TTL, and otherwise as what the
    /// lock manager refuses, when it is first elected. Default: a tenth of the validity.
    pub const fn budget(mut self, budget: Duration) -> Self {
        self.budget = Some(("election.budget", budget));
        self
    }

    /// Sets the first and the longest pause before the candidate stands again, or an actor is started again that has
    /// crashed. Pauses double. They begin again with the first after a term, or a life, that was longer than the longest.
    /// Default: 100 ms and 10 s.
    pub const fn pauses(mut self, first: Duration, longest: Duration) -> Self {
        self.pauses = Doubling::new(first, longest);
        self
    }

    /// Sets how often the store is asked who leads, which [`LeaderChanged`](ElectionEvent::LeaderChanged) tells. It is asked only
    /// while there are recipients that were added by [`tell`](Self::tell), and not while this candidate leads. Default: 1 s.
    pub const fn look_every(mut self, pause: Duration) -> Self {
        self.look_every = pause;
        self
    }

    /// Sets the number of crashes in a row after which a [`Singleton`](super::Singleton) reports that it is
    /// [not well](super::Unwell), so that another instance tries. Default: 3.
    pub const fn max_crashes(mut self, crashes: u32) -> Self {
        self.max_crashes = crashes;
        self
    }

    /// Returns true if somebody is to be told of its events.
    pub(crate) const fn has_recipients(&self) -> bool {
        !self.tells.0.is_empty()
    }

    /// Returns true if nobody would work as the leader: all recipients have died, or the actor that the request is bound to.
    pub(super) fn is_in_vain(&self) -> bool {
        let bound_to = &self.request.options.bound_to;
        self.has_recipients() && !self.tells.is_there() || bound_to.as_ref().is_some_and(|lives| !lives())
    }

    /// Checks everything that can be checked without a lock manager. Returns the name of the election.
    pub(crate) fn check(&self) -> Result<ResourceName, InvalidValue> {
        const SHORTEST_LOOK: Duration = Duration::from_millis(10);
        let name = ResourceName::new(&self.request.resource)?;
        let alone = matches!(self.request.takes, Takes::Everything { .. });
        let allowed = "Acquire without permits, or WriteLock: only one can lead";
        ensure(alone, "election.request", "a share of the resource", allowed)?;
        if let Some(owner) = &self.request.options.owner {
            let allowed = "none: an owner may be elected beside itself";
            return Err(InvalidValue::new("election.owner", owner, allowed));
        }
        let (min_hold, allowed) =
            (self.request.options.min_hold, "none: each hand-over would wait for its end");
        ensure(min_hold.is_zero(), "election.min_hold", exact(min_hold), allowed)?;
        let options = &self.request.options;
        renewal(options, options.ttl.unwrap_or(Duration::MAX), &Settings::default())?;
        options.ttl.map_or(Ok(()), |ttl| self.check_budget(ttl))?;
        let (first, longest) = (self.pauses.first(), self.pauses.longest());
        let allowed = format!("more than zero, and at most the longest ({})", exact(longest));
        ensure(!first.is_zero() && first <= longest, "election.pauses", exact(first), allowed)?;
        let allowed = format!("{} or more", exact(SHORTEST_LOOK));
        ensure(self.look_every >= SHORTEST_LOOK, "election.look_every", exact(self.look_every), allowed)?;
        not_zero("election.max_crashes", self.max_crashes)?;
        Ok(name)
    }

    pub(super) fn request(&self, listener: Recipient<LeaseEvent>) -> Acquire {
        let mut request = self.request.clone();
        request.options.shutdown_alone = true;
        // So that elections can be told from other locks.
        request.options.metadata.entry(ROLE.to_owned()).or_insert_with(|| "election".to_owned());
        // Also where the manager's back-off ends after some attempts.
        request.wait_forever().attempts(u32::MAX).events(listener)
    }

    /// Checks that the time to finish leaves renewals their time with this TTL.
    pub(crate) fn check_budget(&self, ttl: Duration) -> Result<(), InvalidValue> {
        let Some((field, time)) = self.budget else { return Ok(()) };
        ensure(time <= ttl / 3, field, exact(time), format!("at most a third of the TTL ({})", exact(ttl)))
    }

    /// Returns the time to finish in a term of this validity, which is a little shorter than the TTL.
    pub(super) fn budget_within(&self, validity: Duration) -> Duration {
        self.budget.map_or(validity / 10, |(_, time)| time.min(validity / 3))
    }
}
