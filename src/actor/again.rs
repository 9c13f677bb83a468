//! What brings a release back that the manager panicked over.

use std::sync::Arc;

use actix::Addr;

use crate::actor::{LockManager, Release};

/// How often a release is tried whose handling panics.
const PANICS_AT_MOST: u32 = 8;

/// A release that comes back to the manager if handling it, or its answer, panics.
pub(crate) struct Again {
    release: Option<Release>,
    manager: Arc<Addr<LockManager>>,
}

impl Again {
    pub(crate) fn of(release: Release, manager: &Arc<Addr<LockManager>>) -> Self {
        Self { release: Some(release), manager: Arc::clone(manager) }
    }

    /// It has been seen to.
    pub(crate) fn not(mut self) {
        self.release = None;
    }
}

impl Drop for Again {
    fn drop(&mut self) {
        if let Some(mut release) = self.release.take().filter(|release| release.panics < PANICS_AT_MOST) {
            release.panics += 1;
            self.manager.do_send(release);
        }
    }
}
