//! Processes beside each other: a queue, tickets, permits, the examples, and Prometheus.

mod examples;
mod permits;
mod prometheus;
mod queue;
mod tickets;
