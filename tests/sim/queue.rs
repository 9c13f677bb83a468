//! Who waits for one resource, in the order of arrival, as the history of its verbs says.

use std::time::Duration;

use leasehold::{
    Fence,
    store::{HolderState, Inspection},
};

use super::history::Wanted;

/// The waiters of one resource.
#[derive(Default)]
pub(crate) struct Queue(Vec<Waiting>);

/// One that waits.
pub(crate) struct Waiting {
    pub(crate) asked: Wanted,
    /// When its place is gone, if it does not ask again.
    gone: Duration,
}

/// A resource as the store shows it just after a verb.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) holders: Vec<SeenHolder>,
    pub(crate) waiting: u64,
}

/// Somebody who holds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SeenHolder {
    pub(crate) request: u64,
    pub(crate) fence: Fence,
    pub(crate) remaining: Duration,
}

impl Queue {
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn head(&self) -> Option<&Waiting> {
        self.0.first()
    }

    /// How many wait ahead of this request.
    pub(crate) fn ahead_of(&self, request: u64) -> Option<usize> {
        self.0.iter().position(|waiting| waiting.asked.request == request)
    }

    /// Puts it at the end, or keeps its place. Answers how many are ahead of it.
    pub(crate) fn stand(&mut self, asked: &Wanted, now: Duration) -> usize {
        let gone = now + asked.patience.unwrap_or_default();
        if let Some(ahead) = self.ahead_of(asked.request) {
            self.0[ahead].gone = gone;
            return ahead;
        }
        self.0.push(Waiting { asked: asked.clone(), gone });
        self.0.len() - 1
    }

    pub(crate) fn take(&mut self, place: usize) -> Wanted {
        self.0.remove(place).asked
    }

    /// Takes those out that this is true of.
    pub(crate) fn forget(&mut self, gone: impl Fn(&Wanted) -> bool) {
        self.0.retain(|waiting| !gone(&waiting.asked));
    }

    pub(crate) fn settle(&mut self, now: Duration) {
        self.0.retain(|waiting| waiting.gone > now);
    }
}

impl From<Inspection> for Seen {
    fn from(inspection: Inspection) -> Self {
        let holding = inspection.holders.into_iter().filter(|holder| holder.state == HolderState::Holding);
        let holders = holding.filter_map(|holder| {
            let request = holder.metadata.get("request")?.parse().ok()?;
            Some(SeenHolder { request, fence: holder.fence?, remaining: holder.remaining })
        });
        Self { holders: holders.collect(), waiting: inspection.waiting }
    }
}
