//! Locks in an actix-web application: what clients are told, and for how long locks are held. In virtual time.

mod bodies;
mod extractor;
mod health;
mod per_worker;
mod scope;
pub(crate) mod site;
