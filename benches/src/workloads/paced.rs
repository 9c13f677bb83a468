//! Callers that lock a resource of their own at moments that are set beforehand, whether the last lock took long or not:
//! what an application with this load feels.

use std::{sync::Arc, time::Duration};

use tokio::time::{Instant, sleep_until};

use crate::{
    Failure,
    lockers::Locker,
    meters,
    sample::{Sample, Tally},
    worker::Callers,
};

pub(crate) struct Paced(Arc<Tally>);

/// Starts callers that lock so many times a second, all together and evenly.
pub(crate) fn start(locker: &Arc<Locker>, callers: usize, a_second: u32) -> Paced {
    let tally = Arc::new(Tally::new(callers));
    let (first, between) = (Instant::now(), Duration::from_secs(1) / a_second);
    for (caller, number) in (0..callers).zip(0..) {
        let (every, first) = (between * callers as u32, first + between * number);
        actix_rt::spawn(locks(Arc::clone(locker), Arc::clone(&tally), caller, first, every));
    }
    Paced(tally)
}

async fn locks(locker: Arc<Locker>, tally: Arc<Tally>, caller: usize, first: Instant, every: Duration) {
    let (resource, mut due) = (format!("bench/own/{caller}"), first);
    loop {
        // A caller that is late counts from the moment that was set. One that slept counts from when it woke: how exactly
        // a timer wakes is not the locker's doing.
        let late = due.elapsed();
        sleep_until(due).await;
        let asked = meters::now() - u64::try_from(late.as_nanos()).unwrap_or(u64::MAX);
        match lock(&locker, &tally, &resource, asked).await {
            Ok(()) => tally.turn(caller),
            Err(failure) => tally.failed(&failure),
        }
        due += every;
    }
}

async fn lock(locker: &Locker, tally: &Tally, resource: &str, asked: u64) -> Result<(), Failure> {
    let held = locker.acquire(resource).await?;
    tally.latency(meters::now() - asked);
    locker.release(held).await
}

impl Callers for Paced {
    fn turns(&self) -> u64 {
        self.0.turns()
    }

    fn reset(&self) {
        self.0.reset();
    }

    fn sample(&self) -> Result<Sample, Failure> {
        Ok(self.0.sample())
    }
}
