//! A cluster: each request goes to the node that has its slot, and follows the slot when it moves.
//!
//! The client library's own connection to a cluster has no bound on the time of a call, does not say whether a failed
//! call was sent, and mixes subscriptions with commands. So requests are routed here, over one connection to each node.

pub(crate) mod map;
pub(crate) mod slot;
mod subscriber;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures_util::{StreamExt, stream::FuturesUnordered};
use parking_lot::Mutex;
use redis::Pipeline;
use tokio::{
    sync::{Mutex as AsyncMutex, watch},
    time::{Instant, sleep, timeout_at},
};

use self::map::Map;
use super::{
    address::{NodeAddress, Nodes},
    call::{Call, CallAnswer, TryFailure},
    connection::Connection,
    endpoint::Endpoint,
    options::RedisOptions,
};
use crate::{core::Doubling, store::StoreError};

const FIRST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_millis(100);

/// The time after a reading in which the map is not read again.
const FRESH: Duration = Duration::from_millis(20);

/// A cluster. Clones share everything.
#[derive(Clone)]
pub(crate) struct Cluster {
    state: Arc<ClusterState>,
    connections: Arc<Mutex<BTreeMap<NodeAddress, Arc<Connection>>>>,
}

/// All that does not depend on the connections.
struct ClusterState {
    seeds: Vec<NodeAddress>,
    nodes: Nodes,
    greeting: Arc<Pipeline>,
    options: RedisOptions,
    map: watch::Sender<Map>,
    /// A lock that is held while the map is read, with the time and the error of the last failure.
    reading: AsyncMutex<Option<(Instant, StoreError)>>,
}

impl Cluster {
    pub(crate) fn new(
        seeds: Vec<NodeAddress>,
        nodes: Nodes,
        greeting: Pipeline,
        options: &RedisOptions,
    ) -> Self {
        let (greeting, options) = (Arc::new(greeting), options.clone());
        let (map, reading) = (watch::Sender::default(), AsyncMutex::default());
        let state = ClusterState { seeds, nodes, greeting, options, map, reading };
        Self { state: Arc::new(state), connections: Arc::default() }
    }

    /// Returns the same cluster with the same map, on connections of their own.
    pub(crate) fn clone_connections(&self) -> Self {
        Self { state: Arc::clone(&self.state), connections: Arc::default() }
    }

    /// Sends a call to the node that has its slot.
    ///
    /// A call that a node refuses because the slot moves, or because there is a failover, is sent again after a
    /// pause, until the time to connect and the time for an answer are both over. A call that was lost is sent again
    /// too, unless it must not be executed twice.
    pub(crate) async fn send(&self, call: &Call) -> Result<CallAnswer, StoreError> {
        let RedisOptions { connect_timeout, response_timeout, .. } = self.state.options;
        let give_up = Instant::now() + connect_timeout + response_timeout;
        let (mut lost, mut ask) = (None, None);
        // The second try follows at once.
        let (mut pause, mut pauses) = (Duration::ZERO, Doubling::new(FIRST_PAUSE, LONGEST_PAUSE));
        loop {
            let (node, version, outcome) = self.attempt(call, ask.take(), give_up).await;
            let error = match outcome {
                Ok(answer) => return Ok(CallAnswer { repeated: lost.is_some(), ..answer }),
                Err(TryFailure::Elsewhere { node: to, asked, error }) => {
                    let to = node.and_then(|from| NodeAddress::of_redirect(&to, &from));
                    if asked && to.is_some() {
                        ask = to;
                    } else {
                        if let (Some(to), Some(slot)) = (to, call.slot) {
                            self.state.map.send_modify(|map| map.moved(slot, &to));
                        }
                        self.read_map_meanwhile(version, None);
                    }
                    error
                }
                Err(TryFailure::Gone(error)) if !call.once => {
                    self.read_map_until(give_up, version, node.as_ref()).await;
                    lost.get_or_insert(error).clone()
                }
                Err(TryFailure::Unreachable(error)) if error.is_transient() => {
                    self.read_map_until(give_up, version, node.as_ref()).await;
                    error
                }
                Err(TryFailure::TryLater(error)) => {
                    self.read_map_meanwhile(version, node);
                    error
                }
                Err(other) => {
                    // Whatever became of this call, the next one should know of a failover.
                    self.read_map_meanwhile(version, node);
                    return Err(lost.unwrap_or_else(|| other.into_error()));
                }
            };
            if Instant::now() + pause >= give_up {
                self.read_map_meanwhile(version, None);
                // Whatever the last try reports, a lost one may have been executed.
                return Err(lost.unwrap_or(error));
            }
            if ask.is_none() {
                sleep(pause).await;
                pause = pauses.next();
            }
        }
    }

