//! One question to a store, whatever the store does.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;

use crate::{
    actor::supervisor::message_of,
    store::{Reply, StoreError},
};

/// Waits for the answer of a store. A store that panics has given none: the outcome is unknown.
pub(crate) async fn ask<'a, T>(verb: &str, question: impl FnOnce() -> Reply<'a, T>) -> Result<T, StoreError> {
    AssertUnwindSafe(async { question().await }).catch_unwind().await.unwrap_or_else(|panic| {
        let doing = format!("{verb}: the store panicked: {}", message_of(panic.as_ref()));
        Err(StoreError::Lost { doing, source: None })
    })
}
