//! This crate: a lock manager in its own arbiter, asked by messages, with the settings that it comes with, except for
//! those that the environment names (`LEASEHOLD_WAIT_LOCAL_HANDOVER_LIMIT=0`).

use std::{sync::Arc, time::Duration};

use ::leasehold::{Acquire, Config, Lease, LockManager, ReadLock, RedisStore, WriteLock};
use actix::Addr;

use crate::{Failure, workloads::TTL};

/// A lease that is held.
pub(crate) type Held = Lease;

/// Longer than any measurement: whoever waits is served in the end.
const WAIT: Duration = Duration::from_secs(600);

pub(crate) struct Leasehold(Addr<LockManager>);

impl Leasehold {
    pub(crate) fn start(url: &str) -> Result<Self, Failure> {
        let settings = Config::from_env()?.settings();
        Ok(Self(LockManager::builder(Arc::new(RedisStore::open(url)?)).settings(settings).start()?))
    }

    pub(crate) async fn acquire(&self, resource: &str) -> Result<Held, Failure> {
        Ok(self.0.send(Acquire::new(resource).ttl(TTL).wait(WAIT)).await??)
    }

    pub(crate) async fn read(&self, resource: &str) -> Result<Held, Failure> {
        Ok(self.0.send(ReadLock::new(resource).ttl(TTL).wait(WAIT)).await??)
    }

    pub(crate) async fn write(&self, resource: &str) -> Result<Held, Failure> {
        Ok(self.0.send(WriteLock::new(resource).ttl(TTL).wait(WAIT)).await??)
    }
}
