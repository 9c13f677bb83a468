//! Processes beside each other: a queue, tickets, the examples, and Prometheus.

mod examples;
mod prometheus;
mod queue;
mod tickets;
