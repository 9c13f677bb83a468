//! The requests of an acquisition to one node: its vote, and the writing of a fence.

use std::{
    borrow::Cow,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use crate::{
    core::Fence,
    store::{
        Acquisition, Hold, StoreError,
        quorum::{
            core::Core,
            node::{Ballot, Node},
        },
    },
};

/// Asks one node for the votes of an attempt. The node has no vote on a token that it is releasing at this moment: an
/// acquisition that overtook the release would be undone by it. Waiters may have given way just now, so they are asked for
/// after the answer to that, unless it takes more than half of the time `within` which the node has to answer. On slow links
/// they would meet what they gave back themselves again and again.
pub(super) async fn vote(
    core: &Core,
    which: usize,
    node: &Node,
    (attempt, asked): (u64, &[Arc<Acquisition>]),
    first: Fence,
    clock: &AtomicU64,
    within: Duration,
) -> Vec<Ballot> {
    let mut too_late = core.ledger.want_again(which, asked, core.now());
    // Votes on others do not wait for them.
    let waits = too_late.iter().all(|late| *late) && asked.iter().all(|asked| asked.ticket.is_some());
    if waits {
        let answered = core.ledger.await_releases(which, asked);
        // One that is not answered in time is still in flight.
        let _in_time = tokio::time::timeout(within / 2, answered).await;
        too_late = core.ledger.still_want(which, asked, attempt, core.now());
    }
    let fit = match too_late.contains(&true) {
        true => {
            let fit = asked.iter().zip(&too_late).filter(|(_, late)| !**late);
            Cow::Owned(fit.map(|(asked, _)| Arc::clone(asked)).collect())
        }
        false => Cow::Borrowed(asked),
    };
    let ballots = match fit.is_empty() {
        true => Vec::new(),
        false => {
            let (ballots, read) = node.vote(&fit, first, &core.options, &*core.clock).await;
            // The time that a node tells after a wait says nothing of how far its clock is ahead.
            if let Some(read) = read.filter(|_| !waits) {
                clock.fetch_max(read.get(), Ordering::Relaxed);
                core.fence_clock.at_least(read, core.now());
            }
            ballots
        }
    };
    let mut ballots = ballots.into_iter();
    let being_released =
        || StoreError::unavailable("what an earlier attempt left there is still being released");
    let ballot = |late| if late { None } else { ballots.next() };
    too_late
        .into_iter()
        .map(ballot)
        .map(|ballot| ballot.unwrap_or_else(|| Ballot::Failed(being_released())))
        .collect()
}

/// Writes these fences to one node.
pub(super) async fn raise(
    core: &Core,
    node: &Node,
    asked: &[Arc<Acquisition>],
    raises: &[(usize, Fence)],
) -> Vec<Result<bool, StoreError>> {
    let raises: Vec<(&Hold, Fence)> =
        raises.iter().map(|(which, fence)| (&asked[*which].hold, *fence)).collect();
    node.ask(raises.len(), &core.options, node.store.raise_fences(&raises)).await
}

/// Returns the median, which stands for what most of the nodes report.
pub(super) fn median(counts: impl Iterator<Item = u64>) -> u64 {
    let mut counts: Vec<u64> = counts.collect();
    counts.sort_unstable();
    counts.get(counts.len() / 2).copied().unwrap_or_default()
}
