//! The request to give a lease back, as its holder learns of it.

use std::time::Duration;

use crate::{
    core::{LeaseStatus, Token},
    lease::{LeaseChange, RevokeRequested, shared::LeaseShared},
};

/// The request that a holder was told last.
pub(super) struct Requested {
    /// The random id of the revocation: it is told once, however often it is notified.
    revocation: Token,
    request: RevokeRequested,
}

impl LeaseShared {
    /// Tells the holder that somebody wants the resource back, unless it was told of this revocation, or the lease is over.
    pub(crate) fn revoke_requested(&self, revocation: Token, reason: &std::sync::Arc<str>, grace: Duration) {
        let mut present = self.present();
        let known = present.revoke_requested.as_ref().is_some_and(|known| known.revocation == revocation);
        if known || !matches!(present.validity.status(), LeaseStatus::Held | LeaseStatus::AtRisk) {
            return;
        }
        let request = RevokeRequested { reason: reason.clone(), grace };
        present.revoke_requested = Some(Box::new(Requested { revocation, request: request.clone() }));
        drop(present);
        tracing::info!(
            resource = %self.hold().resource, token = %self.hold().token.prefix(), ?grace, %reason,
            "somebody wants the resource of a lease back"
        );
        self.tell(LeaseChange::RevokeRequested(request));
        self.recheck();
    }

    /// Completes when somebody wants the resource back; with `None` when the lease is over and nobody did.
    pub(crate) async fn until_revoke_requested(&self) -> Option<RevokeRequested> {
        loop {
            let changed = self.changed();
            if let Some(requested) = &self.present().revoke_requested {
                return Some(requested.request.clone());
            }
            tokio::select! {
                biased;
                () = changed => {}
                _ = self.over() => return None,
            }
        }
    }
}
