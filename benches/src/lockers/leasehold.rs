//! This crate: a lock manager in its own arbiter, asked by messages, with the settings that it comes with, except for
//! those that the environment names (`LEASEHOLD_WAIT_LOCAL_HANDOVER_LIMIT=0`).

use std::{sync::Arc, time::Duration};

use ::leasehold::{
    Acquire, Config, Lease, LockManager, LockManagerBuilder, QuorumOptions, QuorumStore, ReadLock,
    RedisOptions, RedisStore, WriteLock,
    store::{QuorumNode, Store},
};
use actix::Addr;
use tokio::time::{Instant, sleep};

use crate::{Failure, quorum, workloads::TTL};

/// A lease that is held.
pub(crate) type Held = Lease;

/// Longer than any measurement: whoever waits is served in the end.
const WAIT: Duration = Duration::from_secs(600);

/// The longest time until all nodes count.
const COUNT_WITHIN: Duration = Duration::from_secs(30);

pub(crate) struct Leasehold(Addr<LockManager>);

impl Leasehold {
    pub(crate) fn start(urls: &[String]) -> Result<Self, Failure> {
        Ok(Self(builder(urls)?.start()?))
    }

    /// Starts a manager on this thread.
    pub(crate) fn start_here(urls: &[String]) -> Result<Self, Failure> {
        Ok(Self(builder(urls)?.start_here()?))
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

fn builder(urls: &[String]) -> Result<LockManagerBuilder, Failure> {
    let store: Arc<dyn Store> = match urls {
        [url] => Arc::new(RedisStore::with_options(url, patient())?),
        _ => {
            // The servers were started for this measurement.
            let options = QuorumOptions { fresh_start: true, ..QuorumOptions::default() };
            Arc::new(QuorumStore::new(nodes(urls)?, options)?)
        }
    };
    Ok(LockManager::builder(store).settings(Config::from_env()?.settings()))
}

/// Waits for a server for as long as the other lockers do: one whose instructions are counted is slow.
fn patient() -> RedisOptions {
    let minute = Duration::from_secs(60);
    RedisOptions { connect_timeout: minute, response_timeout: minute, ..RedisOptions::default() }
}

/// A node of a quorum, with its name.
type Named = (String, Arc<dyn QuorumNode>);

fn nodes(urls: &[String]) -> Result<Vec<Named>, Failure> {
    let node = |url: &String| Ok((url.clone(), Arc::new(RedisStore::open(url)?) as Arc<dyn QuorumNode>));
    urls.iter().map(node).collect()
}

/// Waits until all nodes count, which a first start needs. Callers must ask for locks meanwhile.
///
/// Asks on connections of its own, so that those of the manager stay on the manager's thread.
pub(crate) async fn all_count(urls: &[String]) -> Result<(), Failure> {
    let (nodes, give_up) = (nodes(urls)?, Instant::now() + COUNT_WITHIN);
    loop {
        match quorum::all_count(&nodes).await {
            Ok(true) => return Ok(()),
            // A busy machine answers late.
            Ok(false) | Err(_) if Instant::now() < give_up => sleep(Duration::from_millis(10)).await,
            Ok(false) => return Err("some of the nodes do not count".into()),
            Err(error) => return Err(error),
        }
    }
}
