//! The walk over all keys that lists names.

use std::{collections::BTreeSet, time::Duration};

use redis::{RedisResult, Value, aio::MultiplexedConnection};
use tokio::time::Instant;

use crate::{
    core::ResourceName,
    store::{
        Listing, Names, StoreError, Walk,
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

/// The number of keys that a server is asked to look at in one step.
const KEYS_A_STEP: u32 = 1_000;

/// Lists the names that a walk is after.
pub(super) async fn list(
    topology: &Topology,
    encoder: &Encoder,
    response_timeout: Duration,
    walk: &Walk,
) -> Result<Listing, StoreError> {
    // A walk over millions of keys takes a while. It ends after this time, and not after the time for one answer.
    const STEPS: u32 = 10;
    let give_up = Instant::now() + STEPS * response_timeout;
    let mut found = Found { walk, names: BTreeSet::new(), complete: true, cut_short: false, walked: 0 };
    if walk.names == Names::WaitedFor && encoder.is_plain() {
        // The layout has no queues.
        return Ok(found.listing());
    }
    for server in topology.each().await? {
        let scan = Scan::new(encoder.layout(), encoder.prefix(), walk);
        list_on(&server, scan, give_up, &mut found).await?;
    }
    Ok(found.listing())
}

async fn list_on(
    server: &Connection,
    mut scan: Scan<'_>,
    give_up: Instant,
    found: &mut Found<'_>,
) -> Result<(), StoreError> {
    loop {
        let (cursor, keys) = decode::scanned(server.send(&scan).await?.value)?;
        found.walked += u64::from(KEYS_A_STEP);
        found.add(keys.iter().filter_map(|key| scan.name(key)));
        scan.cursor = cursor;
        if cursor == 0 {
            return Ok(());
        }
        if Instant::now() >= give_up {
            (found.complete, found.cut_short) = (false, true);
            return Ok(());
        }
    }
}

/// The names that the walk has found so far.
struct Found<'a> {
    walk: &'a Walk,
    names: BTreeSet<ResourceName>,
    complete: bool,
    cut_short: bool,
    walked: u64,
}

impl Found<'_> {
    fn add(&mut self, names: impl Iterator<Item = ResourceName>) {
        self.names.extend(names.filter(|name| self.walk.matches(name)));
        while self.names.len() > self.walk.limit {
            self.names.pop_last();
            self.complete = false;
        }
    }

    fn listing(self) -> Listing {
        let Self { names, complete, cut_short, walked, .. } = self;
        Listing { resources: names.into_iter().collect(), complete, cut_short, walked }
    }
}

/// One step of the walk.
struct Scan<'a> {
    layout: Layout,
    prefix: &'a str,
    names: Names,
    pattern: Vec<u8>,
    cursor: u64,
}

impl<'a> Scan<'a> {
    fn new(layout: Layout, prefix: &'a str, walk: &Walk) -> Self {
        let scan = Self { layout, prefix, names: walk.names, pattern: Vec::new(), cursor: 0 };
        let pattern = match scan.part() {
            Some(part) => keys::pattern(prefix, &walk.prefix, part).into_bytes(),
            None => plain::pattern(prefix, &walk.prefix),
        };
        Self { pattern, ..scan }
    }

    /// Returns what stands behind the main key in the keys that are looked for. `None` for the keys of the plain layout.
    const fn part(&self) -> Option<&'static str> {
        match (self.names, self.layout) {
            (Names::Held, Layout::Plain) => None,
            (Names::Held, Layout::Full) => Some(""),
            (Names::WaitedFor, _) => Some(":q"),
            // Both layouts have the same registers.
            (Names::Registers, _) => Some(":r"),
        }
    }

    /// Returns the type of the keys that are looked for, where other keys may have the same names.
    const fn kind(&self) -> Option<&'static str> {
        match (self.names, self.layout) {
            (Names::Held, Layout::Plain) => Some("string"),
            (Names::Registers, Layout::Plain) => Some("hash"),
            (_, Layout::Full) | (Names::WaitedFor, _) => None,
        }
    }

    /// Returns the name that this key stands for; `None` for a key that is not ours.
    fn name(&self, key: &[u8]) -> Option<ResourceName> {
        match self.part() {
            Some(part) => keys::resource(self.prefix, str::from_utf8(key).ok()?, part),
            None => plain::resource(self.prefix, key),
        }
    }

    /// Returns the beginning of every key that the pattern matches.
    fn start(&self) -> Vec<u8> {
        match self.part() {
            Some(_) => format!("{}:{{", self.prefix).into_bytes(),
            None => plain::before_name(self.prefix),
        }
    }
}

impl Request for Scan<'_> {
    async fn send(&self, connection: &mut MultiplexedConnection) -> RedisResult<Value> {
        let mut scan = redis::cmd("SCAN");
        scan.arg(self.cursor).arg("MATCH").arg(&self.pattern).arg("COUNT").arg(KEYS_A_STEP);
        if let Some(kind) = self.kind() {
            scan.arg("TYPE").arg(kind);
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
        let scan = Scan::new(Layout::Full, "p", &Walk::new("", 1));
        assert!(scan.is_answered_by(&answer("7", &["p:{a}", "p:{b}"])));
        assert!(scan.is_answered_by(&answer("0", &[])));
        for verdict in [&["yes"][..], &["opened", "1"], &["granted", "7", "1"], &["holders", "0", "0", ""]] {
            assert!(!scan.is_answered_by(&answer("7", verdict)), "{verdict:?}");
        }
        assert!(!scan.is_answered_by(&Value::Okay));
    }
}
