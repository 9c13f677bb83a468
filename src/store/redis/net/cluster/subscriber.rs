//! Notifications on a cluster: a subscription on every master, and each notification once.
//!
//! A message that is published on one node reaches the subscribers on all of them, so one subscription would be enough
//! to receive everything. But the scripts skip waiters whose inbox has no subscriber, and a node counts only its own
//! subscribers.

use std::{
    collections::{BTreeMap, HashMap},
    mem::{Discriminant, discriminant},
    time::Duration,
};

use futures_util::{
    FutureExt, Stream, StreamExt,
    stream::{self, BoxStream, SelectAll},
};
use tokio::{
    sync::watch,
    time::{Instant, sleep, sleep_until},
};

use crate::{
    core::Token,
    store::{
        Notification,
        redis::net::{
            address::NodeAddress,
            cluster::{Cluster, Map},
        },
    },
};

/// The time within which the copies of one message arrive, over all nodes.
const COPIES_WITHIN: Duration = Duration::from_secs(2);
/// The interval at which the map is read again while nobody else does so.
const PERIOD: Duration = Duration::from_secs(5);

/// A subscriber to its channels on all masters, for as long as its stream is there.
struct ClusterSubscriber {
    cluster: Cluster,
    channels: Vec<String>,
    map: watch::Receiver<Map>,
    subscriptions: SelectAll<BoxStream<'static, (NodeAddress, Notification)>>,
    /// For each master, true if its subscription is open; `None` while that is not known.
    open: BTreeMap<NodeAddress, Option<bool>>,
    received: Received,
    /// True if the last state that was told is disconnected.
    disconnected: bool,
    next_check: Instant,
}

impl Cluster {
    pub(in crate::store::redis) fn notifications(
        &self,
        channels: Vec<String>,
    ) -> impl Stream<Item = Notification> + Send + use<> {
        let mut map = self.state.map.subscribe();
        map.mark_changed();
        let subscriber = ClusterSubscriber {
            cluster: self.clone(),
            channels,
            map,
            subscriptions: SelectAll::new(),
            open: BTreeMap::new(),
            received: Received::default(),
            disconnected: false,
            next_check: Instant::now(),
        };
        stream::unfold(subscriber, |mut subscriber| async { Some((subscriber.next().await, subscriber)) })
    }
}

impl ClusterSubscriber {
    async fn next(&mut self) -> Notification {
        loop {
            tokio::select! {
                // It fails only if the sender is gone, which the cluster owns.
                _ = self.map.changed() => self.follow(),
                Some((node, notification)) = self.subscriptions.next() => {
                    if let Some(told) = self.receive(node, notification) {
                        return told;
                    }
                }
                () = sleep_until(self.next_check) => {
                    self.next_check = Instant::now() + PERIOD;
                    self.cluster.read_map_meanwhile(self.map.borrow().version, None);
                    self.follow();
                }
            }
            if self.open.is_empty()
                && let Some(error) = self.read_first_map().await
            {
                return error;
            }
        }
    }

    /// Reads the map for the first time. If that fails, it returns the error as a notification, once.
    async fn read_first_map(&mut self) -> Option<Notification> {
        const PAUSE: Duration = Duration::from_millis(200);
        let version = self.map.borrow().version;
        let error = self.cluster.read_map(version, None).await?;
        if !std::mem::replace(&mut self.disconnected, true) {
            return Some(Notification::Disconnected(error));
        }
        sleep(PAUSE).await;
        self.map.mark_changed();
        None
    }

    /// Opens a subscription to every new master. The subscription to a node that is no longer a master ends by itself.
    fn follow(&mut self) {
        let masters = self.map.borrow_and_update().masters();
        self.open.retain(|node, _| masters.contains(node));
        for node in masters {
            if !self.open.contains_key(&node)
                && let Ok(connection) = self.cluster.connection(&node)
            {
                let subscriber = connection.subscriber(self.channels.clone());
                let (mut map, this, who) = (self.map.clone(), node.clone(), node.clone());
                let no_master = async move {
                    // It fails only if the sender is gone, which the cluster owns.
                    let _ = map.wait_for(|map| !map.masters().contains(&this)).await;
                };
                let subscription = subscriber.notifications().map(move |told| (who.clone(), told));
                self.subscriptions.push(subscription.take_until(no_master.boxed()).boxed());
                self.open.insert(node, None);
            }
        }
    }

    fn receive(&mut self, node: NodeAddress, notification: Notification) -> Option<Notification> {
        let opened = match notification {
            Notification::HandedOver(token) | Notification::Next(token) | Notification::GoOn(token) => {
                let first = self.received.is_first((token, discriminant(&notification)), &node);
                return first.then_some(notification);
            }
            // Each holder knows what it has been told.
            Notification::ToHolders(..) | Notification::Doubted(_) => return Some(notification),
            Notification::Subscribed => true,
            Notification::Disconnected(_) => false,
        };
        // The subscription to a node that is no longer a master may have had a last word.
        let is_first = self.open.get_mut(&node)?.replace(opened).is_none();
        if !opened {
            self.cluster.read_map_meanwhile(self.map.borrow().version, Some(node));
        }
        if self.open.values().any(Option::is_none) {
            return None;
        }
        // One open subscription receives from all nodes. One that opens again may have missed what its own node had to say.
        let subscribed = self.open.values().any(|open| *open == Some(true));
        let was_disconnected = std::mem::replace(&mut self.disconnected, !subscribed);
        match subscribed {
            true => (opened || was_disconnected || is_first).then_some(Notification::Subscribed),
            false => (!was_disconnected).then_some(notification),
        }
    }
}

/// The messages of a moment ago, and the node that sent each of them first: those of the other nodes are copies.
#[derive(Default)]
struct Received {
    first: HashMap<(Token, Discriminant<Notification>), (NodeAddress, Instant)>,
    next_cleanup: Option<Instant>,
}

impl Received {
    fn is_first(&mut self, message: (Token, Discriminant<Notification>), node: &NodeAddress) -> bool {
        let now = Instant::now();
        if self.next_cleanup.is_none_or(|at| now >= at) {
            self.first.retain(|_, (_, at)| now < *at + COPIES_WITHIN);
            self.next_cleanup = Some(now + COPIES_WITHIN);
        }
        match self.first.get(&message) {
            // A repeat from the same node is a new message, and no copy.
            Some((first, at)) if now < *at + COPIES_WITHIN => first == node,
            _ => {
                self.first.insert(message, (node.clone(), now));
                true
            }
        }
    }
}
