//! Processes beside each other: a queue, the examples, and Prometheus.

mod examples;
mod prometheus;
mod queue;
