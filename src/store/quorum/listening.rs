//! The notifications of all nodes, as those of one store.

use std::sync::Arc;

use futures_util::{
    StreamExt,
    stream::{self, select_all},
};

use crate::{
    core::{Token, TurnEvent},
    store::{
        Inbox, Notification, Notifications,
        quorum::{node::NamedNode, shared::Quorum},
    },
};

/// Merges what the nodes send to this inbox. The stream ends when those of all nodes have, because none of them has queues.
pub(super) fn listen(quorum: &Arc<Quorum>, inbox: Inbox) -> Notifications {
    let told = quorum.books(|books| books.subscribe(inbox));
    let told = stream::unfold(told, async |mut told| Some((told.recv().await?, told)));
    let of_node = |(number, node): (usize, &NamedNode)| {
        node.store.listen(&inbox).map(move |notification| (number, notification)).boxed()
    };
    let nodes = select_all(quorum.nodes.iter().enumerate().map(of_node));
    let mut lines = Lines { quorum: Arc::clone(quorum), subscribed: vec![false; quorum.nodes.len()] };
    let heard = nodes.filter_map(move |(node, notification)| {
        let heard = lines.hear(node, notification);
        async move { heard }
    });
    let heard = heard.map(Some).chain(stream::iter([None]));
    stream::select(heard, told.map(Some)).scan((), |(), next| std::future::ready(next)).boxed()
}

/// The lines to the nodes.
struct Lines {
    quorum: Arc<Quorum>,
    subscribed: Vec<bool>,
}

impl Lines {
    /// Handles the notification of a node. Returns what it means for the quorum as a whole.
    fn hear(&mut self, node: usize, notification: Notification) -> Option<Notification> {
        let hears = |token: Token, event| {
            self.quorum.heard(token, node, event);
            None
        };
        match notification {
            Notification::HandedOver(token) => hears(token, TurnEvent::Named(node)),
            Notification::Next(token) => hears(token, TurnEvent::BecomesNext),
            Notification::GoOn(token) => hears(token, TurnEvent::Called),
            // Copies from the other nodes follow. Each holder knows what it has been told.
            Notification::ToHolders(..) | Notification::Doubted(_) => Some(notification),
            Notification::Subscribed => {
                self.subscribed[node] = true;
                // A further node may have lost notifications as well.
                self.hears_a_majority().then_some(Notification::Subscribed)
            }
            Notification::Disconnected(error) => {
                let before = self.hears_a_majority();
                self.subscribed[node] = false;
                (before && !self.hears_a_majority()).then_some(Notification::Disconnected(error))
            }
        }
    }

    fn hears_a_majority(&self) -> bool {
        self.subscribed.iter().filter(|subscribed| **subscribed).count() >= self.quorum.needed()
    }
}
