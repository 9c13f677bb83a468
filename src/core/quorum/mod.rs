//! The rules of a quorum: the votes of its nodes, their recovery, and the turns of its waiters.

mod recovery;
mod turn;
mod vote;

pub use self::{
    recovery::{Incarnation, NotYet, Recovered, Report, lessons},
    vote::{Tally, Verdict, abstains_for, granted_fence, is_known, majority, validity_left},
};
pub(crate) use self::{
    turn::{QuorumTurn, TurnEvent, TurnNews, TurnStep},
    vote::most_named,
};
