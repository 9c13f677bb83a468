//! The recipients of events: an election whose recipients have all died does not lead, and one that nobody needs ends.

use actix::Recipient;

use super::ElectionEvent;

#[derive(Clone, Default)]
pub(super) struct Audience(pub(super) Vec<Recipient<ElectionEvent>>);

impl Audience {
    /// Returns true if one of them lives.
    pub(super) fn is_there(&self) -> bool {
        self.0.iter().any(Recipient::connected)
    }

    /// Returns true if there were some, and all of them have died.
    pub(super) fn has_died(&self) -> bool {
        !self.0.is_empty() && !self.is_there()
    }

    /// Tells all of them, and waits for no answer.
    pub(super) fn tell(&self, event: &ElectionEvent) {
        self.0.iter().for_each(|to| to.do_send(event.clone()));
    }
}
