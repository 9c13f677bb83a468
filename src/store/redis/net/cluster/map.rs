//! The map of a cluster from slots to nodes, as one of the nodes told it.

use std::collections::{BTreeSet, HashMap};

use redis::Value;
use tokio::time::Instant;

use crate::store::redis::net::{address::NodeAddress, call::Call, cluster::slot::SLOTS};

/// The masters of a cluster and their slots.
#[derive(Default)]
pub(crate) struct Map {
    /// The number of times it was read, so that many who find it wrong read it once.
    pub(crate) version: u64,
    pub(crate) read_at: Option<Instant>,
    masters: Vec<NodeAddress>,
    /// For each slot an index into `masters`; nothing before it was read.
    slots: Vec<Option<u16>>,
}

impl Map {
    pub(crate) fn node(&self, slot: u16) -> Option<&NodeAddress> {
        let place = (*self.slots.get(usize::from(slot))?)?;
        self.masters.get(usize::from(place))
    }

    /// Moves this slot to another node, because a node has told so.
    pub(crate) fn moved(&mut self, slot: u16, to: &NodeAddress) {
        let place = self.place(to);
        if let Some(slot) = self.slots.get_mut(usize::from(slot)) {
            *slot = place;
        }
    }

    pub(crate) fn masters(&self) -> BTreeSet<NodeAddress> {
        let masters = self.masters.iter().zip(0..).filter(|(_, place)| self.slots.contains(&Some(*place)));
        masters.map(|(node, _)| node.clone()).collect()
    }

    fn place(&mut self, node: &NodeAddress) -> Option<u16> {
        let known = self.masters.iter().position(|known| known == node);
        let place = known.unwrap_or_else(|| {
            self.masters.push(node.clone());
            self.masters.len() - 1
        });
        u16::try_from(place).ok()
    }

    /// Reads the answer of `asked` to the [`question`]; `None` if it makes no sense.
    pub(crate) fn read(answer: Value, asked: &NodeAddress, version: u64) -> Option<Self> {
        let mut map = Self {
            version,
            read_at: Some(Instant::now()),
            slots: vec![None; usize::from(SLOTS)],
            ..Self::default()
        };
        for SlotRange { first, last, nodes } in ranges(answer, asked)? {
            let (_, master) = nodes.first()?;
            let place = map.place(master);
            map.slots.get_mut(usize::from(first)..=usize::from(last))?.fill(place);
        }
        Some(map)
    }
}

/// A range of slots.
#[derive(Debug)]
pub struct SlotRange {
    /// The first slot.
    pub first: u16,
    /// The last slot.
    pub last: u16,
    /// The nodes that serve it, each with its id within the cluster: the master first.
    pub nodes: Vec<(Option<String>, NodeAddress)>,
}

/// Reads the answer of `asked` to `CLUSTER SLOTS`; `None` if it makes no sense.
pub fn ranges(answer: Value, asked: &NodeAddress) -> Option<Vec<SlotRange>> {
    let ranges: Vec<Vec<Value>> = redis::from_redis_value(answer).ok()?;
    let ranges = ranges.into_iter().map(|range| {
        let [Value::Int(first), Value::Int(last), nodes @ ..] = &range[..] else { return None };
        let (first, last) = (u16::try_from(*first).ok()?, u16::try_from(*last).ok()?);
        let nodes = nodes.iter().map(|told| node(told, asked)).collect::<Option<_>>()?;
        (first <= last && last < SLOTS).then_some(SlotRange { first, last, nodes })
    });
    ranges.collect()
}

/// Reads an id and an address as nodes tell it. A node that does not know its own address is where it was asked. A node
/// that should tell a name and has none says `?` in its place, and tells its address behind.
fn node(value: &Value, asked: &NodeAddress) -> Option<(Option<String>, NodeAddress)> {
    let Value::Array(parts) = value else { return None };
    let [host, Value::Int(port), more @ ..] = &parts[..] else { return None };
    let text = |value: &Value| redis::from_redis_value_ref::<Option<String>>(value).ok();
    let host = match text(host)?.as_deref() {
        Some("?") => more
            .get(1)
            .and_then(|more| redis::from_redis_value_ref::<HashMap<String, String>>(more).ok()?.remove("ip")),
        host => host.map(str::to_owned),
    };
    let host = host.filter(|host| !host.is_empty()).unwrap_or_else(|| asked.host.clone());
    let id = more.first().and_then(text).flatten();
    Some((id, NodeAddress::new(host, u16::try_from(*port).ok()?)))
}

pub(crate) fn question() -> Call {
    // No script answers with a list of lists.
    let is_list = |value: &Value| matches!(value, Value::Array(_));
    Call::question(
        &["CLUSTER", "SLOTS"],
        move |answer| matches!(answer, Value::Array(ranges) if ranges.iter().all(is_list)),
    )
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn text(text: &str) -> Value {
        Value::BulkString(text.into())
    }

    /// Returns the masters of a cluster of one node that tells this of where it is.
    fn masters(host: Value, more: Vec<Value>) -> Vec<String> {
        let node = [vec![host, Value::Int(7), text("id")], more].concat();
        let range = vec![Value::Int(0), Value::Int(16_383), Value::Array(node)];
        let answer = Value::Array(vec![Value::Array(range)]);
        let map = Map::read(answer, &NodeAddress::new("asked".to_owned(), 1), 1).unwrap();
        map.masters().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_node_is_where_it_says_or_else_where_it_was_asked() {
        let behind = |name: &str, is: &str| vec![Value::Array(vec![text(name), text(is)])];
        for (host, more, expected) in [
            (text("10.0.0.1"), vec![], "10.0.0.1:7"),
            (text("::1"), vec![], "[::1]:7"),
            (text("a.test"), behind("ip", "10.0.0.1"), "a.test:7"),
            (text("?"), behind("ip", "10.0.0.1"), "10.0.0.1:7"),
            (text("?"), vec![], "asked:7"),
            (text(""), behind("hostname", "a.test"), "asked:7"),
            (Value::Nil, behind("ip", "10.0.0.1"), "asked:7"),
        ] {
            assert_eq!(masters(host, more), [expected]);
        }
    }

    #[test]
    fn slots_that_cannot_be_make_no_sense() {
        let told = |(first, last)| {
            let node = Value::Array(vec![text("a"), Value::Int(7), text("id")]);
            let range = vec![Value::Int(first), Value::Int(last), node];
            ranges(Value::Array(vec![Value::Array(range)]), &NodeAddress::new("asked".to_owned(), 1))
        };
        assert!(told((0, 16_383)).is_some());
        for slots in [(0, 16_384), (0, 65_535), (9, 8), (-1, 5)] {
            assert!(told(slots).is_none(), "{slots:?}");
        }
    }
}
