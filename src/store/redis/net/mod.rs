//! The way to the servers: connections, subscriptions, and which server to ask.

pub(crate) mod address;
pub(crate) mod belief;
pub(crate) mod call;
pub(crate) mod clients;
pub(crate) mod cluster;
pub(crate) mod connection;
pub(crate) mod endpoint;
pub(crate) mod errors;
pub(crate) mod info;
pub(crate) mod notices;
pub(crate) mod open_connection;
pub(crate) mod opening;
pub(crate) mod options;
pub(crate) mod server;
pub(crate) mod silence;
pub(crate) mod status;
pub(crate) mod subscriber;
#[cfg(feature = "tls")]
mod tls;
pub(crate) mod topology;
pub(crate) mod url_parts;
pub(crate) mod urls;
pub(crate) mod watch;
