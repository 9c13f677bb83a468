//! What the integration tests share.

#![allow(dead_code, reason = "each test binary uses its own part")]

pub(crate) mod acl;
pub(crate) mod clock;
pub(crate) mod cluster;
pub(crate) mod odd_store;
pub(crate) mod patient;
pub(crate) mod programs;
pub(crate) mod pypi;
pub(crate) mod redis_server;
pub(crate) mod replicas;
pub(crate) mod sentinels;
pub(crate) mod shared;
pub(crate) mod tls;
pub(crate) mod virtual_time;
