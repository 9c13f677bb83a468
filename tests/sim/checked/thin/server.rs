//! The server: one resource, its queue, and the counter of fences.

use std::collections::VecDeque;

use super::ThinRules;

#[derive(Clone, Debug, Default, Hash, PartialEq, Eq)]
pub(crate) struct Server {
    pub(crate) holder: Option<Hold>,
    /// The client and the token of each waiter.
    pub(crate) queue: VecDeque<(usize, u8)>,
    pub(crate) counter: Option<u64>,
    /// The largest number that the counter ever had: the time is ahead of it.
    pub(crate) clock: u64,
    /// True if a hold has ended by itself since something was last handed over, or was released to those that ask again.
    pub(crate) ended: bool,
}

/// A hold. What was taken by plain commands has no fence in the store.
#[derive(Clone, Debug, Hash, PartialEq, Eq)]
pub(crate) struct Hold {
    pub(crate) client: usize,
    pub(crate) token: u8,
    fence: Option<u64>,
    /// Those that waited when it was taken.
    waited_before: Vec<(usize, u8)>,
    /// True if there were any.
    took_beside_waiters: bool,
    /// True once somebody waits behind it: its release looks at the queue.
    is_marked: bool,
}

impl Hold {
    const fn new(client: usize, token: u8) -> Self {
        let waited_before = Vec::new();
        Self { client, token, fence: None, waited_before, took_beside_waiters: false, is_marked: false }
    }
}

impl Server {
    /// Returns the fence that a script gives out.
    fn fence(&mut self) -> u64 {
        let fence = self.clock.max(self.counter.unwrap_or(0)) + 1;
        self.counter = Some(fence);
        self.clock = fence;
        fence
    }

    /// Hands a free resource over to the first waiter.
    fn hand_over(&mut self) {
        self.ended = false;
        if self.holder.is_none()
            && let Some((client, token)) = self.queue.pop_front()
        {
            let fence = Some(self.fence());
            self.holder = Some(Hold { fence, is_marked: true, ..Hold::new(client, token) });
        }
    }

    pub(crate) fn release(&mut self, token: u8) {
        if let Some(hold) = self.holder.take_if(|hold| hold.token == token && !hold.is_marked) {
            // Those that were there before find it free when they ask.
            self.ended = hold.took_beside_waiters;
            return;
        }
        if let Some(at) = self.queue.iter().position(|(_, waiting)| *waiting == token) {
            self.remove_waiter(at);
        }
        self.holder.take_if(|hold| hold.token == token);
        self.hand_over();
    }

    /// Removes a waiter. If it comes again it stands behind the others.
    pub(crate) fn remove_waiter(&mut self, at: usize) {
        let removed = self.queue.remove(at);
        if let Some(hold) = &mut self.holder {
            hold.waited_before.retain(|waiter| Some(*waiter) != removed);
        }
    }

    /// Returns true if this token has the resource though somebody waits who came before it took that.
    pub(crate) fn has_overtaken(&self, token: u8) -> bool {
        let held = self.holder.as_ref().filter(|hold| hold.token == token);
        held.is_some_and(|hold| hold.waited_before.iter().any(|waiter| self.queue.contains(waiter)))
    }

    /// Executes a script that acquires. Returns the fence of a grant.
    pub(crate) fn script(&mut self, client: usize, token: u8, rules: ThinRules) -> Option<u64> {
        let is_ahead = |hold: &Hold| hold.fence.is_none() && !hold.is_marked;
        let tickets_are_kept = !self.queue.is_empty();
        if rules.scripts_look_at_the_queue && tickets_are_kept {
            // Plain commands took it ahead of those that wait, and nobody was told.
            self.holder.take_if(|hold| hold.token == token && is_ahead(hold));
        }
        self.hand_over();
        let told = match &self.holder {
            Some(hold) if hold.token != token => {
                if !self.queue.contains(&(client, token)) {
                    self.queue.push_back((client, token));
                }
                let stays_unmarked = rules.marks_what_is_told && tickets_are_kept;
                let marks =
                    |hold: &&mut Hold| rules.marks_when_somebody_waits && !(stays_unmarked && is_ahead(hold));
                self.holder.iter_mut().filter(marks).for_each(|hold| hold.is_marked = true);
                return None;
            }
            Some(hold) => hold.fence,
            None => None,
        };
        self.queue.retain(|(_, waiting)| *waiting != token);
        let fence = told.unwrap_or_else(|| self.fence());
        self.holder.get_or_insert_with(|| Hold::new(client, token)).fence = Some(fence);
        Some(fence)
    }

    /// The plain command that adds to the counter.
    pub(crate) fn add(&mut self) -> u64 {
        let counter = self.counter.unwrap_or(0) + 1;
        self.counter = Some(counter);
        self.clock = self.clock.max(counter);
        counter
    }

    /// The plain command that takes the resource if it is free.
    pub(crate) fn set(&mut self, client: usize, token: u8) -> bool {
        let is_free = self.holder.is_none();
        self.holder.get_or_insert_with(|| Hold {
            waited_before: self.queue.iter().copied().collect(),
            took_beside_waiters: !self.queue.is_empty(),
            ..Hold::new(client, token)
        });
        is_free
    }

    /// Ends a hold in the name of somebody else.
    pub(crate) fn force(&mut self) {
        self.holder = None;
        self.hand_over();
    }
}
