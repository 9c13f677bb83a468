//! One look at the store: the resources that somebody waits for, and those that are of interest.

use std::collections::{BTreeMap, BTreeSet};

use actix::Addr;
use futures_util::future::join_all;

use crate::{
    core::{ResourceName, TokenPrefix},
    manager::LockManager,
    request::{Inspect, InspectError, List},
    store::{Inspection, Listing},
    web::console::model::{ProcessView, Watch, shown},
};

/// The largest number of holders and of waiters of one resource that a look is told.
const PARTIES: usize = 20;
/// The largest number of processes.
const PROCESSES: usize = 500;

/// The findings of one look.
#[derive(Default)]
pub(super) struct Looked {
    pub(super) resources: Vec<(ResourceName, Inspection)>,
    contended: u64,
    complete: bool,
}

/// Looks at what is contended, and at these resources. `None` if the manager is gone.
pub(super) async fn look(
    locks: Addr<LockManager>,
    wanted: BTreeSet<ResourceName>,
    most: usize,
) -> Option<Result<Looked, InspectError>> {
    let listing = match locks.send(List::new("").waited_for().limit(most)).await.ok()? {
        Ok(listing) => listing,
        Err(error) => return Some(Err(error)),
    };
    let Listing { resources: contended, complete, .. } = listing;
    let names: BTreeSet<ResourceName> = contended.iter().cloned().chain(wanted).collect();
    let inspect = |name: &ResourceName| locks.send(Inspect::new(name.as_bytes()).limit(PARTIES));
    let answers = join_all(names.iter().map(inspect)).await;
    let mut resources = Vec::with_capacity(names.len());
    for (name, answer) in names.into_iter().zip(answers) {
        match answer.ok()? {
            Ok(inspection) => resources.push((name, inspection)),
            Err(error) => return Some(Err(error)),
        }
    }
    let contended = resources.iter().filter(|(_, inspection)| inspection.waiting > 0).count() as u64;
    Some(Ok(Looked { resources, contended, complete }))
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
        self.complete == other.complete && parties(self) == parties(other)
    }

    pub(super) fn watch(&self) -> Watch {
        let waiting = self.resources.iter().map(|(_, inspection)| inspection.waiting).sum();
        Watch {
            contended: Some(self.contended),
            waiting: Some(waiting),
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
