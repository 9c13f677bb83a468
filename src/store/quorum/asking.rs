//! The requests of an acquisition to one node: its vote, and the writing of a fence.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use futures_util::future::join;

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
/// acquisition that overtook the release would be undone by it. A waiter may have given way just now, so it is asked for
/// after the answer to that. On slow links it would meet its own giving way again and again.
pub(super) async fn vote(
    core: &Core,
    which: usize,
    node: &Node,
    (attempt, asked): (u64, &[Arc<Acquisition>]),
    first: Fence,
    clock: &AtomicU64,
) -> Vec<Ballot> {
    let vote = async |asked: &[_]| {
        if asked.is_empty() {
            return Vec::new();
        }
        let (ballots, read) = node.vote(asked, first, &core.options, &*core.clock).await;
        if let Some(read) = read {
            clock.fetch_max(read.get(), Ordering::Relaxed);
            core.fence_clock.at_least(read, core.now());
        }
        ballots
    };
    let releasing = core.ledger.want_again(which, asked, core.now());
    if !releasing.contains(&true) {
        return vote(asked).await;
    }
    let (later, at_once) = parted(asked, &releasing);
    let votes_later = async {
        let waiters = later.iter().filter(|asked| asked.ticket.is_some());
        core.ledger.await_releases(which, waiters.map(|asked| asked.hold.token).collect()).await;
        let too_late = core.ledger.still_want(which, &later, attempt, core.now());
        let (failed, fit) = parted(&later, &too_late);
        let failed = failed.iter().map(|_| Ballot::Failed(being_released())).collect();
        joined(&too_late, failed, vote(&fit).await)
    };
    let (later, at_once) = join(votes_later, vote(&at_once)).await;
    joined(&releasing, later, at_once)
}

fn being_released() -> StoreError {
    StoreError::unavailable("what an earlier attempt left there is still being released")
}

/// Parts the items that are marked from the others.
fn parted<T: Clone>(items: &[T], marks: &[bool]) -> (Vec<T>, Vec<T>) {
    let of = |mark| items.iter().zip(marks).filter(move |(_, is)| **is == mark).map(|(item, _)| item.clone());
    (of(true).collect(), of(false).collect())
}

/// Joins what was parted, in the order of the marks.
fn joined<T>(marks: &[bool], marked: Vec<T>, others: Vec<T>) -> Vec<T> {
    let (mut marked, mut others) = (marked.into_iter(), others.into_iter());
    marks.iter().filter_map(|mark| if *mark { marked.next() } else { others.next() }).collect()
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
