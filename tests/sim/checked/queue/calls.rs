//! The calls of a store, their answers, and its messages.

use super::Token;

/// A call of the store.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq)]
pub enum QueueCall {
    /// `acquire.lua`, with a queue ticket: for a reader, if the second field is true.
    Acquire(Token, bool),
    /// `renew.lua`.
    Renew(Token),
    /// `release.lua`, of a hold or a queue ticket.
    Release(Token),
    /// `hand_off.lua`: releases the first token and acquires for the second, ahead of all waiters if the last field is true.
    HandOff(Token, Token, bool),
    /// `force_release.lua`.
    ForceRelease,
    /// No call: the time of the server goes on by one tick.
    Tick,
}

/// The answer to a call.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq)]
pub enum QueueAnswer {
    /// It holds, with this fence.
    Granted(u8),
    /// It waits, behind so many.
    Queued(u8),
    /// The answer to a release, a renewal and a tick: true if the token held.
    Held(bool),
    /// The answer to a hand-off: true if the first token held, the fence of the second if it holds, and whether others wait.
    HandedOff(bool, Option<u8>, bool),
    /// The number of holders that something was taken from.
    Taken(u8),
}

/// What a message tells a waiter to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// It asks at once.
    HandedOver,
    /// It asks after a grant window: somebody else was handed the resource, and may be dead.
    Next,
    /// It asks at once, to show that it is alive, and after a grant window.
    GoOn,
}
