//! The walk over all keys that lists names.

use std::collections::BTreeSet;

use redis::Value;
use tokio::time::Instant;

use super::{
    RedisStore,
    net::call::Call,
    wire::{decode, keys::KeyShape},
};
use crate::store::{Listing, Names, StoreError, Walk};

/// The number of keys that a server is asked to look at in one step.
const KEYS_A_STEP: u32 = 1_000;

/// Lists the names that a walk is after.
pub(super) async fn list(store: &RedisStore, walk: &Walk) -> Result<Listing, StoreError> {
    let RedisStore { topology, encoder, .. } = store;
    // A walk over millions of keys takes a while. It ends after this time, and not after the time for one answer.
    const STEPS: u32 = 10;
    let give_up = Instant::now() + STEPS * store.response_timeout;
    let (mut names, mut complete, mut cut_short, mut walked) = (BTreeSet::new(), true, false, 0);
    // The plain layout has no queues.
    let is_empty = walk.names == Names::WaitedFor && encoder.is_plain();
    let servers = if is_empty { Vec::new() } else { topology.each().await? };
    let shape = KeyShape::new(encoder.layout, &encoder.prefix, walk.names);
    for server in servers {
        let mut cursor = 0;
        loop {
            let answer = server.send(&step(&shape, walk, cursor)).await?;
            let (next, keys) = decode::scanned(answer.value)?;
            walked += u64::from(KEYS_A_STEP);
            let found = keys.iter().filter_map(|key| shape.resource(key));
            names.extend(found.filter(|name| walk.matches(name)));
            while names.len() > walk.limit {
                names.pop_last();
                complete = false;
            }
            cursor = next;
            if cursor == 0 {
                break;
            }
            if Instant::now() >= give_up {
                (complete, cut_short) = (false, true);
                break;
            }
        }
    }
    Ok(Listing { resources: names.into_iter().collect(), complete, cut_short, walked })
}

fn step(shape: &KeyShape, walk: &Walk, cursor: u64) -> Call {
    // The server has no way to carry a mark here. A script may answer with a list of two whose second is a list, but
    // that one begins with a verdict, which is no key that the pattern matches, unless the prefix is empty.
    let before = shape.before.clone();
    let is_ours = move |key: &Value| matches!(key, Value::BulkString(key) if key.starts_with(&before));
    let mut scan = Call::question(&["SCAN"], move |answer| {
        let Value::Array(parts) = answer else { return false };
        matches!(&parts[..], [_, Value::Array(keys)] if keys.iter().all(&is_ours))
    });
    scan.arg(cursor).arg("MATCH").arg(shape.pattern(&walk.prefix)).arg("COUNT").arg(KEYS_A_STEP);
    match shape.kind {
        Some(kind) => scan.with("TYPE").with(kind),
        None => scan,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::redis::{Layout, wire::decode::tests::list};

    fn answer(first: &str, rest: &[&str]) -> Value {
        Value::Array(vec![Value::BulkString(first.into()), list(rest)])
    }

    #[test]
    fn the_answer_to_a_verb_is_no_step_of_a_walk() {
        let scan = step(&KeyShape::new(Layout::Full, "p", Names::Held), &Walk::new("", 1), 0);
        assert!(scan.is_answered_by(&answer("7", &["p:{a}", "p:{b}"])));
        assert!(scan.is_answered_by(&answer("0", &[])));
        for verdict in [&["yes"][..], &["opened", "1"], &["granted", "7", "1"], &["holders", "0", "0", ""]] {
            assert!(!scan.is_answered_by(&answer("7", verdict)), "{verdict:?}");
        }
        assert!(!scan.is_answered_by(&Value::Okay));
    }
}
