//! Tools around actix and tokio that know no lock: supervision, batches, deferred replies, timers.

pub(crate) mod batcher;
pub(crate) mod reactor;
pub(crate) mod responder;
pub(crate) mod supervisor;
pub(crate) mod timer_queue;
