//! Questions to a store, whatever the store does.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;

use crate::{
    actor::supervisor::message_of,
    store::{Replies, Reply, StoreError},
};

/// Waits for the answer of a store. A store that panics has given none: the outcome is unknown.
pub(crate) async fn ask<'a, T>(verb: &str, question: impl FnOnce() -> Reply<'a, T>) -> Result<T, StoreError> {
    AssertUnwindSafe(async { question().await }).catch_unwind().await.unwrap_or_else(|panic| {
        Err(lost(format!("{verb}: the store panicked: {}", message_of(panic.as_ref()))))
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
    (0..count).map(|_| Err(lost(doing.clone()))).collect()
}

fn lost(doing: String) -> StoreError {
    StoreError::Lost { doing, source: None }
}
