//! The listeners: what is told of requests and leases, for counters, metrics and spans.

pub(crate) mod spans;
pub(crate) mod statistics;
