//! The time that callers live in: real time with timers that are exact to a fraction of a millisecond.

use std::{
    cmp::Reverse,
    collections::BinaryHeap,
    fmt, io,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use futures_util::future::BoxFuture;
use tokio::sync::oneshot;

/// The time of a run, which begins at zero.
pub trait Pace: fmt::Debug + Send + Sync + 'static {
    /// Returns the time since the start.
    fn now(&self) -> Duration;

    /// Returns a future that is ready at this time since the start, or at once if that has passed.
    fn until(&self, time: Duration) -> BoxFuture<'static, ()>;
}

/// Real time. Its timers fire in a thread of their own, because those of the runtime are up to two milliseconds late, as long
/// as many locks are held.
#[derive(Debug)]
pub struct RealPace {
    start: Instant,
    timers: Arc<Timers>,
}

#[derive(Debug, Default)]
struct Timers {
    pending: Mutex<PendingTimers>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct PendingTimers {
    /// The next to fire is the greatest.
    heap: BinaryHeap<Reverse<PaceTimer>>,
    ends: bool,
}

/// A timer. Timers are in the order of their moments.
#[derive(Debug)]
pub(super) struct PaceTimer<Moment = Instant> {
    pub(super) at: Moment,
    pub(super) fires: oneshot::Sender<()>,
}

impl<Moment: Ord> Ord for PaceTimer<Moment> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.at.cmp(&other.at)
    }
}

impl<Moment: Ord> PartialOrd for PaceTimer<Moment> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<Moment: Ord> PartialEq for PaceTimer<Moment> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<Moment: Ord> Eq for PaceTimer<Moment> {}

impl RealPace {
    /// Starts now.
    ///
    /// # Errors
    /// The error of the system if the thread of the timers cannot be started.
    pub fn start() -> io::Result<Self> {
        let timers = Arc::new(Timers::default());
        let running = Arc::clone(&timers);
        thread::Builder::new().name("timers".to_owned()).spawn(move || running.run())?;
        Ok(Self { start: Instant::now(), timers })
    }
}

impl Pace for RealPace {
    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    fn until(&self, time: Duration) -> BoxFuture<'static, ()> {
        let (fires, fired) = oneshot::channel();
        let at = self.start + time;
        if at > Instant::now() {
            self.timers.pending().heap.push(Reverse(PaceTimer { at, fires }));
            self.timers.changed.notify_one();
        }
        // A timer that was never set is one that has fired.
        Box::pin(async move { fired.await.unwrap_or_default() })
    }
}

impl Timers {
    fn pending(&self) -> MutexGuard<'_, PendingTimers> {
        // Nothing that can panic happens while this is locked.
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        let mut pending = self.pending();
        while !pending.ends {
            let now = Instant::now();
            match pending.heap.peek().map(|Reverse(timer)| timer.at) {
                Some(at) if at <= now => {
                    if let Some(Reverse(timer)) = pending.heap.pop() {
                        // A caller that has gone needs no timer.
                        let _ = timer.fires.send(());
                    }
                }
                next => {
                    let wait = next.map_or(Duration::from_secs(1), |at| at - now);
                    let woken = self.changed.wait_timeout(pending, wait);
                    pending = woken.unwrap_or_else(PoisonError::into_inner).0;
                }
            }
        }
    }
}

impl Drop for RealPace {
    fn drop(&mut self) {
        self.timers.pending().ends = true;
        self.timers.changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn timers_fire_in_their_order_and_none_before_its_time() {
        let pace = RealPace::start().unwrap();
        let [last, first, second] = [30, 0, 10].map(|at| pace.until(Duration::from_millis(at)));
        second.await;
        assert!(pace.now() >= Duration::from_millis(10));
        assert!(first.now_or_never().is_some(), "the first has fired before the second");
        last.await;
        assert!(pace.now() >= Duration::from_millis(30));
    }
}
