//! A resource, its holders and its waiters, as they are shown: the fields of the JSON, and sentences.

use std::{collections::BTreeMap, time::Duration};

use leasehold::{HolderState, Inspection, Mode, Owner, ResourceName, TokenPrefix};
use serde::Serialize;

use crate::print::{seconds, seconds_if_known};

/// A resource.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Resource {
    pub(crate) kind: &'static str,
    /// The name, encoded as in the keys of the store.
    pub(crate) resource: String,
    /// True if somebody holds it, and false if it is free or only kept closed.
    pub(crate) held: bool,
    /// The number of all holders.
    pub(crate) total: u64,
    /// The number of all waiters; zero where the store keeps no queues.
    #[serde(skip)]
    pub(crate) waiting: u64,
    /// The same; `None` where the store keeps no queues.
    #[serde(rename = "waiting")]
    pub(crate) known_waiting: Option<u64>,
    /// Holders, those that end first.
    pub(crate) holders: Vec<Holder>,
    /// Waiters, the first of the queue.
    pub(crate) waiters: Vec<Waiter>,
}

/// A holder, or one that keeps the resource closed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Holder {
    /// `holding` or `closed`.
    pub(crate) state: &'static str,
    #[serde(flatten)]
    pub(crate) who: Who,
    pub(crate) fence: Option<u64>,
    #[serde(rename = "age_seconds", serialize_with = "seconds_if_known")]
    pub(crate) age: Option<Duration>,
    #[serde(rename = "left_seconds", serialize_with = "seconds")]
    pub(crate) left: Duration,
    /// The most that it had left at any look of this command.
    #[serde(skip)]
    pub(crate) most_left: Duration,
}

/// A waiter.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Waiter {
    /// 1 is the next.
    pub(crate) position: usize,
    #[serde(flatten)]
    pub(crate) who: Who,
    #[serde(rename = "waited_seconds", serialize_with = "seconds_if_known")]
    pub(crate) waited: Option<Duration>,
}

/// The identity of a holder or a waiter, as far as it has told about itself.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Who {
    /// `exclusive`, `shared` or `permits`.
    pub(crate) mode: &'static str,
    pub(crate) permits: Option<u32>,
    pub(crate) capacity: Option<u32>,
    /// The first digits of its token.
    pub(crate) token: String,
    pub(crate) owner: Option<String>,
    pub(crate) host: Option<String>,
    pub(crate) pid: Option<u64>,
    pub(crate) purpose: Option<String>,
    /// The id of its trace.
    pub(crate) trace: Option<String>,
    /// All that it has told about itself.
    pub(crate) metadata: BTreeMap<String, String>,
}

impl Resource {
    pub(crate) fn of(name: &ResourceName, inspection: Inspection) -> Self {
        let Inspection { holders, total, waiting, waiters } = inspection;
        // Such a store, the plain layout, has no fences either.
        let without =
            |holder: &leasehold::Holder| holder.state == HolderState::Holding && holder.fence.is_none();
        let keeps_no_queue = waiting == 0 && holders.iter().any(without);
        let more = total > holders.len() as u64;
        let holders: Vec<Holder> = holders.into_iter().map(Holder::of).collect();
        let waiters = waiters.into_iter().enumerate().map(|(ahead, waiter)| Waiter::of(ahead + 1, waiter));
        Self {
            kind: "resource",
            resource: name.to_string(),
            held: more || holders.iter().any(Holder::holds),
            total,
            waiting,
            known_waiting: (!keeps_no_queue).then_some(waiting),
            waiters: waiters.collect(),
            holders,
        }
    }

    /// Takes over from an earlier look how much its holders have had left at most.
    pub(crate) fn remember(&mut self, earlier: &Self) {
        for holder in &mut self.holders {
            let before = earlier.holders.iter().find(|before| before.who.token == holder.who.token);
            holder.most_left = before.map_or(holder.left, |before| before.most_left.max(holder.left));
        }
    }

    /// Returns true if nobody holds it, keeps it closed or waits for it.
    pub(crate) const fn is_free(&self) -> bool {
        self.total == 0 && self.waiting == 0
    }
}

impl Holder {
    fn of(holder: leasehold::Holder) -> Self {
        let leasehold::Holder { token, mode, state, owner, fence, remaining, held_for, metadata } = holder;
        let state = match state {
            HolderState::Holding => "holding",
            HolderState::Closed => "closed",
        };
        let who = Who::of(mode, token, owner.as_ref(), metadata);
        let fence = fence.map(leasehold::Fence::get);
        Self { state, who, fence, age: held_for, left: remaining, most_left: remaining }
    }

