//! The messages to an election, the events that it tells, and their recipients.

use std::{fmt, sync::Arc, time::Duration};

use actix::{Message, Recipient};
use tokio::sync::oneshot;

use crate::{
    core::{Fence, LossReason},
    lease::{Lease, RevokeRequested},
    request::{AcquireError, InspectError},
    store::Holder,
};

/// Stands for the lead, now and again after each term, until [`Resign`]. An [`Election`](super::Election) does so from its
/// start, unless it is an [observer](super::Candidacy::observer).
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "()")]
#[must_use = "a message does nothing until it is sent to an Election"]
pub struct Campaign;

/// Gives up the lead, or the place in the queue, and does not stand again until [`Campaign`]. It is answered when the
/// recipients have finished and the lease is released, so that another candidate leads.
///
/// # Cancel safety
/// A candidate that has begun to handle it resigns also if its sender goes. Before that, the message is dropped with the future
/// of `send`. What `do_send` sends is not dropped.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "()")]
#[must_use = "a message does nothing until it is sent to an Election"]
pub struct Resign;

/// Reports that the candidate is not well. If it leads it steps down, so that another one takes over, and stands again after
/// a pause. Otherwise nothing happens.
///
/// A candidate that may become unable to say so asks with [`heartbeat`](crate::Request::heartbeat), and reports while it is well.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "()")]
#[must_use = "a message does nothing until it is sent to an Election"]
pub struct Unwell;

/// Asks the store who leads at this moment. `None` means nobody.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "Result<Option<Holder>, InspectError>")]
#[must_use = "a message does nothing until it is sent to an Election"]
pub struct Leader;

/// Gives up the lead, or the place in the queue, and ends the election.
///
/// The answer has a channel of its own, since actix does not handle a message whose sender has given up waiting.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Leave(pub(crate) oneshot::Sender<()>);

/// An event of an election, sent to the recipients that its [`Candidacy`](super::Candidacy) names.
#[derive(Clone, Debug, Message)]
#[rtype(result = "()")]
#[non_exhaustive]
pub enum ElectionEvent {
    /// This candidate leads from now on.
    Elected {
        /// The number of this candidate's own term: 1, 2, and so on, as long as its election lives. The number of the fleet
        /// is the fence.
        term: u64,
        /// The number that is larger for each later leader, if the store issues one.
        fence: Option<Fence>,
        /// The lease of the term. The lead lasts while it is valid: look at it before each step that nobody else may make.
        /// Keeping it does not keep the lead.
        lease: Arc<Lease>,
    },
    /// This candidate does not lead any more, or has to finish: until the recipient has answered, but no longer than the
    /// [budget](super::Candidacy::budget), the lease is kept if it is still valid.
    Demoted {
        /// The number of the term that ends. Compare it: to a recipient with a full mailbox this event may come after the
        /// next `Elected`.
        term: u64,
        /// The reason.
        reason: Demotion,
    },
    /// Another leader was seen, or this candidate itself, or nobody. Leaders in between may have been missed.
    LeaderChanged {
        /// The leader, as it told about itself. `None` means nobody.
        to: Option<Holder>,
    },
    /// The candidate could not stand, for this reason.
    NotStanding {
        /// The error of the request for the lease.
        error: AcquireError,
        /// The pause before it stands again. `None` if that needs another request: it stands no more until [`Campaign`].
        again_in: Option<Duration>,
    },
}

/// The reason for the end of a term.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Demotion {
    /// The candidate resigned.
    Resigned,
    /// The candidate reported that it is not well.
    Unwell,
    /// The lock manager shuts down.
    ShuttingDown,
    /// Somebody wants the lead back ([`Revoke`](crate::Revoke)), for the reason that it carries. The candidate stands again after
    /// a pause, behind all who wait.
    Revoked(RevokeRequested),
    /// No renewal was confirmed, or the candidate has sent no heartbeat, until the [budget](super::Candidacy::budget) before
    /// the end of the validity.
    Expiring,
    /// The lease is lost already.
    Lost(LossReason),
}

impl fmt::Display for Demotion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Resigned => f.write_str("the candidate resigned"),
            Self::Unwell => f.write_str("the candidate is not well"),
            Self::ShuttingDown => f.write_str("the lock manager shuts down"),
            Self::Revoked(request) => request.fmt(f),
            Self::Expiring => f.write_str("the lease was not renewed in time"),
            Self::Lost(reason) => write!(f, "the lease is lost: {reason}"),
        }
    }
}

/// The recipients of events: an election whose recipients have all died does not lead, and one that nobody needs ends.
#[derive(Clone, Debug, Default)]
pub(super) struct Audience(pub(super) Vec<Recipient<ElectionEvent>>);

impl Audience {
    /// Returns true if one of them lives.
    pub(super) fn is_there(&self) -> bool {
        self.0.iter().any(Recipient::connected)
    }

    /// Tells all of them, and waits for no answer.
    pub(super) fn tell(&self, event: &ElectionEvent) {
        self.0.iter().for_each(|to| to.do_send(event.clone()));
    }
}
