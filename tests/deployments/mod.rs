//! Deployments of several servers while they fail or their passwords change, and what the doctor finds in those that are wrong.
mod doctor;
mod failover;
mod rotation;
