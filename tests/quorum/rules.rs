//! The rules of a majority: what votes decide, whose fence is granted, and how long a grant and an abstention last.

use std::time::Duration;

use leasehold::{
    Fence,
    rules::{Tally, Verdict, abstains_for, granted_fence, is_known, majority, validity_left},
};

fn tally(of: usize, yes: usize, no: usize, silent: usize) -> Tally {
    Tally { of, yes, no, silent }
}

#[test]
fn two_majorities_always_share_a_node() {
    for of in 1..100 {
        assert!(2 * majority(of) > of && 2 * (majority(of) - 1) <= of, "{of}");
    }
}

#[test]
fn a_request_is_decided_as_soon_as_it_can_be_and_a_state_only_if_silent_nodes_cannot_change_it() {
    use Verdict::{No, Open, Short, Yes};
    for (votes, on_request, on_state) in [
        (tally(5, 0, 0, 0), Open, Open),
        (tally(5, 3, 0, 0), Yes, Yes),
        (tally(5, 2, 0, 2), Open, Open),
        (tally(5, 3, 0, 2), Yes, Yes),
        (tally(5, 0, 3, 0), No, No),
        (tally(5, 2, 1, 1), Open, Open),
        (tally(5, 2, 1, 2), No, Short),
        (tally(5, 2, 2, 1), No, Short),
        (tally(5, 0, 2, 2), Open, Open),
        (tally(5, 0, 2, 3), Short, Short),
        (tally(5, 2, 0, 3), Short, Short),
        (tally(5, 0, 0, 3), Open, Open),
        (tally(4, 2, 2, 0), No, No),
        (tally(4, 0, 2, 0), Open, No),
        (tally(4, 2, 1, 1), No, Short),
        (tally(2, 1, 0, 1), Short, Short),
    ] {
        assert_eq!((votes.on_request(), votes.on_state()), (on_request, on_state), "{votes:?}");
    }
}

#[test]
fn an_open_vote_never_contradicts_what_was_decided_before() {
    for (yes, no, silent) in (0..6).flat_map(|y| (0..6).flat_map(move |n| (0..6).map(move |s| (y, n, s)))) {
        if yes + no + silent >= 5 {
            continue;
        }
        let votes = tally(5, yes, no, silent);
        for later in
            [tally(5, yes + 1, no, silent), tally(5, yes, no + 1, silent), tally(5, yes, no, silent + 1)]
        {
            for verdict in [Tally::on_request, Tally::on_state] {
                let before = verdict(&votes);
                assert!(before == Verdict::Open || before == verdict(&later), "{votes:?} {later:?}");
            }
        }
    }
}

#[test]
fn counting_and_drift_shorten_the_validity() {
    let ttl = Duration::from_secs(10);
    assert_eq!(validity_left(ttl, Duration::from_secs(1)), Duration::from_millis(8_898));
    assert_eq!(validity_left(ttl, ttl), Duration::ZERO);
}

#[test]
fn a_node_abstains_until_all_that_it_may_have_forgotten_has_ended() {
    let max_ttl = Duration::from_secs(10);
    assert_eq!(abstains_for(Duration::ZERO, max_ttl), Duration::from_millis(10_102));
    assert_eq!(abstains_for(max_ttl, max_ttl), Duration::from_millis(102));
    assert_eq!(abstains_for(Duration::from_secs(11), max_ttl), Duration::ZERO);
}

#[test]
fn the_largest_fence_is_granted_unless_a_majority_knows_the_expected_one() {
    let granted = |expected: Option<u64>, said: &[u64]| {
        let said = said.iter().map(|said| Fence::new(*said));
        granted_fence(expected.map(Fence::new), |fence| is_known(fence, said.clone(), 5), said.clone())
            .map(|fence| fence.get())
    };
    assert_eq!(granted(None, &[3, 9, 4]), Some(9));
    assert_eq!(granted(Some(3), &[3, 3, 3, 9]), Some(3), "a majority knows it");
    assert_eq!(granted(Some(3), &[3, 3, 9]), Some(9), "too few know it");
    assert_eq!(granted(Some(3), &[]), None);
}
