//! The requests to give a lease back, as its holder learns of them.

use std::time::Duration;

use crate::{core::Moment, lease::RevokeRequested};

/// The largest number of requests that a lease knows at a time.
const KNOWN_AT_MOST: usize = 16;

/// The time after its end from which a request counts for nothing beside another one: its revoker is gone.
const GIVEN_UP_AFTER: Duration = Duration::from_secs(10);

/// The requests that the holder of a lease was told of.
#[derive(Debug, Default)]
pub(super) struct KnownRevocations(Vec<RevokeRequested>);

impl KnownRevocations {
    /// Adds a request. Returns false if it is known, or if there are too many that end before it.
    pub(super) fn add(&mut self, request: RevokeRequested, now: Moment) -> bool {
        if let Some(known) = self.0.iter_mut().find(|known| known.revocation == request.revocation) {
            known.end = known.end.min(request.end);
            return false;
        }
        if self.0.len() >= KNOWN_AT_MOST {
            self.0.retain(|known| known.is_alive(now));
        }
        if self.0.len() >= KNOWN_AT_MOST {
            // One that is left out for another one must not come back for it: they would be told for ever.
            if self.0.iter().any(|known| known.end <= request.end) {
                return false;
            }
            self.0.sort_unstable_by_key(|known| known.end);
            self.0.pop();
        }
        self.0.push(request);
        true
    }

    /// Returns true if one of those who want the resource back has not given up.
    pub(super) fn is_wanted_back(&self, now: Moment) -> bool {
        self.0.iter().any(|known| known.is_alive(now))
    }

    /// Returns the request whose grace ends first, with what is left of it.
    pub(super) fn first(&self, now: Moment) -> Option<RevokeRequested> {
        let alive = self.0.iter().filter(|known| known.is_alive(now));
        let first =
            alive.min_by_key(|known| known.end).or_else(|| self.0.iter().max_by_key(|known| known.end))?;
        Some(RevokeRequested { grace: first.end.remaining(now), ..first.clone() })
    }
}

impl RevokeRequested {
    fn is_alive(&self, now: Moment) -> bool {
        self.end.elapsed(now) < GIVEN_UP_AFTER
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::{Token, made_up::at_secs as at};

    /// Adds the request of this number, and returns whether it is told.
    fn add(requests: &mut KnownRevocations, number: u128, end: Moment, now: Moment) -> bool {
        let (reason, revocation) = (number.to_string().into(), Token::from_bits(number));
        requests.add(RevokeRequested { reason, grace: end.remaining(now), revocation, end }, now)
    }

    #[test]
    fn the_request_that_ends_first_counts_until_its_revoker_has_given_up() {
        let mut requests = KnownRevocations::default();
        for (number, end) in [(1, 60), (2, 30), (3, 90)] {
            assert!(add(&mut requests, number, at(end), at(0)));
            assert!(!add(&mut requests, number, at(end + 1), at(0)), "it is told once");
        }
        let first = |requests: &KnownRevocations, now| requests.first(at(now)).map(|first| first.end);
        for (now, expected) in [(0, 30), (39, 30), (40, 60), (70, 90), (200, 90)] {
            assert_eq!(first(&requests, now), Some(at(expected)), "at {now}");
        }
        add(&mut requests, 3, at(20), at(0));
        assert_eq!(first(&requests, 0), Some(at(20)), "a repeat knows better");
        assert_eq!(first(&KnownRevocations::default(), 0), None);
    }

    #[test]
    fn a_bounded_number_is_known_and_none_is_told_twice() {
        let mut requests = KnownRevocations::default();
        let many = 2 * KNOWN_AT_MOST as u128;
        let told = |requests: &mut KnownRevocations, now| {
            let end = |number: u128| at(100 + (number as u64 * 7) % 32);
            (0..many).filter(|number| add(requests, *number, end(*number), at(now))).count()
        };
        assert!(told(&mut requests, 0) >= KNOWN_AT_MOST);
        assert_eq!((told(&mut requests, 1), requests.0.len()), (0, KNOWN_AT_MOST));
        let sooner = at(50);
        assert!(add(&mut requests, many, sooner, at(1)), "a sharper one is told all the same");
        assert_eq!(requests.first(at(1)).map(|first| first.end), Some(sooner));
        assert!(add(&mut requests, many + 1, at(900), at(500)), "those from before are forgotten");
        assert_eq!(requests.0.len(), 1);
    }
}
