//! The decisions of the library: names, modes, acquisitions, the validity of a lease, pauses between attempts, votes.
//!
//! **Invariant:** nothing in this folder imports anything but `std` and itself (`engine` has a table of `slotmap`). It reads
//! no clock and draws no random numbers: the caller passes the [`Moment`] and the random draw. Every decision of the library
//! can therefore be understood and tested without its environment.

mod backoff;
mod demand;
mod engine;
mod fence;
mod invalid;
mod mode;
mod moment;
mod name;
mod pauses;
mod quorum;
mod readable;
mod renewal;
mod turns;
mod validity;

#[cfg(test)]
pub(crate) use self::moment::made_up;
pub(crate) use self::{
    backoff::LONGEST_PAUSE,
    demand::Demand,
    engine::{
        Acquisition, Answer, End, Ended, Engine, Event, Front, LongQueue, RecordKey, Rules, Step, Terms,
        Told, Wanted,
    },
    fence::since_given,
    invalid::{ensure, not_zero},
    pauses::{Doubling, Pauses},
    quorum::{QuorumTurn, TurnEvent, TurnNews, TurnStep, most_named},
    readable::{cut, readable, readable_debug},
    renewal::{RenewalPlan, Renewals},
    turns::LONGEST_MEMORY,
    validity::{Validity, jitter},
};
pub use self::{
    backoff::{Backoff, Jitter},
    fence::{AHEAD_AT_MOST, Fence},
    invalid::{InvalidValue, in_range, without_addresses},
    mode::Mode,
    moment::Moment,
    name::{Owner, ResourceName, Token, TokenPrefix},
    quorum::{
        Incarnation, NotYet, Recovered, Report, Tally, Verdict, abstains_for, granted_fence, is_known,
        lessons, majority, validity_left,
    },
    readable::{counted, exact, one_line, rough},
    validity::{LeaseStatus, LossReason, drift_allowance, guard_band},
};
