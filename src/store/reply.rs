//! The pending answers of a store.

use futures_util::{
    FutureExt,
    future::{BoxFuture, join_all},
};

use crate::store::StoreError;

/// The pending answer of a store.
pub type Reply<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

/// The answers of a store to several verbs, in their order.
pub(crate) type Answers<T> = Vec<Result<T, StoreError>>;

/// The pending answers of a store to several verbs, in their order.
pub type Replies<'a, T> = BoxFuture<'a, Vec<Result<T, StoreError>>>;

/// Joins the answers to single requests to those of a batch, for a store that executes each by itself. The requests run
/// side by side: a store that could execute those of one resource in another order than theirs must not use it.
pub fn join_replies<'a, T: Send + 'a>(replies: impl IntoIterator<Item = Reply<'a, T>>) -> Replies<'a, T> {
    join_all(replies).boxed()
}
