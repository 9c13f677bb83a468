//! The revokes of this view: the one that is being asked for, those that run, and what came of the last one.

use std::time::Duration;

use leasehold::ResourceName;

/// The grace that stands in the line at first.
const USUAL_GRACE: &str = "10s";

/// A revoke that somebody is about to ask for.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    pub(crate) resource: ResourceName,
    /// The grace as typed.
    pub(crate) grace: String,
    /// The grace as read, once it was accepted.
    pub(crate) accepted: Option<Duration>,
    /// The reason why the grace was not accepted.
    pub(crate) wrong: Option<String>,
}

impl Draft {
    pub(crate) fn new(resource: ResourceName) -> Self {
        Self { resource, grace: USUAL_GRACE.to_owned(), accepted: None, wrong: None }
    }

    /// Reads the grace. Returns false, and keeps the reason, if it is no duration of at most a day: what follows is a wait.
    pub(crate) fn accept(&mut self) -> bool {
        const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);
        let read = humantime::parse_duration(self.grace.trim());
        self.accepted = read.ok().filter(|grace| *grace <= LONGEST);
        self.wrong = match self.accepted {
            Some(_) => None,
            None => Some(format!("not a grace: {:?} (allowed: 0s to 1d, as 500ms, 10s, 2m)", self.grace)),
        };
        self.accepted.is_some()
    }
}

/// The revokes of this view.
#[derive(Debug, Default)]
pub(crate) struct Revoking {
    pub(crate) draft: Option<Draft>,
    running: Vec<(ResourceName, Duration)>,
}

impl Revoking {
    /// Notes a revoke that begins, and whose grace ends at this moment.
    pub(crate) fn begin(&mut self, resource: ResourceName, ends: Duration) {
        self.running.push((resource, ends));
    }

    /// Notes the end of a revoke.
    pub(crate) fn end(&mut self, resource: &ResourceName) {
        if let Some(place) = self.running.iter().position(|(running, _)| running == resource) {
            self.running.remove(place);
        }
    }

    /// Returns those that run, each with the time until its grace is over.
    pub(crate) fn running(&self, now: Duration) -> impl Iterator<Item = (&ResourceName, Duration)> {
        self.running.iter().map(move |(resource, ends)| (resource, ends.saturating_sub(now)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grace_has_a_unit_and_a_bound() {
        let mut draft = Draft::new(ResourceName::new("r").unwrap());
        for (typed, read) in [
            ("10s", Some(Duration::from_secs(10))),
            (" 500ms ", Some(Duration::from_millis(500))),
            ("0s", Some(Duration::ZERO)),
            ("1day", Some(Duration::from_secs(86_400))),
            ("", None),
            ("10", None),
            ("-1s", None),
            ("25h", None),
        ] {
            typed.clone_into(&mut draft.grace);
            assert_eq!((draft.accept(), draft.accepted), (read.is_some(), read), "{typed:?}");
            assert_eq!(draft.wrong.is_none(), read.is_some());
        }
    }
}
