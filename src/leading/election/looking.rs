//! The look for other leaders: the store is asked who leads, and a change is told.

use std::time::Duration;

use actix::Addr;

use super::{ElectionEvent, messages::Audience};
use crate::{
    core::{ResourceName, TokenPrefix, one_line},
    manager::LockManager,
    request::{Inspect, InspectError},
    store::{Holder, HolderState, StoreError},
};

/// The answer to the question who leads. `None` means nobody.
pub(super) type Leading = Result<Option<Holder>, InspectError>;

/// The other leaders, as far as they are known, and the recipients that are told of them.
pub(super) struct Looking {
    /// The pause between two looks.
    pub(super) every: Duration,
    audience: Audience,
    is_on_its_way: bool,
    /// The leader that was told last.
    told: Option<Holder>,
}

impl Looking {
    pub(super) const fn new(every: Duration, audience: Audience) -> Self {
        Self { every, audience, is_on_its_way: false, told: None }
    }

    /// Returns true if somebody is there who is told.
    pub(super) fn is_wanted(&self) -> bool {
        self.audience.is_there()
    }

    pub(super) fn has_told(&self, token: TokenPrefix) -> bool {
        self.told.as_ref().is_some_and(|leader| leader.token == token)
    }

    /// Asks the store who leads, unless it is being asked, or nobody wants to know.
    pub(super) fn ask(
        &mut self,
        locks: &Addr<LockManager>,
        name: &ResourceName,
    ) -> Option<impl Future<Output = Leading> + use<>> {
        if self.is_on_its_way || !self.is_wanted() {
            return None;
        }
        self.is_on_its_way = true;
        Some(leader(locks, name))
    }

    /// Tells who leads, if that is news.
    pub(super) fn answered(&mut self, name: &ResourceName, answer: Leading) {
        self.is_on_its_way = false;
        match answer {
            Ok(leader) if self.is_news(leader.as_ref()) => {
                self.told.clone_from(&leader);
                self.audience.tell(&ElectionEvent::LeaderChanged { to: leader });
            }
            Ok(_) => {}
            // The end of the lock manager is seen by the look at the audience.
            Err(error) => {
                tracing::debug!(resource = %name, error = one_line(&error), "could not see who leads")
            }
        }
    }

    /// Returns true if this is another leader than the one that was told last. An answer that is older than that is none.
    fn is_news(&self, leader: Option<&Holder>) -> bool {
        match (&self.told, leader) {
            (Some(told), Some(leader)) => {
                let is_older = leader.fence.is_some() && told.fence > leader.fence;
                told.token != leader.token && !is_older
            }
            (None, None) => false,
            (Some(_), None) | (None, Some(_)) => true,
        }
    }
}

/// Asks the store who leads. A holder that only keeps the resource closed does not.
pub(super) fn leader(
    locks: &Addr<LockManager>,
    name: &ResourceName,
) -> impl Future<Output = Leading> + use<> {
    let answer = locks.send(Inspect::new(name.as_bytes()).limit(1));
    async {
        let inspection = answer.await.map_err(|error| StoreError::unanswered("leader", error))??;
        Ok(inspection.holders.into_iter().find(|holder| holder.state == HolderState::Holding))
    }
}
