//! One node of a quorum, and the observations that this client has made of it.

use std::{collections::HashMap, fmt, sync::Arc, time::Duration};

use crate::{
    core::{Incarnation, Moment, Token, abstains_for},
    store::{Metadata, QuorumNode, quorum::circuit_breaker::CircuitBreaker},
};

pub(super) struct NamedNode {
    pub(super) name: String,
    pub(super) store: Arc<dyn QuorumNode>,
}

impl fmt::Debug for NamedNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// The observations that this client has made of a node.
#[derive(Debug, Default)]
pub(super) struct Observed {
    pub(super) breaker: CircuitBreaker,
    /// True once a call to the node has ended, also without success. The first one may have to connect, which takes longer.
    pub(super) is_met: bool,
    /// The metadata that holders told, and that the node has not confirmed yet, until the end of the hold.
    pub(super) untold: HashMap<Token, (Arc<Metadata>, Moment)>,
    /// The first incarnation that was met.
    first: Option<String>,
    /// The incarnation that it had when it was met last, and had no record of recovery.
    sighting: Option<Sighting>,
}

/// The observed age of an incarnation: the time since this client met it, or since a majority of the nodes heard of it, each by
/// its own clock. Nothing is decided by the uptime that a server reports: it is the difference of two times of its wall clock,
/// and hours too long where a machine booted with a wrong clock that was then corrected.
#[derive(Debug)]
struct Sighting {
    id: String,
    /// The age at the moment `at`, never overstated.
    age: Duration,
    at: Moment,
}

impl Sighting {
    fn age(&self, now: Moment) -> Duration {
        self.age + self.at.elapsed(now)
    }
}

impl Observed {
    /// Returns true if this is the first incarnation that was met.
    pub(super) fn is_first(&mut self, incarnation: &Incarnation) -> bool {
        *self.first.get_or_insert_with(|| incarnation.id.clone()) == incarnation.id
    }

    /// Returns this incarnation with the age that was observed until `now`. One that was not met before has none.
    pub(super) fn aged(&mut self, told: Incarnation, now: Moment) -> Incarnation {
        if planted!("a node is as old as its own clock says") {
            return told;
        }
        let known = self.sighting.take().filter(|sighting| sighting.id == told.id);
        let just_met = || Sighting { id: told.id.clone(), age: Duration::ZERO, at: now };
        let age = self.sighting.insert(known.unwrap_or_else(just_met)).age(now);
        Incarnation { age, ..told }
    }

    /// Drops the age: the node has a record of its recovery, and its age does not matter.
    pub(super) fn forget_age(&mut self) {
        self.sighting = None;
    }

    /// Records that others have known this incarnation for `age` at the moment `at`.
    pub(super) fn vouch(&mut self, id: &str, age: Duration, at: Moment) {
        let sighting = self.sighting.as_mut();
        if let Some(sighting) = sighting.filter(|sighting| sighting.id == id && sighting.age(at) < age) {
            (sighting.age, sighting.at) = (age, at);
        }
    }

    /// Returns the incarnation if it is too young to count by its age.
    pub(super) fn young(&self, now: Moment, max_ttl: Duration) -> Option<String> {
        let is_young = |sighting: &&Sighting| !abstains_for(sighting.age(now), max_ttl).is_zero();
        self.sighting.as_ref().filter(is_young).map(|sighting| sighting.id.clone())
    }
}
