//! Virtual time that is exact to the nanosecond, on a runtime whose own timers have whole milliseconds.
//!
//! A paused runtime of tokio jumps to its next timer when all tasks wait. Its timers have the resolution of a millisecond,
//! which is more than a round trip takes. So the moments between two milliseconds have a queue of their own, which is served
//! when the runtime is about to sleep: that is the moment at which all tasks wait. A moment that is further away sleeps on a
//! timer of the runtime up to the millisecond before it. The timers of the manager are those of the runtime, and fire at
//! whole milliseconds, as in a real process.

use std::{
    cmp::Reverse,
    collections::BinaryHeap,
    fmt,
    future::poll_fn,
    io,
    pin::pin,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Wake, Waker},
    time::Duration,
};

use futures_util::{FutureExt, future::BoxFuture, task::AtomicWaker};
use tokio::{
    runtime::{Builder, Runtime},
    sync::oneshot,
    time::{Instant, advance, sleep_until},
};

use crate::laboratory::pace::{Pace, PaceTimer};

const MILLISECOND: Duration = Duration::from_millis(1);

/// The time of a simulation. A clone is the same time.
#[derive(Clone, Debug, Default)]
pub(super) struct Clockwork(Arc<ClockworkState>);

#[derive(Debug, Default)]
struct ClockworkState {
    /// The moment from which milliseconds are counted, which is the start of the runtime.
    origin: OnceLock<Instant>,
    /// The moments of this millisecond that somebody waits for. The next is the greatest.
    due: Mutex<BinaryHeap<Reverse<PaceTimer<Instant>>>>,
    /// True if a task of the simulation can go on.
    runnable: AtomicBool,
    /// Wakes the simulation as a whole.
    root: AtomicWaker,
}

impl Clockwork {
    /// Creates the runtime of a simulation.
    pub(super) fn runtime(&self) -> io::Result<Runtime> {
        let clockwork = self.clone();
        let mut builder = Builder::new_current_thread();
        builder.enable_time().start_paused(true).on_thread_park(move || clockwork.all_wait()).build()
    }

    /// Runs a simulation, and keeps watch over whether it waits.
    pub(super) async fn watch<F: Future>(&self, simulation: F) -> F::Output {
        let mut simulation = pin!(simulation);
        self.origin();
        let waker = Waker::from(Arc::clone(&self.0));
        poll_fn(|cx| {
            self.0.root.register(cx.waker());
            self.0.runnable.store(false, Ordering::Relaxed);
            simulation.as_mut().poll(&mut Context::from_waker(&waker))
        })
        .await
    }

    /// Waits until this moment.
    pub(super) async fn until(&self, at: Instant) {
        let millis = at.saturating_duration_since(self.origin()).as_millis();
        sleep_until(self.origin() + MILLISECOND * u32::try_from(millis).unwrap_or(u32::MAX)).await;
        if at > Instant::now() {
            let (fires, fired) = oneshot::channel();
            self.due().push(Reverse(PaceTimer { at, fires }));
            // It fires, or ends together with the simulation.
            let _ = fired.await;
        }
    }

    /// Returns the pace of callers that start now, and whose timers are late by as much as is drawn.
    pub(super) fn pace(&self, late: impl FnMut() -> Duration + Send + 'static) -> VirtualPace {
        VirtualPace { clockwork: self.clone(), start: Instant::now(), late: Mutex::new(Box::new(late)) }
    }

    /// Goes on to the next moment that somebody waits for, but not beyond this millisecond: there the runtime's timers
    /// are next. The runtime calls it before it sleeps.
    fn all_wait(&self) {
        let Some(origin) = self.0.origin.get().copied() else { return };
        if self.0.runnable.load(Ordering::Relaxed) {
            return;
        }
        let now = Instant::now();
        let into = Duration::from_nanos(u64::from((now - origin).subsec_nanos() % 1_000_000));
        let mut due = self.due();
        if let Some(at) = due.peek().map(|Reverse(timer)| timer.at) {
            jump(at - now);
            while let Some(Reverse(timer)) = due.peek()
                && timer.at <= at
            {
                if let Some(Reverse(timer)) = due.pop() {
                    // Whoever has stopped waiting needs no timer.
                    let _ = timer.fires.send(());
                }
            }
        } else if !into.is_zero() {
            // From here on the runtime jumps by itself, and lands on whole milliseconds.
            jump(MILLISECOND - into);
        }
    }

