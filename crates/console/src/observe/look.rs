//! One look at the store: the resources that somebody waits for, and those that are of interest.

use std::collections::{BTreeMap, BTreeSet};

use actix::{Addr, MailboxError};
use futures_util::{StreamExt, stream};
use leasehold::{
    Inspect, InspectError, Inspection, List, Listing, LockManager, ResourceName, StoreError, TokenPrefix,
};

use crate::model::{ProcessView, Watch, is_holding, keeps_no_queue, shown};

/// The number of held resources that are asked whether the store keeps queues, where nobody waits. The first one as a rule tells.
const FIRST: usize = 8;
/// The number of questions that are under way at once.
const AT_ONCE: usize = 16;

/// The largest number of holders and of waiters of one resource that a look is told.
const PARTIES: usize = 20;
/// The largest number of processes.
const PROCESSES: usize = 500;

/// The findings of one look.
pub(super) struct Looked {
    pub(super) resources: Vec<(ResourceName, Inspection)>,
    contended: u64,
    complete: bool,
    /// True if the store keeps no queues, so that nobody knows who waits.
    pub(super) without_queues: bool,
}

/// Looks at what is contended, and at these resources. `None` if the manager is gone.
pub(super) async fn look(
    locks: Addr<LockManager>,
    wanted: BTreeSet<ResourceName>,
    most: usize,
    was_without_queues: bool,
) -> Option<Result<Looked, InspectError>> {
    looked(&locks, wanted, most, was_without_queues).await.ok()
}

async fn looked(
    locks: &Addr<LockManager>,
    wanted: BTreeSet<ResourceName>,
    most: usize,
    was_without_queues: bool,
) -> Result<Result<Looked, InspectError>, MailboxError> {
    let listing = match locks.send(List::new("").waited_for().limit(most)).await? {
        Ok(listing) => listing,
        Err(error) => return Ok(Err(error)),
    };
    let Listing { resources: waited_for, complete, walked, .. } = listing;
    let without_queues = match walked {
        // There was nothing to look at: nobody waits, or there are no queues. If nobody holds anything either, nothing shows it.
        0 => match holds_without_queues(locks).await? {
            Ok(without_queues) => without_queues.unwrap_or(was_without_queues),
            Err(error) => return Ok(Err(error)),
        },
        _ => false,
    };
    let names: BTreeSet<ResourceName> = waited_for.iter().cloned().chain(wanted).collect();
    let inspect = async |name: ResourceName| {
        let answer = locks.send(Inspect::new(name.as_bytes()).limit(PARTIES)).await?;
        Ok::<_, MailboxError>(answer.map(|inspection| (name, inspection)))
    };
    let (mut resources, mut denied) = (Vec::with_capacity(names.len()), None);
    let mut answers = stream::iter(names.into_iter().map(inspect)).buffered(AT_ONCE);
    while let Some(answer) = answers.next().await {
        match answer? {
            Ok(seen) => resources.push(seen),
            Err(error) if is_denied(&error) => denied = Some(error),
            Err(error) if is_of_one(&error) => {}
            Err(error) => return Ok(Err(error)),
        }
    }
    if let (Some(error), true) = (denied, resources.is_empty()) {
        // All of them were denied: it may as well be the console that is.
        return Ok(Err(error));
    }
    // Somebody waits for what is left out, too: then these are not all.
    let is_seen = |name: &ResourceName| resources.binary_search_by(|(seen, _)| seen.cmp(name)).is_ok();
    let complete = complete && waited_for.iter().all(is_seen);
    let contended = resources.iter().filter(|(_, inspection)| inspection.waiting > 0).count() as u64;
    Ok(Ok(Looked { resources, contended, complete, without_queues }))
}

/// Returns true if an error may say something of one resource, and nothing of the others.
pub(crate) const fn is_of_one(error: &InspectError) -> bool {
    is_denied(error) || matches!(error, InspectError::Store(StoreError::Corrupt { .. }))
}

const fn is_denied(error: &InspectError) -> bool {
    matches!(error, InspectError::Store(StoreError::Denied { .. }))
}

