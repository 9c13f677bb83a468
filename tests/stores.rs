//! What every store does, and what fences do for what is written elsewhere.

mod acceptance;
mod differential;
mod fenced;
mod memory;
