//! Writes that an overtaken holder cannot make, because what is written to knows the largest fence.
//!
//! A lease alone cannot keep a holder from writing that was frozen for longer than its lease and then wakes up. What it
//! writes to can: it remembers the largest [`Fence`](crate::Fence) that it has seen, and refuses a smaller one. The
//! comparison and the write have to be one step.
//!
//! | What is written | Check |
//! |---|---|
//! | a value in this process: a connection, a client | [`Fenced`]: only a valid lease opens it |
//! | a key of Redis | [`redis::set`] |
//! | rows of SQLite or PostgreSQL | [`sql::FenceTable`], or [`sql::update`] for rows with a column for the fence |
//! | a file | [`FencedFile`] |
//! | another service, over HTTP | [`HEADER`], and `leasehold::web::FenceGuard` at the service (feature `actix-web`) |
//!
//! ```
//! # use std::sync::Arc;
//! # use leasehold::{Acquire, LockManager, MemoryStore, WithLock};
//! use leasehold::fenced::Fenced;
//! # #[actix::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let locks = LockManager::builder(Arc::new(MemoryStore::default())).start()?;
//! let ledger = Fenced::new("ledger", vec!["opened"])?;
//! let read = locks.with_lock(Acquire::new("ledger"), async |lease| {
//!     let entries = ledger.open(lease)?;
//!     Ok::<_, leasehold::fenced::OpenError>((entries.len(), entries.fence()))
//! });
//! let (entries, fence) = read.await?.value?;
//! println!("{entries} entries, with fence {fence}");
//! # Ok(())
//! # }
//! ```
//!
//! # Errors
//! A refusal is a [`StaleFence`]: certainly nothing was written, and somebody has overtaken this holder. Any other failure of
//! a check leaves open whether it was written. To repeat it with the same fence does no harm, as long as what is written is
//! the same.

mod error;
mod file;
mod header;
pub mod redis;
pub mod sql;
mod value;

pub use self::{
    error::{FencedWriteError, OpenError, StaleFence},
    file::FencedFile,
    header::{HEADER, parse_header},
    value::{Fenced, Opened},
};
