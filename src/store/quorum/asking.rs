//! The requests of an acquisition to one node: its vote, and the writing of a fence.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
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

/// Asks one node for its votes, except on tokens that it is releasing at this moment.
pub(super) async fn vote(
    core: &Core,
    which: usize,
    node: &Node,
    asked: &[Arc<Acquisition>],
    first: Fence,
    clock: &AtomicU64,
) -> Vec<Ballot> {
    let vote = async |asked: &[_]| {
        let (ballots, read) = node.vote(asked, first, &core.options, &*core.clock).await;
        if let Some(read) = read {
            clock.fetch_max(read.get(), Ordering::Relaxed);
            core.fence_clock.at_least(read, core.now());
        }
        ballots
    };
    let too_late = core.ledger.want_again(which, asked, core.now());
    if !too_late.contains(&true) {
        return vote(asked).await;
    }
    let fit: Vec<_> =
        asked.iter().zip(&too_late).filter(|(_, late)| !**late).map(|(asked, _)| Arc::clone(asked)).collect();
    let mut ballots = vote(&fit).await.into_iter();
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
