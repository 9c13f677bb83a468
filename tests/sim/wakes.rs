//! Waiters of a quorum: while nobody holds and somebody waits in quiet times, the next grant is near.

use std::{collections::HashMap, time::Duration};

use leasehold::Token;

use super::model::Verdict;

/// The longest time for which a resource that a waiter could have stands idle in quiet times: two grant windows, one for
/// the dead ahead and one for a hand-over that crossed another, and what requests are late.
const IDLE_AT_MOST: Duration = Duration::from_millis(850);

/// One resource of a quorum, as its managers know it.
#[derive(Default)]
pub(crate) struct Wakes {
    waiting: Vec<Token>,
    /// Those who hold, and until when if nobody renews it.
    held: HashMap<Token, Duration>,
    /// The moment from which somebody waited and nobody held.
    idle_since: Option<Duration>,
}

impl Wakes {
    /// This token has been told that it waits.
    pub(crate) fn waits(&mut self, token: Token, now: Duration) {
        if !self.waiting.contains(&token) {
            self.waiting.push(token);
        }
        self.note(now);
    }

    /// This token was granted what it waited for, if it did. Answers whether that came in time.
    pub(crate) fn granted(
        &mut self,
        (token, until): (Token, Duration),
        quiet_from: Duration,
        now: Duration,
    ) -> Verdict {
        let idle = self.idle_since.map(|since| now.saturating_sub(since.max(quiet_from)));
        self.waiting.retain(|waiting| *waiting != token);
        self.held.insert(token, until);
        self.note(now);
        match idle.filter(|idle| *idle > IDLE_AT_MOST) {
            None => Ok(()),
            Some(idle) => Err(("P8", format!("nobody held for {idle:?}, though somebody waited"))),
        }
    }

    /// This token is renewed.
    pub(crate) fn renewed(&mut self, token: Token, until: Duration) {
        self.held.entry(token).and_modify(|end| *end = until.max(*end));
    }

    /// This token is released, or gives up.
    pub(crate) fn released(&mut self, token: Token, now: Duration) {
        self.waiting.retain(|waiting| *waiting != token);
        self.held.remove(&token);
        self.note(now);
    }

    fn note(&mut self, now: Duration) {
        self.held.retain(|_, until| *until > now);
        match self.waiting.is_empty() || !self.held.is_empty() {
            true => self.idle_since = None,
            false => drop(self.idle_since.get_or_insert(now)),
        }
    }
}
