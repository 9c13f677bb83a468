//! The crate rslock, with the settings that it comes with. It tells no reason when it does not get a lock.

use ::rslock::{Lock, LockManager};

use crate::{Failure, lockers::raw::first_renewal, workloads::TTL};

pub(crate) type Held = Lock;

pub(crate) struct Rslock(LockManager);

impl Rslock {
    /// Several servers are a quorum.
    pub(crate) fn new(urls: &[String]) -> Self {
        Self(LockManager::new(urls.iter().map(String::as_str).collect()))
    }

    pub(crate) async fn acquire(&self, resource: &str) -> Result<Held, Failure> {
        Ok(self.0.acquire_no_guard(resource, TTL).await?)
    }

    pub(crate) async fn keep(&self, resource: &str) -> Result<(), Failure> {
        let (manager, mut lock) = (self.0.clone(), self.acquire(resource).await?);
        actix_rt::spawn(async move {
            let mut pause = first_renewal();
            loop {
                tokio::time::sleep(pause).await;
                pause = TTL / 3;
                // A lease that is not renewed ends, and is counted as lost.
                match manager.extend(&lock, TTL).await {
                    Ok(extended) => lock = extended,
                    Err(_) => return,
                }
            }
        });
        Ok(())
    }
}
