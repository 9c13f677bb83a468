//! The rules of the queue and of a revoke, each of which a test breaks once.

/// The rules of the queue, each of which is kept or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueRules {
    /// An acquisition is not granted what is free while somebody waits.
    pub newcomers_wait: bool,
    /// A waiter that was set aside and asks returns to its place, and not to the end.
    pub comes_back_to_its_place: bool,
    /// A release looks for whom the resource is free now.
    pub releases_hand_over: bool,
    /// What is handed over has a new fence.
    pub hand_overs_have_new_fences: bool,
    /// A hand-over that is not taken up ends with its window.
    pub hand_overs_end: bool,
    /// A hand-over that was not taken up makes the store ask all waiters for a sign of life.
    pub calls_the_roll: bool,
    /// A client counts its lease from the call, and not from the answer.
    pub counts_from_the_call: bool,
    /// A client ends its lease by itself when its time is over.
    pub leases_end: bool,
    /// A manager counts the hand-offs that go ahead of waiters.
    pub counts_hand_offs: bool,
    /// A revoke releases the tokens that it has found holding, and not whoever holds.
    pub takes_by_token: bool,
    /// A revoke takes the resource of none but those that it has told.
    pub keeps_to_those_told: bool,
    /// A revoke releases what it ends, and does not only tell its holder.
    pub releases_what_it_ends: bool,
}

impl QueueRules {
    /// The rules of the library.
    pub const TODAY: Self = Self {
        newcomers_wait: true,
        comes_back_to_its_place: true,
        releases_hand_over: true,
        hand_overs_have_new_fences: true,
        hand_overs_end: true,
        calls_the_roll: true,
        counts_from_the_call: true,
        leases_end: true,
        counts_hand_offs: true,
        takes_by_token: true,
        keeps_to_those_told: true,
        releases_what_it_ends: true,
    };
}
