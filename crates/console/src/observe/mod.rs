//! The events that looks at a resource from outside show, two by two, and their history.
//!
//! A look shows a moment. A grant that came and went between two looks is missing, and of a holder that is gone it is not known
//! when it went. **Invariant:** nothing here knows a clock or a store: moments are durations since any start, which is told.

mod events;
mod history;
mod look;
#[cfg(test)]
mod tests;

pub use self::{
    events::{Observed, Occurrence, observe},
    history::{History, Moment, Stay},
    look::{Look, TOLD_APART},
};
