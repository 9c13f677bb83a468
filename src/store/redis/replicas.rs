//! The connections of calls that replicas have to confirm.
//!
//! A call with one `WAIT` behind it goes out on a connection that nobody else uses. `WAIT` asks about the writes of its
//! own connection, and holds up all that comes after it there. So with replicas the connections of this module are not
//! those of the other verbs, and each carries one call at a time.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::{sync::Semaphore, time::timeout};

use crate::store::{
    Durability, StoreError,
    redis::net::{
        call::{Call, CallAnswer},
        options::RedisOptions,
        topology::Topology,
    },
};

/// The largest number of calls that wait for replicas at a time. A manager has four batches of each verb in flight,
/// and more only while replicas are slow.
const MOST_AT_ONCE: usize = 64;
/// The largest number of idle connections that are kept: as many as two verbs need while replicas are fast.
const MOST_IDLE: usize = 8;

/// The sender of calls that count only when replicas have confirmed them, if that is asked for.
pub(super) struct Replicas {
    pub(super) topology: Topology,
    wanted: u32,
    response_timeout: Duration,
    /// The idle connections to these servers.
    idle: Mutex<Vec<Topology>>,
    seats: Semaphore,
}

impl Replicas {
    pub(super) fn new(topology: Topology, options: &RedisOptions) -> Self {
        let &RedisOptions { replicas_ack: wanted, response_timeout, .. } = options;
        let (idle, seats) = (Mutex::default(), Semaphore::new(MOST_AT_ONCE));
        Self { topology, wanted, response_timeout, idle, seats }
    }

    pub(super) const fn are_asked(&self) -> bool {
        self.wanted > 0
    }

    pub(super) fn durability(&self) -> Durability {
        match self.wanted {
            0 => Durability::OneCopy,
            replicas => Durability::Replicated { replicas },
        }
    }

    /// Sends a call, and asks how many replicas have it.
    pub(super) async fn send(&self, call: Call) -> Result<CallAnswer, StoreError> {
        let &Self { wanted, response_timeout, .. } = self;
        if !self.are_asked() {
            return self.topology.send(&call).await;
        }
        let Ok(Ok(_seat)) = timeout(response_timeout, self.seats.acquire()).await else {
            let reason = format!("{MOST_AT_ONCE} calls wait for replicas already");
            return Err(StoreError::unavailable(reason));
        };
        // A connection is not used again if something failed on it, or if the caller has left it: a `WAIT` may still
        // hold it up.
        let idle = self.idle.lock().pop();
        let connection = idle.unwrap_or_else(|| self.topology.clone_connections(None));
        let sent = connection.send(&call.confirmed_by(wanted, response_timeout / 2)).await;
        match &sent {
            Ok(_) if self.idle.lock().len() < MOST_IDLE => self.idle.lock().push(connection),
            // A proxy that has forgotten one of them is likely to have forgotten all.
            Err(StoreError::TimedOut { .. }) => self.idle.lock().clear(),
            _ => {}
        }
        sent
    }
}
