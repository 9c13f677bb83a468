//! What a process writes down of its leases.

use std::{collections::BTreeMap, fs, path::Path};

use serde::{Deserialize, Serialize};

/// One lease that was granted. Moments are microseconds since the host was started.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Held {
    pub(crate) resource: usize,
    pub(crate) taken: Taken,
    pub(crate) owner: Option<String>,
    pub(crate) re_entered: bool,
    pub(crate) fence: u64,
    /// When it was asked for.
    pub(crate) asked: u64,
    /// When the answer was there.
    pub(crate) granted: u64,
    /// When its holder stopped believing in it: it released it, was told of its loss, or its validity ended.
    pub(crate) ended: u64,
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
    pub(crate) lost: u64,
    pub(crate) errors: BTreeMap<String, u64>,
}

impl Report {
    pub(crate) fn write(&self, file: &Path) {
        fs::write(file, serde_json::to_vec(self).unwrap()).unwrap();
    }

    pub(crate) fn read(file: &Path) -> Self {
        serde_json::from_slice(&fs::read(file).unwrap()).unwrap()
    }
}
