//! Each caller locks and unlocks a resource of its own: nobody ever waits.

use std::rc::Rc;

use super::AFTER_FAILURE;
use crate::{
    Failure,
    lockers::Locker,
    meters,
    sample::{Sample, Tally},
    worker::Callers,
};

pub(crate) struct Uncontended(Rc<Tally>);

/// Starts the callers.
pub(crate) fn start(locker: &Rc<Locker>, callers: usize) -> Uncontended {
    let tally = Rc::new(Tally::new(callers));
    for caller in 0..callers {
        let (locker, tally) = (Rc::clone(locker), Rc::clone(&tally));
        actix_rt::spawn(async move {
            let resource = format!("bench/own/{caller}");
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
        });
    }
    Uncontended(tally)
}

async fn pair(locker: &Locker, resource: &str) -> Result<(), Failure> {
    let held = locker.acquire(resource).await?;
    locker.release(held).await
}

impl Callers for Uncontended {
    fn reset(&self) {
        self.0.reset();
    }

    fn sample(&self) -> Result<Sample, Failure> {
        Ok(self.0.sample())
    }
}
