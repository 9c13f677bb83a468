//! The messages to a tuner, and the events that it tells.

use std::fmt;

use actix::{Message, Recipient};

use leasehold::Tuning;

/// A figure of the application, the larger the better: `orders_per_second` for instance. Send it at least once in each window.
///
/// A change after which a figure is less than half of what it was is taken back. Numbers that are not finite are ignored,
/// and so are more than 64 names.
#[derive(Clone, Debug, Message)]
#[rtype(result = "()")]
#[must_use = "a message does nothing until it is sent to a Tuner"]
pub struct Figure {
    /// The name.
    pub name: String,
    /// The value at this moment.
    pub value: f64,
}

/// Adds a recipient that is told of each change from now on.
#[derive(Clone, Debug, Message)]
#[rtype(result = "()")]
#[must_use = "a message does nothing until it is sent to a Tuner"]
pub struct TellChanges(pub Recipient<TunerEvent>);

/// Ends a tuner. The settings become what they would be without it.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "()")]
#[must_use = "a message does nothing until it is sent to a Tuner"]
pub struct StopTuner;

/// A change that a tuner made, or would have made.
#[derive(Clone, Debug, PartialEq, Message)]
#[rtype(result = "()")]
#[non_exhaustive]
pub struct TunerEvent {
    /// The rule.
    pub rule: TunerRule,
    /// The reason: the figures that led to it.
    pub reason: String,
    /// The settings before.
    pub from: Tuning,
    /// The settings from now on.
    pub to: Tuning,
    /// True if nothing was changed, because `tuner.dry_run` is set.
    pub dry_run: bool,
}

/// The rules of a tuner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum TunerRule {
    /// A queue may become as long as can be served within `tuner.burst_wait`.
    BoundQueue,
    /// A queue that stays may be as long as can be served within `tuner.standing_wait`.
    ShedEarly,
    /// A bound is raised when the queue is served faster, or stays no more.
    OpenQueue,
    /// A server that is loaded is polled with longer pauses and fewer attempts.
    PollSlower,
    /// A server that is idle is polled as the settings say.
    PollFaster,
    /// Where more requests wait in vain than are granted, they wait for less time.
    GiveUpSooner,
    /// Where waits are worth it again, they become longer.
    WaitLonger,
    /// A change after which a figure of the application fell is taken back.
    TakeBack,
}

impl TunerRule {
    /// Returns the name for logs: `shed_early`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::BoundQueue => "bound_queue",
            Self::ShedEarly => "shed_early",
            Self::OpenQueue => "open_queue",
            Self::PollSlower => "poll_slower",
            Self::PollFaster => "poll_faster",
            Self::GiveUpSooner => "give_up_sooner",
            Self::WaitLonger => "wait_longer",
            Self::TakeBack => "take_back",
        }
    }
}

impl fmt::Display for TunerRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
