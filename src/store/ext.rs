//! The verbs for one request, and the joining of single answers to a batch.

use std::{sync::Arc, time::Duration};

use futures_util::{FutureExt, future::join_all};

use crate::store::{Acquired, Acquisition, Hold, Released, Renewed, Replies, Reply, Store, StoreError};

/// The verbs of a [`Store`] for one request: batches of one. Every store has them.
pub trait StoreExt: Store {
    /// Acquires a resource if it is free: [`Store::acquire_each`] for one.
    fn acquire<'a>(&'a self, asked: &Acquisition) -> Reply<'a, Acquired> {
        let asked = [Arc::new(asked.clone())];
        async move { only("acquire", self.acquire_each(&asked).await) }.boxed()
    }

    /// Extends a hold: [`Store::renew_each`] for one.
    fn renew<'a>(&'a self, hold: &'a Hold, ttl: Duration) -> Reply<'a, Renewed> {
        async move { only("renew", self.renew_each(&[(hold, ttl)]).await) }.boxed()
    }

    /// Releases a hold: [`Store::release_each`] for one.
    fn release<'a>(&'a self, hold: &'a Hold, cooldown: Duration) -> Reply<'a, Released> {
        async move { only("release", self.release_each(&[(hold, cooldown)]).await) }.boxed()
    }
}

impl<S: Store + ?Sized> StoreExt for S {}

/// Joins the answers to single requests to those of a batch, for a store that executes each by itself. The requests run
/// side by side: a store that could execute those of one resource in another order than theirs must not use it.
pub fn join_replies<'a, T: Send + 'a>(replies: impl IntoIterator<Item = Reply<'a, T>>) -> Replies<'a, T> {
    join_all(replies).boxed()
}

fn only<T>(verb: &str, mut answers: Vec<Result<T, StoreError>>) -> Result<T, StoreError> {
    answers.pop().unwrap_or_else(|| {
        let doing = format!("{verb}: the store gave no answer to one question");
        Err(StoreError::reply_lost(doing))
    })
}
