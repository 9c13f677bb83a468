//! The readiness of a manager: the answer to a health check, which asks the store only if nobody else does.

use std::time::Duration;

use futures_util::{
    FutureExt,
    future::{LocalBoxFuture, Shared},
};
use tokio::time::timeout;

use crate::{
    core::{ResourceName, Token},
    manager::Calls,
    request::AcquireError,
    store::{Hold, StoreError},
};

/// The time for which an answer of the store shows that it serves. When it came is known to a second.
pub(crate) const LATELY: Duration = Duration::from_secs(5);

/// The time that the store has for its answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);

/// The name of a resource that nobody holds. It is only read.
const NAME: &str = "leasehold/ready";

/// A question to the store. All who ask while it is in flight share its answer.
type Asking = Shared<LocalBoxFuture<'static, Result<(), AcquireError>>>;

/// The question to the store that was sent last.
#[derive(Default)]
pub(crate) struct Readiness(Option<Asking>);

impl Readiness {
    /// Returns the question that is in flight, or sends one about a resource. Whatever the answer is, the store serves.
    pub(crate) fn ask(&mut self, calls: Calls, token: impl FnOnce() -> Token) -> Asking {
        if let Some(asking) = self.0.as_ref().filter(|asking| asking.peek().is_none()) {
            return asking.clone();
        }
        let token = token();
        let asking = async move {
            let hold = Hold { resource: ResourceName::new(NAME)?, token, owner: None };
            let too_late = |_| Err(StoreError::timed_out(ANSWER_WITHIN));
            calls
                .ask("ready", |store| {
                    timeout(ANSWER_WITHIN, store.is_held(&hold)).map(|it| it.unwrap_or_else(too_late)).boxed()
                })
                .await?;
            Ok(())
        };
        self.0.insert(asking.boxed_local().shared()).clone()
    }
}
