//! Writes that an overtaken holder cannot make, because what is written to knows the largest fence.
//!
//! A lease alone cannot keep a holder from writing that was frozen for longer than its lease and then wakes up. The receiver of the
//! write can: it remembers the largest [`Fence`] that it has seen, and refuses a smaller one. The comparison and the write have to
//! be one step. A receiver knows a newer holder from its first call on: enter before you read what you are going to change.
//!
//! Fenced writes are for exclusive leases. Of holders that hold together, readers for instance, only the newest gets through.
//!
//! | What is written | Check |
//! |---|---|
//! | a value in this process: a connection, a client | [`Fenced`]: only a valid lease opens it |
//! | a key of Redis | [`redis::enter`], [`redis::set`] |
//! | rows of SQLite, PostgreSQL or MySQL | [`sql::FenceTable`], or [`sql::update`] for rows with a column for the fence |
//! | a file | [`FencedFile`] |
//! | another service, over HTTP | send [`HEADER`]; the service reads it with [`parse_header`], and checks where it writes |
//!
//! ```
//! # use std::sync::Arc;
//! # use leasehold::{Acquire, LockManager, MemoryStore, WithLock};
//! use leasehold::fenced::{Fenced, Opened};
//! # #[actix::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let locks = LockManager::builder(Arc::new(MemoryStore::default())).start()?;
//! let ledger = Fenced::new("ledger", vec!["opened"])?;
//! let read = locks.with_lock(Acquire::new("ledger"), async |lease| {
//!     let entries = ledger.open(lease)?;
//!     Ok::<_, leasehold::fenced::OpenError>((entries.len(), Opened::fence(&entries)))
//! });
//! let (entries, fence) = read.await?.value?;
//! println!("{entries} entries, with fence {fence}");
//! # Ok(())
//! # }
//! ```
//!
//! # Errors
//! A refusal is a [`StaleFenceError`], in MySQL the error [`sql::STALE_IN_MYSQL`]: certainly nothing was written, and somebody has
//! overtaken this holder. Any other failure of a check leaves open whether it was written. It may be repeated with the same fence, as long as no other write has been sent
//! since: a late first try would undo that one.

mod error;
mod file;
pub mod redis;
pub mod sql;
mod value;

pub use self::{
    error::{FencedWriteError, OpenError, StaleFenceError},
    file::FencedFile,
    value::{Fenced, Opened},
};
use crate::core::{Fence, InvalidValue};

/// The name of the header that carries the fence of a lease: a decimal number.
///
/// A fence can be compared only with others of the same resource. The receiver knows the resource by what the request
/// changes, `/orders/42` for instance.
///
/// ```
/// use leasehold::{Fence, fenced::{HEADER, parse_header}};
///
/// let fence = Fence::new(42); // of `lease.fence()`
/// let header = (HEADER, fence.to_string());
/// assert_eq!(parse_header(&header.1)?, fence);
/// # Ok::<_, leasehold::InvalidValue>(())
/// ```
pub const HEADER: &str = "leasehold-fence";

/// Reads the value of a [`HEADER`].
///
/// # Errors
/// [`InvalidValue`] when it is no decimal number of 64 bits.
pub fn parse_header(value: &str) -> Result<Fence, InvalidValue> {
    let is_decimal = value.bytes().all(|byte| byte.is_ascii_digit());
    let number = value.parse().ok().filter(|_| is_decimal);
    number.map(Fence::new).ok_or_else(|| InvalidValue::new(HEADER, value, "a decimal number of 64 bits"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_has_digits_and_nothing_else() {
        assert_eq!(parse_header("18446744073709551615"), Ok(Fence::new(u64::MAX)));
        for wrong in ["", "+7", "-7", " 7", "7.0", "0x7", "18446744073709551616", "seven"] {
            assert_eq!(parse_header(wrong).unwrap_err().field, HEADER, "{wrong}");
        }
    }
}
