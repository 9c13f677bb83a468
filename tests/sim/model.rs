//! What the store must do, told a second time and independently: every verb that it executed is judged here.

use std::{collections::HashMap, time::Duration};

use leasehold::{
    Fence, Mode, Owner, StoreError, Token,
    store::{Acquired, Grant, HandedOff, Released, Renewed},
};
use leasehold_testing::history::conflicting;

use super::{
    history::Wanted,
    queue::{Queue, Seen, SeenHolder},
};

/// One resource as the history of its verbs says.
#[derive(Default)]
pub(crate) struct Model {
    /// Those that hold, or keep the resource closed.
    holds: Vec<Hold>,
    queue: Queue,
    /// The end of every token that ever held: the past ones as they were, the others if nothing happens.
    pub(crate) ends: HashMap<Token, Duration>,
    /// The beginning of its last hold: a place that is kept for others may be handed the resource more than once.
    pub(crate) begun: HashMap<Token, Duration>,
    /// Which grant it was, counted in their order, that gave a token this fence; a re-entry counts as its first hold.
    /// Not by the token alone: a repeat that is executed after the end of the hold is another grant to the same token.
    pub(crate) order: HashMap<(Token, Fence), u64>,
    grants: u64,
    last_fence: Option<Fence>,
    /// How often in a row it was passed on though others waited.
    overtaken: u32,
}

#[derive(Clone)]
struct Hold {
    request: u64,
    token: Token,
    owner: Option<Owner>,
    mode: Mode,
    fence: Fence,
    /// See [`Model::order`].
    order: u64,
    end: Duration,
    /// Until when it keeps the resource closed.
    opening: Duration,
    lock_delay: Duration,
}

