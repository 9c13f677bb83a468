//! Deployments of several servers while they fail or their passwords change, what the doctor finds
//! in those that are wrong, and which load they tell.
mod doctor;
mod failover;
mod load;
mod rotation;
