//! The silence of a connection, and the decisions to look whether it is there and to try another one in its place.
//!
//! A proxy or a firewall may forget a connection, and go on taking what is sent on it. A server that only stalls looks the
//! same from here, and gains nothing by a new connection. So after a few calls without an answer another connection is
//! opened *beside* the old one. If it opens, the server is there and the old one is given up; if not, the old one is kept.
//!
//! A call on a connection that has ended may have been executed, for all that the client library says. So the end of one
//! that was idle is looked for first. One that was forgotten has no end; it is asked, and answers nothing.

use std::time::Duration;

use futures_util::FutureExt;
use redis::aio::MultiplexedConnection;
use tokio::{
    task::yield_now,
    time::{Instant, timeout},
};

use crate::core::Doubling;

/// The number of calls in a row without an answer after which another connection is tried.
const MOST_UNANSWERED: u32 = 3;
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// The time without an answer after which it is looked whether the connection has ended. That takes no round trip.
const LOOKED_AT: Duration = Duration::from_millis(10);
/// The time without an answer after which the server is asked. Firewalls forget a connection after minutes.
const ASKED: Duration = Duration::from_secs(5);

/// The silence of a connection so far. By default nothing was sent on it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Silence {
    unanswered: u32,
    counted: Option<Instant>,
    next_try: Option<Instant>,
    pauses: Doubling,
    /// The time of the last answer.
    heard: Option<Instant>,
}

impl Default for Silence {
    fn default() -> Self {
        let pauses = Doubling::new(FIRST_PAUSE, LONGEST_PAUSE);
        Self { unanswered: 0, counted: None, next_try: None, pauses, heard: None }
    }
}

impl Silence {
    /// Records a call that was sent at `sent` and has no answer. Returns true if another connection is to be tried now.
    ///
    /// Only one of several calls that wait for their answers at the same time counts: one stall is one silence.
    pub(crate) fn unanswered(&mut self, sent: Instant, now: Instant) -> bool {
        if self.counted.is_some_and(|counted| sent < counted) {
            return false;
        }
        self.unanswered += 1;
        self.counted = Some(now);
        if !self.is_long() || self.next_try.is_some_and(|next| now < next) {
            return false;
        }
        self.next_try = Some(now + self.pauses.next());
        true
    }

    /// Records an answer, whatever it says.
    pub(crate) fn answered(&mut self) {
        *self = Self { heard: Some(Instant::now()), ..Self::default() };
    }

    /// Returns the time for which the connection was idle, if that is so long that it is not trusted. One with a call that has
    /// no answer is not idle.
    pub(crate) fn idle(&self) -> Option<Duration> {
        let heard = self.heard.filter(|_| self.unanswered == 0)?;
        Some(heard.elapsed()).filter(|idle| *idle >= LOOKED_AT)
    }

    /// Returns true if nothing came for so long that another connection is worth a try.
    pub(crate) const fn is_long(&self) -> bool {
        self.unanswered >= MOST_UNANSWERED
    }

    /// Returns the silence of the connection that takes the place of this one: none yet, but with the same pause before the next
    /// try. Otherwise a server that answers the greeting alone, and nothing in time, would be connected to again and again.
    pub(crate) fn of_successor(&self) -> Self {
        Self { unanswered: 0, counted: None, heard: None, ..*self }
    }
}

/// Returns true if a connection that was `idle` for so long is there. A server that does not answer `within` this time is not.
pub(crate) async fn is_there(
    mut connection: MultiplexedConnection,
    idle: Duration,
    within: Duration,
) -> bool {
    // The runtime looks at the socket, and then the driver of the connection has its turn, in which it sees the end.
    for _ in 0..2 {
        yield_now().await;
    }
    let ping = redis::cmd("PING");
    let answer = connection.send_packed_command(&ping);
    if idle < ASKED {
        // The driver takes no request any more if it has ended, and does not send one that nobody waits for.
        return !matches!(answer.now_or_never(), Some(Err(error)) if error.is_io_error());
    }
    // A refusal is an answer as well.
    timeout(within, answer).await.is_ok_and(|answer| !answer.is_err_and(|error| error.is_io_error()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the numbers of the calls at which another connection is tried. The calls take 100 ms each, one after the other.
    fn tried(silence: &mut Silence, start: Instant, calls: u32) -> Vec<u32> {
        let call = Duration::from_millis(100);
        (1..=calls).filter(|n| silence.unanswered(start + call * (n - 1), start + call * *n)).collect()
    }

    #[test]
    fn another_connection_is_tried_after_three_silent_calls_and_then_ever_more_rarely() {
        let start = Instant::now();
        let mut silence = Silence::default();
        assert_eq!(tried(&mut silence, start, 100), [3, 13, 33, 73]);
        silence.answered();
        assert_eq!(tried(&mut silence, start, 4), [3]);
        let mut successor = silence.of_successor();
        assert!(!successor.is_long());
        assert_eq!(tried(&mut successor, start + Duration::from_millis(400), 10), [9]);
    }

    #[test]
    fn calls_that_wait_together_are_one_silence() {
        let (sent, within) = (Instant::now(), Duration::from_millis(100));
        let mut silence = Silence::default();
        assert!((0..1_000).all(|_| !silence.unanswered(sent, sent + within)));
        assert!(!silence.is_long());
    }
}
