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
    /// True if a hold has ended by itself since something was last handed over.
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
    /// True once somebody waits behind it: its release looks at the queue.
    is_marked: bool,
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
            self.holder = Some(Hold { client, token, fence, waited_before: Vec::new(), is_marked: true });
        }
    }

    pub(crate) fn release(&mut self, token: u8) {
        if self.holder.take_if(|hold| hold.token == token && !hold.is_marked).is_some() {
            // Those that were there before find it free when they ask.
            self.ended = true;
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
                let marks = |hold: &&mut Hold| !(stays_unmarked && is_ahead(hold));
                self.holder.iter_mut().filter(marks).for_each(|hold| hold.is_marked = true);
                return None;
            }
            Some(hold) => hold.fence,
            None => None,
        };
        self.queue.retain(|(_, waiting)| *waiting != token);
        let fence = told.unwrap_or_else(|| self.fence());
        let new = || Hold { client, token, fence: None, waited_before: Vec::new(), is_marked: false };
        self.holder.get_or_insert_with(new).fence = Some(fence);
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
        let waited_before = self.queue.iter().copied().collect();
        self.holder.get_or_insert(Hold { client, token, fence: None, waited_before, is_marked: false });
        is_free
    }

    /// Ends a hold in the name of somebody else.
    pub(crate) fn force(&mut self) {
        self.holder = None;
        self.hand_over();
    }
}
