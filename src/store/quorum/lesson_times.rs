//! The times of the lessons that nodes were taught.

use std::sync::{Arc, Mutex as StdMutex, PoisonError};

use tokio::{
    sync::{Mutex, Notify},
    time::Instant,
};

/// The time of the last lesson, and the time from which nodes may be asked again.
///
/// Attempts that wait for a lesson go on in the order in which they came, which a watch channel would leave to chance.
#[derive(Debug, Default)]
pub(super) struct LessonTimes {
    taught: StdMutex<Option<Instant>>,
    lesson: Notify,
    /// Locked while nodes are asked.
    pub(super) next: Arc<Mutex<Option<Instant>>>,
}

impl LessonTimes {
    pub(super) fn has_taught_since(&self, voted: Instant) -> bool {
        let taught = self.taught.lock().unwrap_or_else(PoisonError::into_inner);
        taught.is_some_and(|taught| taught >= voted)
    }

    pub(super) fn taught_now(&self) {
        *self.taught.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        self.lesson.notify_waiters();
    }

    /// Waits until nodes have been taught since `voted`.
    pub(super) async fn lesson_since(&self, voted: Instant) {
        loop {
            let lesson = self.lesson.notified();
            if self.has_taught_since(voted) {
                return;
            }
            lesson.await;
        }
    }
}
