//! A wait for a future on a thread that runs nothing else meanwhile.

use std::{future::Future, pin::pin, sync::Arc, task, task::Poll, thread};

/// Wakes a thread that is parked.
struct Unpark(thread::Thread);

impl task::Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Blocks this thread until the future is done. It has no timers, and needs no runtime.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let waker = task::Waker::from(Arc::new(Unpark(thread::current())));
    let (mut future, mut turn) = (pin!(future), task::Context::from_waker(&waker));
    loop {
        match future.as_mut().poll(&mut turn) {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::park(),
        }
    }
}
