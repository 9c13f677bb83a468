//! Who waits for one resource, in the order of arrival, as the history of its verbs says.

use std::time::Duration;

use leasehold::{Fence, HolderState, Inspection};

use super::history::Wanted;

/// The waiters of one resource.
#[derive(Default)]
pub(crate) struct Queue(Vec<Waiting>);

/// One that waits.
pub(crate) struct Waiting {
    pub(crate) asked: Wanted,
    /// When its place is gone, if it does not ask again.
    gone: Duration,
    /// When it asked last.
    asked_at: Duration,
    /// Whether it was handed over what it waits for, or taken for dead: then nobody waits behind it, and it stands there
    /// again when it asks.
    aside: bool,
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
    fn standing(&self) -> impl Iterator<Item = &Waiting> {
        self.0.iter().filter(|waiting| !waiting.aside)
    }

    pub(crate) fn len(&self) -> usize {
        self.standing().count()
    }

    pub(crate) fn head(&self) -> Option<&Waiting> {
        self.standing().next()
    }

    /// How many stand ahead of this request, if it stands.
    pub(crate) fn ahead_of(&self, request: u64) -> Option<usize> {
        self.standing().position(|waiting| waiting.asked.request == request)
    }

    /// Puts it at the end, or keeps its ticket. Answers how many are ahead of it.
    pub(crate) fn stand(&mut self, asked: &Wanted, now: Duration) -> usize {
        let gone = now + asked.ticket_ttl.unwrap_or_default();
        self.come_back(asked.request);
        if let Some(ahead) = self.ahead_of(asked.request) {
            for waiting in self.0.iter_mut().filter(|waiting| waiting.asked.request == asked.request) {
                (waiting.gone, waiting.asked_at) = (gone, now);
            }
            return ahead;
        }
        self.0.push(Waiting { asked: asked.clone(), gone, asked_at: now, aside: false });
        self.len() - 1
    }

    /// Who asks stands where it stood.
    pub(crate) fn come_back(&mut self, request: u64) {
        let its = self.0.iter_mut().filter(|waiting| waiting.asked.request == request);
        its.for_each(|waiting| waiting.aside = false);
    }

    /// Sets the first so many aside: they are taken for dead. Answers one that had asked a moment ago, if there is one.
    pub(crate) fn pass_over(&mut self, so_many: usize, now: Duration) -> Option<u64> {
        let mut alive = None;
        for waiting in self.0.iter_mut().filter(|waiting| !waiting.aside).take(so_many) {
            waiting.aside = true;
            if now < waiting.asked_at + waiting.asked.window {
                alive = Some(waiting.asked.request);
            }
        }
        alive
    }

    /// Sets one aside, which is handed what it waits for.
    pub(crate) fn hand_over(&mut self, request: u64) -> Option<Wanted> {
        let its = self.0.iter_mut().find(|waiting| waiting.asked.request == request)?;
        its.aside = true;
        Some(its.asked.clone())
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
