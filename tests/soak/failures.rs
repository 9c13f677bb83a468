//! The kinds of failures of requests that a soak may have, and why.

/// Each kind that faults or bursts explain. Any other one is a violation: `restarted` is a panic, `mode_mismatch` a mixed-up resource.
const EXPLAINED: [(&str, &str); 8] = [
    ("timed_out", "a server that is frozen, cut off or slow does not answer in time"),
    ("reply_lost", "the connection broke before the answer"),
    ("unavailable", "a server is killed, or cannot be reached"),
    ("no_quorum", "frozen nodes and lost packets leave too few answers"),
    ("unacknowledged", "a replica that has to confirm is killed, frozen or cut off"),
    ("busy", "a burst has more requests than may be pending"),
    ("queue_full", "a burst has more waiters than a resource may have"),
    ("too_late", "the answer came after the TTL: the process or a server was frozen"),
];

/// Returns why there may be failures of a kind, if they are explained.
pub(super) fn reason(kind: &str) -> Option<&'static str> {
    EXPLAINED.iter().find(|(explained, _)| *explained == kind).map(|(_, reason)| *reason)
}
