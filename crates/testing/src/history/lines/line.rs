//! One line of a written history.

use std::time::Duration;

use leasehold::{Mode, Owner, env::Moment};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

#[derive(Serialize, Deserialize)]
pub(super) struct Line {
    pub(super) at: u64,
    #[serde(flatten)]
    pub(super) about: About,
    #[serde(flatten)]
    pub(super) event: Event,
}

/// The lease, or the request, that a line is about.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct About {
    pub(super) process: u64,
    pub(super) id: usize,
    pub(super) resource: String,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(super) enum Event {
    MayForget {
        until: u64,
    },
    Complete,
    Acquire {
        mode: Share,
        // Null has to be written: a name with an error in it would be no owner.
        #[serde(deserialize_with = "Option::deserialize")]
        owner: Option<String>,
        ttl: u64,
    },
    End,
    Granted {
        #[serde(deserialize_with = "Option::deserialize")]
        fence: Option<u64>,
        reentered: bool,
    },
    Late {
        #[serde(deserialize_with = "Option::deserialize")]
        fence: Option<u64>,
        reentered: bool,
    },
    Refused,
    Ended {
        why: Why,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Share {
    Exclusive,
    Shared,
    Permits { count: u32, of: u32 },
}

/// The end of a lease.
#[derive(Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Why {
    Released,
    Over,
    Lost,
}

impl About {
    pub(super) fn line(&self, at: Moment, event: Event) -> Line {
        Line { at: nanos(at), about: self.clone(), event }
    }
}

impl Line {
    /// Reads a line, in which all fields of its event are and no others.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let told = |error: serde_json::Error| error.to_string();
        let line: Self = serde_json::from_str(text).map_err(told)?;
        // serde denies no unknown fields where one struct is part of another.
        let (given, known): (Value, Value) =
            (serde_json::from_str(text).map_err(told)?, serde_json::to_value(&line).map_err(told)?);
        let unknown =
            given.as_object().into_iter().flat_map(Map::keys).find(|name| known.get(name).is_none());
        unknown.map_or(Ok(line), |name| Err(format!("no field of this event: `{name}`")))
    }

    /// Returns the place of the line among all. Of one moment, what begins comes before what is answered: it may have been the first.
    pub(super) fn place(&self) -> (u64, u8, usize) {
        let rank = match self.event {
            Event::MayForget { .. } | Event::Complete => 0,
            Event::Acquire { .. } | Event::End => 1,
            Event::Granted { .. } | Event::Late { .. } | Event::Refused => 2,
            Event::Ended { .. } => 3,
        };
        (self.at, rank, self.about.id)
    }
}

pub(super) fn asked(mode: Mode, owner: Option<&Owner>, ttl: Duration) -> Event {
    let mode = match mode {
        Mode::Exclusive => Share::Exclusive,
        Mode::Shared => Share::Shared,
        Mode::Permits { count, of } => Share::Permits { count: count.get(), of: of.get() },
        mode => panic!("a history knows no {mode:?}"),
    };
    Event::Acquire { mode, owner: owner.map(Owner::encoded), ttl: ttl.as_nanos() as u64 }
}

pub(super) fn nanos(moment: Moment) -> u64 {
    Moment::since_origin(Duration::ZERO).elapsed(moment).as_nanos() as u64
}

pub(super) fn moment(nanos: u64) -> Moment {
    Moment::since_origin(Duration::from_nanos(nanos))
}
