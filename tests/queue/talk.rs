//! What a test and its processes tell each other: one value a line, as JSON.

use std::time::Duration;

use leasehold::env::{Clock, Moment, SystemClock};
use serde::{Deserialize, Serialize};

/// How the lock manager of a process is set up.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Setup {
    pub(crate) url: String,
    pub(crate) ttl: Duration,
    pub(crate) ticket_ttl: Duration,
    pub(crate) grant_window: Duration,
    /// The longest pause between scheduled attempts; the first is a fifth of it.
    pub(crate) longest_pause: Duration,
    pub(crate) local_handover_limit: u32,
}

/// What a process is told to do.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) enum Do {
    /// So many callers ask for the resource, one after the other; each holds it for [`HOLD`](super::process::HOLD).
    Ask(usize),
    /// One more caller asks, and holds the resource until it is told to let go, or loses it.
    Hold,
    LetGo,
    /// Ends the process in good order.
    End,
}

/// What a process tells.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Told {
    /// All callers of the last `Ask` wait, or were served already.
    Waiting,
    Holding,
    Served(Turn),
    /// A caller got nothing, at this moment and for this reason.
    Refused(u64, String),
    /// How many requests were pending and how many leases were held at the end.
    Ended(u64, u64),
}

/// One caller's lease. Moments are microseconds since the host was started.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Turn {
    /// Which caller of its process it was.
    pub(crate) caller: usize,
    pub(crate) fence: u64,
    pub(crate) asked: u64,
    pub(crate) granted: u64,
    /// When its holder stopped believing in it.
    pub(crate) ended: u64,
}

pub(crate) fn micros() -> u64 {
    Moment::since_origin(Duration::ZERO).elapsed(SystemClock.now()).as_micros() as u64
}
