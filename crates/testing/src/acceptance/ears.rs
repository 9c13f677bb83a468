//! The notifications of an inbox, as facts hear them.

use futures_util::StreamExt;
use leasehold::{
    ResourceName, Token,
    env::{Random, SystemRandom},
    store::{Acquisition, Inbox, Notification, Notifications, Released},
};

use super::{heard::Heard, scene::Scene};
use crate::waiting::PATIENCE;

impl Scene {
    /// Listens to the inbox of all who wait here, as long as the fact is under test: they are taken for alive.
    pub(super) async fn somebody_hears(&self) {
        let mut notifications = self.store.listen(&self.inbox);
        // A store without a queue has none.
        if notifications.next().await.is_some() {
            tokio::spawn(notifications.for_each(async |_| {}));
        }
    }

    /// Begins to listen to the inbox of all who wait here.
    pub(super) async fn listen(&self) -> Notifications {
        subscribed(self.store.listen(&self.inbox)).await
    }

    /// The same with another inbox: the nodes of a cluster may still be passing on what was told to the one before.
    pub(super) async fn listen_anew(&mut self) -> Notifications {
        self.inbox = Inbox(SystemRandom.token());
        self.listen().await
    }

    /// To whom the inbox was told that something was handed over, until now; who is next is left out.
    pub(super) async fn told(&self, notifications: &mut Notifications) -> Vec<Token> {
        let heard = self.heard(notifications).await;
        let handed_over = heard.into_iter().filter_map(|heard| match heard {
            Heard::HandedOver(token) => Some(token),
            Heard::Next(_) | Heard::GoOn(_) => None,
        });
        handed_over.collect()
    }

    /// Returns the notifications until now: all that come before a hand-over that is made for this, on each server.
    pub(super) async fn heard(&self, notifications: &mut Notifications) -> Vec<Heard> {
        let mut last = Vec::new();
        for name in self.world.everywhere() {
            last.push(Heard::HandedOver(self.hand_over_there(name).await));
        }
        let alone = last.len() == 1;
        let mut heard = Vec::new();
        while !last.is_empty() {
            let told = match next_of_waiters(notifications).await {
                Notification::HandedOver(token) => Heard::HandedOver(token),
                Notification::Next(token) => Heard::Next(token),
                Notification::GoOn(token) => Heard::GoOn(token),
                other => panic!("{other:?} was notified"),
            };
            // Each server passes on what another one tells. A store knows the copies that come soon, and not those of a
            // server that gets no turn for seconds.
            let is_new = self.heard_before.borrow_mut().insert(told);
            if last.contains(&told) {
                last.retain(|it| *it != told);
            } else if is_new || alone {
                heard.push(told);
            }
        }
        heard
    }

    /// Takes this for new when it is heard again.
    pub(super) fn may_be_told_again(&self, heard: Heard) {
        self.heard_before.borrow_mut().remove(&heard);
    }

    /// Lets somebody who waits be handed a resource. Answers who it is.
    async fn hand_over_there(&self, name: ResourceName) -> Token {
        let [mut holder, mut waiter] = [self.exclusive(), self.waiting(self.exclusive())];
        (holder.hold.resource, waiter.hold.resource) = (name.clone(), name);
        self.granted(&holder).await;
        self.queued(&waiter).await;
        assert_eq!(self.release(&holder).await, Released::Freed);
        waiter.hold.token
    }
}

/// The same, with notifications to an inbox that nobody listens to.
pub(super) fn unheard(mut asked: Acquisition) -> Acquisition {
    asked.ticket.as_mut().unwrap().inbox = Inbox(SystemRandom.token());
    asked
}

/// Waits until notifications arrive.
pub(super) async fn subscribed(mut notifications: Notifications) -> Notifications {
    match next_of_waiters(&mut notifications).await {
        Notification::Subscribed => notifications,
        other => panic!("{other:?} was notified first"),
    }
}

/// Returns the next notification that is not to holders: another fact, which uses the same servers, may have told its own.
pub(super) async fn next_of_waiters(notifications: &mut Notifications) -> Notification {
    loop {
        match next(notifications).await {
            Notification::ToHolders(..) => {}
            other => return other,
        }
    }
}

pub(super) async fn next(notifications: &mut Notifications) -> Notification {
    let next = tokio::time::timeout(PATIENCE, notifications.next()).await;
    next.expect("a notification in time").expect("notifications without an end")
}
