//! The events of an acquisition, and the steps that follow from them.

use std::time::Duration;

use crate::core::{Moment, Pauses, TokenPrefix};

/// The values of a request that its waiting depends on.
#[derive(Clone, Debug)]
pub(crate) struct Terms {
    pub(crate) asked: Moment,
    /// The wait from then on; zero for a try.
    pub(crate) wait: Duration,
    pub(crate) pauses: Pauses,
    pub(crate) ttl: Duration,
    /// The time for which the store keeps a queue ticket after the last attempt of the waiter.
    pub(crate) ticket_ttl: Duration,
    /// The time within which a hand-over has to be taken up.
    pub(crate) grant_window: Duration,
    /// True if its release frees all of the resource, which can then be handed off.
    pub(crate) alone: bool,
}

/// The holder whose end everybody waits for, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Front {
    /// It is a lease of this manager, of this age.
    Own(Duration),
    /// It was told right now, and has all of the resource.
    Other(TokenPrefix),
    /// A reader holds it, and perhaps others.
    Readers,
    /// Somebody holds it, and nothing more is known.
    Somebody,
    /// Somebody holds it, and nobody can tell when those behind are served: it takes much too long, or that is chance.
    Unknown,
}

/// The answer that an acquisition was given last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// None so far.
    Nothing,
    /// It has not asked the store, and waits behind so many.
    Behind(u64),
    /// Somebody is in the way.
    Refused {
        /// The time until the holder ends by itself.
        remaining: Duration,
        /// The number of waiters ahead, if it has a queue ticket.
        ahead: Option<u64>,
    },
    Failed,
}

/// The store's answer to an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Granted {
        /// True if it was handed the resource although others waited for it.
        overtook: bool,
        /// True if nobody would receive the lease.
        caller_gone: bool,
    },
    /// Somebody is in the way: see [`Told::Refused`].
    Refused {
        remaining: Duration,
        ahead: Option<u64>,
        by: Front,
    },
    QueueFull {
        waiters: u64,
    },
    Failed {
        /// True if it may have been executed, or may be executed later.
        unknown: bool,
        /// True if another attempt may succeed.
        transient: bool,
    },
}

/// The reason for which a request ends without a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The wait is over.
    TimedOut,
    /// It was a try, the attempts are used up, or it gave up early.
    Refused,
    /// The last answer said that no further attempt helps.
    Failed,
    /// A full queue, in which this many wait.
    QueueFull { waiters: u64 },
    /// The grant came when the time of the lease had run out already.
    TooLate,
    /// The caller has gone.
    Cancelled,
    /// The manager ends it: it was restarted, or shuts down.
    Dismissed,
}

/// Something that happens to an acquisition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// It is wanted from now on: it joins the cohort for its resource, or is alone.
    Requested,
    /// It is alone, or leads its cohort from now on.
    Lead,
    /// It waits behind the leader of its cohort, and so many waiters in all.
    Follow(u64),
    /// A lease of its cohort is handed off to it: the call that releases the lease also acquires for it.
    HandOff,
    /// The store answered an attempt.
    Answered {
        /// The moment before the attempt was sent.
        sent: Moment,
        answer: Answer,
    },
    /// The attempt of a waiter that has left was taken back before it was sent: it never reaches the store.
    Unsent,
    /// Its timer fired.
    Due,
    /// It was handed the resource.
    HandedOver,
    /// It may have missed that it was handed the resource: the store has to be asked.
    Subscribed,
    /// It is the next one after somebody who was handed the resource and may be dead.
    Next,
    /// The store asks for a sign of life: it may be its turn, or somebody ahead may be dead.
    GoOn,
    /// Notifications of the store do not arrive any more.
    Disconnected,
    CallerGone,
    /// It is not expected to be served within its wait, and its caller wants to know that at once.
    Hopeless,
    /// The manager ends it.
    Dismissed,
    /// The bound on the waiters of this manager is reached: this many wait.
    QueueFull {
        waiters: u64,
    },
    /// Nobody of its cohort relies on its ticket any more.
    LeftAlone,
    Release {
        /// The moment at which the resource opens.
        opening: Moment,
        /// The moment at which the store has ended the lease in any case.
        end: Moment,
        /// True if the lease was held until now. One that was lost before tells nothing of how long holds take, and is not handed
        /// off.
        in_time: bool,
    },
    /// The lease was lost. The resource opens at `opening` if nobody releases it.
    Lost {
        opening: Moment,
    },
    /// The store answered a release.
    Released {
        /// True if the token holds nothing any more.
        certain: bool,
    },
}

/// The situation that decisions depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Situation {
    pub(crate) now: Moment,
    /// True while notifications of the store arrive.
    pub(crate) subscribed: bool,
    /// True if others of its cohort rely on its ticket.
    pub(crate) relied_on: bool,
}

/// A release to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReleaseStep {
    /// The moment at which the resource opens.
    pub(crate) opening: Moment,
    /// True if the resource may be handed off to the next of the cohort by the same call.
    pub(crate) hand_off: bool,
}

/// The steps that follow an event. `Step` describes those that the manager carries out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Steps {
    pub(crate) wake_after: Option<Duration>,
    pub(crate) ask: bool,
    /// True if the store has handed over the resource, and waits for the attempt that is sent, or is in flight.
    pub(crate) is_urgent: bool,
    pub(crate) hold: bool,
    pub(crate) end: Option<End>,
    /// The queue ticket stays without its caller, for its cohort.
    pub(crate) abandon: bool,
    /// It leaves its cohort.
    pub(crate) leave: bool,
    pub(crate) release: Option<ReleaseStep>,
    pub(crate) remove: bool,
}

impl Steps {
    pub(super) fn wake_after(pause: Duration) -> Self {
        Self { wake_after: Some(pause), ..Self::default() }
    }
}
