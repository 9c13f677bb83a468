//! A cluster: each request goes to the node that has its slot, and follows the slot when it moves.
//!
//! The client library's own connection to a cluster has no bound on the time of a call, does not say whether a failed
//! call was sent, and mixes subscriptions with commands. So requests are routed here, over one connection to each node.

pub(crate) mod map;
pub(crate) mod slot;
mod subscriber;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::{StreamExt, stream::FuturesUnordered};
use redis::{Pipeline, RedisResult, Value, aio::MultiplexedConnection};
use tokio::{
    sync::{Mutex as AsyncMutex, watch},
    time::{Instant, sleep, timeout_at},
};

use self::map::{Map, Slots};
use crate::{
    core::Doubling,
    store::{
        StoreError,
        redis::net::{
            connection::{Answered, Connection, Request},
            endpoint::Endpoint,
            failure::Failure,
            options::RedisOptions,
            urls::{Node, Nodes},
        },
    },
};

const FIRST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_millis(100);

/// The time after a reading in which the map is not read again.
const FRESH: Duration = Duration::from_millis(20);

/// A cluster. Clones share everything.
#[derive(Clone)]
pub(crate) struct Cluster {
    shared: Arc<Shared>,
    connections: Arc<Mutex<BTreeMap<Node, Arc<Connection>>>>,
}

/// All that does not depend on the connections.
struct Shared {
    seeds: Vec<Node>,
    nodes: Nodes,
    greeting: Arc<Pipeline>,
    options: RedisOptions,
    map: watch::Sender<Map>,
    /// A lock that is held while the map is read, with the time and the error of the last failure.
    reading: AsyncMutex<Option<(Instant, StoreError)>>,
}

/// One try of a request: its node and its outcome.
struct Tried {
    node: Option<Node>,
    /// The version of the map that led to the node.
    version: u64,
    outcome: Result<Value, Failure>,
}

impl Cluster {
    pub(crate) fn new(seeds: Vec<Node>, nodes: Nodes, greeting: Pipeline, options: &RedisOptions) -> Self {
        let (greeting, options) = (Arc::new(greeting), options.clone());
        let (map, reading) = (watch::Sender::default(), AsyncMutex::default());
        let shared = Shared { seeds, nodes, greeting, options, map, reading };
        Self { shared: Arc::new(shared), connections: Arc::default() }
    }

