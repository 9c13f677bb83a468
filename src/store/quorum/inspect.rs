//! The view of a quorum: the holders and names that a majority of the nodes agrees on, and what all holders are told.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    core::{ResourceName, TokenPrefix},
    store::{
        Holder, HolderState, HoldersNotified, Inspection, Listing, QuorumNode, Reply, ServerLoad, StoreError,
        ToHolders, Waiter, Walk,
        quorum::{
            round::Round,
            shared::{Quorum, median},
        },
    },
};

/// Asks all nodes, and waits for all of them. At least a majority has to answer. Also returns the number of nodes on
/// which an item has to be seen so that it may be on a majority.
async fn all<T: Send + 'static, About: Clone + Send + Sync + 'static>(
    quorum: &Arc<Quorum>,
    about: About,
    question: for<'a> fn(&'a dyn QuorumNode, &'a About) -> Reply<'a, T>,
) -> Result<(Vec<T>, usize), StoreError> {
    let (needed, timeouts) = (quorum.needed(), quorum.options.timeouts());
    let mut round = Round::of_one(quorum, about, question);
    round.gather(timeouts, |_| false).await;
    let answered = round.on(0).flatten().flatten().count();
    if answered < needed {
        return Err(round.short(0, timeouts.met));
    }
    let silent = quorum.nodes.len() - answered;
    Ok((round.into_answers().flatten().collect(), needed.saturating_sub(silent).max(1)))
}

/// Returns the loads of the first majority that answers: a slow minority decides nothing, and is waited for by nobody.
pub(super) async fn server_load(quorum: &Arc<Quorum>) -> Result<Vec<ServerLoad>, StoreError> {
    let (needed, timeouts) = (quorum.needed(), quorum.options.timeouts());
    let mut round = Round::of_one(quorum, (), |store, ()| store.server_load());
    let is_majority = |round: &Round<Result<_, _>>| round.on(0).flatten().flatten().count() >= needed;
    round.gather(timeouts, is_majority).await;
    if !is_majority(&round) {
        return Err(round.short(0, timeouts.met));
    }
    Ok(round.into_answers().flatten().flatten().collect())
}

/// Returns the items that enough nodes have named, in their order.
fn agreed<T: Ord>(named: impl Iterator<Item = T>, enough: usize) -> impl Iterator<Item = T> {
    let mut nodes: BTreeMap<T, usize> = BTreeMap::new();
    named.for_each(|item| *nodes.entry(item).or_default() += 1);
    nodes.into_iter().filter(move |(_, nodes)| *nodes >= enough).map(|(item, _)| item)
}

pub(super) async fn inspect(
    quorum: &Arc<Quorum>,
    resource: &ResourceName,
    limit: usize,
) -> Result<Inspection, StoreError> {
    // More than are wanted: holders that end at about the same time end in another order on each node.
    let about = (resource.clone(), limit.saturating_mul(2));
    let (inspections, enough) = all(quorum, about, |store, (name, most)| store.inspect(name, *most)).await?;
    let waiting = median(inspections.iter().map(|inspection| inspection.waiting));
    let all_waiters_told = inspections.iter().all(|it| it.waiters.len() as u64 == it.waiting);
    let mut waiters = in_one_queue(&inspections, enough);
    let total = median(inspections.iter().map(|inspection| inspection.total));
    let complete = inspections.iter().all(|inspection| inspection.holders.len() as u64 == inspection.total);
    let mut seen: BTreeMap<(TokenPrefix, bool), Vec<Holder>> = BTreeMap::new();
    for holder in inspections.into_iter().flat_map(|inspection| inspection.holders) {
        let closed = holder.state == HolderState::Closed;
        seen.entry((holder.token, closed)).or_default().push(holder);
    }
    let agreed = seen.into_values().filter(|holders| holders.len() >= enough);
    let mut holders: Vec<Holder> = agreed.map(|holders| merged(holders, enough)).collect();
    holders.sort_by_key(|holder| holder.remaining);
    // Only of those that all nodes named is it known how many a majority has.
    let total = if complete { holders.len() as u64 } else { total };
    let waiting = if all_waiters_told { waiters.len() as u64 } else { waiting };
    holders.truncate(limit);
    waiters.truncate(limit);
    Ok(Inspection { holders, total, waiting, waiters, capacity: None })
}

