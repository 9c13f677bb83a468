//! What the store must do, told a second time and independently: every verb that it executed is judged here.

use std::{collections::HashMap, time::Duration};

use leasehold::{
    Fence, Mode, Owner, Token,
    store::{Acquired, Released, Renewed, StoreError},
};

use super::history::Wanted;

/// One resource as the history of its verbs says.
#[derive(Default)]
pub(crate) struct Model {
    /// Those that hold, or keep the resource closed.
    holds: Vec<Hold>,
    /// The end of every token that ever held: the past ones as they were, the others if nothing happens.
    pub(crate) ends: HashMap<Token, Duration>,
    /// Which grant it was, counted in their order, that gave a token this fence; a re-entry counts as its first hold.
    /// Not by the token alone: a repeat that is executed after the end of the hold is another grant to the same token.
    pub(crate) order: HashMap<(Token, Fence), u64>,
    grants: u64,
    last_fence: Option<Fence>,
}

#[derive(Clone)]
struct Hold {
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
        now: Duration,
    ) -> Verdict {
        self.holds.retain(|hold| hold.opening > now);
        let live = self.holds.iter().find(|hold| hold.token == asked.token && hold.end > now).cloned();
        let grant = match (answer, &live) {
            (Ok(Acquired::Granted(grant)), _) => grant,
            (_, Some(_)) => return broken("P5", "a token that holds was not granted again"),
            (Ok(Acquired::Refused(_)), None) if self.holds.is_empty() => {
                return broken("P16", "refused, though nobody is in the way");
            }
            (_, None) => return Ok(()),
        };
        let Some(fence) = grant.fence else {
            return broken("P2", "a grant without a fence");
        };
        let (order, verdict) = match &live {
            Some(hold) if hold.fence == fence => (hold.order, Ok(())),
            Some(hold) => {
                let details = format!("granted again with {fence:?} and not {:?}", hold.fence);
                (hold.order, broken("P2", details))
            }
            None => self.admitted(asked, fence, now),
        };
        self.order.insert((asked.token, fence), order);
        self.holds.retain(|hold| hold.token != asked.token);
        let (end, opening) = (now + asked.ttl, now + asked.ttl + asked.lock_delay);
        let (token, owner, mode, lock_delay) =
            (asked.token, asked.owner.clone(), asked.mode, asked.lock_delay);
        self.holds.push(Hold { token, owner, mode, fence, order, end, opening, lock_delay });
        self.ends.insert(token, end);
        verdict?;
        match asked.owner.as_ref().map_or(1, |owner| self.count(owner, now)) {
            count if count == grant.holds => Ok(()),
            count => broken("P5", format!("{} holds were told, but there are {count}", grant.holds)),
        }
    }

    /// A new hold: which grant it is, whether nobody was in its way, and whether its fence is right.
    fn admitted(&mut self, asked: &Wanted, fence: Fence, now: Duration) -> (u64, Verdict) {
        let mut own = self.holds.iter().filter(|hold| hold.end > now && hold.owner == asked.owner);
        let first = own.next().filter(|hold| {
            asked.owner.is_some()
                && asked.reentrant
                && (hold.mode, asked.mode) == (Mode::Exclusive, Mode::Exclusive)
        });
        if let Some(first) = first {
            let verdict = match first.fence == fence {
                true => Ok(()),
                false => broken("P2", format!("re-entered with {fence:?} and not {:?}", first.fence)),
            };
            return (first.order, verdict);
        }
        self.grants += 1;
        (self.grants, self.admitted_first(asked, fence))
    }

    /// A hold that enters no other.
    fn admitted_first(&mut self, asked: &Wanted, fence: Fence) -> Verdict {
        let last = self.last_fence.replace(self.last_fence.map_or(fence, |last| last.max(fence)));
        if let Some(hold) = conflict(asked.mode, self.holds.iter().map(|hold| (hold, hold.mode))) {
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
        (owner, closed_for): (Option<&Owner>, Duration),
        answer: Released,
        now: Duration,
    ) -> Verdict {
        let live = self.holds.iter_mut().find(|hold| hold.token == token && hold.end > now);
        let was_live = live.is_some();
        // Whoever brings the token of a hold may not know whose it is.
        let mut owner = owner.cloned();
        if let Some(hold) = live {
            (hold.end, hold.opening) = (now, now + closed_for);
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

    fn count(&self, owner: &Owner, now: Duration) -> u64 {
        let holds = self.holds.iter().filter(|hold| hold.end > now && hold.owner.as_ref() == Some(owner));
        holds.count() as u64
    }
}

/// The first of those who are there that a newcomer of this mode conflicts with.
pub(crate) fn conflict<'a, H>(mode: Mode, there: impl Iterator<Item = (&'a H, Mode)>) -> Option<&'a H> {
    let mut taken = match mode {
        Mode::Permits { count, .. } => count.get(),
        _ => 0,
    };
    for (hold, its) in there {
        match (mode, its) {
            (Mode::Shared, Mode::Shared) => {}
            (Mode::Permits { of, .. }, Mode::Permits { count, .. }) => {
                taken += count.get();
                if taken > of.get() {
                    return Some(hold);
                }
            }
            _ => return Some(hold),
        }
    }
    None
}

/// The property that an overlap with a hold of this mode breaks.
pub(crate) const fn property_of(mode: Mode) -> &'static str {
    match mode {
        Mode::Shared => "P6",
        Mode::Permits { .. } => "P7",
        _ => "P1",
    }
}
