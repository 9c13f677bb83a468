//! The questions to the store. Each is bounded, and each answer becomes a [`Report`].

use std::{error::Error, sync::Arc, time::Duration};

use actix::Addr;
use futures_util::future::join_all;
use leasehold::{
    Config, Inspect, InspectError, List, LockManager, ResourceName, Revoke, Revoked, Shutdown, StoreError,
    store::Store, text::one_line,
};
use leasehold_console::view::ResourceView;

use super::seen::{Missing, Report, Walk};
use crate::{Failure, looking::TOLD_AT_MOST, print::counted};

/// The most names that a walk returns, which is also the most that the library gives.
const NAMES_AT_MOST: usize = 10_000;

/// A manager of our own, through which the store is asked. It holds nothing.
pub(super) struct Asker {
    manager: Addr<LockManager>,
    store: Arc<dyn Store>,
}

impl Asker {
    /// Opens the store that the configuration leads to. It is not asked yet.
    pub(super) fn open(config: &Config) -> Result<Self, Failure> {
        let store = config.open_store()?;
        let manager = LockManager::builder(Arc::clone(&store)).settings(config.settings());
        // It holds nothing that a notification could be about.
        let manager = manager.without_notifications().start()?;
        Ok(Self { manager, store })
    }

    /// Returns the place of the locks, without user and password.
    pub(super) fn place(&self) -> String {
        self.store.describe()
    }

    /// Walks over the keys for resources that somebody waits for.
    pub(super) async fn contended(&self) -> Report {
        Report::Contended(self.walk(List::new("").waited_for()).await)
    }

    /// Walks over the keys for resources that are not free.
    pub(super) async fn names(&self) -> Report {
        Report::Names(self.walk(List::new("")).await)
    }

    async fn walk(&self, list: List) -> Result<Walk, String> {
        let listing = asked(self.manager.send(list.limit(NAMES_AT_MOST)).await)?;
        Ok(Walk { names: listing.resources, complete: listing.complete, walked: listing.walked })
    }

    /// Looks at these resources, all at the same time, and tells `each` holders and waiters of each; more of the open one.
    pub(super) async fn looks(
        &self,
        resources: Vec<ResourceName>,
        each: usize,
        open: Option<ResourceName>,
    ) -> Report {
        let look = async |resource: ResourceName| {
            let limit = if Some(&resource) == open.as_ref() { TOLD_AT_MOST } else { each };
            let inspect = Inspect::new(resource.as_bytes()).limit(limit);
            let answer = match self.manager.send(inspect).await {
                Ok(Err(InspectError::Store(error @ StoreError::Corrupt { .. }))) => {
                    Err(Missing::Record(one_line(&error)))
                }
                answer => asked(answer).map_err(Missing::Answer),
            };
            answer.map(|found| {
                let view = ResourceView::of(&resource, &found);
                (resource, view)
            })
        };
        let (mut looks, mut missing, mut others) = (Vec::new(), None, 0);
        for answer in join_all(resources.into_iter().map(look)).await {
            match answer {
                Ok(look) => looks.push(look),
                // A record that cannot be read hides no trouble with the store.
                Err(Missing::Record(_)) if missing.is_some() => others += 1,
                Err(other) => missing = Some(other),
            }
        }
        if let Some(Missing::Record(first)) = &mut missing
            && others > 0
        {
            *first += &format!("; and {}", counted(others, "other record"));
        }
        Report::Looks(looks, missing)
    }

    /// Asks the servers what they have had to do.
    pub(super) async fn server(&self) -> Report {
        Report::Server(match self.store.server_load().await {
            Ok(loads) => Ok(Some(loads)),
            // A user without the right to ask is no trouble for a view of locks either.
            Err(StoreError::Unsupported { .. } | StoreError::Denied { .. }) => Ok(None),
            Err(error) => Err(one_line(&error)),
        })
    }

    /// Takes a resource back from its holders.
    pub(super) async fn revoke(&self, resource: ResourceName, grace: Duration) -> Report {
        let revoke = Revoke::new(resource.as_bytes()).grace(grace).reason("an operator, in leasehold top");
        let outcome = asked(self.manager.send(revoke).await).map(|revoked| told(&revoked));
        Report::Revoked(resource, outcome)
    }

    /// Ends the manager. It waits for what is on its way to the store, 2 s at the longest.
    pub(super) async fn close(&self) {
        // It answers nothing only if it has ended already.
        let _ = self.manager.send(Shutdown { drain: Duration::ZERO }).await;
    }
}

/// Returns the answer, or in one line the reason why there is none.
fn asked<T, E: Error>(answer: Result<Result<T, E>, actix::MailboxError>) -> Result<T, String> {
    match answer {
        Ok(answer) => answer.map_err(|error| one_line(&error)),
        Err(error) => Err(one_line(&error)),
    }
}

fn told(revoked: &Revoked) -> String {
    let Revoked { finished, taken, unconfirmed, more, .. } = *revoked;
    if finished + taken + unconfirmed == 0 && !more {
        return "nobody held it".to_owned();
    }
    let unknown = match unconfirmed {
        0 => String::new(),
        some => format!(", {some} unknown"),
    };
    let more = if more { "; there are more holders, send another one" } else { "" };
    format!("{finished} finished, {taken} taken by force{unknown}{more}")
}
