//! The sentinels, who know which server is the master of a service.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures_util::future::join_all;
use redis::{AsyncConnectionConfig, Client, RedisResult, Value};
use tokio::{
    sync::watch,
    time::{Instant, timeout},
};

use super::{
    errors,
    urls::{Node, Nodes},
};
use crate::store::StoreError;

/// How often the sentinels are asked while all is well.
const PERIOD: Duration = Duration::from_secs(1);

pub(super) struct Sentinels {
    sentinels: Vec<Client>,
    service: String,
    nodes: Nodes,
    /// How long one of them may take. One that is dead must not use up the time to connect.
    within: Duration,
    known: watch::Sender<Option<Node>>,
    looked: Mutex<Option<Instant>>,
}

/// What one sentinel says.
struct Opinion {
    master: Node,
    /// Of two opinions the one of the later failover counts: a sentinel that was cut off does not know of it.
    epoch: u64,
}

impl Sentinels {
    pub(super) fn new(
        sentinels: Vec<Client>,
        service: String,
        nodes: Nodes,
        connect_timeout: Duration,
    ) -> Self {
        let (known, looked) = (watch::Sender::default(), Mutex::default());
        Self { sentinels, service, nodes, within: connect_timeout / 2, known, looked }
    }

    pub(super) fn client(&self, master: &Node) -> Result<Client, StoreError> {
        self.nodes.client(master).map_err(errors::before_sending)
    }

    /// The master that was named last.
    pub(super) fn known(&self) -> Option<Node> {
        self.known.borrow().clone()
    }

    /// Comes back when another master than this one is named.
    pub(super) async fn moved(&self, from: Option<&Node>) {
        // It fails only if the sender is gone, which this value owns.
        let _ = self.known.subscribe().wait_for(|known| known.as_ref() != from).await;
    }

    /// Asks in the background, if that is long ago.
    pub(super) fn look(self: &Arc<Self>) {
        let now = Instant::now();
        let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        if looked.is_none_or(|at| now >= at + PERIOD) {
            *looked = Some(now);
            let sentinels = Arc::clone(self);
            // What it finds is kept; a failure changes nothing.
            tokio::spawn(async move { sentinels.ask().await.map(drop) });
        }
    }

    /// Asks all of them for the master of today.
    pub(super) async fn ask(&self) -> Result<Node, StoreError> {
        let asked = self.sentinels.iter().map(|sentinel| async {
            match timeout(self.within, opinion(sentinel, &self.service)).await {
                Ok(answer) => answer.map_err(errors::before_sending),
                Err(_) => Err(unavailable(format!("no answer within {:?}", self.within))),
            }
        });
        let (mut best, mut denied, mut reasons) = (None::<Opinion>, None, Vec::new());
        for (sentinel, answer) in self.sentinels.iter().zip(join_all(asked).await) {
            match answer {
                Ok(Some(opinion)) if best.as_ref().is_none_or(|best| best.epoch < opinion.epoch) => {
                    best = Some(opinion);
                }
                Ok(Some(_)) => {}
                Ok(None) => reasons.push(format!("{}: unknown service", address(sentinel))),
                Err(error) => {
                    reasons.push(format!("{}: {error}", address(sentinel)));
                    denied = denied.or(matches!(error, StoreError::Denied { .. }).then_some(error));
                }
            }
        }
        let Some(Opinion { master, .. }) = best else {
            let reason =
                format!("no sentinel names the master of {:?} ({})", self.service, reasons.join("; "));
            return Err(denied.unwrap_or_else(|| unavailable(reason)));
        };
        self.known.send_if_modified(|known| known.replace(master.clone()).as_ref() != Some(&master));
        Ok(master)
    }
}

/// What a sentinel says of a service; `None` if it does not know it.
async fn opinion(sentinel: &Client, service: &str) -> RedisResult<Option<Opinion>> {
    let config = AsyncConnectionConfig::new().set_connection_timeout(None).set_response_timeout(None);
    let mut connection = sentinel.get_multiplexed_async_connection_with_config(&config).await?;
    // The address is that of the new master as soon as it is promoted; the table names it only when the replicas follow. Both
    // are asked for at once: the old address with the new epoch would be believed.
    let mut both = redis::pipe();
    both.cmd("SENTINEL").arg("GET-MASTER-ADDR-BY-NAME").arg(service);
    both.cmd("SENTINEL").arg("MASTER").arg(service).ignore_errors();
    let (address, table): (Value, Value) = both.query_async(&mut connection).await?;
    let address: Option<(String, u16)> = redis::from_redis_value(address.extract_error()?)?;
    let Some((host, port)) = address else { return Ok(None) };
    let table: HashMap<String, String> = redis::from_redis_value(table.extract_error()?)?;
    let epoch = table.get("config-epoch").and_then(|epoch| epoch.parse().ok()).unwrap_or(0);
    Ok(Some(Opinion { master: Node::new(host, port), epoch }))
}

fn address(sentinel: &Client) -> String {
    sentinel.get_connection_info().addr().to_string()
}

fn unavailable(reason: String) -> StoreError {
    StoreError::Unavailable { reason, source: None }
}

impl fmt::Debug for Sentinels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sentinels: Vec<_> = self.sentinels.iter().map(address).collect();
        write!(f, "the master of {:?} by {}", self.service, sentinels.join(","))
    }
}
