//! Elections and singletons: on the memory store, in virtual time.

mod singletons;
#[path = "../support/mod.rs"]
mod support;
mod terms;
mod validity;
mod witness;
