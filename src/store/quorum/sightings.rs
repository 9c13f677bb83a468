//! The age of a node's incarnation, by what others have observed of it.
//!
//! A server's own uptime is the difference of two times of its wall clock. A machine that boots with a wrong clock, which
//! is then corrected, makes it hours too long. So nothing is decided by it. An incarnation is as old as the time since this
//! client met it, or as the time since a majority of the nodes heard of it, each by its own clock. Each node keeps the
//! time at which it heard of an incarnation in a register, so that a process that has just started need not wait.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures_util::{FutureExt, future::join_all};

use crate::{
    core::{Incarnation, Moment, ResourceName, Token, abstains_for},
    store::{
        RegisterWrite, StoreError,
        quorum::{core::Core, node::Node, poll::Round},
    },
};

/// The revision of every register about an incarnation. All clients use the same one, so the first write stays.
const REVISION: Token = Token::from_bits(1);

/// The incarnation that a node without a record of recovery had when this client met it last, and its observed age.
#[derive(Debug, Default)]
pub(super) struct Sighting(Mutex<Option<Seen>>);

#[derive(Clone, Debug)]
struct Seen {
    id: String,
    /// The age at the moment `at`, never overstated.
    age: Duration,
    at: Moment,
}

impl Sighting {
    /// Returns this incarnation with the age that was observed until `now`. One that was not met before has none.
    pub(super) fn aged(&self, told: Incarnation, now: Moment) -> Incarnation {
        if planted!("a node is as old as its own clock says") {
            return told;
        }
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = match seen.as_mut() {
            Some(seen) if seen.id == told.id => seen,
            _ => seen.insert(Seen { id: told.id.clone(), age: Duration::ZERO, at: now }),
        };
        Incarnation { age: seen.age + seen.at.elapsed(now), ..told }
    }

    /// Drops what was observed: the node has a record of its recovery, and its age does not matter.
    pub(super) fn forget(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Records that others have known this incarnation for `age` at the moment `at`.
    fn vouch(&self, id: &str, age: Duration, at: Moment) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(seen) = seen.as_mut().filter(|seen| seen.id == id && seen.age + seen.at.elapsed(at) < age)
        {
            (seen.age, seen.at) = (age, at);
        }
    }

    /// Returns the incarnation if it is too young to count by its age.
    fn young(&self, now: Moment, max_ttl: Duration) -> Option<String> {
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let young = |seen: &&Seen| !abstains_for(seen.age + seen.at.elapsed(now), max_ttl).is_zero();
        seen.as_ref().filter(young).map(|seen| seen.id.clone())
    }
}

/// Asks all nodes since when they know the incarnations that are too young, and tells them of these. Returns true if one
/// is old enough from now on.
pub(super) async fn compare(core: &Core) -> bool {
    let young = |node: &Node| node.sighting.young(core.now(), core.options.max_ttl);
    let unsure: Vec<(usize, String)> =
        (0..).zip(&core.nodes).filter_map(|(which, node)| Some((which, young(node)?))).collect();
    let names: Option<Vec<ResourceName>> =
        unsure.iter().map(|(which, id)| register(&core.nodes[*which], id)).collect();
    let Some(names) = names.filter(|names| !names.is_empty()).map(Arc::<[_]>::from) else {
        return false;
    };
    let mut round = Round::ask(&core.nodes, |_, node| {
        let names = Arc::clone(&names);
        async move { node.insist(names.len(), join_all(names.iter().map(|name| known_for(&node, name)))).await }
            .boxed()
    });
    round.gather(core.options.timeouts(), |_| false).await;
    let now = core.now();
    for (question, (which, id)) in unsure.iter().enumerate() {
        let mut ages: Vec<Duration> = round
            .on(question)
            .map(|answer| answer.and_then(|age| age.as_ref().ok()).copied().unwrap_or_default())
            .collect();
        ages.sort_unstable_by(|one, other| other.cmp(one));
        core.nodes[*which].sighting.vouch(id, ages[core.needed() - 1], now);
    }
    unsure.iter().any(|(which, id)| young(&core.nodes[*which]).as_ref() != Some(id))
}

/// Returns the register about an incarnation; `None` if its name would be too long.
fn register(node: &Node, id: &str) -> Option<ResourceName> {
    ResourceName::new(format!("quorum/{}/{id}", node.name)).ok()
}

/// Returns the time for which a node has known an incarnation, by its own clock. It hears of it now if it did not.
async fn known_for(node: &Node, register: &ResourceName) -> Result<Duration, StoreError> {
    let mut known = node.store.register(register, None).await?;
    if known.revision.is_none() {
        let since = known.now.as_micros().to_string();
        let write =
            RegisterWrite { expected: None, revision: REVISION, value: since, not_before: Duration::ZERO };
        known = node.store.register(register, Some(&write)).await?;
    }
    // A value that nobody here has written says nothing, and a clock that was set back neither.
    let since = known.value.parse().map_or(known.now, Duration::from_micros);
    Ok(known.now.saturating_sub(since))
}
