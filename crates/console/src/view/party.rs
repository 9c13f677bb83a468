//! A holder and a waiter, with what they tell of themselves.

use std::{collections::BTreeMap, fmt, time::Duration};

use leasehold::{Fence, Holder, HolderState, Mode, Owner, TokenPrefix, Waiter, text::rough};
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    mode::ModeView,
    text::printable,
    time::{seconds, seconds_if_known},
};

/// The identity of a holder or a waiter, as far as it tells of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Who {
    /// The mode.
    #[serde(flatten)]
    pub mode: ModeView,
    /// The first digits of its token.
    pub token: String,
    /// The owner.
    pub owner: Option<String>,
    /// The host that it runs on.
    pub host: Option<String>,
    /// The number of its process.
    pub pid: Option<u64>,
    /// Its purpose.
    pub purpose: Option<String>,
    /// The id of its trace.
    pub trace: Option<String>,
    /// All that it tells of itself, as it is.
    pub metadata: BTreeMap<String, String>,
}

impl Who {
    /// Reads what a holder or a waiter tells of itself.
    pub fn new(
        mode: Mode,
        token: TokenPrefix,
        owner: Option<&Owner>,
        metadata: &BTreeMap<String, String>,
    ) -> Self {
        let told = |key: &str| metadata.get(key).cloned();
        Self {
            mode: mode.into(),
            token: token.to_string(),
            owner: owner.map(ToString::to_string),
            host: told("host"),
            pid: told("pid").and_then(|pid| pid.parse().ok()),
            purpose: told("purpose"),
            trace: metadata.get("traceparent").and_then(|header| trace_id(header)).map(str::to_owned),
            metadata: metadata.clone(),
        }
    }

    /// Returns a short name: host and process as `host/pid`, else the owner or the token. It is printable.
    pub fn name(&self) -> String {
        let process = || match (&self.host, self.metadata.get("pid")) {
            (None, None) => None,
            (Some(host), None) => Some(host.clone()),
            (host, Some(pid)) => Some(format!("{}/{pid}", host.as_deref().unwrap_or("?"))),
        };
        let name = process().or_else(|| self.owner.clone());
        printable(&name.unwrap_or_else(|| self.token.clone())).into_owned()
    }

    /// Returns the short name, and behind it the purpose and the owner if they are told. It is printable.
    pub fn in_short(&self) -> String {
        let name = self.name();
        let purpose = self.purpose.iter().map(|purpose| format!(" {}", printable(purpose)));
        let owner = self.owner.iter().map(|owner| printable(owner)).filter(|owner| *owner != name);
        let owner = owner.map(|owner| format!(" owner {owner}"));
        purpose.chain(owner).fold(name.clone(), |text, part| text + &part)
    }

    /// Returns what it tells beside host, process, purpose and trace, as `key=value`. It is printable.
    pub fn more(&self) -> String {
        let is_other = |key: &str| match key {
            "host" | "pid" | "purpose" => false,
            "traceparent" => self.trace.is_none(),
            _ => true,
        };
        let others = self.metadata.iter().filter(|(key, _)| is_other(key));
        let others = others.map(|(key, value)| format!("{}={}", printable(key), printable(value)));
        others.collect::<Vec<_>>().join(" ")
    }
}

/// Writes the owner or else the token, and purpose, host and process, as errors do that name a holder.
impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.owner {
            Some(owner) => write!(f, "owner {}", printable(owner))?,
            None => write!(f, "token {}", self.token)?,
        }
        let purpose = self.purpose.as_deref().map(|purpose| printable(purpose).into_owned());
        let host = self.host.as_deref().map(|host| format!("host {}", printable(host)));
        let pid = self.pid.map(|pid| format!("pid {pid}"));
        let about: Vec<String> = [purpose, host, pid].into_iter().flatten().collect();
        if about.is_empty() { Ok(()) } else { write!(f, " ({})", about.join(", ")) }
    }
}

/// Returns the id of a trace from the header of the W3C: `00-<trace>-<span>-<flags>`.
fn trace_id(traceparent: &str) -> Option<&str> {
    let id = traceparent.split('-').nth(1)?;
    (id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(id)
}

/// A holder, or one that keeps the resource closed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Holder)]
pub struct HolderView {
    /// Its standing.
    pub state: Standing,
    /// Its identity.
    #[serde(flatten)]
    pub who: Who,
    /// The fence.
    pub fence: Option<u64>,
    /// The time since its grant.
    #[serde(rename = "age_seconds", serialize_with = "seconds_if_known")]
    #[schema(value_type = Option<f64>)]
    pub age: Option<Duration>,
    /// The time until its end.
    #[serde(rename = "left_seconds", serialize_with = "seconds")]
    #[schema(value_type = f64)]
    pub left: Duration,
}

/// The standing of a holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// It holds.
    Holding,
    /// It holds no more, and keeps the resource closed.
    Closed,
}

