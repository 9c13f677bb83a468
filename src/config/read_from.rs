//! The sources that a configuration was read from, so that people can be told.

use std::fmt;

/// The names of sources, in their order: files, and variables without their values.
#[derive(Clone, Debug, Default)]
pub(super) struct ReadFrom(pub(super) Vec<String>);

/// Settings are the same wherever they come from.
impl PartialEq for ReadFrom {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl ReadFrom {
    /// Adds a source. What has no name is none.
    pub(super) fn add(&mut self, source: impl fmt::Display) {
        let source = source.to_string();
        if !source.is_empty() {
            self.0.push(source);
        }
    }
}

impl fmt::Display for ReadFrom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0[..] {
            [] => f.write_str("the defaults"),
            sources => f.write_str(&sources.join(", ")),
        }
    }
}
