//! The walk over all keys that lists the resources.

use std::{collections::BTreeSet, time::Duration};

use redis::{RedisResult, Value, aio::MultiplexedConnection};
use tokio::time::Instant;

use crate::{
    core::ResourceName,
    store::{
        Listing, StoreError,
        redis::{
            Layout,
            net::{
                connection::{Connection, Request},
                topology::Topology,
            },
            wire::{decode, encoder::Encoder, keys, plain},
        },
    },
};

/// Lists the resources that are not free and whose name starts like this: at most `limit`, in order of name.
pub(super) async fn list(
    topology: &Topology,
    encoder: &Encoder,
    response_timeout: Duration,
    start: &[u8],
    limit: usize,
) -> Result<Listing, StoreError> {
    // A walk over millions of keys takes a while. It ends after this time, and not after the time for one answer.
    const STEPS: u32 = 10;
    let give_up = Instant::now() + STEPS * response_timeout;
    let mut found = Found { names: BTreeSet::new(), limit, complete: true };
    for server in topology.each().await? {
        let scan = Scan::new(encoder.layout(), encoder.prefix(), start);
        list_on(&server, scan, give_up, &mut found).await?;
    }
    Ok(Listing { resources: found.names.into_iter().collect(), complete: found.complete })
}

async fn list_on(
    server: &Connection,
    mut scan: Scan<'_>,
    give_up: Instant,
    found: &mut Found,
) -> Result<(), StoreError> {
    loop {
        let (cursor, keys) = decode::scanned(server.send(&scan).await?.value)?;
        found.add(keys.iter().filter_map(|key| scan.resource(key)));
        scan.cursor = cursor;
        if cursor == 0 {
            return Ok(());
        }
        if Instant::now() >= give_up {
            found.complete = false;
            return Ok(());
        }
    }
}

/// The names that the walk has found so far.
struct Found {
    names: BTreeSet<ResourceName>,
    limit: usize,
    complete: bool,
}

impl Found {
    fn add(&mut self, names: impl Iterator<Item = ResourceName>) {
        self.names.extend(names);
        while self.names.len() > self.limit {
            self.names.pop_last();
            self.complete = false;
        }
    }
}

/// One step of the walk.
struct Scan<'a> {
    layout: Layout,
    prefix: &'a str,
    pattern: Vec<u8>,
    cursor: u64,
}

impl<'a> Scan<'a> {
    fn new(layout: Layout, prefix: &'a str, start: &[u8]) -> Self {
        let pattern = match layout {
            Layout::Full => keys::pattern(prefix, start).into_bytes(),
            Layout::Plain => plain::pattern(prefix, start),
        };
        Self { layout, prefix, pattern, cursor: 0 }
    }

    /// Returns the resource of this key; `None` for a key that is not ours.
    fn resource(&self, key: &[u8]) -> Option<ResourceName> {
        match self.layout {
            Layout::Full => keys::resource(self.prefix, str::from_utf8(key).ok()?),
            Layout::Plain => plain::resource(self.prefix, key),
        }
    }

    /// Returns the beginning of every key that the pattern matches.
    fn start(&self) -> Vec<u8> {
        match self.layout {
            Layout::Full => format!("{}:{{", self.prefix).into_bytes(),
            Layout::Plain => plain::before_name(self.prefix),
        }
    }
}

impl Request for Scan<'_> {
    async fn send(&self, connection: &mut MultiplexedConnection) -> RedisResult<Value> {
        const KEYS_A_STEP: u32 = 1_000;
        let mut scan = redis::cmd("SCAN");
        scan.arg(self.cursor).arg("MATCH").arg(&self.pattern).arg("COUNT").arg(KEYS_A_STEP);
        if self.layout == Layout::Plain {
            // All else is no lock of this layout.
            scan.arg("TYPE").arg("string");
        }
        scan.query_async(connection).await
    }

    fn is_answered_by(&self, answer: &Value) -> bool {
        // The server has no way to carry a mark here. A script may answer with a list of two whose second is a list, but
        // that one begins with a verdict, which is no key that the pattern matches, unless the prefix is empty.
        let start = self.start();
        let matches = |key: &Value| matches!(key, Value::BulkString(key) if key.starts_with(&start));
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
        let scan = Scan::new(Layout::Full, "p", b"");
        assert!(scan.is_answered_by(&answer("7", &["p:{a}", "p:{b}"])));
        assert!(scan.is_answered_by(&answer("0", &[])));
        for verdict in [&["yes"][..], &["opened", "1"], &["granted", "7", "1"], &["holders", "0", "0", ""]] {
            assert!(!scan.is_answered_by(&answer("7", verdict)), "{verdict:?}");
        }
        assert!(!scan.is_answered_by(&Value::Okay));
    }
}
