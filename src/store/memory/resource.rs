//! One resource, and the verbs on its holders and waiters.

use std::{num::NonZeroU32, time::Duration};

use crate::{
    core::{Fence, Moment, Owner, Token},
    store::{
        Acquired, Acquisition, CALLED_AT_MOST, Grant, HandedOff, Hold, HolderNotice, HoldersNotified,
        Inspection, NEXT_AT_MOST, NOTIFIED_AT_MOST, Notification, QueueTicket, Refusal, Released, Renewal,
        Renewed, STEPS_AT_MOST, StoreError, TOLD_AT_MOST, ToHolders,
        memory::{
            holders::{Compatibility, Holders},
            queue::WaitQueue,
            record::{HoldRecord, positive_millis, whole_millis},
            turn::VerbTurn,
        },
    },
};

/// The steps of [`STEPS_AT_MOST`] that a hand-over takes; to pass over a dead waiter takes one.
const STEPS_OF_HAND_OVER: u32 = 5;

/// A resource that is not free, or that has waiters.
#[derive(Debug, Default)]
pub(super) struct Resource {
    holders: Holders,
    queue: WaitQueue,
    /// The number of permits that was set.
    capacity: Option<NonZeroU32>,
}

impl Resource {
    pub(super) fn acquire(
        &mut self,
        asked: &Acquisition,
        turn: &mut VerbTurn<'_>,
    ) -> Result<Acquired, StoreError> {
        let (token, owner, now) = (asked.hold.token, asked.hold.owner.as_ref(), turn.now);
        self.check(turn);
        if self.holders.get(token).is_none() {
            self.queue.come_back(token);
        }
        self.hand_over(Some(token), turn);
        if self.holders.extend(token, asked.ttl, now) {
            if turn.least_fence.is_some() && asked.is_simple() && self.queue.is_offered(token) {
                // Nobody has been told its fence yet.
                self.holders.raise_fence(token, turn.new_fence());
            }
            self.queue.remove(token);
        }
        if let Some(record) = self.holders.get(token) {
            if planted!("a retry that counts twice") && record.holds() {
                return Ok(self.grant(asked, record.fence, now));
            }
            // A late repeat of an acquisition whose hold is over does not bring it back.
            return Ok(match record.holds() {
                true => self.granted(record.fence, record.slot, owner),
                false => Acquired::Refused(refusal(record, now)),
            });
        }
        let fence = match self.holders.check(asked, self.capacity) {
            Ok(Compatibility::ReEntry(fence)) => fence,
            Ok(Compatibility::BesideItsOwn) => turn.new_fence(),
            Ok(Compatibility::Fits(_)) if self.queue.is_empty() || planted!("a newcomer overtakes") => {
                turn.new_fence()
            }
            // The waiters are taken for dead, or there are more dead ones ahead than one verb checks.
            Ok(Compatibility::Fits(None)) => turn.new_fence(),
            Ok(Compatibility::Fits(Some(busy)) | Compatibility::InTheWay(busy)) => {
                let refusal = refusal(busy, now);
                return Ok(self.keep_out(asked, refusal, turn));
            }
            Err(error) => {
                self.remove_ticket(token, turn);
                return Err(error);
            }
        };
        Ok(self.grant(asked, fence, now))
    }

    pub(super) fn renew(&mut self, renewal: &Renewal<'_>, now: Moment) -> Renewed {
        let token = renewal.hold.token;
        let held = self.holders.extend(token, renewal.ttl, now) || planted!("a renewal of any token");
        if let (true, Some(metadata)) = (held, &renewal.metadata) {
            self.holders.describe(token, metadata);
        }
        if held { Renewed::Extended } else { Renewed::NotHeld }
    }

    pub(super) fn release(&mut self, hold: &Hold, cooldown: Duration, turn: &mut VerbTurn<'_>) -> Released {
        let released = self.release_without_hand_over(hold, cooldown, turn);
        if !planted!("a release hands nothing over") {
            self.hand_over(None, turn);
        }
        released
    }

    /// Releases what a waiter was granted, and queues it again.
    pub(super) fn give_way(&mut self, asked: &Acquisition, turn: &mut VerbTurn<'_>) {
        let _released = self.release_without_hand_over(&asked.hold, Duration::ZERO, turn);
        if let Some(ticket) = asked.ticket {
            // It had its place before others filled the queue.
            let ticket = QueueTicket { max_waiters: u32::MAX, ..ticket };
            let _queued = self.queue.enqueue(asked, ticket, turn.now);
        }
        self.hand_over(None, turn);
    }

    pub(super) fn hand_off(
        &mut self,
        from: &Hold,
        to: &Acquisition,
        overtake: bool,
        turn: &mut VerbTurn<'_>,
    ) -> HandedOff {
        let released = self.release_without_hand_over(from, Duration::ZERO, turn);
        // A token that held nothing has nothing to hand off ahead of the waiters.
        let acquired = if overtake && released == Released::Freed && self.is_free() {
            let fence = turn.new_fence();
            Ok(self.grant(to, fence, turn.now))
        } else {
            self.acquire(to, turn)
        };
        let others_wait = self.queue.in_order_of_arrival().any(|waiter| waiter.token() != to.hold.token);
        HandedOff { released, acquired, others_wait }
    }

