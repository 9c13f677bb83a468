//! The partitions that somebody waits for: in the queue of the store, or behind this process's own lease.

use std::collections::BTreeSet;

use actix::Addr;
use futures_util::{StreamExt, stream};

use super::survey::{AT_ONCE, inspect};
use crate::{core::ResourceName, manager::LockManager, request::Leases};

/// A partition that is the share of another member, and its resource.
pub(super) type Moving = (u32, ResourceName);

/// Returns those of these partitions that somebody waits for, as far as that is known. Members that share a lock manager wait in it,
/// where the store does not see them.
pub(super) async fn waited_for(locks: Addr<LockManager>, moving: Vec<Moving>) -> Vec<u32> {
    let own = locks.send(Leases::new().limit(10_000)).await;
    let own = own.ok().and_then(Result::ok).map(|own| own.waiting).unwrap_or_default();
    let own: BTreeSet<_> = own.into_iter().map(|waiter| waiter.resource).collect();
    let is_waited_for = async |(partition, resource): Moving| {
        let is_waited_for = own.contains(&resource)
            || inspect(&locks, &resource, 1).await.is_ok_and(|inspection| inspection.waiting > 0);
        is_waited_for.then_some(partition)
    };
    let found = stream::iter(moving).map(is_waited_for).buffer_unordered(AT_ONCE);
    found.filter_map(async |partition| partition).collect().await
}
