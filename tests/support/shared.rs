//! What takes seconds to start: shared by the tests that run now, one of which has it for itself, and gone with the last.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Keeps what is shared.
pub struct Shared<T> {
    value: Mutex<Weak<T>>,
    turn: Mutex<()>,
}

/// The turn of one test.
pub struct Turn<T: 'static> {
    /// What is shared.
    pub value: Arc<T>,
    _turn: MutexGuard<'static, ()>,
}

impl<T> Shared<T> {
    /// Nothing yet: the first turn starts it.
    pub const fn new() -> Self {
        Self { value: Mutex::new(Weak::new()), turn: Mutex::new(()) }
    }

    /// Waits for a turn. Who waits keeps the value, so that it is started once and not for each test.
    pub fn turn(&'static self, start: impl FnOnce() -> T) -> Turn<T> {
        let value = {
            let mut shared = self.value.lock().unwrap_or_else(PoisonError::into_inner);
            shared.upgrade().unwrap_or_else(|| {
                let value = Arc::new(start());
                *shared = Arc::downgrade(&value);
                value
            })
        };
        Turn { value, _turn: self.turn.lock().unwrap_or_else(PoisonError::into_inner) }
    }
}
