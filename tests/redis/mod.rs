//! What only a real Redis server can show of the store on it.
//!
//! What a lock does in general is in `acceptance.rs`, for every store.

mod described;
mod revoke;
mod store;
mod ways;
