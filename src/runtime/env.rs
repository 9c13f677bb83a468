//! The two inputs from outside: time and randomness.
//!
//! In virtual time hours pass in milliseconds:
//!
//! ```
//! # use std::{sync::Arc, time::Duration};
//! use leasehold::{Acquire, LockManager, MemoryStore, env::RuntimeClock};
//!
//! let paused = || tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
//! actix::System::with_tokio_rt(paused).block_on(async {
//!     let clock = Arc::new(RuntimeClock::start());
//!     let store = Arc::new(MemoryStore::new(clock.clone()));
//!     let locks = LockManager::builder(store).clock(clock).start_here().unwrap();
//!     let lease = locks.send(Acquire::new("r")).await.unwrap().unwrap();
//!     tokio::time::sleep(Duration::from_secs(3600)).await;
//!     assert!(lease.is_valid(), "renewed for an hour");
//! });
//! ```

pub use super::{
    clock::{Clock, RuntimeClock, SystemClock},
    random::{Draw, Random, SystemRandom},
};
pub use crate::core::Moment;
