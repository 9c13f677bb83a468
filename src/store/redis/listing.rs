//! The walk over all keys that lists the resources.

use std::collections::BTreeSet;

use redis::{RedisResult, Value, aio::MultiplexedConnection};
use tokio::time::Instant;

use super::{
    answers,
    connection::{Connection, Request},
    keys,
};
use crate::store::{Listing, StoreError};

/// The resources that are not free and whose name starts like this: at most `limit`, in order of name.
pub(super) async fn list(
    connection: &Connection,
    prefix: &str,
    start: &[u8],
    limit: usize,
) -> Result<Listing, StoreError> {
    // A walk over millions of keys takes a while; it is cut off rather than bounded by the answer to one step.
    const STEPS: u32 = 10;
    let give_up = Instant::now() + STEPS * connection.response_timeout();
    let mut scan = Scan { prefix, pattern: keys::pattern(prefix, start), cursor: 0 };
    let mut found = BTreeSet::new();
    let mut complete = true;
    loop {
        let (cursor, keys) = answers::scanned(connection.send(&scan).await?.value)?;
        // A key that is not even text is not ours.
        let ours = keys.iter().filter_map(|key| keys::resource(prefix, str::from_utf8(key).ok()?));
        found.extend(ours);
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

/// One step of the walk.
struct Scan<'a> {
    prefix: &'a str,
    pattern: String,
    cursor: u64,
}

impl Request for Scan<'_> {
    async fn send(&self, connection: &mut MultiplexedConnection) -> RedisResult<Value> {
        const KEYS_A_STEP: u32 = 1_000;
        let mut scan = redis::cmd("SCAN");
        scan.arg(self.cursor).arg("MATCH").arg(&self.pattern).arg("COUNT").arg(KEYS_A_STEP);
        scan.query_async(connection).await
    }

    fn is_answered_by(&self, answer: &Value) -> bool {
        // The server has no way to carry a mark here. A script may answer with a list of two whose second is a list, but
        // that one begins with a verdict, which is no key that the pattern matches.
        let start = format!("{}:{{", self.prefix);
        let matches =
            |key: &Value| matches!(key, Value::BulkString(key) if key.starts_with(start.as_bytes()));
        match answer {
            Value::Array(parts) => {
                matches!(&parts[..], [_, Value::Array(keys)] if keys.iter().all(matches))
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(first: &str, rest: &[&str]) -> Value {
        let text = |text: &str| Value::BulkString(text.into());
        Value::Array(vec![text(first), Value::Array(rest.iter().map(|rest| text(rest)).collect())])
    }

    #[test]
    fn the_answer_to_a_verb_is_no_step_of_a_walk() {
        let scan = Scan { prefix: "p", pattern: keys::pattern("p", b""), cursor: 0 };
        assert!(scan.is_answered_by(&answer("7", &["p:{a}", "p:{b}"])));
        assert!(scan.is_answered_by(&answer("0", &[])));
        for verdict in [&["yes"][..], &["opened", "1"], &["granted", "7", "1"], &["holders", "0", "0", ""]] {
            assert!(!scan.is_answered_by(&answer("7", verdict)), "{verdict:?}");
        }
        assert!(!scan.is_answered_by(&Value::Okay));
    }
}