/// Returns true if one of the first resources shows by its holder that the store keeps no queues; `None` if none shows anything.
async fn holds_without_queues(
    locks: &Addr<LockManager>,
) -> Result<Result<Option<bool>, InspectError>, MailboxError> {
    let first = match locks.send(List::new("").limit(FIRST)).await? {
        Ok(listing) => listing.resources,
        Err(error) => return Ok(Err(error)),
    };
    let (mut denied, mut is_answered) = (None, false);
    for name in first {
        match locks.send(Inspect::new(name.as_bytes()).limit(1)).await? {
            Ok(seen) if seen.holders.iter().any(is_holding) => return Ok(Ok(Some(keeps_no_queue(&seen)))),
            Ok(_) => is_answered = true,
            Err(error) if is_denied(&error) => denied = Some(error),
            Err(error) if is_of_one(&error) => {}
            Err(error) => return Ok(Err(error)),
        }
    }
    match denied {
        Some(error) if !is_answered => Ok(Err(error)),
        _ => Ok(Ok(None)),
    }
}

impl Looked {
    /// Returns true if there is nothing new: the same tokens hold and wait.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let parties = |looked: &Self| -> Vec<(ResourceName, u64, u64, Vec<TokenPrefix>)> {
            let of_one = |(name, seen): &(ResourceName, Inspection)| {
                let holders = seen.holders.iter().map(|holder| holder.token);
                let waiters = seen.waiters.iter().map(|waiter| waiter.token);
                (name.clone(), seen.total, seen.waiting, holders.chain(waiters).collect())
            };
            looked.resources.iter().filter(|(_, seen)| seen.total + seen.waiting > 0).map(of_one).collect()
        };
        self.complete == other.complete
            && self.without_queues == other.without_queues
            && parties(self) == parties(other)
    }

    /// Returns true if somebody waits for this resource.
    pub(super) fn is_contended(&self, name: &ResourceName) -> bool {
        let found = self.resources.binary_search_by(|(other, _)| other.cmp(name));
        found.is_ok_and(|at| self.resources[at].1.waiting > 0)
    }

    pub(super) fn watch(&self) -> Watch {
        let waiting = self.resources.iter().map(|(_, inspection)| inspection.waiting).sum();
        let known = |count| (!self.without_queues).then_some(count);
        Watch {
            contended: known(self.contended),
            waiting: known(waiting),
            without_queues: self.without_queues,
            complete: self.complete,
            ..Watch::default()
        }
    }

    /// Returns the processes that hold and wait, as far as they say who they are.
    pub(super) fn processes(&self) -> Vec<ProcessView> {
        let mut found = BTreeMap::<(Option<String>, Option<String>), (u64, u64)>::new();
        let mut count = |metadata: &BTreeMap<String, String>, holds, waits| {
            let told = |key| metadata.get(key).map(|value| shown(value, 100));
            let who = (told("host"), told("pid"));
            if found.len() < PROCESSES || found.contains_key(&who) {
                let (all_holds, all_waits) = found.entry(who).or_default();
                *all_holds += holds;
                *all_waits += waits;
            }
        };
        for (_, inspection) in &self.resources {
            inspection.holders.iter().for_each(|holder| count(&holder.metadata, 1, 0));
            inspection.waiters.iter().for_each(|waiter| count(&waiter.metadata, 0, 1));
        }
        let view = |((host, pid), (holds, waits))| ProcessView { host, pid, holds, waits };
        found.into_iter().map(view).collect()
    }

    /// Returns the resources whose holders or waiters say that they are candidates.
    pub(super) fn elections(&self) -> Vec<ResourceName> {
        let is_election = |seen: &Inspection| {
            let holders = seen.holders.iter().map(|holder| &holder.metadata);
            let mut all = holders.chain(seen.waiters.iter().map(|waiter| &waiter.metadata));
            let roles = ["election", "schedule"];
            all.any(|metadata| metadata.get("role").is_some_and(|role| roles.contains(&role.as_str())))
        };
        let elections = self.resources.iter().filter(|(_, seen)| is_election(seen));
        elections.map(|(name, _)| name.clone()).collect()
    }
}
