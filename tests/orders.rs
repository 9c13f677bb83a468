//! Promises in every order of events: worlds of random seeds, quorums whose nodes fail, and a model of all orders.

mod model;
mod quorum;
mod simulation;
