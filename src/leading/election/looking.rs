//! The look for other leaders: the store is asked who leads, and a change is told.

use actix::Addr;

use super::{ElectionEvent, messages::Audience};
use crate::{
    core::{ResourceName, one_line},
    manager::LockManager,
    request::{Inspect, InspectError},
    store::{Holder, HolderState, StoreError},
};

/// The answer to the question who leads. `None` means nobody.
pub(super) type Leading = Result<Option<Holder>, InspectError>;

/// The other leaders, as far as they are known, and the recipients that are told of them.
#[derive(Default)]
pub(super) struct Looking {
    pub(super) audience: Audience,
    pub(super) is_on_its_way: bool,
    /// The leader that was told last.
    pub(super) told: Option<Holder>,
}

impl Looking {
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
            (told, leader) => told.is_some() != leader.is_some(),
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
