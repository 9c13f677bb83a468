//! The books of a quorum: all that is remembered from one call to the next.
//!
//! A token that failed may be tried again at once. Therefore a hold that one attempt left on a node may be released only
//! while no later attempt wants it, and a node that is releasing it at that moment has no vote on a later attempt before it has
//! answered.

use std::{collections::HashMap, sync::Arc, time::Duration};

use tokio::{
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    time::Instant,
};

use crate::{
    core::{Moment, Token, TurnEvent, TurnNews, TurnStep, majority},
    store::{
        Acquisition, Hold, Inbox, Notification, Renewal, StoreError,
        quorum::{
            fences::FenceClock,
            node::Observed,
            releases::{NodeReleases, PendingRelease},
            tokens::Tokens,
        },
    },
};

/// All that is remembered of tokens and nodes.
#[derive(Debug)]
pub(super) struct Books {
    pub(super) tokens: Tokens,
    pub(super) releases: Vec<NodeReleases>,
    /// The observations of each node.
    pub(super) nodes: Vec<Observed>,
    pub(super) fence_clock: FenceClock,
    pub(super) lessons: LessonTimes,
    subscribers: HashMap<Inbox, UnboundedSender<Notification>>,
    /// The tokens that verbs are releasing on all nodes, with the number of these verbs.
    releasing: HashMap<Token, usize>,
}

/// The times of the lessons that nodes were taught.
#[derive(Debug, Default)]
pub(super) struct LessonTimes {
    /// The time of the last lesson.
    pub(super) taught: Option<Instant>,
    /// The time from which nodes may be asked again.
    pub(super) next: Option<Instant>,
    /// True while they are asked.
    pub(super) in_progress: bool,
}

impl LessonTimes {
    /// Returns true if nodes have been taught since `voted`.
    pub(super) fn has_taught_since(&self, voted: Instant) -> bool {
        self.taught.is_some_and(|taught| taught >= voted)
    }
}

/// The work that is left after an event of a waiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Remaining {
    Nothing,
    /// Nothing, because the token has no place in the queues.
    Nobody,
    /// Its patience ends after this time, unless it begins another attempt than this one.
    Patience(u64, Duration),
}

impl Books {
    pub(super) fn new(nodes: usize) -> Self {
        Self {
            tokens: Tokens::new(majority(nodes)),
            releases: (0..nodes).map(|_| NodeReleases::default()).collect(),
            nodes: (0..nodes).map(|_| Observed::default()).collect(),
            fence_clock: FenceClock::default(),
            lessons: LessonTimes::default(),
            subscribers: HashMap::new(),
            releasing: HashMap::new(),
        }
    }

