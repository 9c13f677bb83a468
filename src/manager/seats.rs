//! Seats for calls to the store that travel in no batch: a bounded number of them is in flight at a time.

use std::rc::Rc;

use tokio::sync::{Semaphore, SemaphorePermit};

/// The seats of one kind of calls. Who finds none waits in the order of arrival. A clone is another handle to them.
#[derive(Clone)]
pub(crate) struct Seats {
    free: Rc<Semaphore>,
    /// Has a clone in each call that is asked for and has not ended.
    asked: Rc<()>,
}

pub(crate) struct AllSeats {
    /// Questions of operators and schedules, revocations, and releases by force.
    pub(crate) questions: Seats,
    /// Walks over the names in the store, which take many calls each.
    pub(crate) walks: Seats,
    /// First tries of several resources at once.
    pub(crate) sets: Seats,
}

/// A call that is asked for.
pub(crate) struct Asked {
    seats: Rc<Semaphore>,
    _counted: Rc<()>,
}

impl Default for AllSeats {
    fn default() -> Self {
        Self { questions: Seats::new(32), walks: Seats::new(4), sets: Seats::new(32) }
    }
}

impl Seats {
    fn new(seats: usize) -> Self {
        let seats =
            if planted!("calls outside of batches are not bounded") { Semaphore::MAX_PERMITS } else { seats };
        Self { free: Rc::new(Semaphore::new(seats)), asked: Rc::default() }
    }

    /// Returns the number of calls that are asked for and have not ended.
    pub(crate) fn asked(&self) -> usize {
        Rc::strong_count(&self.asked) - 1
    }

    /// Makes a call when there is a seat for it.
    pub(crate) async fn seated<T>(&self, call: impl Future<Output = T>) -> T {
        let asked = self.ask();
        let _seat = asked.seat().await;
        call.await
    }

    /// Counts a call from now on.
    pub(crate) fn ask(&self) -> Asked {
        Asked { seats: Rc::clone(&self.free), _counted: Rc::clone(&self.asked) }
    }
}

impl Asked {
    /// Waits for a seat, which is taken until the permit is dropped. Nobody closes the seats.
    pub(crate) async fn seat(&self) -> Option<SemaphorePermit<'_>> {
        self.seats.acquire().await.ok()
    }
}
