//! The values of other libraries in the plain layout: nobody but them changes one, except by force.

use std::time::Duration;

use leasehold::Token;
use redis::{RedisResult, aio::MultiplexedConnection};

/// A key as it was at some moment.
#[derive(Debug, PartialEq)]
pub(super) struct Seen {
    /// The value of any type, as the server writes it down.
    stored: Option<Vec<u8>>,
    /// The value, if it is a text.
    text: Option<Vec<u8>>,
    /// The end in milliseconds since 1970; negative without one.
    end: i64,
}

impl Seen {
    /// Looks at a key.
    pub(super) async fn of(key: &str, server: &mut MultiplexedConnection) -> Self {
        // First, for it may end between two looks.
        let end = redis::cmd("PEXPIRETIME").arg(key).query_async(server).await.expect("an end");
        let stored = redis::cmd("DUMP").arg(key).query_async(server).await.expect("a value");
        let text: RedisResult<Option<Vec<u8>>> = redis::cmd("GET").arg(key).query_async(server).await;
        Self { stored, text: text.ok().flatten(), end }
    }

    /// Panics if this is another library's, whose hold is none of these tokens, and is not there any more as it was. A text may be
    /// taken away by force.
    pub(super) async fn check(
        &self,
        (key, is_forced): (&str, bool),
        tokens: &[Token],
        server: &mut MultiplexedConnection,
    ) {
        let after = Self::of(key, server).await;
        let (seconds, micros): (u64, u32) = redis::cmd("TIME").query_async(server).await.expect("the time");
        let now = Duration::new(seconds, micros * 1_000).as_millis();
        let is_over = self.end >= 0 && u128::from(self.end.unsigned_abs()) <= now;
        let is_own = tokens.iter().any(|token| self.text.as_deref() == Some(token.to_hex().as_bytes()));
        let may_change = self.stored.is_none() || is_over || is_own || is_forced && self.text.is_some();
        assert!(may_change || *self == after, "what another library holds was changed: {self:?}\n{after:?}");
    }
}
