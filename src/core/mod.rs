//! The decisions of the library: names, modes, acquisitions, the validity of a lease, pauses between attempts, votes.
//!
//! **Invariant:** nothing in this folder imports anything but `std` and itself. It reads no clock and draws no random
//! numbers: the caller passes the [`Moment`] and the random draw. Every decision of the library can therefore be
//! understood and tested without its environment.

mod acquisition;
mod backoff;
mod cohort;
mod demand;
mod doubling;
mod fence;
mod invalid;
mod mode;
mod moment;
mod name;
mod pauses;
mod readable;
mod recovery;
mod renewal;
mod rounds;
mod span;
mod turns;
mod validity;
mod vote;

pub(crate) use self::{
    acquisition::{Acquisition, Answer, End, Event, Executed, Release, Situation, Steps, Terms, Told},
    backoff::LONGEST_PAUSE,
    cohort::{Cohort, Lack},
    demand::Demand,
    doubling::Doubling,
    fence::since_given,
    invalid::{not_zero, without_addresses},
    pauses::Pauses,
    readable::{readable, readable_debug},
    renewal::{RenewalPlan, Renewals},
    turns::LONGEST_MEMORY,
    validity::{Validity, jitter},
    vote::most_named,
};
pub use self::{
    backoff::{Backoff, Jitter},
    fence::Fence,
    invalid::{InvalidValue, in_range},
    mode::Mode,
    moment::Moment,
    name::{Owner, ResourceName, Token, TokenPrefix},
    readable::{counted, one_line},
    recovery::{AHEAD_AT_MOST, Incarnation, NotYet, Recovered, Report, lessons},
    span::{exact, rough},
    validity::{LeaseStatus, LossReason, drift_allowance, guard_band},
    vote::{Tally, Verdict, abstains_for, granted_fence, is_known, majority, validity_left},
};