    /// Begins the release of these holds by a verb, and forgets them. Until its end no other release of them is sent: nodes that
    /// execute that first would deny that they held. Returns the number of the latest attempt.
    pub(super) fn begin_release<'a>(&mut self, holds: impl Iterator<Item = &'a Hold> + Clone) -> u64 {
        for hold in holds.clone() {
            *self.releasing.entry(hold.token).or_default() += 1;
            self.releases.iter_mut().for_each(|releases| releases.hold_back(hold.token));
        }
        self.forget(holds)
    }

    /// Removes the tokens of these holds, which nobody wants any more. Returns the number of the latest attempt.
    pub(super) fn forget<'a>(&mut self, holds: impl Iterator<Item = &'a Hold>) -> u64 {
        for hold in holds {
            self.tokens.remove(hold);
            self.nodes.iter_mut().for_each(|node| drop(node.untold.remove(&hold.token)));
            self.releases.iter_mut().for_each(|releases| releases.forget_place(hold.token));
        }
        self.tokens.attempts
    }

    /// Has each node told the metadata of a renewal until it confirms that, and repaired with it.
    pub(super) fn describe(&mut self, renewal: &Renewal<'_>, now: Moment) {
        let (token, Some(metadata)) = (renewal.hold.token, &renewal.metadata) else { return };
        self.tokens.describe(token, metadata);
        for node in &mut self.nodes {
            // A lease that was given away is never forgotten.
            if node.untold.len().is_power_of_two() {
                node.untold.retain(|_, (_, end)| *end > now);
            }
            node.untold.insert(token, (Arc::clone(metadata), now + renewal.ttl));
        }
    }

    /// Has a waiter handle an event, unless it has begun another attempt than this one, and tells it what follows.
    pub(super) fn follow(&mut self, token: Token, since: Option<u64>, event: TurnEvent<'_>) -> Remaining {
        let Some((attempt, inbox, steps)) = self.tokens.follow(token, since, event) else {
            return Remaining::Nobody;
        };
        let mut remaining = Remaining::Nothing;
        for step in steps {
            match step {
                TurnStep::Tell(news) => self.tell(token, inbox, news),
                TurnStep::Patience(time) => remaining = Remaining::Patience(attempt, time),
            }
        }
        remaining
    }

    fn tell(&self, token: Token, inbox: Inbox, news: TurnNews) {
        let notification = match news {
            TurnNews::HandedOver if planted!("nobody is told whom a majority names") => return,
            TurnNews::HandedOver => Notification::HandedOver(token),
            TurnNews::Next => Notification::Next(token),
            TurnNews::GoOn => Notification::GoOn(token),
        };
        if let Some(subscriber) = self.subscribers.get(&inbox) {
            // A subscriber that is just leaving does not need the notification.
            let _ = subscriber.send(notification);
        }
    }

    /// Subscribes to the notifications to this inbox, in place of an earlier subscriber.
    pub(super) fn subscribe(&mut self, inbox: Inbox) -> UnboundedReceiver<Notification> {
        let (sender, notifications) = unbounded_channel();
        self.subscribers.retain(|_, subscriber| !subscriber.is_closed());
        self.subscribers.insert(inbox, sender);
        notifications
    }

    /// Marks the tokens of an attempt as wanted again on a node that is about to be asked: holds their pending releases back.
    /// Returns true for each that is too late: its release is in flight, or it was released or asked for again meanwhile.
    pub(super) fn want_again(
        &mut self,
        node: usize,
        asked: &[Arc<Acquisition>],
        attempt: u64,
        now: Moment,
    ) -> Vec<bool> {
        let Self { tokens, releases, .. } = self;
        let is_too_late = |asked: &Arc<Acquisition>| {
            let token = asked.hold.token;
            !tokens.is_latest(token, attempt) || releases[node].want_again(token, now)
        };
        asked.iter().map(is_too_late).collect()
    }

    /// Ends the release of these tokens by a verb. Returns the nodes on which other releases of them are set aside.
    pub(super) fn end_release(&mut self, tokens: impl Iterator<Item = Token> + Clone) -> Vec<(usize, Token)> {
        for token in tokens.clone() {
            let verbs = self.releasing.remove(&token).unwrap_or_default();
            self.releasing.extend((verbs > 1).then(|| (token, verbs - 1)));
        }
        let on = |(node, releases): (usize, &NodeReleases)| {
            let aside = tokens.clone().filter(|token| releases.aside.contains_key(token));
            aside.map(|token| (node, token)).collect::<Vec<_>>()
        };
        self.releases.iter().enumerate().flat_map(on).collect()
    }

    /// Queues the release of a hold on a node, or sets it aside until what wants or releases its token has ended.
    /// Returns true if the caller has to start the work.
    #[must_use]
    pub(super) fn release_later(&mut self, node: usize, pending: PendingRelease) -> bool {
        if self.is_held_back(&pending) {
            self.releases[node].set_aside(pending);
            return false;
        }
        let waits = self.tokens.is_wanted(pending.hold.token);
        self.releases[node].queue(if waits { pending } else { pending.without_place() })
    }

    fn is_held_back(&self, PendingRelease { hold, attempt, .. }: &PendingRelease) -> bool {
        self.tokens.is_wanted_since(hold.token, *attempt) || self.releasing.contains_key(&hold.token)
    }

    /// Queues again, in the name of this attempt, the release of what an earlier attempt left on a node that was not
    /// reached for this token. Returns true if the caller has to start the work.
    #[must_use]
    pub(super) fn release_again(&mut self, node: usize, token: Token, attempt: u64) -> bool {
        let pending = self.releases[node].aside.remove(&token);
        pending.is_some_and(|pending| {
            self.release_later(node, PendingRelease { attempt, queued_again: None, ..pending })
        })
    }

    /// Puts back a release that has failed.
    pub(super) fn failed(&mut self, node: usize, pending: PendingRelease, error: &StoreError) {
        let is_held_back = self.is_held_back(&pending);
        self.releases[node].failed(pending, is_held_back, error.certainty());
    }

    /// Stops the work on the pending releases of this node, and puts back those that were taken and are not settled.
    pub(super) fn abandon(&mut self, node: usize, taken: Vec<PendingRelease>) {
        let error = StoreError::reply_lost("release: the task that sends it ended");
        for pending in taken {
            self.failed(node, pending, &error);
        }
        self.releases[node].worked_off = false;
    }
}

#[cfg(test)]
mod tests;
