//! A lease that somebody wants back, as its holder learns of it.

use std::{sync::Arc, time::Duration};

use crate::{
    core::{LeaseStatus, Moment, Token},
    lease::{LeaseChange, LeaseShared, RevokeRequested},
};

impl LeaseShared {
    /// Tells the holder that somebody wants the resource back, unless it was told of this revocation, or the lease is over.
    pub(crate) fn revoke_requested(&self, revocation: Token, reason: &Arc<str>, grace: Duration) {
        let now = self.clock.now();
        let mut present = self.present();
        if !matches!(present.validity.status(), LeaseStatus::Held | LeaseStatus::AtRisk) {
            return;
        }
        let requests = present.revoke_requested.get_or_insert_default();
        let before = requests.first(now).map(|first| first.end);
        let request = RevokeRequested { reason: Arc::clone(reason), grace, revocation, end: now + grace };
        let is_new = requests.add(request.clone(), now);
        let changed = requests.first(now).map(|first| first.end) != before;
        drop(present);
        if changed {
            self.changed.notify_waiters();
        }
        if !is_new {
            return;
        }
        tracing::info!(
            resource = %self.hold().resource, token = %self.hold().token.prefix(), ?grace, %reason,
            "somebody wants the resource of a lease back"
        );
        self.tell(LeaseChange::RevokeRequested(request));
    }

    /// Returns true if somebody wants the resource back, who has not given up.
    pub(super) fn is_wanted_back(&self, now: Moment) -> bool {
        self.present().revoke_requested.as_ref().is_some_and(|all| all.is_wanted_back(now))
    }

    /// Waits for a request that ends before the known one, if any. `None` when the lease is over and nobody asked.
    pub(crate) async fn until_revoke_requested(
        &self,
        known: Option<RevokeRequested>,
    ) -> Option<RevokeRequested> {
        loop {
            let changed = self.changed.notified();
            let now = self.clock.now();
            let requested = self.present().revoke_requested.as_ref().and_then(|all| all.first(now));
            if let Some(requested) = requested.filter(|it| {
                known.as_ref().is_none_or(|known| it.revocation != known.revocation && it.end < known.end)
            }) {
                return Some(requested);
            }
            tokio::select! {
                biased;
                () = changed => {}
                _ = self.over() => return None,
            }
        }
    }
}
