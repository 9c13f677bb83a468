//! The answer about a manager's own leases and waiters, from its records alone.

use std::cmp::Reverse;

use actix::MessageResult;

use crate::{
    core::Moment,
    lease::{RecordKey, shared::LeaseShared},
    manager::LockManager,
    request::{Leases, OwnLease, OwnLeases, OwnWaiter, queries::check_limit},
};

impl LockManager {
    pub(super) fn leases(&mut self, Leases { limit }: Leases) -> MessageResult<Leases> {
        MessageResult(check_limit(limit).map(|limit| self.own_leases(limit)).map_err(Into::into))
    }

    fn own_leases(&self, limit: usize) -> OwnLeases {
        let now = self.clock.now();
        let mut held = self.records.leases();
        let held_in_all = held.len();
        keep_first(&mut held, limit, |lease| Reverse(lease.held_for_at(now)));
        let in_sets = self.sets.values().flat_map(|set| set.waiters(now));
        let mut waiting: Vec<OwnWaiter> = self
            .records
            .waiting()
            .into_iter()
            .filter_map(|record| self.waiter(record, now))
            .chain(in_sets)
            .collect();
        let waiting_in_all = waiting.len();
        keep_first(&mut waiting, limit, |waiter| Reverse(waiter.waited));
        let held = held.iter().map(|lease| described(lease, now)).collect();
        OwnLeases { held, held_in_all, waiting, waiting_in_all }
    }

    /// Describes a request that waits. `None` if its caller has gone.
    fn waiter(&self, record: RecordKey, now: Moment) -> Option<OwnWaiter> {
        self.records.with(record, |it| {
            let (waited, attempts, ahead) =
                (it.decisions.waited(now), it.decisions.attempts(), it.decisions.ahead());
            let wanted = it.decisions.has_caller();
            let waiter = it.waiter().filter(|waiter| wanted && !waiter.reply.is_closed())?;
            let (hold, mode) = (&waiter.request.acquisition.hold, waiter.request.acquisition.mode);
            Some(OwnWaiter {
                resource: hold.resource.clone(),
                token: hold.token.prefix(),
                mode,
                owner: hold.owner.clone(),
                waited,
                attempts,
                ahead,
            })
        })?
    }
}

fn described(lease: &LeaseShared, now: Moment) -> OwnLease {
    let hold = lease.hold();
    OwnLease {
        resource: hold.resource.clone(),
        token: hold.token.prefix(),
        mode: lease.acquisition.mode,
        fence: lease.fence,
        owner: hold.owner.clone(),
        status: lease.status_at(now),
        held_for: lease.held_for_at(now),
        valid_for: lease.remaining_at(now),
    }
}

/// Keeps the first of these by a key, in their order. The others are not sorted: there may be many.
fn keep_first<T, K: Ord>(all: &mut Vec<T>, limit: usize, key: impl Fn(&T) -> K) {
    if all.len() > limit {
        all.select_nth_unstable_by_key(limit, &key);
        all.truncate(limit);
    }
    all.sort_by_key(key);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_many_are_kept_in_their_order() {
        for limit in 1..8 {
            let mut numbers = vec![5, 3, 1, 4, 2];
            keep_first(&mut numbers, limit, |number| *number);
            assert_eq!(numbers, (1..=5).take(limit).collect::<Vec<_>>());
        }
    }
}
