//! Deployments of several servers while they fail, and what the doctor finds in those that are wrong.
mod doctor;
mod failover;
