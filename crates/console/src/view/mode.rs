//! A mode, as its kind and numbers.

use std::fmt;

use leasehold::Mode;
use serde::Serialize;
use utoipa::ToSchema;

/// A mode: of permits with their number, and that of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct ModeView {
    /// The kind.
    #[serde(rename = "mode")]
    pub kind: ModeKind,
    /// The number of permits.
    pub permits: Option<u32>,
    /// The number of all permits of the resource.
    pub capacity: Option<u32>,
}

/// The kind of a mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ModeKind {
    /// Held by one.
    Exclusive,
    /// Held by any number.
    Shared,
    /// Held by as many as there are permits.
    Permits,
    /// One that this version does not know.
    Unknown,
}

impl From<Mode> for ModeView {
    fn from(mode: Mode) -> Self {
        let (kind, permits, capacity) = match mode {
            Mode::Exclusive => (ModeKind::Exclusive, None, None),
            Mode::Shared => (ModeKind::Shared, None, None),
            Mode::Permits { count, of } => (ModeKind::Permits, Some(count.get()), Some(of.get())),
            _ => (ModeKind::Unknown, None, None),
        };
        Self { kind, permits, capacity }
    }
}

impl ModeKind {
    /// Returns the word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Exclusive => "exclusive",
            Self::Shared => "shared",
            Self::Permits => "permits",
            Self::Unknown => "unknown",
        }
    }
}

/// Writes what [`Mode`] writes.
impl fmt::Display for ModeView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.permits, self.capacity) {
            (Some(permits), Some(capacity)) => write!(f, "{permits} of {capacity} permits"),
            _ => f.write_str(self.kind.as_str()),
        }
    }
}