/// A broken property, and what broke it.
pub(crate) type Verdict = Result<(), (&'static str, String)>;

fn broken(property: &'static str, details: impl Into<String>) -> Verdict {
    Err((property, details.into()))
}

impl Model {
    /// Whether the token holds.
    pub(crate) fn is_live(&self, token: Token, now: Duration) -> bool {
        self.holds.iter().any(|hold| hold.token == token && hold.end > now)
    }

    pub(crate) fn acquired(
        &mut self,
        asked: &Wanted,
        answer: &Result<Acquired, StoreError>,
        seen: &Seen,
        now: Duration,
    ) -> Verdict {
        self.settle(now);
        if !self.is_live(asked.token, now) {
            self.queue.come_back(asked.request);
        }
        let granted = answer.as_ref().ok().and_then(granted);
        let own = granted.map(|grant| self.rank(asked.request, grant.fence));
        let others = self.handed_over(seen, now).into_iter().filter(|other| other.request != asked.request);
        // In the order in which the store granted: what was free went to those ahead first.
        let (before, after): (Vec<_>, Vec<_>) =
            others.partition(|other| own.is_none_or(|own| self.rank(other.request, Some(other.fence)) < own));
        let before = self.admit_each(&before, now);
        let answered = self.answered(asked, answer, now);
        let after = self.admit_each(&after, now);
        let counted = granted.map_or(Ok(()), |grant| self.counted(asked, grant, now));
        before.and(answered).and(after).and(counted).and(self.nobody_is_forgotten(seen, now))
    }

    /// What the one who asked was told.
    fn answered(&mut self, asked: &Wanted, answer: &Result<Acquired, StoreError>, now: Duration) -> Verdict {
        let live = self.holds.iter().find(|hold| hold.token == asked.token && hold.end > now).cloned();
        let grant = match (answer, &live) {
            (Ok(Acquired::Granted(grant)), _) => grant,
            (_, Some(_)) => return broken("P5", "a token that holds was not granted again"),
            (Ok(Acquired::Refused(_) | Acquired::Queued { .. }), None) if self.holds.is_empty() => {
                return broken("P16", "refused, though nobody is in the way");
            }
            (Ok(Acquired::Queued { ahead, .. }), None) => return self.stands(asked, *ahead, now),
            (_, None) => {
                self.queue.forget(|waiting| waiting.token == asked.token);
                return Ok(());
            }
        };
        let Some(fence) = grant.fence else {
            return broken("P2", "a grant without a fence");
        };
        if live.is_some() {
            // What it was handed over is taken up.
            self.queue.forget(|waiting| waiting.token == asked.token);
        }
        let (order, verdict) = match &live {
            Some(hold) if hold.fence == fence => (hold.order, Ok(())),
            Some(hold) => {
                let details = format!("granted again with {fence:?} and not {:?}", hold.fence);
                (hold.order, broken("P2", details))
            }
            None => {
                let in_turn = self.in_turn(asked, now);
                let (order, verdict) = self.admitted(asked, fence, now);
                (order, in_turn.and(verdict))
            }
        };
        self.enter(asked, (fence, order), (now, now + asked.ttl), asked.lock_delay);
        verdict
    }

    /// With those that were handed over to the same owner in the same verb.
    fn counted(&self, asked: &Wanted, grant: &Grant, now: Duration) -> Verdict {
        match asked.owner.as_ref().map_or(1, |owner| self.count(owner, now)) {
            count if count == grant.holds => Ok(()),
            count => broken("P5", format!("{} holds were told, but there are {count}", grant.holds)),
        }
    }

    fn enter(
        &mut self,
        asked: &Wanted,
        (fence, order): (Fence, u64),
        (now, end): (Duration, Duration),
        lock_delay: Duration,
    ) {
        let (request, token, owner, mode) = (asked.request, asked.token, asked.owner.clone(), asked.mode);
        self.order.insert((token, fence), order);
        if !self.is_live(token, now) {
            self.begun.insert(token, now);
        }
        self.holds.retain(|hold| hold.token != token);
        let opening = end + lock_delay;
        self.holds.push(Hold { request, token, owner, mode, fence, order, end, opening, lock_delay });
        self.ends.insert(token, end);
    }

    /// The hold that this one would re-enter.
    fn entered(&self, asked: &Wanted, now: Duration) -> Option<&Hold> {
        let mut own = self.holds.iter().filter(|hold| hold.end > now && hold.owner == asked.owner);
        own.next().filter(|hold| {
            asked.owner.is_some()
                && asked.reentrant
                && (hold.mode, asked.mode) == (Mode::Exclusive, Mode::Exclusive)
        })
    }

    /// A new hold: which grant it is, whether nobody was in its way, and whether its fence is right.
    fn admitted(&mut self, asked: &Wanted, fence: Fence, now: Duration) -> (u64, Verdict) {
        if let Some(first) = self.entered(asked, now) {
            let verdict = match first.fence == fence {
                true => Ok(()),
                false => broken("P2", format!("re-entered with {fence:?} and not {:?}", first.fence)),
            };
            return (first.order, verdict);
        }
        self.grants += 1;
        self.overtaken = 0;
        (self.grants, self.admitted_first(asked, fence))
    }

    /// A hold that enters no other.
    fn admitted_first(&mut self, asked: &Wanted, fence: Fence) -> Verdict {
        let last = self.last_fence.replace(self.last_fence.map_or(fence, |last| last.max(fence)));
        let beside = conflicting(asked.mode, self.holds.iter().map(|hold| (hold, hold.mode))).next();
        if let Some(hold) = beside {
            let property = property_of(asked.mode);
            return broken(
                property,
                format!("granted as {} beside {:?} as {}", asked.mode, hold.token, hold.mode),
            );
        }
        match last {
            Some(last) if fence <= last => broken("P2", format!("{fence:?} after {last:?}")),
            _ => Ok(()),
        }
    }

    pub(crate) fn renewed(&mut self, token: Token, ttl: Duration, answer: Renewed, now: Duration) -> Verdict {
        let live = self.holds.iter_mut().find(|hold| hold.token == token && hold.end > now);
        match (live, answer) {
            (Some(hold), Renewed::Extended) => {
                (hold.end, hold.opening) = (now + ttl, now + ttl + hold.lock_delay);
                self.ends.insert(token, hold.end);
                Ok(())
            }
            (None, Renewed::NotHeld) => Ok(()),
            (Some(_), Renewed::NotHeld) => broken("P12", "a holder was not renewed"),
            (None, Renewed::Extended) => broken("P12", "a token that does not hold was renewed"),
        }
    }

    pub(crate) fn released(
        &mut self,
        token: Token,
        (owner, cooldown): (Option<&Owner>, Duration),
        (answer, seen): (Released, &Seen),
        now: Duration,
    ) -> Verdict {
        self.settle(now);
        let released = self.reclaimed(token, (owner, cooldown), answer, now);
        // What was released is in nobody's way any more.
        self.settle(now);
        self.queue.forget(|waiting| waiting.token == token);
        let handed_over = self.handed_over(seen, now);
        let admitted = self.admit_each(&handed_over, now);
        released.and(admitted).and(self.nobody_is_forgotten(seen, now))
    }

    fn reclaimed(
        &mut self,
        token: Token,
        (owner, cooldown): (Option<&Owner>, Duration),
        answer: Released,
        now: Duration,
    ) -> Verdict {
        let live = self.holds.iter_mut().find(|hold| hold.token == token && hold.end > now);
        let was_live = live.is_some();
        // Whoever brings the token of a hold may not know whose it is.
        let mut owner = owner.cloned();
        if let Some(hold) = live {
            (hold.end, hold.opening) = (now, now + cooldown);
            owner.clone_from(&hold.owner);
            self.ends.insert(token, now);
        }
        let (told_live, told_count) = match answer {
            Released::Freed => (true, 0),
            Released::StillHeld { count } => (true, count),
            Released::NotHeld { count } => (false, count),
        };
        if was_live != told_live {
            return broken("P12", format!("{answer:?} was told, but holding was {was_live}"));
        }
        match owner.map_or(0, |owner| self.count(&owner, now)) {
            count if count == told_count => Ok(()),
            count => broken("P5", format!("{answer:?} was told, but {count} are left")),
        }
    }

    /// Released by one and taken by another, at one moment.
    pub(crate) fn passed(
        &mut self,
        from: Token,
        to: &Wanted,
        (overtake, limit): (bool, u32),
        (answer, seen): (&HandedOff, &Seen),
        now: Duration,
    ) -> Verdict {
        self.settle(now);
        let released = self.reclaimed(from, (None, Duration::ZERO), answer.released, now);
        self.settle(now);
        self.queue.forget(|waiting| waiting.token == from);
        let acquired = if overtake && answer.released == Released::Freed && self.holds.is_empty() {
            self.overtook(to, &answer.acquired, (limit, now)).and(self.nobody_is_forgotten(seen, now))
        } else {
            self.acquired(to, &answer.acquired, seen, now)
        };
        let others = self.queue.len() - usize::from(self.queue.ahead_of(to.request).is_some());
        let told = match answer.others_wait == (others > 0) {
            true => Ok(()),
            false => broken("P9", format!("{others} others wait, but {} was told", answer.others_wait)),
        };
        released.and(acquired).and(told)
    }

    fn overtook(
        &mut self,
        to: &Wanted,
        answer: &Result<Acquired, StoreError>,
        (limit, now): (u32, Duration),
    ) -> Verdict {
        let before = self.overtaken;
        let Some(fence) = answer.as_ref().ok().and_then(granted).and_then(|grant| grant.fence) else {
            return broken("P16", "what was passed on was not granted");
        };
        self.queue.forget(|waiting| waiting.request == to.request);
        let (order, verdict) = self.admitted(to, fence, now);
        self.enter(to, (fence, order), (now, now + to.ttl), to.lock_delay);
        self.overtaken = if self.queue.len() > 0 { before + 1 } else { 0 };
        // A manager that is started again has forgotten how often it was.
        match self.overtaken > 2 * limit + 1 {
            true => broken("P9", format!("passed on {} times though others waited", self.overtaken)),
            false => verdict,
        }
    }

    /// Those who hold in the store without having been told: they were handed it over. In the order of their grants.
    fn handed_over(&self, seen: &Seen, now: Duration) -> Vec<SeenHolder> {
        let known = |seen: &SeenHolder| {
            let mut live = self.holds.iter().filter(|hold| hold.end > now);
            live.any(|hold| (hold.request, hold.fence) == (seen.request, seen.fence))
        };
        let mut new: Vec<_> = seen.holders.iter().filter(|holder| !known(holder)).copied().collect();
        new.sort_by_key(|holder| self.rank(holder.request, Some(holder.fence)));
        new
    }

    /// Grants come in the order of their fences, and re-entries of one hold in the order of arrival.
    fn rank(&self, request: u64, fence: Option<Fence>) -> (Option<Fence>, usize) {
        (fence, self.queue.ahead_of(request).unwrap_or(usize::MAX))
    }

    fn admit_each(&mut self, handed_over: &[SeenHolder], now: Duration) -> Verdict {
        let verdicts: Vec<_> = handed_over.iter().map(|holder| self.admit_next(*holder, now)).collect();
        verdicts.into_iter().collect()
    }

    /// A hand-over: only to the head of the queue, as any other grant otherwise, and only for its grant window.
    fn admit_next(&mut self, SeenHolder { request, fence, remaining }: SeenHolder, now: Duration) -> Verdict {
        let Some(ahead) = self.queue.ahead_of(request) else {
            return broken(
                "P18",
                format!("request {request} holds with {fence:?}, but neither asked nor waited"),
            );
        };
        let passed_over = self.passed_over(ahead, now);
        let Some(asked) = self.queue.hand_over(request) else {
            return broken("P18", format!("request {request} does not wait"));
        };
        let (order, verdict) = self.admitted(&asked, fence, now);
        self.enter(&asked, (fence, order), (now, now + remaining), Duration::ZERO);
        verdict?;
        match remaining > asked.window {
            true => broken("P8", format!("request {request} may stay away for {remaining:?}")),
            false => passed_over,
        }
    }

    /// So many at the head were passed over: that is for the dead.
    fn passed_over(&mut self, so_many: usize, now: Duration) -> Verdict {
        match self.queue.pass_over(so_many, now) {
            None => Ok(()),
            Some(alive) => broken("P9", format!("request {alive}, which is alive, was passed over")),
        }
    }

    /// Whether it was the turn of one that is granted what it asks for.
    fn in_turn(&mut self, asked: &Wanted, now: Duration) -> Verdict {
        let ticket = self.queue.ahead_of(asked.request);
        // A re-entry may pass by those who wait.
        let ahead = match self.entered(asked, now) {
            Some(_) => 0,
            None => ticket.unwrap_or(self.queue.len()),
        };
        let passed_over = self.passed_over(ahead, now);
        self.queue.forget(|waiting| waiting.request == asked.request);
        passed_over
    }

    fn stands(&mut self, asked: &Wanted, told: u64, now: Duration) -> Verdict {
        let (ahead, told) = (self.queue.stand(asked, now), told as usize);
        match ahead.checked_sub(told) {
            Some(dead) => self.passed_over(dead, now),
            None => broken("P9", format!("{told} ahead were told, but there are {ahead}")),
        }
    }

    /// After every verb that looks at the queue: nothing is in the way of the head any more that it could be given, and
    /// all who wait are still there.
    fn nobody_is_forgotten(&mut self, seen: &Seen, now: Duration) -> Verdict {
        let (known, there) = (self.queue.len(), seen.waiting as usize);
        match known.checked_sub(there) {
            Some(dead) => self.passed_over(dead, now)?,
            None => return broken("P8", format!("{there} wait in the store, but {known} should")),
        }
        let Some(head) = self.queue.head() else { return Ok(()) };
        let mut in_the_way = conflicting(head.asked.mode, self.holds.iter().map(|hold| (hold, hold.mode)));
        match in_the_way.next().filter(|_| self.entered(&head.asked, now).is_none()) {
            Some(_) => Ok(()),
            None => broken("P8", format!("request {} waits for what is free", head.asked.request)),
        }
    }

    fn settle(&mut self, now: Duration) {
        self.holds.retain(|hold| hold.opening > now);
        self.queue.settle(now);
    }

    fn count(&self, owner: &Owner, now: Duration) -> u64 {
        let holds = self.holds.iter().filter(|hold| hold.end > now && hold.owner.as_ref() == Some(owner));
        holds.count() as u64
    }
}

fn granted(answer: &Acquired) -> Option<&Grant> {
    match answer {
        Acquired::Granted(grant) => Some(grant),
        _ => None,
    }
}

/// The property that an overlap with a hold of this mode breaks.
pub(crate) const fn property_of(mode: Mode) -> &'static str {
    match mode {
        Mode::Shared => "P6",
        Mode::Permits { .. } => "P7",
        _ => "P1",
    }
}
