//! The readiness of a manager: the answer to a health check, which asks the store only if nobody else does.

use std::time::Duration;

use actix::ResponseFuture;
use futures_util::{
    FutureExt,
    future::{LocalBoxFuture, Shared},
};
use tokio::time::timeout;

use crate::{
    core::ResourceName,
    manager::LockManager,
    request::{AcquireError, Ready},
    store::{Hold, Store, StoreError},
};

/// The time for which an answer of the store shows that it serves. When it came is known to a second.
const LATELY: Duration = Duration::from_secs(5);

/// The time that the store has for its answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);

/// The name of a resource that nobody holds. It is only read.
const NAME: &str = "leasehold/ready";

/// The question to the store that was sent last, if it is still in flight. All who ask meanwhile share its answer.
#[derive(Default)]
pub(crate) struct Readiness(Option<Shared<LocalBoxFuture<'static, Result<(), AcquireError>>>>);

impl LockManager {
    pub(super) fn ready(&mut self, _: Ready) -> ResponseFuture<Result<(), AcquireError>> {
        let pending = self.unsettled();
        if self.shutdown.has_begun() {
            return Box::pin(async { Err(AcquireError::ShuttingDown) });
        }
        if pending >= self.settings.limits.max_pending {
            return Box::pin(async move { Err(AcquireError::Busy { pending }) });
        }
        if self.outage.served_within(LATELY) {
            return Box::pin(async { Ok(()) });
        }
        let in_flight = self.readiness.0.clone().filter(|asking| asking.peek().is_none());
        let asking = in_flight.unwrap_or_else(|| self.ask_if_it_serves());
        self.readiness.0 = Some(asking.clone());
        Box::pin(asking)
    }

    /// Asks the store about a resource, whatever the answer is.
    fn ask_if_it_serves(&self) -> Shared<LocalBoxFuture<'static, Result<(), AcquireError>>> {
        let (calls, token) = (self.calls(), self.random.token());
        let asking = async move {
            let hold = Hold { resource: ResourceName::new(NAME)?, token, owner: None };
            let too_late = |_| Err(StoreError::timed_out(ANSWER_WITHIN));
            let in_time = async |store: &dyn Store| {
                timeout(ANSWER_WITHIN, store.is_held(&hold)).await.unwrap_or_else(too_late)
            };
            calls.ask("ready", |store| in_time(store).boxed()).await?;
            Ok::<_, AcquireError>(())
        };
        asking.boxed_local().shared()
    }
}
