//! The server: one resource, its queue, and the counter of fences.

use std::collections::VecDeque;

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

/// A hold. What was taken by a transaction has no fence in the store.
#[derive(Clone, Debug, Hash, PartialEq, Eq)]
pub(crate) struct Hold {
    pub(crate) client: usize,
    pub(crate) token: u8,
    fence: Option<u64>,
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
            self.holder = Some(Hold { client, token, fence, is_marked: true });
        }
    }

    pub(crate) fn release(&mut self, token: u8) {
        if self.holder.take_if(|hold| hold.token == token && !hold.is_marked).is_some() {
            // Those that were there before find it free when they ask.
            self.ended = true;
            return;
        }
        self.queue.retain(|(_, waiting)| *waiting != token);
        self.holder.take_if(|hold| hold.token == token);
        self.hand_over();
    }

    /// Returns true if a client waits first of all, or has been told, or handed, the resource already.
    pub(crate) fn has_place(&self, client: usize, token: u8) -> bool {
        let has = self
            .holder
            .as_ref()
            .filter(|hold| hold.fence.is_some() || hold.is_marked || self.queue.is_empty());
        has.is_some_and(|hold| hold.token == token) || self.queue.front() == Some(&(client, token))
    }

    /// Executes a script that acquires. Returns the fence of a grant.
    pub(crate) fn script(&mut self, client: usize, token: u8, looks_at_the_queue: bool) -> Option<u64> {
        if looks_at_the_queue && !self.queue.is_empty() {
            // A transaction took it ahead of those that wait, and nobody was told.
            self.holder.take_if(|hold| hold.fence.is_none() && !hold.is_marked);
        }
        self.hand_over();
        let told = match &self.holder {
            Some(hold) if hold.token != token => {
                if !self.queue.contains(&(client, token)) {
                    self.queue.push_back((client, token));
                }
                self.holder.iter_mut().for_each(|hold| hold.is_marked = true);
                return None;
            }
            Some(hold) => hold.fence,
            None => None,
        };
        self.queue.retain(|(_, waiting)| *waiting != token);
        let fence = told.unwrap_or_else(|| self.fence());
        let is_marked = self.holder.as_ref().is_some_and(|hold| hold.is_marked);
        self.holder = Some(Hold { client, token, fence: Some(fence), is_marked });
        Some(fence)
    }

    /// Executes a transaction. Returns whether somebody waits, the counter, and whether the resource was free.
    pub(crate) fn transaction(&mut self, client: usize, token: u8) -> (bool, u64, bool) {
        let counter = self.counter.unwrap_or(0) + 1;
        self.counter = Some(counter);
        self.clock = self.clock.max(counter);
        let is_free = self.holder.is_none();
        self.holder.get_or_insert(Hold { client, token, fence: None, is_marked: false });
        (!self.queue.is_empty(), counter, is_free)
    }
}
