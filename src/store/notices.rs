//! Notices to holders: that somebody wants the resource back, and that it was taken from them.

use std::{sync::Arc, time::Duration};

use crate::core::{ResourceName, Token};
#[cfg(doc)]
use crate::store::Store;

/// The largest number of holders that one verb notifies: those that end first.
pub const NOTIFIED_AT_MOST: usize = 1_000;

pub(crate) const LONGEST_REASON: usize = 200;

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
