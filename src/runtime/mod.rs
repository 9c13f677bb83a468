//! The world around the locks, of which nothing knows any: time, randomness, and tools around actix and tokio.

pub(crate) mod batcher;
pub(crate) mod block_on;
pub(crate) mod concurrent;
pub mod env;
mod gathering;
pub(crate) mod reactor;
pub(crate) mod responder;
pub(crate) mod supervisor;
pub(crate) mod timer_queue;