    pub(crate) fn holds(&self) -> bool {
        self.state == "holding"
    }
}

impl Waiter {
    fn of(position: usize, waiter: leasehold::Waiter) -> Self {
        let who = Who::of(waiter.mode, waiter.token, waiter.owner.as_ref(), waiter.metadata);
        Self { position, who, waited: waiter.waited }
    }
}

impl Who {
    fn of(mode: Mode, token: TokenPrefix, owner: Option<&Owner>, metadata: BTreeMap<String, String>) -> Self {
        let (mode, permits, capacity) = match mode {
            Mode::Exclusive => ("exclusive", None, None),
            Mode::Shared => ("shared", None, None),
            Mode::Permits { count, of } => ("permits", Some(count.get()), Some(of.get())),
            _ => ("another", None, None),
        };
        let told = |key: &str| metadata.get(key).cloned();
        Self {
            mode,
            permits,
            capacity,
            token: token.to_string(),
            owner: owner.map(ToString::to_string),
            host: told("host"),
            pid: told("pid").and_then(|pid| pid.parse().ok()),
            purpose: told("purpose"),
            trace: told("traceparent").as_deref().and_then(trace_id).map(str::to_owned),
            metadata,
        }
    }

    /// Returns the mode in a word or two.
    pub(crate) fn mode(&self) -> String {
        match (self.permits, self.capacity) {
            (Some(permits), Some(capacity)) => format!("{permits} of {capacity}"),
            _ => self.mode.to_owned(),
        }
    }

    /// Returns a description for a sentence: the owner or else the token, and purpose, host and process.
    pub(crate) fn described(&self) -> String {
        let name = match &self.owner {
            Some(owner) => format!("owner {owner}"),
            None => format!("token {}", self.token),
        };
        let host = self.host.as_ref().map(|host| format!("host {host}"));
        let pid = self.pid.map(|pid| format!("pid {pid}"));
        let about: Vec<String> = [self.purpose.clone(), host, pid].into_iter().flatten().collect();
        if about.is_empty() { name } else { format!("{name} ({})", about.join(", ")) }
    }
}

/// Returns the id of a trace from the header of the W3C: `00-<trace>-<span>-<flags>`.
fn trace_id(traceparent: &str) -> Option<&str> {
    let id = traceparent.split('-').nth(1)?;
    (id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(id)
}

#[cfg(test)]
mod tests {
    use leasehold::{Fence, Holder};

    use super::*;

    #[test]
    fn a_holder_is_shown_by_what_it_has_told() {
        let metadata = [
            ("host", "h"),
            ("pid", "7"),
            ("purpose", "billing"),
            ("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"),
        ];
        let holder = Holder {
            token: "0123abcd".parse().unwrap(),
            mode: Mode::permits(2, 5).unwrap(),
            state: HolderState::Holding,
            owner: Some(Owner::new("worker").unwrap()),
            fence: Some(Fence::new(9)),
            remaining: Duration::from_millis(1_500),
            held_for: None,
            metadata: metadata.map(|(key, value)| (key.to_owned(), value.to_owned())).into(),
        };
        let inspection = Inspection { holders: vec![holder], total: 1, ..Inspection::default() };
        let shown = Resource::of(&ResourceName::new("a b").unwrap(), inspection);
        let who = &shown.holders[0].who;
        assert_eq!(
            (who.mode(), who.described()),
            ("2 of 5".into(), "owner worker (billing, host h, pid 7)".into())
        );
        let json = serde_json::to_value(&shown).unwrap();
        assert_eq!((&json["resource"], &json["held"]), (&"a%20b".into(), &true.into()));
        let holder = &json["holders"][0];
        for (field, expected) in [
            ("mode", "permits".into()),
            ("capacity", 5.into()),
            ("pid", 7.into()),
            ("trace", "4bf92f3577b34da6a3ce929d0e0e4736".into()),
            ("left_seconds", 1.5.into()),
            ("age_seconds", serde_json::Value::Null),
        ] {
            assert_eq!(holder[field], expected, "{field}");
        }
    }

    #[test]
    fn what_is_no_trace_is_not_shown_as_one() {
        for text in ["", "00", "00-xyz-1-01", "\u{1b}[2J"] {
            assert_eq!(trace_id(text), None, "{text:?}");
        }
    }
}
