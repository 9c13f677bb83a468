//! A guard that resends a release if the manager panics over it.

use std::sync::Arc;

use actix::Addr;

use crate::{lease::Release, manager::LockManager};

/// The maximum number of times that a release is resent because its handling panicked.
const PANICS_AT_MOST: u32 = 8;

/// A release that is sent to the manager again if handling it, or its answer, panics.
pub(crate) struct Resend {
    release: Option<Release>,
    manager: Arc<Addr<LockManager>>,
}

impl Resend {
    pub(crate) fn of(release: Release, manager: &Arc<Addr<LockManager>>) -> Self {
        Self { release: Some(release), manager: Arc::clone(manager) }
    }

    /// Marks the release as handled: it is not sent again.
    pub(crate) fn not(mut self) {
        self.release = None;
    }
}

impl Drop for Resend {
    fn drop(&mut self) {
        if let Some(mut release) = self.release.take().filter(|release| release.panics < PANICS_AT_MOST) {
            release.panics += 1;
            self.manager.do_send(release);
        }
    }
}
