//! Calls to a store that survive its panics and its malformed answers, and those that travel in no batch.

use std::{
    panic::AssertUnwindSafe,
    rc::Rc,
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::{
    FutureExt,
    future::{LocalBoxFuture, Shared},
};
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::timeout,
};

use crate::{
    core::{ResourceName, Token},
    listeners::Listeners,
    manager::Outage,
    request::AcquireError,
    runtime::supervisor::message_of,
    store::{AcquiredAll, Acquisition, Hold, Replies, Reply, Store, StoreError},
};

/// The way to the store. The log of outages sees all answers.
#[derive(Clone)]
pub(crate) struct Calls {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) outage: Rc<Outage>,
    pub(crate) listeners: Arc<Listeners>,
}

impl Calls {
    /// Makes a call that travels in no batch.
    pub(crate) async fn ask<'a, T>(
        &'a self,
        verb: &str,
        question: impl FnOnce(&'a dyn Store) -> Reply<'a, T>,
    ) -> Result<T, StoreError> {
        self.outage.seen(verb, ask(verb, || question(&*self.store)).await)
    }

    /// Makes a call whose time is measured.
    pub(crate) async fn timed<T>(
        &self,
        verb: &'static str,
        call: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let began = Instant::now();
        let answer = call.await;
        self.listeners.store_answered(verb, answer.is_ok(), began);
        self.outage.seen(verb, answer)
    }

    /// Makes a call for several operations, whose time is measured.
    pub(crate) async fn timed_each<T>(
        &self,
        verb: &'static str,
        call: impl Future<Output = Vec<Result<T, StoreError>>>,
    ) -> Vec<Result<T, StoreError>> {
        let began = Instant::now();
        let answers = call.await;
        self.listeners.store_answered(verb, answers.iter().all(Result::is_ok), began);
        answers.into_iter().map(|answer| self.outage.seen(verb, answer)).collect()
    }
}

/// The seats of one kind of calls. Who finds none waits in the order of arrival. A clone is another handle to them.
#[derive(Clone)]
pub(crate) struct Seats {
    free: Rc<Semaphore>,
    /// Has a clone in each call that is asked for and has not ended.
    asked: Rc<()>,
}

/// The calls that travel in no batch.
pub(crate) struct SingleCalls {
    /// Questions of operators and schedules, revocations, and releases by force.
    pub(crate) questions: Seats,
    /// Walks over the names in the store, which take many calls each.
    pub(crate) walks: Seats,
    /// First tries of several resources at once.
    pub(crate) sets: Seats,
    pub(crate) readiness: Readiness,
    /// Has a clone in each revocation that runs.
    pub(crate) revocations: Rc<()>,
}

/// A call that is asked for.
pub(crate) struct Asked {
    seats: Rc<Semaphore>,
    _counted: Rc<()>,
}

impl Default for SingleCalls {
    fn default() -> Self {
        let [questions, walks, sets] = [32, 4, 32].map(Seats::new);
        Self { questions, walks, sets, readiness: Readiness::default(), revocations: Rc::default() }
    }
}

impl Seats {
    fn new(seats: usize) -> Self {
        let seats =
            if planted!("calls outside of batches are not bounded") { Semaphore::MAX_PERMITS } else { seats };
        Self { free: Rc::new(Semaphore::new(seats)), asked: Rc::default() }
    }

    /// Returns the number of calls that are asked for and have not ended.
    pub(crate) fn asked(&self) -> usize {
        Rc::strong_count(&self.asked) - 1
    }

    /// Makes a call when there is a seat for it.
    pub(crate) async fn seated<T>(&self, call: impl Future<Output = T>) -> T {
        let asked = self.ask();
        let _seat = asked.seat().await;
        call.await
    }

    /// Counts a call from now on.
    pub(crate) fn ask(&self) -> Asked {
        Asked { seats: Rc::clone(&self.free), _counted: Rc::clone(&self.asked) }
    }
}

impl Asked {
    /// Waits for a seat, which is taken until the permit is dropped. Nobody closes the seats.
    pub(crate) async fn seat(&self) -> Option<SemaphorePermit<'_>> {
        self.seats.acquire().await.ok()
    }
}

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

/// Waits for the answer of a store. A store that panics gives no answer: the outcome is unknown.
pub(crate) async fn ask<'a, T>(verb: &str, question: impl FnOnce() -> Reply<'a, T>) -> Result<T, StoreError> {
    AssertUnwindSafe(async { question().await }).catch_unwind().await.unwrap_or_else(|panic| {
        Err(StoreError::reply_lost(format!("{verb}: the store panicked: {}", message_of(panic.as_ref()))))
    })
}

/// Waits for the answers of a store to `count` questions that are asked together.
pub(crate) async fn ask_each<'a, T>(
    verb: &str,
    count: usize,
    questions: impl FnOnce() -> Replies<'a, T>,
) -> Vec<Result<T, StoreError>> {
    let answers = AssertUnwindSafe(async { questions().await }).catch_unwind().await;
    let doing = match answers {
        Ok(answers) if answers.len() == count => return answers,
        Ok(answers) => format!("{verb}: the store gave {} answers to {count} questions", answers.len()),
        Err(panic) => format!("{verb}: the store panicked: {}", message_of(panic.as_ref())),
    };
    (0..count).map(|_| Err(StoreError::reply_lost(doing.clone()))).collect()
}

/// Asks a store for several resources at once. A malformed answer counts as a lost reply.
pub(crate) async fn ask_for_all(
    store: &dyn Store,
    asked: &[Arc<Acquisition>],
) -> Result<AcquiredAll, StoreError> {
    let answer = ask("acquire_all", || store.acquire_all(asked)).await?;
    match doubt(&answer, asked.len()) {
        None => Ok(answer),
        Some(gave) => Err(StoreError::reply_lost(format!(
            "acquire_all: the store gave {gave} for {} resources",
            asked.len()
        ))),
    }
}

/// Describes what is wrong with an answer about `asked` resources, if anything is.
fn doubt(answer: &AcquiredAll, asked: usize) -> Option<String> {
    match answer {
        AcquiredAll::Granted(grants) => (grants.len() != asked).then(|| format!("{} grants", grants.len())),
        AcquiredAll::Refused { which, .. } | AcquiredAll::Failed { which, .. } => {
            (*which >= asked).then(|| format!("an answer about number {which}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Grant;

    #[test]
    fn an_answer_that_is_not_about_what_was_asked_is_in_doubt() {
        let granted = |count| AcquiredAll::Granted(vec![Grant { fence: None, holds: 1, slot: None }; count]);
        let failed = |which| AcquiredAll::Failed { which, error: StoreError::reply_lost(String::new()) };
        assert_eq!((doubt(&granted(2), 2), doubt(&failed(1), 2)), (None, None));
        assert_eq!(doubt(&granted(1), 2).as_deref(), Some("1 grants"));
        assert_eq!(doubt(&failed(2), 2).as_deref(), Some("an answer about number 2"));
    }
}
