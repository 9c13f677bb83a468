//! redis-rs used directly on several masters, as the Redlock algorithm has it: `SET NX PX` to all of them at once,
//! a majority counts, a compare-and-delete script to all, and another try after about a millisecond.

use std::{sync::Arc, time::Duration};

use futures_util::{StreamExt, future::try_join_all, stream::FuturesUnordered};
use redis::{RedisResult, Script, aio::MultiplexedConnection};

use super::raw::{AGAIN_AFTER, Held, RELEASE, connection, set};
use crate::Failure;

/// The limit to the time for an answer that redis-rs comes with.
const ANSWER_WITHIN: Duration = Duration::from_millis(500);

pub(crate) struct RawQuorum {
    nodes: Vec<MultiplexedConnection>,
    release: Arc<Script>,
}

impl RawQuorum {
    pub(crate) async fn connect(urls: &[String]) -> Result<Self, Failure> {
        let nodes = try_join_all(urls.iter().map(|url| connection(url, Some(ANSWER_WITHIN)))).await?;
        Ok(Self { nodes, release: Arc::new(Script::new(RELEASE)) })
    }

    pub(crate) async fn acquire(&self, resource: &str) -> Result<Held, Failure> {
        let held = Arc::new(Held::new(resource));
        while !self.attempt(&held).await {
            self.delete(&held).await;
            pause().await;
        }
        Ok(Held::clone(&held))
    }

    /// Releases a lock. A release without a majority of answers would leave it locked for a TTL, so it is tried again.
    pub(crate) async fn release(&self, held: Held) -> Result<(), Failure> {
        let held = Arc::new(held);
        while !self.delete(&held).await {
            pause().await;
        }
        Ok(())
    }

    async fn attempt(&self, held: &Arc<Held>) -> bool {
        self.majority(|mut node| {
            let held = Arc::clone(held);
            async move { set(&mut node, &held).await.unwrap_or(false) }
        })
        .await
    }

    /// Deletes the lock where it is. Returns true if a majority has answered.
    async fn delete(&self, held: &Arc<Held>) -> bool {
        self.majority(|mut node| {
            let (held, release) = (Arc::clone(held), Arc::clone(&self.release));
            async move {
                let mut call = release.key(&held.resource);
                let deleted: RedisResult<u32> = call.arg(&held.token).invoke_async(&mut node).await;
                deleted.is_ok()
            }
        })
        .await
    }

    /// Asks all nodes at once, until a majority has done it or no majority can. A node that fails has not done it.
    ///
    /// Later answers are waited for in the background, so that a request is sent even to a node that is slow. Requests
    /// to a node keep their order, so a lock that it grants late is released by what follows.
    async fn majority<Asked>(&self, ask: impl Fn(MultiplexedConnection) -> Asked) -> bool
    where
        Asked: Future<Output = bool> + 'static,
    {
        let mut answers: FuturesUnordered<_> = self.nodes.iter().cloned().map(ask).collect();
        let needed = self.nodes.len() / 2 + 1;
        let (mut done, mut not) = (0, 0);
        while done < needed && not <= self.nodes.len() - needed {
            match answers.next().await {
                Some(true) => done += 1,
                Some(false) => not += 1,
                None => break,
            }
        }
        actix_rt::spawn(async move { while answers.next().await.is_some() {} });
        done >= needed
    }
}

/// Waits for about a millisecond: by chance, so that two that got in each other's way do not do so again.
async fn pause() {
    tokio::time::sleep(AGAIN_AFTER.mul_f64(0.5 + rand::random::<f64>())).await;
}
