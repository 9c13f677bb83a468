//! A trouble with the store that may last, of which the log is warned once.

use crate::{
    core::{ResourceName, one_line},
    store::StoreError,
};

/// A trouble with the store: the kind of its last error, until it is over.
pub(super) struct StoreTrouble(Option<&'static str>);

impl StoreTrouble {
    pub(super) const NONE: Self = Self(None);

    /// Logs an error, as a warning if it is of another kind than the last one.
    pub(super) fn tell(&mut self, schedule: &ResourceName, what: &str, error: &StoreError) {
        let error_line = one_line(error);
        if self.is_news(error.kind()) {
            tracing::warn!(%schedule, error = error_line, "{what}");
        } else {
            tracing::debug!(%schedule, error = error_line, "{what}");
        }
    }

    pub(super) fn over(&mut self) {
        self.0 = None;
    }

    fn is_news(&mut self, kind: &'static str) -> bool {
        self.0.replace(kind) != Some(kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lasts_is_news_once_and_again_when_it_was_over() {
        let mut trouble = StoreTrouble::NONE;
        let news = ["denied", "denied", "corrupt", "denied", "denied"].map(|kind| trouble.is_news(kind));
        assert_eq!(news, [true, false, true, true, false]);
        trouble.over();
        assert!(trouble.is_news("denied"));
    }
}
