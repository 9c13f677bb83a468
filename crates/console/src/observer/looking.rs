//! One look at the store: the resources that somebody waits for, and those that are of interest.

use std::collections::BTreeSet;

use actix::{Addr, MailboxError};
use futures_util::{StreamExt, stream};
use leasehold::{Inspect, InspectError, List, Listing, LockManager, ResourceName, StoreError};

use super::latest::RESOURCES;
use crate::view::{HolderView, ResourceView};

/// The number of held resources that are asked whether the store keeps queues, where nobody waits. The first one as a rule tells.
const FIRST: usize = 8;
/// The number of questions that are under way at once.
const AT_ONCE: usize = 16;
/// The largest number of holders and of waiters of one resource that a look is told.
const PARTIES: usize = 20;

/// The findings of one look.
pub(super) struct Looked {
    pub(super) resources: Vec<(ResourceName, ResourceView)>,
    /// False if somebody waits for others, too.
    pub(super) complete: bool,
    /// True if the store keeps no queues, so that nobody knows who waits.
    pub(super) without_queues: bool,
}

/// Looks at what is contended, and at these resources. `None` if the manager is gone.
pub(super) async fn look(
    locks: Addr<LockManager>,
    wanted: BTreeSet<ResourceName>,
    was_without_queues: bool,
) -> Option<Result<Looked, InspectError>> {
    looked(&locks, wanted, was_without_queues).await.ok()
}

async fn looked(
    locks: &Addr<LockManager>,
    wanted: BTreeSet<ResourceName>,
    was_without_queues: bool,
) -> Result<Result<Looked, InspectError>, MailboxError> {
    let listing = match locks.send(List::new("").waited_for().limit(RESOURCES)).await? {
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
        let view = answer.map(|found| ResourceView::of(&name, &found));
        Ok::<_, MailboxError>(view.map(|view| (name, view)))
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
    Ok(Ok(Looked { resources, complete, without_queues }))
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
            Ok(found) => {
                let seen = ResourceView::of(&name, &found);
                if seen.holders.iter().any(HolderView::is_holding) {
                    return Ok(Ok(Some(seen.waiting.is_none())));
                }
                is_answered = true;
            }
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