/// Merges the reports of several nodes on one holder. The holder ends when too few of them have it. Its fence may come from
/// the clock of another node, so none of them knows for how long it has held.
fn merged(mut holders: Vec<Holder>, enough: usize) -> Holder {
    holders.sort_by_key(|holder| std::cmp::Reverse(holder.remaining));
    // A late node may have another fence than the granted one.
    let times = |fence| holders.iter().filter(|holder| holder.fence == fence).count();
    let fence =
        holders.iter().map(|holder| holder.fence).max_by_key(|fence| (times(*fence), *fence)).flatten();
    let remaining = holders[enough - 1].remaining;
    // One that was not told yet has other metadata than the majority.
    let alike = |of: &&Holder| holders.iter().filter(|holder| holder.metadata == of.metadata).count();
    let told = holders.iter().rev().max_by_key(alike).map(|holder| holder.metadata.clone());
    Holder { fence, remaining, held_for: None, metadata: told.unwrap_or_default(), ..holders.swap_remove(0) }
}

/// Merges the queues of the nodes: those who wait on enough of them, in the order that all nodes have. On a node that lacks
/// somebody, who comes later stands further in front than it is.
fn in_one_queue(inspections: &[Inspection], enough: usize) -> Vec<Waiter> {
    let mut seen: BTreeMap<TokenPrefix, (usize, usize, &Waiter)> = BTreeMap::new();
    for (position, waiter) in inspections.iter().flat_map(|inspection| inspection.waiters.iter().enumerate())
    {
        let (nodes, last, _) = seen.entry(waiter.token).or_insert((0, position, waiter));
        (*nodes, *last) = (*nodes + 1, position.max(*last));
    }
    let mut agreed: Vec<_> = seen.into_values().filter(|(nodes, ..)| *nodes >= enough).collect();
    agreed.sort_by_key(|(_, position, _)| *position);
    // The place in the queue was proposed to the nodes, and is no time of theirs.
    agreed.into_iter().map(|(.., waiter)| Waiter { waited: None, ..waiter.clone() }).collect()
}

/// Lists the names that enough nodes have, up to the first name at which the page of a node ends: the rest is on the next one.
pub(super) async fn list(quorum: &Arc<Quorum>, walk: &Walk) -> Result<Listing, StoreError> {
    /// The largest number of pages of each node for one page of all.
    const PAGES: usize = 8;
    let (mut walk, limit) = (walk.clone(), walk.limit);
    let mut found = Listing { resources: Vec::new(), complete: false, cut_short: false, walked: 0 };
    for page in 1..=PAGES {
        let (listings, enough) = all(quorum, walk.clone(), |store, walk| store.list(walk)).await?;
        found.walked += listings.iter().map(|listing| listing.walked).sum::<u64>();
        let cut = listings.iter().filter(|listing| !listing.complete);
        // A node that gave up early may lack any name.
        let gave_up = listings.iter().any(|listing| listing.cut_short);
        found.cut_short |= gave_up;
        let end = cut.filter_map(|listing| listing.resources.last()).min().cloned();
        let names = listings.into_iter().flat_map(|listing| listing.resources);
        let known = |name: &ResourceName| end.as_ref().is_none_or(|end| name <= end);
        found.resources.extend(agreed(names, enough).filter(known));
        found.complete = end.is_none() && !gave_up && found.resources.len() <= limit;
        match end {
            // There is no name to go on behind.
            Some(_) if page == PAGES && found.resources.is_empty() => found.cut_short = true,
            Some(end) if !gave_up && found.resources.len() < limit => walk.after = end.as_bytes().to_vec(),
            _ => break,
        }
    }
    found.resources.truncate(limit);
    Ok(found)
}

pub(super) async fn force_release(quorum: &Arc<Quorum>, resource: &ResourceName) -> Result<u64, StoreError> {
    let (counts, _) = all(quorum, resource.clone(), |store, name| store.force_release(name)).await?;
    Ok(median(counts.into_iter()))
}

/// Notifies the holders on each node. A holder is one that a majority may have; what only a minority has is left over from
/// an attempt, and means nothing to its manager.
pub(super) async fn notify_holders(
    quorum: &Arc<Quorum>,
    to: &ToHolders,
) -> Result<HoldersNotified, StoreError> {
    let to = Arc::new(to.clone());
    let (notified, enough) = all(quorum, to, |store, to| store.notify_holders(to)).await?;
    let complete = notified.iter().all(|notified| notified.complete);
    let holders = notified.into_iter().flat_map(|notified| notified.holders);
    Ok(HoldersNotified { holders: agreed(holders, enough).collect(), complete })
}
