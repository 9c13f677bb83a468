//! Calls to a store that survive its panics and its malformed answers.

use std::{panic::AssertUnwindSafe, rc::Rc, sync::Arc};

use futures_util::FutureExt;

use crate::{
    manager::Outage,
    runtime::supervisor::message_of,
    store::{AcquiredAll, Acquisition, Replies, Reply, Store, StoreError},
};

/// The way to the store for calls that travel in no batch. The log of outages sees their answers.
#[derive(Clone)]
pub(crate) struct Calls {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) outage: Rc<Outage>,
}

impl Calls {
    pub(crate) async fn ask<'a, T>(
        &'a self,
        verb: &str,
        question: impl FnOnce(&'a dyn Store) -> Reply<'a, T>,
    ) -> Result<T, StoreError> {
        self.outage.seen(verb, ask(verb, || question(&*self.store)).await)
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
        let granted = |count| AcquiredAll::Granted(vec![Grant { fence: None, holds: 1 }; count]);
        let failed = |which| AcquiredAll::Failed { which, error: StoreError::reply_lost(String::new()) };
        assert_eq!((doubt(&granted(2), 2), doubt(&failed(1), 2)), (None, None));
        assert_eq!(doubt(&granted(1), 2).as_deref(), Some("1 grants"));
        assert_eq!(doubt(&failed(2), 2).as_deref(), Some("an answer about number 2"));
    }
}
