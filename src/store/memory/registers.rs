//! The registers of the store in memory, and its time of day.

use std::{
    collections::BTreeMap,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use crate::{
    core::{Moment, ResourceName, Token},
    store::{REGISTER_KEPT_FOR, Register, RegisterVerdict, RegisterWrite},
};

/// The registers, and the time since 1970 at the origin of the clock.
#[derive(Debug, Default)]
pub(super) struct Registers {
    origin: Duration,
    kept: BTreeMap<ResourceName, Kept>,
}

#[derive(Debug)]
struct Kept {
    revision: Token,
    value: String,
    end: Moment,
}

impl Registers {
    pub(super) fn set_time(&mut self, time: SystemTime, now: Moment) {
        let since_1970 = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        self.origin = since_1970.saturating_sub(now.time_since_origin());
    }

    pub(super) fn clear(&mut self) {
        self.kept.clear();
    }

    pub(super) fn names(&mut self, now: Moment) -> Vec<ResourceName> {
        self.settle(now);
        self.kept.keys().cloned().collect()
    }

    fn settle(&mut self, now: Moment) {
        self.kept.retain(|_, kept| !kept.end.remaining(now).is_zero());
    }

    /// Executes [`Store::register`](crate::store::Store::register).
    pub(super) fn register(
        &mut self,
        name: &ResourceName,
        write: Option<&RegisterWrite>,
        now: Moment,
    ) -> Register {
        self.settle(now);
        let time = self.origin + now.time_since_origin();
        let revision = self.kept.get(name).map(|kept| kept.revision);
        let verdict = match write {
            None => RegisterVerdict::Read,
            Some(write) if revision == Some(write.revision) => RegisterVerdict::Written,
            Some(write) if revision != write.expected && !planted!("a claim is not compared") => {
                RegisterVerdict::Changed
            }
            Some(write) if time < write.not_before => RegisterVerdict::Early,
            Some(write) => {
                let (revision, value) = (write.revision, write.value.clone());
                self.kept.insert(name.clone(), Kept { revision, value, end: now });
                RegisterVerdict::Written
            }
        };
        let kept = self.kept.get_mut(name).map(|kept| {
            kept.end = now + REGISTER_KEPT_FOR;
            (kept.revision, kept.value.clone())
        });
        let (revision, value) = kept.unzip();
        Register { verdict, now: time, revision, value: value.unwrap_or_default() }
    }
}
