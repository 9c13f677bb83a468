//! A queue of timers in the order of their ends, driven by one timer of the runtime for the first of them.

use std::{
    collections::BTreeMap,
    pin::Pin,
    task::{Context, Poll, Waker},
    time::Duration,
};

use tokio::time::{Instant, Sleep, sleep_until};

/// A queue of timers, each with its subject. The cost of a timer grows only with the logarithm of their number.
#[derive(Default)]
pub(crate) struct TimerQueue<T> {
    queue: BTreeMap<Timer, T>,
    /// The timer of the runtime. It may fire too early, for a timer that has been removed, and never too late.
    armed: Option<Pin<Box<Sleep>>>,
    waker: Option<Waker>,
    set: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Timer {
    end: Instant,
    /// The order in which timers were set, which tells timers of the same end apart.
    number: u64,
}

impl<T> TimerQueue<T> {
    pub(crate) fn set(&mut self, about: T, pause: Duration) -> Timer {
        self.set += 1;
        let timer = Timer { end: Instant::now() + pause, number: self.set };
        self.queue.insert(timer, about);
        if self.armed.as_ref().is_none_or(|armed| timer.end < armed.deadline()) {
            self.armed = None;
            if let Some(waker) = self.waker.take() {
                waker.wake();
            }
        }
        timer
    }

    /// Removes a timer. One that has fired is gone already.
    pub(crate) fn remove(&mut self, timer: &Timer) -> Option<T> {
        self.queue.remove(timer)
    }

    /// Returns the next timer that has fired, in the order of their ends. It is pending while there is none, even
    /// if there is no timer at all.
    pub(crate) fn poll_due(&mut self, cx: &mut Context<'_>) -> Poll<T> {
        loop {
            if let Some(armed) = &mut self.armed {
                if armed.as_mut().poll(cx).is_pending() {
                    break;
                }
                self.armed = None;
            }
            let Some(first) = self.queue.first_entry() else { break };
            if first.key().end <= Instant::now() {
                return Poll::Ready(first.remove());
            }
            self.armed = Some(Box::pin(sleep_until(first.key().end)));
        }
        self.waker = Some(cx.waker().clone());
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use std::{cell::RefCell, future::poll_fn};

    use super::*;

    const fn secs(secs: u64) -> Duration {
        Duration::from_secs(secs)
    }

    fn none() -> RefCell<TimerQueue<u32>> {
        RefCell::default()
    }

    async fn next(timers: &RefCell<TimerQueue<u32>>) -> u32 {
        poll_fn(|cx| timers.borrow_mut().poll_due(cx)).await
    }

    #[tokio::test(start_paused = true)]
    async fn timers_fire_in_the_order_of_their_ends_and_each_at_its_own() {
        let (timers, start) = (none(), Instant::now());
        for number in [3, 1, 2] {
            timers.borrow_mut().set(number, secs(number.into()));
        }
        timers.borrow_mut().set(4, Duration::ZERO);
        for number in [4, 1, 2, 3] {
            assert_eq!(next(&timers).await, number);
            assert_eq!(start.elapsed().as_secs(), u64::from(number % 4));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_timer_that_is_set_while_another_or_none_is_waited_for_comes_first() {
        for another in [Some(secs(60)), None] {
            let (timers, start) = (none(), Instant::now());
            if let Some(pause) = another {
                timers.borrow_mut().set(1, pause);
            }
            let later = async {
                tokio::time::sleep(secs(1)).await;
                timers.borrow_mut().set(2, secs(1));
            };
            assert_eq!(tokio::join!(next(&timers), later).0, 2);
            assert_eq!(start.elapsed(), secs(2));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_timer_that_was_taken_out_does_not_fire() {
        let (timers, start) = (none(), Instant::now());
        let first = timers.borrow_mut().set(1, secs(1));
        let second = timers.borrow_mut().set(2, secs(2));
        assert_eq!(timers.borrow_mut().remove(&first), Some(1));
        assert_eq!(next(&timers).await, 2);
        assert_eq!(start.elapsed(), secs(2));
        assert_eq!(timers.borrow_mut().remove(&second), None, "it has fired");
    }
}