    pub(super) fn force_release(&mut self, turn: &mut VerbTurn<'_>) -> u64 {
        self.check(turn);
        let all = self.holders.in_order_of_end().filter(|record| record.holds()).take(NOTIFIED_AT_MOST);
        let told: Vec<Token> = all.map(|record| record.token).collect();
        turn.notify_holders(&told, HolderNotice::Taken);
        let taken_away = std::mem::take(&mut self.holders).total();
        self.hand_over(None, turn);
        taken_away
    }

    pub(super) fn notify_holders(&self, to: &ToHolders, turn: &VerbTurn<'_>) -> HoldersNotified {
        let mut holding = self.holders.in_order_of_end().filter(|record| record.holds());
        let notified = match &to.among {
            Some(among) => {
                let mut holders = among.clone();
                holders.retain(|token| self.holders.holds(*token));
                HoldersNotified { holders, complete: true }
            }
            None => {
                let first = holding.by_ref().take(NOTIFIED_AT_MOST);
                let holders = first.map(|record| record.token).collect();
                HoldersNotified { holders, complete: holding.next().is_none() }
            }
        };
        if let Some(notice) = &to.notice {
            turn.notify_holders(&notified.holders, notice.clone());
        }
        notified
    }

    pub(super) fn is_held(&self, hold: &Hold) -> bool {
        self.holders.holds(hold.token)
    }

    pub(super) fn raise_fence(&mut self, hold: &Hold, fence: Fence, turn: &mut VerbTurn<'_>) -> bool {
        let held = self.holders.raise_fence(hold.token, fence);
        if held {
            *turn.last_fence = (*turn.last_fence).max(fence.get());
        }
        held
    }

    pub(super) fn inspect(&self, limit: usize, now: Moment) -> Inspection {
        let most = limit.min(TOLD_AT_MOST);
        let holders = self.holders.in_order_of_end().take(most);
        let waiters = self.queue.in_order_of_arrival().take(most);
        Inspection {
            holders: holders.map(|record| record.inspect(now)).collect(),
            total: self.holders.total(),
            waiting: self.queue.len(),
            waiters: waiters.map(|waiter| waiter.describe(now)).collect(),
            capacity: self.capacity,
        }
    }

    pub(super) fn set_capacity(&mut self, permits: Option<NonZeroU32>, turn: &VerbTurn<'_>) {
        self.capacity = permits;
        self.tell_the_first(None, turn);
    }

    /// Returns true if nobody holds it or keeps it closed. It may have waiters to which no verb has handed it over yet.
    pub(super) fn is_free(&self) -> bool {
        self.holders.is_empty()
    }

    pub(super) fn is_waited_for(&self) -> bool {
        !self.queue.is_empty()
    }

    pub(super) fn is_removable(&self) -> bool {
        self.holders.is_empty() && self.queue.is_removable() && self.capacity.is_none()
    }

    /// Brings holders and waiters up to `now`. This comes before whatever else is asked of a resource.
    pub(super) fn settle(&mut self, now: Moment) {
        self.holders.settle(now);
        self.queue.settle(now);
    }

    /// Finds hand-overs that were not taken up in time, for a verb that serves waiters.
    fn check(&mut self, turn: &mut VerbTurn<'_>) {
        turn.found_unclaimed |= self.queue.finds_unclaimed(turn.now);
    }

    /// Releases a hold or a queue ticket. What that makes free is not handed over yet.
    fn release_without_hand_over(
        &mut self,
        hold: &Hold,
        cooldown: Duration,
        turn: &mut VerbTurn<'_>,
    ) -> Released {
        self.check(turn);
        let now = turn.now;
        let held = self.holders.holds(hold.token);
        // Whoever brings the token of a hold may not know its owner.
        let mut owner = hold.owner.clone();
        if held {
            owner = self.holders.get(hold.token).and_then(|record| record.owner.clone());
            self.holders.close(hold.token, now + whole_millis(cooldown));
            self.settle(now);
        }
        if planted!("a release of any token") {
            self.holders = Holders::default();
        }
        self.queue.remove(hold.token);
        // Counted before the hand-over, which may be to the same owner: the count is of what this release leaves.
        Released::of(held, self.holders.holds_of(owner.as_ref()))
    }

    fn grant(&mut self, asked: &Acquisition, fence: Fence, now: Moment) -> Acquired {
        self.queue.remove(asked.hold.token);
        let slot = self.holders.admit(HoldRecord::new(asked, fence, now));
        self.granted(fence, slot, asked.hold.owner.as_ref())
    }

