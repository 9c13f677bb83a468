//! What a process writes down of its leases.

use std::{collections::BTreeMap, fs, path::Path, time::Duration};

use serde::{Deserialize, Serialize};

/// One lease that was granted. Moments are microseconds since the host was started.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Held {
    pub(crate) resource: usize,
    pub(crate) taken: Taken,
    pub(crate) owner: Option<String>,
    pub(crate) re_entered: bool,
    pub(crate) fence: u64,
    pub(crate) ttl: Duration,
    /// When it was asked for.
    pub(crate) asked: u64,
    /// When the answer was there.
    pub(crate) granted: u64,
    /// When its holder stopped believing in it: it released it, was told of its loss, or its validity ended.
    pub(crate) ended: u64,
    /// How it was lost, if it was.
    pub(crate) lost: Option<Loss>,
}

/// How a lease was lost.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Loss {
    pub(crate) reason: String,
    /// When the holder was told.
    pub(crate) told: u64,
    /// When the timer was due that tells, if the store does not before.
    pub(crate) due: u64,
    /// When its validity ended if the store kept it: until then nobody else could be granted the resource.
    pub(crate) valid_until: u64,
}

/// How much was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Taken {
    Everything,
    Shared,
    Permits(u32),
}

/// What a process reports at its end.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) held: Vec<Held>,
    pub(crate) refused: u64,
    pub(crate) cancelled: u64,
    pub(crate) errors: BTreeMap<String, u64>,
    /// Leases that were lost, of which their holders were told only when they gave them back.
    pub(crate) found_lost: u64,
    /// When nobody had a turn on the thread of the callers: from when to when.
    pub(crate) stalls: Vec<(u64, u64)>,
}

impl Report {
    /// The leases that were lost.
    pub(crate) fn lost(&self) -> impl Iterator<Item = (&Held, &Loss)> {
        self.held.iter().filter_map(|held| Some((held, held.lost.as_ref()?)))
    }

    /// How many leases were lost for this reason, and their holders were told.
    pub(crate) fn lost_as(&self, reason: &str) -> u64 {
        self.lost().filter(|(_, loss)| loss.reason == reason).count() as u64
    }

    pub(crate) fn write(&self, file: &Path) {
        fs::write(file, serde_json::to_vec(self).unwrap()).unwrap();
    }

    pub(crate) fn read(file: &Path) -> Self {
        serde_json::from_slice(&fs::read(file).unwrap()).unwrap()
    }
}
