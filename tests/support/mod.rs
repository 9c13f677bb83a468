//! What the integration tests share.

#![allow(dead_code, reason = "each test binary uses its own part")]

pub(crate) mod clock;