    fn origin(&self) -> Instant {
        *self.0.origin.get_or_init(Instant::now)
    }

    fn due(&self) -> MutexGuard<'_, BinaryHeap<Reverse<PaceTimer<Instant>>>> {
        // Nothing that can panic happens while this is locked.
        self.0.due.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Moves the runtime's clock on. Its timers look at it before the runtime sleeps.
fn jump(by: Duration) {
    // The clock moves when it is polled for the first time; the rest is a yield, which nobody waits for.
    let _ = advance(by).now_or_never();
}

impl Wake for ClockworkState {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.runnable.store(true, Ordering::Relaxed);
        self.root.wake();
    }
}

/// Virtual time for callers, since their start.
pub(super) struct VirtualPace {
    clockwork: Clockwork,
    start: Instant,
    late: Mutex<Box<dyn FnMut() -> Duration + Send>>,
}

impl fmt::Debug for VirtualPace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VirtualPace").field("start", &self.start).finish_non_exhaustive()
    }
}

impl Pace for VirtualPace {
    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    fn until(&self, time: Duration) -> BoxFuture<'static, ()> {
        let late = self.late.lock().unwrap_or_else(PoisonError::into_inner)();
        let (clockwork, at) = (self.clockwork.clone(), self.start + time + late);
        async move { clockwork.until(at).await }.boxed()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::future::join_all;
    use tokio::{task::LocalSet, time::sleep};

    use super::*;

    /// Runs a simulation, and returns its result.
    fn simulated<T, F: Future<Output = T>>(simulation: impl FnOnce(Clockwork) -> F) -> T {
        let clockwork = Clockwork::default();
        let runtime = clockwork.runtime().unwrap();
        let tasks = LocalSet::new();
        runtime.block_on(clockwork.watch(tasks.run_until(simulation(clockwork.clone()))))
    }

    const fn micros(micros: u64) -> Duration {
        Duration::from_micros(micros)
    }

    #[test]
    fn moments_are_exact_and_come_in_their_order_among_the_timers_of_the_runtime() {
        let seen = simulated(async |clockwork| {
            let start = Instant::now();
            let seen = Arc::new(Mutex::new(Vec::new()));
            let wait = |number: usize, at: u64| {
                let (clockwork, seen) = (clockwork.clone(), Arc::clone(&seen));
                tokio::task::spawn_local(async move {
                    match number {
                        0 => sleep(micros(at)).await,
                        _ => clockwork.until(start + micros(at)).await,
                    }
                    seen.lock().unwrap().push((number, start.elapsed().as_micros()));
                })
            };
            // The runtime's own timers are up to a millisecond late.
            let times = [(1, 3_700), (0, 2_000), (2, 130), (0, 4_200), (3, 2_001), (4, 3_700), (5, 5_000)];
            join_all(times.map(|(number, at)| wait(number, at))).await;
            Arc::try_unwrap(seen).unwrap().into_inner().unwrap()
        });
        let expected = [(2, 130), (0, 2_000), (3, 2_001), (1, 3_700), (4, 3_700), (0, 5_000), (5, 5_000)];
        assert_eq!(seen.len(), 7);
        assert!(
            expected.iter().all(|it| seen.contains(it)) && seen.is_sorted_by_key(|(_, at)| *at),
            "{seen:?}"
        );
    }

    #[test]
    fn time_stands_still_while_any_of_many_tasks_can_go_on() {
        let elapsed = simulated(async |clockwork| {
            let start = Instant::now();
            let timer = tokio::task::spawn_local({
                let clockwork = clockwork.clone();
                async move { clockwork.until(start + micros(10)).await }
            });
            // By then the timer is among those of this millisecond.
            clockwork.until(start + micros(5)).await;
            // More than the runtime polls at a time, so that it looks around before it has polled all of them.
            let busy = (0..500).map(|_| tokio::task::spawn_local(async move { start.elapsed() }));
            let elapsed = join_all(busy).await;
            timer.await.unwrap();
            (elapsed.into_iter().map(Result::unwrap).max().unwrap(), start.elapsed())
        });
        assert_eq!(elapsed, (micros(5), micros(10)));
    }

    #[test]
    fn hours_without_events_take_no_time() {
        let elapsed = simulated(async |clockwork| {
            let start = Instant::now();
            clockwork.until(start + Duration::from_secs(36_000) + micros(77)).await;
            start.elapsed()
        });
        assert_eq!(elapsed, Duration::from_secs(36_000) + micros(77));
    }
}
