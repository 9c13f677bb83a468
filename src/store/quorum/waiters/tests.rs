//! Tests of the patience of a waiter.

use std::sync::Arc;

use super::*;
use crate::{
    core::{Mode, ResourceName},
    store::{Hold, Metadata, QueueTicket},
};

const NEEDED: usize = 3;

fn asked() -> Acquisition {
    let token = Token::from_bits(1);
    let ticket = QueueTicket {
        inbox: Inbox(Token::from_bits(2)),
        grant_window: Duration::from_millis(400),
        ttl: Duration::from_secs(9),
        max_waiters: 9,
        place: None,
    };
    Acquisition {
        hold: Hold { resource: ResourceName::new("r").unwrap(), token, owner: None },
        mode: Mode::Exclusive,
        reentrant: false,
        ttl: Duration::from_secs(9),
        lock_delay: Duration::ZERO,
        metadata: Arc::new(Metadata::new()),
        ticket: Some(ticket),
    }
}

/// The answers of five nodes to an attempt.
#[derive(Clone, Copy)]
enum Answers {
    /// One granted it in time.
    Split,
    /// One had named it before, and granted it too late to count.
    SplitLate,
    /// A majority names one holder.
    Held,
    /// One had named it before, and a majority names one holder.
    SplitAndHeld,
    /// None granted it, and each names another holder.
    Refused,
}

/// Returns the number of splits that its patience counts after attempts with these answers.
fn after(answers: &[Answers]) -> u32 {
    let (waiters, asked, now) = (Waiters::default(), asked(), Moment::since_origin(Duration::ZERO));
    let token = asked.hold.token;
    waiters.begin(&asked, 0, None, now);
    for (attempt, answers) in (1..).zip(answers) {
        if matches!(answers, Answers::SplitLate | Answers::SplitAndHeld) {
            let _follows = waiters.named(token, 4, NEEDED);
        }
        waiters.begin(&asked, attempt, None, now);
        let split: &[usize] = if matches!(answers, Answers::Split) { &[0] } else { &[] };
        let is_held = matches!(answers, Answers::Held | Answers::SplitAndHeld);
        waiters.answered(token, attempt, split, is_held, NEEDED);
    }
    let patience_now = waiters.patience_after_split(token);
    let tries = (0..9).find(|tries| patience(token, tries + 1) == patience_now);
    tries.unwrap()
}

#[test]
fn a_waiter_is_the_more_patient_the_more_votes_are_split() {
    use Answers::{Held, Refused, Split, SplitAndHeld, SplitLate};
    assert_eq!(after(&[]), 0);
    assert_eq!(after(&[Split, Split]), 2);
    assert_eq!(after(&[SplitLate, SplitLate, SplitLate]), 3, "late grants count");
    assert_eq!(after(&[Split, Split, Refused, Split]), 3, "a refusal in between ends nothing");
    assert_eq!(after(&[Split, Split, Split, Held]), 0, "somebody holds");
    assert_eq!(after(&[SplitAndHeld; 4]), 4, "patient with a holder that a node does not know of");
}

#[test]
fn a_waiter_has_the_first_place_that_it_proposed() {
    let (waiters, asked, now) = (Waiters::default(), asked(), Moment::since_origin(Duration::ZERO));
    let places = [None, Some(7), Some(9), None].map(|place| waiters.begin(&asked, 1, place, now));
    assert_eq!(places, [None, Some(7), Some(7), Some(7)]);
}
