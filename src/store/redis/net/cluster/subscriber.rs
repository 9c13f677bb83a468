//! Notifications on a cluster: a subscription on every master, and each notification once.
//!
//! A message that is published on one node reaches the subscribers on all of them, so one subscription would be enough
//! to receive everything. But the scripts skip waiters whose inbox has no subscriber, and a node counts only its own
//! subscribers.

use std::{collections::BTreeMap, mem::discriminant, time::Duration};

use futures_util::{
    FutureExt, Stream, StreamExt,
    stream::{self, BoxStream, SelectAll},
};
use tokio::{
    sync::watch,
    time::{Instant, sleep},
};

use crate::{
    core::Token,
    store::{
        Notification, StoreError,
        redis::net::{
            cluster::{Cluster, Map},
            endpoint::Endpoint,
            options::RedisOptions,
            subscriber::Listener,
            urls::Node,
        },
    },
};

/// The time within which the copies of one message arrive, over all nodes.
const COPIES_WITHIN: Duration = Duration::from_secs(2);
/// The interval at which the map is read again while nobody else does so.
const PERIOD: Duration = Duration::from_secs(5);

type Subscriptions = SelectAll<BoxStream<'static, (Node, Notification)>>;

/// A subscriber to its channels on all masters, for as long as its stream is there.
struct Inbox {
    cluster: Cluster,
    channels: Vec<String>,
    map: watch::Receiver<Map>,
    subscriptions: Subscriptions,
    /// For each master, true if its subscription is open; `None` while that is not known.
    open: BTreeMap<Node, Option<bool>>,
    received: Received,
    /// True if the last state that was told is disconnected.
    disconnected: bool,
    next_check: Instant,
}

enum Event {
    Map,
    Notified(Node, Notification),
}

impl Cluster {
    pub(in crate::store::redis) fn notifications(
        &self,
        channels: Vec<String>,
    ) -> impl Stream<Item = Notification> + Send + use<> {
        let mut map = self.shared.map.subscribe();
        map.mark_changed();
        let inbox = Inbox {
            cluster: self.clone(),
            channels,
            map,
            subscriptions: SelectAll::new(),
            open: BTreeMap::new(),
            received: Received::default(),
            disconnected: false,
            next_check: Instant::now(),
        };
        stream::unfold(inbox, |mut inbox| async { Some((inbox.next().await, inbox)) })
    }
}

impl Inbox {
    async fn next(&mut self) -> Notification {
        loop {
            let told = match self.event().await {
                Event::Map => {
                    self.follow();
                    None
                }
                Event::Notified(node, notification) => self.receive(node, notification),
            };
            if let Some(told) = told {
                return told;
            }
            if self.open.is_empty()
                && let Some(error) = self.read_first_map().await
            {
                return error;
            }
        }
    }

    async fn event(&mut self) -> Event {
        let Self { cluster, map, subscriptions, next_check, .. } = self;
        tokio::select! {
            // It fails only if the sender is gone, which the cluster owns.
            _ = map.changed() => Event::Map,
            Some((node, notification)) = subscriptions.next() => Event::Notified(node, notification),
            () = tokio::time::sleep_until(*next_check) => {
                *next_check = Instant::now() + PERIOD;
                cluster.read_map_meanwhile(map.borrow().version, None);
                Event::Map
            }
        }
    }

    /// Reads the map for the first time. If that fails, it returns the error as a notification, once.
    async fn read_first_map(&mut self) -> Option<Notification> {
        const PAUSE: Duration = Duration::from_millis(200);
        let version = self.map.borrow().version;
        let error: StoreError = self.cluster.read_map(version, None).await?;
        if !self.disconnected {
            self.disconnected = true;
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
                && let Ok(client) = self.cluster.shared.nodes.client(&node)
            {
                let &RedisOptions { connect_timeout, response_timeout, .. } = &self.cluster.shared.options;
                let (endpoint, within) =
                    (Endpoint::Fixed(Box::new(client)), connect_timeout + response_timeout);
                let listener = Listener::new(endpoint, self.channels.clone(), within);
                let mut map = self.map.clone();
                let (this, who) = (node.clone(), node.clone());
                let no_master = async move {
                    // It fails only if the sender is gone, which the cluster owns.
                    let _ = map.wait_for(|map| !map.masters().contains(&this)).await;
                };
                let subscription =
                    listener.notifications().map(move |notification| (who.clone(), notification));
                self.subscriptions.push(subscription.take_until(no_master.boxed()).boxed());
                self.open.insert(node, None);
            }
        }
    }

    fn receive(&mut self, node: Node, notification: Notification) -> Option<Notification> {
        let opened = match notification {
            Notification::HandedOver(token) | Notification::Next(token) | Notification::GoOn(token) => {
                let first = self.received.is_first((token, discriminant(&notification)), &node);
                return first.then_some(notification);
            }
            // Each holder knows what it has been told.
            Notification::ToHolders(..) => return Some(notification),
            Notification::Subscribed => true,
            Notification::Disconnected(_) => false,
        };
        // The subscription to a node that is no longer a master may have had a last word.
        *self.open.get_mut(&node)? = Some(opened);
        if !opened {
            self.cluster.read_map_meanwhile(self.map.borrow().version, Some(node));
        }
        if self.open.values().any(Option::is_none) {
            return None;
        }
        // One open subscription receives from all nodes. One that opens again may have missed what its own node had to say.
        let subscribed = self.open.values().any(|open| *open == Some(true));
        let told =
            if opened || (subscribed && self.disconnected) { Some(Notification::Subscribed) } else { None };
        let told = if subscribed { told } else { (!self.disconnected).then_some(notification) };
        self.disconnected = !subscribed;
        told
    }
}

type Message = (Token, std::mem::Discriminant<Notification>);

/// The messages of a moment ago, and the node that sent each of them first: those of the other nodes are copies.
#[derive(Default)]
struct Received {
    first: BTreeMap<Token, Vec<(Message, Node, Instant)>>,
    next_cleanup: Option<Instant>,
}

impl Received {
    fn is_first(&mut self, message: Message, node: &Node) -> bool {
        let now = Instant::now();
        self.remove_old(now);
        let received = self.first.entry(message.0).or_default();
        match received.iter_mut().find(|(known, ..)| *known == message) {
            Some((_, first, at)) if now < *at + COPIES_WITHIN => {
                // A repeat from the same node is a new message, and no copy.
                first == node
            }
            Some((_, first, at)) => {
                (*first, *at) = (node.clone(), now);
                true
            }
            None => {
                received.push((message, node.clone(), now));
                true
            }
        }
    }

    fn remove_old(&mut self, now: Instant) {
        if self.next_cleanup.is_none_or(|at| now >= at) {
            self.first.retain(|_, received| received.iter().any(|(.., at)| now < *at + COPIES_WITHIN));
            self.next_cleanup = Some(now + COPIES_WITHIN);
        }
    }
}
