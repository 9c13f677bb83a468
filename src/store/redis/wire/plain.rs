//! The plain layout: the features it lacks.
//!
//! The top of `lua/plain/holder.lua` describes how a resource is kept in it.

use std::sync::Arc;

use crate::{
    core::Mode,
    store::{Acquired, Acquisition, Store, StoreError},
};

/// Returns the error of an acquisition that asks for what the layout lacks: a string that other libraries write too has
/// no place for it.
pub(crate) fn lacks(asked: &Acquisition) -> Option<StoreError> {
    let &Acquisition { ref hold, mode, lock_delay, .. } = asked;
    let what = match mode {
        Mode::Shared => "read locks",
        Mode::Permits { .. } => "permits",
        Mode::Exclusive if hold.owner.is_some() => "owners, and so no re-entry",
        Mode::Exclusive if !lock_delay.is_zero() => "lock delay",
        Mode::Exclusive => return None,
    };
    Some(unsupported(what))
}

pub(crate) fn unsupported(what: &str) -> StoreError {
    let reason = "its layout is plain, for exclusive locks alone; use store.layout = \"full\"";
    StoreError::unsupported(what, reason)
}

/// Runs [`Store::acquire_each`] for acquisitions some of which ask for what the layout lacks: these are refused, and
/// not sent.
pub(crate) async fn acquire_each(
    store: &dyn Store,
    asked: &[Arc<Acquisition>],
) -> Vec<Result<Acquired, StoreError>> {
    let lacking: Vec<_> = asked.iter().map(|asked| lacks(asked)).collect();
    let had = asked.iter().zip(&lacking).filter(|(_, lacking)| lacking.is_none());
    let had: Vec<_> = had.map(|(asked, _)| Arc::clone(asked)).collect();
    let mut answers = store.acquire_each(&had).await.into_iter();
    let mut next = || answers.next().expect("one answer for one request");
    lacking.into_iter().map(|lacking| lacking.map_or_else(&mut next, Err)).collect()
}
