//! The resources that are not free: a walk over all keys.

use std::collections::BTreeSet;

use redis::{RedisResult, Value, aio::MultiplexedConnection};
use tokio::time::Instant;

use super::{Layout, RedisStore, answers, connection::Request, keys, plain};
use crate::store::{Listing, StoreError};

impl RedisStore {
    /// [`Store::list`](super::super::Store::list).
    pub(super) async fn list_all(&self, start: &[u8], limit: usize) -> Result<Listing, StoreError> {
        // A walk over millions of keys takes a while; it is cut off rather than bounded by the answer to one step.
        const STEPS: u32 = 10;
        let give_up = Instant::now() + STEPS * self.connection.response_timeout();
        let prefix = self.caller.prefix();
        let pattern = match self.caller.layout() {
            Layout::Full => keys::pattern(prefix, start).into_bytes(),
            Layout::Plain => plain::pattern(prefix, start),
        };
        let mut scan = Scan { pattern, only_strings: self.is_plain(), cursor: 0 };
        let mut found = BTreeSet::new();
        let mut complete = true;
        loop {
            let (cursor, keys) = answers::scanned(self.connection.send(&scan).await?.value)?;
            found.extend(keys.iter().filter_map(|key| match self.caller.layout() {
                // A key that is not even text is not ours.
                Layout::Full => keys::resource(prefix, str::from_utf8(key).ok()?),
                Layout::Plain => plain::resource(prefix, key),
            }));
            while found.len() > limit {
                found.pop_last();
                complete = false;
            }
            scan.cursor = cursor;
            if cursor == 0 {
                break;
            }
            if Instant::now() >= give_up {
                complete = false;
                break;
            }
        }
        Ok(Listing { resources: found.into_iter().collect(), complete })
    }
}

/// One step of a walk over all keys.
struct Scan {
    pattern: Vec<u8>,
    /// All else is no lock of the layout.
    only_strings: bool,
    cursor: u64,
}

impl Request for Scan {
    async fn send(&self, connection: &mut MultiplexedConnection) -> RedisResult<Value> {
        const KEYS_A_STEP: u32 = 1_000;
        let mut scan = redis::cmd("SCAN");
        scan.arg(self.cursor).arg("MATCH").arg(&self.pattern).arg("COUNT").arg(KEYS_A_STEP);
        if self.only_strings {
            scan.arg("TYPE").arg("string");
        }
        scan.query_async(connection).await
    }

    fn is_answered_by(&self, answer: &Value) -> bool {
        // The server has no way to carry a mark here, but no script answers with a list of two whose second is a list.
        matches!(answer, Value::Array(parts) if matches!(parts[..], [_, Value::Array(_)]))
    }
}
