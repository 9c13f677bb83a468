//! The sessions of people who have shown the token once, in the memory of this process.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use leasehold::{
    Token,
    env::{Random, SystemRandom},
};
use subtle::ConstantTimeEq;
use tokio::time::Instant;

use super::operator::Operator;

/// The time after which the token has to be shown again.
pub(crate) const LIFETIME: Duration = Duration::from_secs(8 * 3600);
/// The largest number of sessions; one more ends the oldest.
const MOST: usize = 64;

/// The sessions that go on, the oldest first.
#[derive(Default)]
pub(super) struct Sessions(Mutex<VecDeque<Session>>);

struct Session {
    id: String,
    began: Instant,
    operator: Operator,
}

impl Sessions {
    /// Begins a session of somebody who calls themselves so, and returns its secret and whose it is.
    pub(super) fn begin(&self, name: &str) -> (String, Operator) {
        let [first, second]: [Token; 2] = [SystemRandom.token(), SystemRandom.token()];
        let id = format!("{}{}", first.to_hex(), second.to_hex());
        // Its own number: nothing of the secret is told.
        let operator = Operator::of_session(SystemRandom.token().prefix(), name);
        let mut sessions = self.going_on();
        if sessions.len() >= MOST {
            sessions.pop_front();
        }
        sessions.push_back(Session { id: id.clone(), began: Instant::now(), operator: operator.clone() });
        (id, operator)
    }

    /// Returns whose session this is.
    pub(super) fn operator(&self, id: &str) -> Option<Operator> {
        let sessions = self.going_on();
        sessions.iter().find(|session| session.has(id)).map(|session| session.operator.clone())
    }

    /// Ends a session.
    pub(super) fn end(&self, id: &str) {
        self.going_on().retain(|session| !session.has(id));
    }

    fn going_on(&self) -> std::sync::MutexGuard<'_, VecDeque<Session>> {
        // Nothing panics while it is locked.
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.retain(|session| session.began.elapsed() < LIFETIME);
        sessions
    }
}

impl Session {
    fn has(&self, id: &str) -> bool {
        self.id.as_bytes().ct_eq(id.as_bytes()).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_session_ends_by_itself_by_a_logout_and_when_there_are_too_many() {
        let sessions = Sessions::default();
        let ((first, _), (second, _)) = (sessions.begin("ann"), sessions.begin("bob"));
        assert!(first.len() == 64 && first != second);
        assert_eq!(sessions.operator(&second).unwrap().name.as_deref(), Some("bob"));
        sessions.end(&second);
        assert!(sessions.operator(&second).is_none() && sessions.operator(&first).is_some());
        tokio::time::advance(LIFETIME).await;
        assert!(sessions.operator(&first).is_none());
        let (oldest, _) = sessions.begin("");
        (0..MOST).for_each(|_| drop(sessions.begin("")));
        assert!(sessions.operator(&oldest).is_none() && sessions.operator("").is_none());
    }
}