    fn granted(&self, fence: Fence, slot: Option<u32>, owner: Option<&Owner>) -> Acquired {
        // Without an owner nothing is counted, but this hold itself is one.
        let holds = self.holders.holds_of(owner).max(1);
        Acquired::Granted(Grant { fence: Some(fence), holds, slot })
    }

    /// Hands over to the heads of the queue what they wait for, as long as it fits, and sets aside those that are taken
    /// for dead. The waiter that asks gets no notification: it gets its answer.
    fn hand_over(&mut self, asking: Option<Token>, turn: &mut VerbTurn<'_>) {
        let calls = std::mem::take(&mut turn.found_unclaimed);
        if calls {
            self.queue.call_the_roll(turn.now);
        }
        let (mut to_others, mut left_over) = (false, false);
        while let Some(head) = self.queue.head() {
            let re_entered = match self.holders.check(&head.asked, self.capacity) {
                Ok(Compatibility::ReEntry(fence)) => Some(fence),
                Ok(Compatibility::Fits(_) | Compatibility::BesideItsOwn) => None,
                // The head gets its error when it asks itself.
                Ok(Compatibility::InTheWay(_)) | Err(_) => break,
            };
            if turn.steps >= STEPS_AT_MOST {
                left_over = true;
                break;
            }
            let token = head.token();
            let asks = asking == Some(token);
            // It is likely to take the hand-over up if its inbox has a subscriber, or if it asks without one.
            let is_reached =
                || turn.inboxes.notify(head.ticket.inbox, &Notification::HandedOver(token)) || head.came_back;
            if !asks
                && (self.queue.head_is_taken_for_dead() || !is_reached())
                && !planted!("the dead are handed over one after the other")
            {
                self.queue.set_head_aside(None);
                turn.steps += 1;
                continue;
            }
            turn.steps += STEPS_OF_HAND_OVER;
            let fence = re_entered.unwrap_or_else(|| turn.new_fence());
            let fence = if planted!("a hand-over without a new fence") { Fence::new(1) } else { fence };
            let offered = (turn.now, turn.now + positive_millis(head.ticket.grant_window));
            self.holders.admit(HoldRecord::handed_over(&head.asked, fence, offered.1));
            if asks {
                self.queue.remove(token);
            } else {
                self.queue.set_head_aside(Some(offered));
                to_others = true;
            }
        }
        if calls {
            // A hand-over was not taken up: the first waiters show, all at once, that they are alive.
            self.tell_the_first(asking, turn);
            self.queue.called(CALLED_AT_MOST);
        } else if left_over {
            self.tell_who_is_next(asking, Notification::GoOn, turn);
        } else if to_others {
            self.tell_who_is_next(asking, Notification::Next, turn);
        }
    }

    /// Has the first waiters attempt again, all at once.
    fn tell_the_first(&self, asking: Option<Token>, turn: &VerbTurn<'_>) {
        for waiter in self.queue.in_order_of_arrival().take(CALLED_AT_MOST) {
            if asking != Some(waiter.token()) {
                turn.inboxes.notify(waiter.ticket.inbox, &Notification::GoOn(waiter.token()));
            }
        }
    }

    /// Notifies the first waiter whose inbox has a subscriber, and the last waiter if its inbox is another one. One of
    /// them finds out if those who were handed the resource are dead.
    fn tell_who_is_next(&self, asking: Option<Token>, tell: fn(Token) -> Notification, turn: &VerbTurn<'_>) {
        let others = self.queue.in_order_of_arrival().filter(|waiter| asking != Some(waiter.token()));
        let mut others = others.take(NEXT_AT_MOST);
        let told = others.find(|waiter| turn.inboxes.notify(waiter.ticket.inbox, &tell(waiter.token())));
        let told = told.map(|waiter| waiter.ticket.inbox);
        let last = self.queue.in_order_of_arrival().next_back().filter(|last| asking != Some(last.token()));
        if let Some(last) = last.filter(|last| told != Some(last.ticket.inbox)) {
            turn.inboxes.notify(last.ticket.inbox, &tell(last.token()));
        }
    }

    /// Gives up a queue ticket, in favour of the waiters behind it.
    fn remove_ticket(&mut self, token: Token, turn: &mut VerbTurn<'_>) {
        if self.queue.remove(token) {
            self.hand_over(None, turn);
        }
    }

    fn keep_out(&mut self, asked: &Acquisition, refusal: Refusal, turn: &mut VerbTurn<'_>) -> Acquired {
        let Some(ticket) = asked.ticket else {
            self.remove_ticket(asked.hold.token, turn);
            return Acquired::Refused(refusal);
        };
        match self.queue.enqueue(asked, ticket, turn.now) {
            Ok(ahead) => Acquired::Queued { refusal, ahead },
            Err(waiters) => Acquired::Full { waiters },
        }
    }
}

fn refusal(by: &HoldRecord, now: Moment) -> Refusal {
    Refusal { by: by.describe(now), remaining: by.opening.remaining(now) }
}
