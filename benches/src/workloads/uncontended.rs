//! Each caller locks and unlocks a resource of its own: nobody ever waits.

use std::sync::Arc;

use super::{AFTER_FAILURE, on_thread};
use crate::{
    Failure,
    lockers::Locker,
    meters,
    sample::{Sample, Tally},
    worker::Callers,
};

/// The callers of all threads, with a tally for each thread.
pub(crate) struct Uncontended(Vec<Arc<Tally>>);

/// Starts the callers, on this thread or on several others.
pub(crate) fn start(locker: &Arc<Locker>, callers: usize, threads: usize) -> Uncontended {
    let each = callers / threads;
    let start = |thread: usize| {
        let tally = Arc::new(Tally::new(each));
        let (locker, counted) = (Arc::clone(locker), Arc::clone(&tally));
        on_thread(threads, move || {
            for caller in 0..each {
                let resource = format!("bench/own/{}", thread * each + caller);
                actix_rt::spawn(turns(Arc::clone(&locker), Arc::clone(&counted), caller, resource));
            }
        });
        tally
    };
    Uncontended((0..threads).map(start).collect())
}

async fn turns(locker: Arc<Locker>, tally: Arc<Tally>, caller: usize, resource: String) {
    loop {
        let start = meters::now();
        match pair(&locker, &resource).await {
            Ok(()) => {
                tally.latency(meters::now() - start);
                tally.turn(caller);
            }
            Err(failure) => {
                tally.failed(&failure);
                tokio::time::sleep(AFTER_FAILURE).await;
            }
        }
    }
}

pub(crate) async fn pair(locker: &Locker, resource: &str) -> Result<(), Failure> {
    let held = locker.acquire(resource).await?;
    locker.release(held).await
}

impl Callers for Uncontended {
    fn turns(&self) -> u64 {
        self.0.iter().map(|tally| tally.turns()).sum()
    }

    fn reset(&self) {
        self.0.iter().for_each(|tally| tally.reset());
    }

    fn sample(&self) -> Result<Sample, Failure> {
        Ok(self.0.iter().map(|tally| tally.sample()).fold(Sample::default(), Sample::and))
    }
}
