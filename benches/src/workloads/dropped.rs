//! Each caller locks and unlocks a resource of its own, and drops every second acquisition while it is in flight.
//!
//! A dropped acquisition may be granted nevertheless, and that lock must be released. So when all callers have stopped,
//! another locker must get every resource long before a TTL is over.

use std::{cell::Cell, rc::Rc, sync::Arc, time::Duration};

use futures_util::future::{LocalBoxFuture, join_all};
use tokio::time::{Instant, sleep, timeout};

use super::{AFTER_FAILURE, uncontended::pair};
use crate::{
    Failure,
    lockers::{Kind, Locker},
    meters,
    sample::{Sample, Tally},
    worker::{Callers, Job},
};

/// The largest number of rounds of the other tasks before an acquisition is dropped. Timers tick in milliseconds, in
/// which most acquisitions are granted.
const ROUNDS: u32 = 8;
/// The time for callers to stop, and then for another locker to get the resources: much less than a TTL.
const WITHIN: Duration = Duration::from_secs(5);

pub(crate) struct Dropped {
    tally: Tally,
    dropped: Cell<u64>,
    stopping: Cell<bool>,
    running: Cell<usize>,
    callers: usize,
    kind: Kind,
    urls: Vec<String>,
}

/// Starts the callers.
pub(crate) fn start(locker: &Arc<Locker>, callers: usize, job: &Job) -> Rc<Dropped> {
    let all = Rc::new(Dropped {
        tally: Tally::new(callers),
        dropped: Cell::new(0),
        stopping: Cell::new(false),
        running: Cell::new(callers),
        callers,
        kind: job.locker,
        urls: job.urls.clone(),
    });
    for caller in 0..callers {
        let (locker, all) = (Arc::clone(locker), Rc::clone(&all));
        actix_rt::spawn(async move {
            while !all.stopping.get() {
                if let Err(failure) = all.turn(&locker, caller).await {
                    all.tally.failed(&failure);
                    sleep(AFTER_FAILURE).await;
                }
            }
            all.running.set(all.running.get() - 1);
        });
    }
    all
}

fn resource(caller: usize) -> String {
    format!("bench/dropped/{caller}")
}

impl Dropped {
    /// One turn, and one acquisition that is dropped.
    async fn turn(&self, locker: &Locker, caller: usize) -> Result<(), Failure> {
        let (resource, start) = (resource(caller), meters::now());
        pair(locker, &resource).await?;
        self.tally.latency(meters::now() - start);
        self.tally.turn(caller);
        let granted = tokio::select! {
            biased;
            held = locker.acquire_or_reclaim(&resource) => Some(held?),
            () = rounds(rand::random_range(1..=ROUNDS)) => None,
        };
        match granted {
            Some(held) => {
                locker.release(held).await?;
                self.tally.turn(caller);
            }
            None => self.dropped.set(self.dropped.get() + 1),
        }
        Ok(())
    }

    async fn left(&self) -> Result<u64, Failure> {
        self.stopping.set(true);
        let give_up = Instant::now() + WITHIN;
        // Whoever does not stop waits for what stays locked.
        while self.running.get() > 0 && Instant::now() < give_up {
            sleep(Duration::from_millis(1)).await;
        }
        let locker = Locker::connect(self.kind, &self.urls).await?;
        let pairs = (0..self.callers).map(|caller| {
            let locker = &locker;
            async move { timeout(WITHIN, pair(locker, &resource(caller))).await }
        });
        let mut left = 0;
        for done in join_all(pairs).await {
            match done {
                Ok(pair) => pair?,
                Err(_) => left += 1,
            }
        }
        Ok(left)
    }
}

/// Lets the other tasks of this thread run this many times.
async fn rounds(count: u32) {
    for _ in 0..count {
        tokio::task::yield_now().await;
    }
}

impl Callers for Rc<Dropped> {
    fn turns(&self) -> u64 {
        self.tally.turns()
    }

    fn reset(&self) {
        self.tally.reset();
        self.dropped.set(0);
    }

    fn sample(&self) -> Result<Sample, Failure> {
        Ok(Sample { dropped: self.dropped.get(), ..self.tally.sample() })
    }

    fn finish(&self) -> LocalBoxFuture<'_, Result<u64, Failure>> {
        Box::pin(self.left())
    }
}
