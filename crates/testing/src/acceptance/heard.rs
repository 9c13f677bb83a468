//! A notification, as a fact compares it.

use leasehold::{Token, store::Acquisition};

/// A notification of an inbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Heard {
    HandedOver(Token),
    Next(Token),
    GoOn(Token),
}

impl Heard {
    pub(super) fn handed_over(to: &Acquisition) -> Self {
        Self::HandedOver(to.hold.token)
    }

    pub(super) fn next(is: &Acquisition) -> Self {
        Self::Next(is.hold.token)
    }

    pub(super) fn go_on(who: &Acquisition) -> Self {
        Self::GoOn(who.hold.token)
    }
}
