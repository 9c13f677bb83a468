//! The way to the servers: connections, subscriptions, and which server to ask.

pub(crate) mod belief;
pub(crate) mod cluster;
pub(crate) mod connection;
pub(crate) mod dial;
pub(crate) mod endpoint;
pub(crate) mod errors;
pub(crate) mod failure;
mod foreign;
pub(crate) mod idle;
pub(crate) mod incarnation;
pub(crate) mod info;
pub(crate) mod load;
pub(crate) mod notices;
pub(crate) mod opening;
pub(crate) mod options;
pub(crate) mod plain_port;
pub(crate) mod sentinel;
pub(crate) mod silence;
pub(crate) mod subscriber;
pub(crate) mod tls;
pub(crate) mod topology;
pub(crate) mod url_faults;
pub(crate) mod urls;
pub(crate) mod words;