impl HolderView {
    /// Returns true if it holds, and false if it only keeps the resource closed.
    pub fn is_holding(&self) -> bool {
        self.state == Standing::Holding
    }
}

impl From<&Holder> for HolderView {
    fn from(holder: &Holder) -> Self {
        let Holder { token, mode, state, owner, fence, remaining, held_for, metadata } = holder;
        Self {
            state: match state {
                HolderState::Holding => Standing::Holding,
                HolderState::Closed => Standing::Closed,
            },
            who: Who::new(*mode, *token, owner.as_ref(), metadata),
            fence: fence.map(Fence::get),
            age: *held_for,
            left: *remaining,
        }
    }
}

impl fmt::Display for HolderView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.who, self.who.mode)?;
        if let Some(fence) = self.fence {
            write!(f, ", fence {fence}")?;
        }
        write!(f, ", {} left", rough(self.left))
    }
}

/// A waiter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Waiter)]
pub struct WaiterView {
    /// Its place: 1 is served next.
    pub position: usize,
    /// Its identity.
    #[serde(flatten)]
    pub who: Who,
    /// The time since it joined the queue.
    #[serde(rename = "waited_seconds", serialize_with = "seconds_if_known")]
    #[schema(value_type = Option<f64>)]
    pub waited: Option<Duration>,
}

impl WaiterView {
    /// Returns the waiters of a queue, in its order.
    pub fn all(waiters: &[Waiter]) -> Vec<Self> {
        let view = |(waiter, position): (&Waiter, usize)| {
            let Waiter { token, mode, owner, waited, metadata, .. } = waiter;
            Self { position, who: Who::new(*mode, *token, owner.as_ref(), metadata), waited: *waited }
        };
        waiters.iter().zip(1..).map(view).collect()
    }
}

impl fmt::Display for WaiterView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}, position {}", self.who, self.who.mode, self.position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holder(owner: Option<&str>, metadata: &[(&str, &str)]) -> HolderView {
        let own = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        HolderView::from(&Holder {
            token: "0123abcd".parse().unwrap(),
            mode: Mode::permits(2, 5).unwrap(),
            state: HolderState::Holding,
            owner: owner.map(|owner| Owner::new(owner).unwrap()),
            fence: Some(Fence::new(9)),
            remaining: Duration::from_millis(1_500),
            held_for: None,
            metadata: metadata.iter().map(own).collect(),
        })
    }

    #[test]
    fn a_holder_is_shown_by_what_it_has_told() {
        const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
        let header = format!("00-{TRACE}-00f067aa0ba902b7-01");
        let metadata = [("host", "h"), ("pid", "7"), ("purpose", "billing"), ("traceparent", &header)];
        let holder = holder(Some("worker"), &metadata);
        assert_eq!(
            holder.to_string(),
            "owner worker (billing, host h, pid 7): 2 of 5 permits, fence 9, 1.5s left"
        );
        assert_eq!(holder.who.in_short(), "h/7 billing owner worker");
        let json = serde_json::to_value(&holder).unwrap();
        for (field, expected) in [
            ("state", "holding".into()),
            ("mode", "permits".into()),
            ("capacity", 5.into()),
            ("pid", 7.into()),
            ("trace", TRACE.into()),
            ("left_seconds", 1.5.into()),
            ("age_seconds", serde_json::Value::Null),
        ] {
            assert_eq!(json[field], expected, "{field}");
        }
    }

    #[test]
    fn metadata_cannot_command_the_terminal_and_is_as_it_is_in_json() {
        let metadata = [("host", "a\u{9b}31m"), ("purpose", "x\r\ny\u{202e}z"), ("k\u{7}", "v\n")];
        let holder = holder(Some("o\u{1b}[2J"), &metadata);
        assert_eq!(holder.who.in_short(), "a\\u{9b}31m x\\r\\ny\\u{202e}z owner o\\u{1b}[2J");
        assert_eq!(holder.who.more(), "k\\u{7}=v\\n");
        assert!(!holder.to_string().contains(char::is_control), "{holder}");
        assert_eq!(serde_json::to_value(&holder).unwrap()["metadata"]["k\u{7}"], "v\n");
    }

    #[test]
    fn the_name_of_a_process_that_says_little_is_what_is_known() {
        for (owner, metadata, expected) in [
            (None, &[][..], "0123abcd"),
            (Some("o"), &[], "o"),
            (Some("o"), &[("pid", "7")], "?/7 owner o"),
            (None, &[("host", "h")], "h"),
        ] {
            assert_eq!(holder(owner, metadata).who.in_short(), expected);
        }
    }

    #[test]
    fn what_is_no_trace_is_not_shown_as_one() {
        for text in ["", "00", "00-xyz-1-01", "\u{1b}[2J"] {
            assert_eq!(trace_id(text), None, "{text:?}");
        }
        let holder = holder(None, &[("traceparent", "00-xyz-1-01")]);
        assert_eq!(holder.who.more(), "traceparent=00-xyz-1-01");
    }
}