    /// Returns the same cluster with the same map, on connections of their own.
    pub(crate) fn clone_connections(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), connections: Arc::default() }
    }

    /// Sends a request to the node that has its slot.
    ///
    /// A request that a node refuses because the slot moves, or because there is a failover, is sent again after a
    /// pause, until the time to connect and the time for an answer are both over. If `again`, a request that was lost
    /// is sent again too.
    pub(crate) async fn send(&self, request: &impl Request, again: bool) -> Result<Answered, StoreError> {
        let RedisOptions { connect_timeout, response_timeout, .. } = self.shared.options;
        let give_up = Instant::now() + connect_timeout + response_timeout;
        let slot = request.slot();
        let (mut lost, mut ask) = (None, None);
        // The second try follows at once.
        let (mut pause, mut pauses) = (Duration::ZERO, Doubling::new(FIRST_PAUSE, LONGEST_PAUSE));
        loop {
            let Tried { node, version, outcome } = match ask.take() {
                Some(node) => self.try_asking(node, request).await,
                None => self.try_once(slot, request, give_up).await,
            };
            let error = match outcome {
                Ok(value) => return Ok(Answered { value, repeated: lost.is_some() }),
                Err(Failure::Elsewhere { node: to, asked, error }) => {
                    let to = node.and_then(|from| Node::of_redirect(&to, &from));
                    match (to, slot) {
                        (Some(to), _) if asked => ask = Some(to),
                        (Some(to), Some(slot)) => self.moved(slot, &to, version),
                        _ => self.read_map_meanwhile(version, None),
                    }
                    error
                }
                Err(Failure::Gone(error)) if again => {
                    self.read_map_until(give_up, version, node.as_ref()).await;
                    lost.get_or_insert(error).clone()
                }
                Err(Failure::Unreachable(error)) if error.is_transient() => {
                    self.read_map_until(give_up, version, node.as_ref()).await;
                    error
                }
                Err(Failure::TryLater(error)) => {
                    self.read_map_meanwhile(version, node);
                    error
                }
                Err(other) => {
                    // Whatever became of this request, the next one should know of a failover.
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

    async fn try_once(&self, slot: Option<u16>, request: &impl Request, give_up: Instant) -> Tried {
        let (mut found, mut failure) = (self.find(slot), None);
        if found.1.is_none() {
            failure = self.read_map_until(give_up, found.0, None).await;
            found = self.find(slot);
        }
        let (version, Some(node)) = found else {
            let reason = "no node of the cluster says who has the slot".to_owned();
            let error = failure.unwrap_or(StoreError::unavailable(reason));
            return Tried { node: None, version: found.0, outcome: Err(Failure::Unreachable(error)) };
        };
        let outcome = match self.connection(&node) {
            Ok(connection) => connection.attempt(request).await,
            Err(error) => Err(Failure::Unreachable(error)),
        };
        Tried { node: Some(node), version, outcome }
    }

    /// Sends a request to a node that is still receiving its slot.
    async fn try_asking(&self, node: Node, request: &impl Request) -> Tried {
        let outcome = match self.connection(&node) {
            Ok(connection) => connection.attempt(&Asking(request)).await,
            Err(error) => Err(Failure::Unreachable(error)),
        };
        Tried { node: Some(node), version: self.shared.map.borrow().version, outcome }
    }

    /// Returns the version of the map, and the node that has this slot; without a slot, any node.
    fn find(&self, slot: Option<u16>) -> (u64, Option<Node>) {
        let map = self.shared.map.borrow();
        let node = match slot {
            Some(slot) => map.node(slot).cloned(),
            None => map.masters().pop_first(),
        };
        (map.version, node)
    }

    /// Returns the connections to all masters.
    pub(crate) async fn masters(&self) -> Result<Vec<Arc<Connection>>, StoreError> {
        let version = self.shared.map.borrow().version;
        // The map is read anew: an answer that leaves a master out would be wrong.
        let reading = self.read_map(version, None).await;
        let masters = self.shared.map.borrow().masters();
        if masters.is_empty() {
            let reason = "no node of the cluster answers".to_owned();
            return Err(reading.unwrap_or(StoreError::unavailable(reason)));
        }
        masters.iter().map(|node| self.connection(node)).collect()
    }

    fn moved(&self, slot: u16, to: &Node, version: u64) {
        self.shared.map.send_modify(|map| map.moved(slot, to));
        self.read_map_meanwhile(version, None);
    }

    fn read_map_meanwhile(&self, version: u64, doubted: Option<Node>) {
        let cluster = self.clone();
        // What it finds is kept; a failure changes nothing.
        tokio::spawn(async move { drop(cluster.read_map(version, doubted.as_ref()).await) });
    }

    /// Reads the map, as long as there is time. Returns the reason of a failure, if it is known.
    async fn read_map_until(
        &self,
        give_up: Instant,
        version: u64,
        doubted: Option<&Node>,
    ) -> Option<StoreError> {
        timeout_at(give_up, self.read_map(version, doubted)).await.ok().flatten()
    }

    /// Reads the map from the node that answers first, unless somebody did so since this version. Returns the reason of
    /// a failure.
    ///
    /// A node that is `doubted` is not asked as long as there are others: a node that is cut off from them goes on
    /// telling what it knew.
    async fn read_map(&self, version: u64, doubted: Option<&Node>) -> Option<StoreError> {
        let came = Instant::now();
        let mut reading = self.shared.reading.lock().await;
        let known = {
            let map = self.shared.map.borrow();
            if map.version != version || map.read_at.is_some_and(|at| Instant::now() < at + FRESH) {
                return None;
            }
            map.masters()
        };
        // Those who waited for this lock meanwhile would only wait for the same nodes again, one after the other.
        if let Some((_, error)) = reading.as_ref().filter(|(failed, _)| came < *failed) {
            return Some(error.clone());
        }
        let mut asked: BTreeSet<Node> = known.into_iter().chain(self.shared.seeds.iter().cloned()).collect();
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
                    self.keep(map);
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

    async fn read_map_from(&self, node: &Node, version: u64) -> Result<Map, StoreError> {
        let answer = self.connection(node)?.attempt(&Slots).await.map_err(Failure::into_error)?;
        let map = Map::read(answer, node, version).filter(|map| !map.masters().is_empty());
        map.ok_or_else(|| StoreError::unavailable(format!("{node} knows no slots")))
    }

    fn keep(&self, map: Map) {
        let masters = map.masters();
        self.connections().retain(|node, _| masters.contains(node) || self.shared.seeds.contains(node));
        self.shared.map.send_replace(map);
    }

    fn connection(&self, node: &Node) -> Result<Arc<Connection>, StoreError> {
        if let Some(known) = self.connections().get(node) {
            return Ok(Arc::clone(known));
        }
        let Shared { nodes, greeting, options, .. } = &*self.shared;
        let endpoint = Endpoint::Fixed(Box::new(nodes.client(node)?));
        let connection = Arc::new(Connection::new(endpoint, Arc::clone(greeting), options));
        Ok(Arc::clone(self.connections().entry(node.clone()).or_insert(connection)))
    }

    fn connections(&self) -> MutexGuard<'_, BTreeMap<Node, Arc<Connection>>> {
        // Nothing under this lock panics half-way.
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seeds: Vec<_> = self.shared.seeds.iter().map(ToString::to_string).collect();
        write!(f, "the cluster of {}", seeds.join(","))
    }
}

/// A request to a node that does not have the whole slot yet.
struct Asking<'a, R>(&'a R);

impl<R: Request> Request for Asking<'_, R> {
    async fn send(&self, connection: &mut MultiplexedConnection) -> RedisResult<Value> {
        self.0.send_asking(connection).await
    }

    fn is_answered_by(&self, answer: &Value) -> bool {
        self.0.is_answered_by(answer)
    }
}
