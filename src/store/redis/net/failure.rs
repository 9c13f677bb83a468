//! The failure of a try to send a request to one server.

use redis::RedisError;

use crate::store::{StoreError, redis::net::errors};

/// The failure of a try, as far as it decides where and when the next try goes.
pub(crate) enum Failure {
    /// The connection is gone; whether the request was executed is open.
    Gone(StoreError),
    /// There was no connection. Nothing was sent.
    Unreachable(StoreError),
    /// The server did not execute it, and names the node that would, as `host:port`; if `asked`, only this once.
    Elsewhere {
        node: String,
        asked: bool,
        error: StoreError,
    },
    /// The server did not execute it, and a try in a moment may succeed.
    TryLater(StoreError),
    Other(StoreError),
}

impl Failure {
    pub(crate) fn into_error(self) -> StoreError {
        match self {
            Self::Elsewhere { error, .. }
            | Self::Gone(error)
            | Self::Unreachable(error)
            | Self::TryLater(error)
            | Self::Other(error) => error,
        }
    }

    pub(super) fn of(error: RedisError, address: &str) -> Self {
        let told = errors::at(address, errors::after_sending(error.clone()));
        if error.is_io_error() {
            return Self::Gone(told);
        }
        match error.redirect_node() {
            Some((node, _)) => {
                let asked = error.code() == Some("ASK");
                Self::Elsewhere { node: node.to_owned(), asked, error: told }
            }
            None if errors::is_worth_a_moment(&error) => Self::TryLater(told),
            None => Self::Other(told),
        }
    }
}