    /// Sends a call, once: to the node that has its slot, or, if it was told to `ask` a node that is still receiving the
    /// slot, to that one. Returns also the node, and the version of the map that led to it.
    async fn attempt(
        &self,
        call: &Call,
        ask: Option<NodeAddress>,
        give_up: Instant,
    ) -> (Option<NodeAddress>, u64, Result<CallAnswer, TryFailure>) {
        let asking = ask.is_some();
        let ((mut version, mut node), mut failure) = (self.find(call.slot), None);
        if asking {
            node = ask;
        } else if node.is_none() {
            failure = self.read_map_until(give_up, version, None).await;
            (version, node) = self.find(call.slot);
        }
        let nobody = || StoreError::unavailable("no node of the cluster says who has the slot");
        let known = node.as_ref().ok_or_else(|| failure.unwrap_or_else(nobody));
        let outcome = match known.and_then(|node| self.connection(node)) {
            Ok(connection) => connection.attempt(call, asking).await,
            Err(error) => Err(TryFailure::Unreachable(error)),
        };
        (node, version, outcome)
    }

    /// Returns the version of the map, and the node that has this slot; without a slot, any node.
    fn find(&self, slot: Option<u16>) -> (u64, Option<NodeAddress>) {
        let map = self.state.map.borrow();
        let node = match slot {
            Some(slot) => map.node(slot).cloned(),
            None => map.masters().pop_first(),
        };
        (map.version, node)
    }

    pub(crate) async fn masters(&self) -> Result<Vec<Arc<Connection>>, StoreError> {
        let version = self.state.map.borrow().version;
        // The map is read anew: an answer that leaves a master out would be wrong.
        let reading = self.read_map(version, None).await;
        let masters = self.state.map.borrow().masters();
        if masters.is_empty() {
            let nobody = || StoreError::unavailable("no node of the cluster answers");
            return Err(reading.unwrap_or_else(nobody));
        }
        masters.iter().map(|node| self.connection(node)).collect()
    }

    fn read_map_meanwhile(&self, version: u64, doubted: Option<NodeAddress>) {
        let cluster = self.clone();
        // What it finds is kept; a failure changes nothing.
        tokio::spawn(async move { drop(cluster.read_map(version, doubted.as_ref()).await) });
    }

    /// Reads the map, as long as there is time. Returns the reason of a failure, if it is known.
    async fn read_map_until(
        &self,
        give_up: Instant,
        version: u64,
        doubted: Option<&NodeAddress>,
    ) -> Option<StoreError> {
        timeout_at(give_up, self.read_map(version, doubted)).await.ok().flatten()
    }

    /// Reads the map from the node that answers first, unless somebody did so since this version. Returns the reason of a failure.
    ///
    /// A node that is `doubted` is not asked as long as there are others: a node that is cut off from them goes on
    /// telling what it knew.
    async fn read_map(&self, version: u64, doubted: Option<&NodeAddress>) -> Option<StoreError> {
        let came = Instant::now();
        let mut reading = self.state.reading.lock().await;
        let mut asked = {
            let map = self.state.map.borrow();
            if map.version != version || map.read_at.is_some_and(|at| Instant::now() < at + FRESH) {
                return None;
            }
            map.masters()
        };
        // Those who waited for this lock meanwhile would only wait for the same nodes again, one after the other.
        if let Some((_, error)) = reading.as_ref().filter(|(failed, _)| came < *failed) {
            return Some(error.clone());
        }
        asked.extend(self.state.seeds.iter().cloned());
        if let Some(doubted) = doubted.filter(|_| asked.len() > 1) {
            asked.remove(doubted);
        }
        let mut answers: FuturesUnordered<_> =
            asked.iter().map(|node| self.read_map_from(node, version + 1)).collect();
        let mut failure = None;
        while let Some(answer) = answers.next().await {
            match answer {
                Ok(map) => {
                    drop(answers);
                    let (masters, seeds) = (map.masters(), &self.state.seeds);
                    self.connections.lock().retain(|node, _| masters.contains(node) || seeds.contains(node));
                    self.state.map.send_replace(map);
                    return None;
                }
                // A denial, or an error of the wrong server, tells more than a node that is down.
                Err(error) if !error.is_transient() => failure = Some(error),
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        *reading = failure.clone().map(|error| (Instant::now(), error));
        failure
    }

    async fn read_map_from(&self, node: &NodeAddress, version: u64) -> Result<Map, StoreError> {
        let sent = self.connection(node)?.attempt(&map::question(), false).await;
        let answer = sent.map_err(TryFailure::into_error)?.value;
        let map = Map::read(answer, node, version).filter(|map| !map.masters().is_empty());
        map.ok_or_else(|| StoreError::unavailable(format!("{node} knows no slots")))
    }

    fn connection(&self, node: &NodeAddress) -> Result<Arc<Connection>, StoreError> {
        if let Some(known) = self.connections.lock().get(node) {
            return Ok(Arc::clone(known));
        }
        let endpoint = Endpoint::Fixed(Box::new(self.state.nodes.server(node)?));
        let connection = Connection::new(endpoint, Arc::clone(&self.state.greeting), &self.state.options);
        Ok(Arc::clone(self.connections.lock().entry(node.clone()).or_insert_with(|| Arc::new(connection))))
    }
}
