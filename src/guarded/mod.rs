//! What only a holder can do: work under a lock, and writes that an overtaken holder cannot make.

pub mod fenced;
pub(crate) mod with_lock;
