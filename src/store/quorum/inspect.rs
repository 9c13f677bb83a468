//! The view of a quorum: the holders and names that a majority of the nodes agrees on, and what all holders are told.

use std::{collections::BTreeMap, sync::Arc};

use futures_util::FutureExt;

use crate::{
    core::{ResourceName, Token, TokenPrefix},
    store::{
        Holder, HolderState, HoldersNotified, Inspection, Listing, QuorumNode, Reply, StoreError, ToHolders,
        quorum::{asking::median, core::Core, poll::Round, renew_release::short},
    },
};

type Said<T> = Result<T, StoreError>;

/// Asks all nodes, and waits for all of them. At least a majority has to answer. Also returns the number of nodes on
/// which an item has to be seen so that it may be on a majority.
async fn all<T: Send + 'static>(
    core: &Core,
    question: impl Fn(Arc<dyn QuorumNode>) -> Reply<'static, T>,
) -> Said<(Vec<T>, usize)> {
    let mut round = Round::ask(&core.nodes, |_, node| {
        let answer = question(Arc::clone(&node.store)).map(|answer| vec![answer]);
        async move { node.insist(1, answer).await }.boxed()
    });
    let timeouts = core.options.timeouts();
    round.gather(timeouts, |_| false).await;
    let answered = round.on(0).flatten().flatten().count();
    if answered < core.needed() {
        return Err(short(core, &round, 0, timeouts.met));
    }
    let silent = core.nodes.len() - answered;
    let enough = core.needed().saturating_sub(silent).max(1);
    Ok((round.into_answers().flatten().collect(), enough))
}

pub(super) async fn inspect(core: &Core, resource: &ResourceName, limit: usize) -> Said<Inspection> {
    let question = |store: Arc<dyn QuorumNode>| {
        let name = resource.clone();
        // More than are wanted: holders that end at about the same time end in another order on each node.
        async move { store.inspect(&name, limit.saturating_mul(2)).await }.boxed()
    };
    let (inspections, enough) = all(core, question).await?;
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
    holders.truncate(limit);
    Ok(Inspection { holders, total, waiting: 0 })
}

/// Merges the reports of several nodes on one holder. The holder ends when too few of them have it.
fn merged(mut holders: Vec<Holder>, enough: usize) -> Holder {
    holders.sort_by_key(|holder| std::cmp::Reverse(holder.remaining));
    // A late node may have another fence than the granted one.
    let times = |fence| holders.iter().filter(|holder| holder.fence == fence).count();
    let fence =
        holders.iter().map(|holder| holder.fence).max_by_key(|fence| (times(*fence), *fence)).flatten();
    let remaining = holders[enough - 1].remaining;
    Holder { fence, remaining, ..holders.swap_remove(0) }
}

pub(super) async fn list(core: &Core, prefix: &[u8], limit: usize) -> Said<Listing> {
    let prefix: Arc<[u8]> = prefix.into();
    let question = |store: Arc<dyn QuorumNode>| {
        let prefix = Arc::clone(&prefix);
        async move { store.list(&prefix, limit).await }.boxed()
    };
    let (listings, enough) = all(core, question).await?;
    let mut complete = listings.iter().all(|listing| listing.complete);
    let mut seen: BTreeMap<ResourceName, usize> = BTreeMap::new();
    for name in listings.into_iter().flat_map(|listing| listing.resources) {
        *seen.entry(name).or_default() += 1;
    }
    let agreed = seen.into_iter().filter(|(_, nodes)| *nodes >= enough);
    let mut resources: Vec<ResourceName> = agreed.map(|(name, _)| name).collect();
    complete &= resources.len() <= limit;
    resources.truncate(limit);
    Ok(Listing { resources, complete })
}

pub(super) async fn force_release(core: &Core, resource: &ResourceName) -> Said<u64> {
    let question = |store: Arc<dyn QuorumNode>| {
        let name = resource.clone();
        async move { store.force_release(&name).await }.boxed()
    };
    let (counts, _) = all(core, question).await?;
    Ok(median(counts.into_iter()))
}

/// Notifies the holders on each node. A holder is one that a majority may have; what only a minority has is left over from
/// an attempt, and means nothing to its manager.
pub(super) async fn notify_holders(core: &Core, to: &ToHolders) -> Said<HoldersNotified> {
    let to = Arc::new(to.clone());
    let question = |store: Arc<dyn QuorumNode>| {
        let to = Arc::clone(&to);
        async move { store.notify_holders(&to).await }.boxed()
    };
    let (notified, enough) = all(core, question).await?;
    let complete = notified.iter().all(|notified| notified.complete);
    let mut seen: BTreeMap<Token, usize> = BTreeMap::new();
    for token in notified.into_iter().flat_map(|notified| notified.holders) {
        *seen.entry(token).or_default() += 1;
    }
    let holders = seen.into_iter().filter(|(_, nodes)| *nodes >= enough).map(|(token, _)| token);
    Ok(HoldersNotified { holders: holders.collect(), complete })
}
