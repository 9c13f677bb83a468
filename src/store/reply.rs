//! The pending answers of a store.

use futures_util::future::BoxFuture;

use crate::store::StoreError;

/// The pending answer of a store.
pub type Reply<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

/// The pending answers of a store to several verbs, in their order.
pub type Replies<'a, T> = BoxFuture<'a, Vec<Result<T, StoreError>>>;
