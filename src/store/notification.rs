//! The notifications of a store: to waiters, of hand-overs, and to holders, that they are to finish or have lost their hold.

use std::{sync::Arc, time::Duration};

use futures_util::stream::BoxStream;

#[cfg(doc)]
use crate::store::Store;
use crate::{
    core::{ResourceName, Token},
    store::StoreError,
};

/// The stream that [`Store::listen`] returns.
pub type Notifications = BoxStream<'static, Notification>;

/// The address of hand-over notifications: one for each lock manager, named by 128 random bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Inbox(pub Token);

/// A notification to an inbox.
#[derive(Clone, Debug)]
pub enum Notification {
    /// The resource that this token waits for was handed over to it.
    HandedOver(Token),
    /// The resource that this token waits for was handed over to another waiter, and this token is the next. It should
    /// attempt again when the grant window is over.
    Next(Token),
    /// This token should attempt at once, and again when the grant window is over. Either there was more to hand over than
    /// one verb hands over, or a hand-over was not taken up and live waiters have to show that they are alive.
    GoOn(Token),
    /// A notice to these holders, whichever inbox they belong to. A store of several servers may tell it before
    /// [`Subscribed`](Self::Subscribed), when some of them are heard.
    ToHolders(Vec<Token>, HolderNotice),
    /// The record of this token was changed by somebody, or may have been: the holder should ask [`Store::is_held`].
    Doubted(Token),
    /// Subscribed: notifications arrive from here on, and earlier ones may have been lost. All waiters should attempt
    /// now.
    Subscribed,
    /// Disconnected for this reason: no notification arrives until [`Subscribed`](Self::Subscribed). Only the waiters' own
    /// attempts go on.
    Disconnected(StoreError),
}

/// The request of [`Store::notify_holders`].
#[derive(Clone, Debug)]
pub struct ToHolders {
    /// The resource that they hold.
    pub resource: ResourceName,
    /// The tokens to notify if they hold, at most [`NOTIFIED_AT_MOST`]. `None` stands for all that hold.
    pub among: Option<Vec<Token>>,
    /// The notice; `None` to learn who holds, and to tell nobody.
    pub notice: Option<HolderNotice>,
}

/// A notice to holders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HolderNotice {
    /// Somebody wants the resource back, and takes it by force when the grace is over. It is repeated meanwhile, with the
    /// grace that is left.
    RevokeRequested {
        /// The random id of the revocation, by which repeats and copies are told.
        revocation: Token,
        /// The reason, one line of text.
        reason: Arc<str>,
        /// The time that is left to finish, in whole milliseconds.
        grace: Duration,
    },
    /// The hold is over, or is about to be released by force.
    Taken,
}

/// The certain answer to [`Store::notify_holders`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HoldersNotified {
    /// The tokens that hold, each of which was notified if there was a notice. Without an order.
    pub holders: Vec<Token>,
    /// True if certainly no other holder was to be notified. False if there may be more than [`NOTIFIED_AT_MOST`].
    pub complete: bool,
}

/// The largest number of holders that one verb notifies: those that end first.
pub const NOTIFIED_AT_MOST: usize = 1_000;

pub(crate) const LONGEST_REASON: usize = 200;

/// The largest number of waiters that one verb tells that they are next, until it finds one whose inbox has a
/// subscriber. The caller's own waiter is not counted.
pub const NEXT_AT_MOST: usize = 8;

/// The largest number of waiters that one verb asks to show that they are alive.
pub const CALLED_AT_MOST: usize = 320;

/// The budget of one verb for serving the queue, in steps. A hand-over counts as 5 steps, and a waiter that is skipped
/// because it is taken for dead counts as 1. In a batch on one server, the verbs of one call share this budget, and each
/// of them has at least 5 steps.
pub const STEPS_AT_MOST: u32 = 320;

/// Returns true if a text may be the reason of a notice: one line of 1 to [`LONGEST_REASON`] bytes. It goes into the logs of
/// other processes, where nothing in it may end a line or turn its direction around.
pub(crate) fn is_reason(text: &str) -> bool {
    let breaks = |it: char| {
        let turns = matches!(it, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        it.is_control() || turns || matches!(it, '\u{2028}' | '\u{2029}')
    };
    (1..=LONGEST_REASON).contains(&text.len()) && !text.chars().any(breaks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_one_line_that_reads_from_one_end_to_the_other() {
        let longest = "x".repeat(LONGEST_REASON);
        for reason in ["a deploy", "ü, \"v2\"", "העברה", &longest] {
            assert!(is_reason(reason), "{reason:?}");
        }
        let too_long = format!("{longest}x");
        for other in ["", "a\nb", "a\u{7f}", "a\u{85}b", "a\u{2028}b", "a\u{202e}b", "\u{2066}a", &too_long] {
            assert!(!is_reason(other), "{other:?}");
        }
    }
}
