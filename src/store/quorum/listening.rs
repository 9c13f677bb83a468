//! The notifications of all nodes, as those of one store.

use std::sync::Arc;

use futures_util::{
    StreamExt,
    stream::{self, select_all},
};

use crate::{
    core::Token,
    store::{
        Inbox, Notification, Notifications, StoreError,
        quorum::{core::Core, node::Node, renew_release::repair, waiters::Named},
    },
};

/// Merges what the nodes send to this inbox. The stream ends when those of all nodes have ended: without queues there is
/// nothing to listen to.
pub(super) fn listen(core: &Arc<Core>, inbox: Inbox) -> Notifications {
    let told = core.waiters.subscribe(inbox);
    let told = stream::unfold(told, async |mut told| Some((told.recv().await?, told)));
    let of_node = |(number, node): (usize, &Arc<Node>)| {
        node.store.listen(&inbox).map(move |notification| (number, notification)).boxed()
    };
    let nodes = select_all(core.nodes.iter().enumerate().map(of_node));
    let mut lines = Lines { core: Arc::clone(core), subscribed: vec![false; core.nodes.len()] };
    let heard = nodes.filter_map(move |(node, notification)| {
        let heard = lines.hear(node, notification);
        async move { heard }
    });
    let heard = heard.map(Some).chain(stream::once(async { None }));
    stream::select(heard, told.map(Some))
        .take_while(|next| std::future::ready(next.is_some()))
        .filter_map(std::future::ready)
        .boxed()
}

/// The lines to the nodes.
struct Lines {
    core: Arc<Core>,
    subscribed: Vec<bool>,
}

impl Lines {
    /// Handles the notification of a node. Returns what it means for the quorum as a whole.
    fn hear(&mut self, node: usize, notification: Notification) -> Option<Notification> {
        match notification {
            Notification::HandedOver(token) => self.core.named(token, node),
            Notification::Next(_) | Notification::GoOn(_) => self.core.waiters.forward(notification),
            // Copies from the other nodes follow. Each holder knows what it has been told.
            Notification::ToHolders(..) => return Some(notification),
            Notification::Subscribed => {
                self.subscribed[node] = true;
                // A further node may have lost notifications as well.
                return self.hears_a_majority().then_some(Notification::Subscribed);
            }
            Notification::Disconnected(error) => return self.disconnected(node, error),
        }
        None
    }

    fn disconnected(&mut self, node: usize, error: StoreError) -> Option<Notification> {
        let before = self.hears_a_majority();
        self.subscribed[node] = false;
        (before && !self.hears_a_majority()).then_some(Notification::Disconnected(error))
    }

    fn hears_a_majority(&self) -> bool {
        self.subscribed.iter().filter(|subscribed| **subscribed).count() >= self.core.needed()
    }
}

impl Core {
    /// Handles the news that a node has named a token as next.
    pub(super) fn named(self: &Arc<Self>, token: Token, node: usize) {
        let named = self.waiters.named(token, node, self.needed());
        if named == Named::Nobody {
            // A majority of the others was enough for it. The hold there counts until the lease is renewed or released.
            self.repair_later(node, token);
        }
        self.await_majority(token, named);
    }

    /// Has a granted token hold on a node as well that has named it as next.
    pub(super) fn repair_later(self: &Arc<Self>, node: usize, token: Token) {
        if let Some(granted) = self.ledger.granted(token, self.now()) {
            let (hold, ttl) = (granted.asked.hold.clone(), granted.asked.ttl);
            tokio::spawn(repair(Arc::clone(self), node, hold, ttl));
        }
    }

    /// Has a waiter that only a minority has named attempt after a pause: the vote was split.
    pub(super) fn await_majority(self: &Arc<Self>, token: Token, named: Named) {
        if let Named::Minority { attempt, patience } = named {
            let core = Arc::clone(self);
            tokio::spawn(async move {
                tokio::time::sleep(patience).await;
                core.waiters.patience_ended(token, attempt);
            });
        }
    }
}
