//! Locks outside of actix: in a runtime with many threads, on threads that block, and in code deep below.

mod thread;
