//! Tests of every transition of a waiter's turn.

use std::iter::once;

use super::{TurnEvent::*, TurnNews::*, TurnStage::*, TurnStep::*, *};

/// A majority of five nodes.
const NEEDED: usize = 3;
const NOT_GRANTED: TurnEvent<'_> = Answered { split: &[], is_held: false };
const HELD: TurnEvent<'_> = Answered { split: &[], is_held: true };
const SPLIT: TurnEvent<'_> = Answered { split: &[0], is_held: false };

/// Returns what follows from each of these events, for a waiter whose first attempt has begun.
fn steps_of(events: &[TurnEvent<'_>]) -> (QuorumTurn, Vec<Vec<TurnStep>>) {
    let mut turn = QuorumTurn::new();
    let steps = events.iter().map(|event| turn.on(*event, NEEDED, |_| 1.0)).collect();
    (turn, steps)
}

/// Returns what follows from the last of these events.
fn last_of(events: &[TurnEvent<'_>]) -> Vec<TurnStep> {
    steps_of(events).1.pop().unwrap_or_default()
}

const fn after(millis: u64) -> TurnStep {
    Patience(Duration::from_millis(millis))
}

#[test]
fn every_event_in_every_stage_has_its_steps() {
    // An attempt, a wait, a wait that a minority has named, and one that has been told so.
    let stages: [&[TurnEvent<'_>]; 4] =
        [&[], &[NOT_GRANTED], &[NOT_GRANTED, Named(4)], &[NOT_GRANTED, Named(4), PatienceEnded]];
    let table: [(TurnEvent<'_>, [&[TurnStep]; 4]); 6] = [
        (Begun, [&[], &[], &[], &[]]),
        (NOT_GRANTED, [&[], &[], &[], &[]]),
        (Named(3), [&[], &[after(16)], &[], &[]]),
        (BecomesNext, [&[], &[Tell(Next)], &[Tell(Next)], &[Tell(Next)]]),
        (Called, [&[Tell(GoOn)], &[Tell(GoOn)], &[Tell(GoOn)], &[Tell(GoOn)]]),
        (PatienceEnded, [&[], &[], &[Tell(HandedOver)], &[]]),
    ];
    for (event, steps) in table {
        for (before, steps) in stages.iter().zip(steps) {
            let events: Vec<_> = before.iter().copied().chain(once(event)).collect();
            assert_eq!(last_of(&events), steps, "{events:?}");
        }
    }
}

#[test]
fn an_attempt_begins_anew_and_waits_again_once_it_is_answered() {
    let named = &[NOT_GRANTED, Named(4)][..];
    for (events, stage) in [
        (&[][..], Attempting { was_named: false, is_next: false }),
        (&[BecomesNext], Attempting { was_named: false, is_next: true }),
        (&[BecomesNext, Begun], Attempting { was_named: false, is_next: true }),
        (&[BecomesNext, NOT_GRANTED, Begun], Attempting { was_named: false, is_next: false }),
        (&[Named(4), Begun], Attempting { was_named: true, is_next: false }),
        (&[Named(4), Begun, Begun], Attempting { was_named: false, is_next: false }),
        (&[NOT_GRANTED], Waiting),
        (named, Impatient),
        (&[NOT_GRANTED, Named(4), Begun], Attempting { was_named: true, is_next: false }),
        (&[Named(4), NOT_GRANTED], Impatient),
        (&[Named(0), SPLIT], Waiting),
    ] {
        let turn = steps_of(events).0;
        assert_eq!(turn.stage, stage, "{events:?}");
        assert_eq!(turn.waits(), matches!(stage, Waiting | Impatient));
    }
}

#[test]
fn a_waiter_that_a_majority_names_is_told_once_for_each_attempt() {
    let events = [NOT_GRANTED, Named(1), Named(1), Named(2), Named(3), Named(4), PatienceEnded];
    let told = [vec![], vec![after(16)], vec![], vec![], vec![Tell(HandedOver)], vec![], vec![]];
    assert_eq!(steps_of(&events).1, told);
    let again = [&events[..], &[Begun, NOT_GRANTED, Named(1), Named(2), Named(3)]].concat();
    assert_eq!(last_of(&again), [Tell(HandedOver)]);
    assert_eq!(steps_of(&again).0.named_by, [1, 2, 3]);
}

#[test]
fn it_is_told_once_its_attempt_is_answered_which_nodes_named_it_meanwhile_and_that_it_is_next() {
    assert_eq!(last_of(&[Named(1), Named(2), Named(3), NOT_GRANTED]), [Tell(HandedOver)]);
    assert_eq!(last_of(&[Named(1), Named(2), NOT_GRANTED]), [after(16)]);
    assert_eq!(last_of(&[Named(0), Named(2), Named(3), SPLIT]), [after(32)], "it gives one back");
    assert_eq!(last_of(&[Named(0), SPLIT]), []);
    assert_eq!(last_of(&[BecomesNext, BecomesNext, NOT_GRANTED]), [Tell(Next)]);
    assert_eq!(last_of(&[BecomesNext, NOT_GRANTED, BecomesNext]), []);
    assert_eq!(last_of(&[BecomesNext, Begun, NOT_GRANTED]), [Tell(Next)], "no attempt was answered before");
    assert_eq!(last_of(&[BecomesNext, Named(1), NOT_GRANTED]), [Tell(Next), after(16)]);
    assert_eq!(last_of(&[Called, NOT_GRANTED, Called]), [], "each is told once");
}

#[test]
fn a_waiter_is_the_more_patient_the_more_votes_are_split() {
    // A node has named it before, and grants it too late to count.
    let late = &[Begun, NOT_GRANTED, Named(4)][..];
    let late_and_held = &[Begun, HELD, Named(4)][..];
    let (split, refused, held) = (&[Begun, SPLIT][..], &[Begun, NOT_GRANTED][..], &[Begun, HELD][..]);
    let named_first = &[Named(4)][..];
    for (events, splits, why) in [
        (vec![], 0, "nothing was split"),
        (vec![split, split], 2, "grants count"),
        (vec![named_first, late, late, late], 3, "late grants count"),
        (vec![split, split, refused, split], 3, "a refusal in between ends nothing"),
        (vec![split, split, split, held], 0, "somebody holds"),
        ([&[named_first][..], &[late_and_held; 4]].concat(), 4, "a node does not know the holder"),
    ] {
        let turn = steps_of(&events.concat()).0;
        let mut drawn = None;
        turn.patience_after_split(|splits| {
            drawn = Some(splits);
            0.0
        });
        assert_eq!((turn.splits, drawn), (splits, Some(splits + 1)), "{why}");
    }
}

#[test]
fn patience_doubles_up_to_the_longest_and_half_of_it_is_random() {
    let millis = |draw: f64| [0, 1, 2, 3, 4, 99].map(|splits| patience(splits, |_| draw).as_millis());
    assert_eq!(millis(1.0), [16, 32, 64, 128, 160, 160]);
    assert_eq!(millis(0.0), [8, 16, 32, 64, 80, 80]);
}
