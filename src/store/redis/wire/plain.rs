//! The plain layout: the features it lacks.
//!
//! The top of `lua/plain/holder.lua` describes how a resource is kept in it.

use crate::{
    core::Mode,
    store::{Acquisition, StoreError},
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
