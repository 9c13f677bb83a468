//! Histories that are made up: what holders that share, long holds and fences that come again do to the verdict.

use std::time::Duration;

use leasehold::{Fence, Mode, Owner, ResourceName, env::Moment};
use leasehold_sim::linearizable::{histories, is_judged, is_that_of_a_lock, judge, search};
use leasehold_testing::history::Held;
use rand::{RngExt, SeedableRng, rngs::StdRng};

const TTL: Duration = Duration::from_secs(10);

/// A lease with the seconds at which it was asked for, granted and over.
fn lease(mode: Mode, fence: u64, known: [u64; 3]) -> Held {
    let known = known.map(|secs| Moment::since_origin(Duration::from_secs(secs)));
    Held { mode, ..Held::exclusive(ResourceName::new("r").unwrap(), Fence::new(fence), TTL, known) }
}

fn owned(fence: u64, known: [u64; 3]) -> Held {
    Held { owner: Some(Owner::new("me").unwrap()), ..lease(Mode::Exclusive, fence, known) }
}

/// Leases of one mode, one after the other, with the fences from 1 on.
fn in_turn(mode: Mode, count: u64) -> Vec<Held> {
    (1..=count).map(|fence| lease(mode, fence, [10 * fence, 10 * fence + 1, 10 * fence + 5])).collect()
}

/// Lets one be held for longer than all others.
fn is_long(lease: &mut Held) {
    let end = Moment::since_origin(Duration::from_secs(1_000_000));
    (lease.stopped, lease.valid_until) = (end, end);
}

#[test]
fn a_double_hold_after_many_readers_is_refused_in_few_steps() {
    let mut history = in_turn(Mode::Shared, 22);
    history.push(lease(Mode::Exclusive, 23, [230, 231, 235]));
    let alone = search(&history.iter().collect::<Vec<_>>());
    history.push(lease(Mode::Exclusive, 24, [232, 233, 234]));
    let both = search(&history.iter().collect::<Vec<_>>());
    assert_eq!((alone.0, both.0), (true, false));
    assert!(alone.1.max(both.1) < 5_000, "{alone:?} and {both:?} steps");
}

#[test]
fn a_hold_from_long_before_is_judged_with_those_of_today() {
    let permits = |count| Mode::permits(count, 3).unwrap();
    let cases = [
        (Mode::Shared, [10, 10], Mode::Shared, true),
        (Mode::Shared, [10, 10], Mode::Exclusive, false),
        (permits(1), [9, 9], permits(2), true),
        (permits(1), [8, 9], permits(2), false),
        (permits(1), [0, 27], permits(2), false),
    ];
    for (mode, long, last, is_right) in cases {
        for count in [30, 100] {
            let mut history = in_turn(mode, count);
            long.iter().for_each(|place| is_long(&mut history[*place]));
            let at = 10 * count + 100;
            history.push(lease(last, count + 1, [at, at + 1, at + 2]));
            assert_eq!(judge(&history).is_ok(), is_right, "{mode:?}, {long:?}, {last:?}, {count}");
        }
    }
}

#[test]
fn of_hundreds_of_readers_at_one_time_two_are_judged_with_later_leases() {
    let mut history = in_turn(Mode::Shared, 400);
    let end = history[399].ended();
    history.iter_mut().for_each(|lease| (lease.stopped, lease.valid_until) = (end, end));
    assert!(histories(&history).iter().all(|part| part.len() <= 22));
    assert_eq!(judge(&history), Ok(20));
    // One of those before the second history ends after all others.
    let mut history = in_turn(Mode::Shared, 30);
    let granted = history[22].granted;
    history[16..19].iter_mut().for_each(|lease| (lease.stopped, lease.valid_until) = (granted, granted));
    history.push(lease(Mode::Exclusive, 31, [310, 311, 312]));
    assert!(judge(&history).is_ok());
    is_long(&mut history[14]);
    assert!(judge(&history).is_err());
    // One of them was asked for after one with a larger fence was granted.
    let mut history = in_turn(Mode::Shared, 21);
    is_long(&mut history[14]);
    assert!(judge(&history).is_ok());
    history[19] = lease(Mode::Shared, 20, [1_000, 1_001, 1_002]);
    assert!(judge(&history).is_err());
}

#[test]
fn the_parts_of_a_history_have_the_verdict_of_the_whole() {
    let (mut random, mut accepted) = (StdRng::seed_from_u64(27), 0);
    let modes = [Mode::Shared, Mode::permits(1, 3).unwrap(), Mode::Exclusive];
    for _ in 0..150 {
        // Mostly of one mode, or no hold could be long.
        let most = modes[random.random_range(0..3)];
        let mut history = in_turn(most, 50);
        for lease in &mut history {
            lease.mode = if random.random_bool(0.1) { modes[random.random_range(0..3)] } else { most };
            if random.random_bool(0.1) {
                lease.valid_until = lease.valid_until + Duration::from_secs(random.random_range(0..150));
                lease.stopped = lease.valid_until;
            }
            if random.random_bool(0.1) {
                lease.granted = lease.ended();
            }
        }
        if random.random_bool(0.3) {
            let place = random.random_range(1..50);
            let fences = (history[place].fence, history[place - 1].fence);
            (history[place - 1].fence, history[place].fence) = fences;
        }
        let verdict = is_that_of_a_lock(&history.iter().filter(|lease| is_judged(lease)).collect::<Vec<_>>());
        assert_eq!(judge(&history).is_ok(), verdict, "{history:#?}");
        accepted += u32::from(verdict);
    }
    assert!((15..135).contains(&accepted), "{accepted} of 150 are accepted: the others show nothing");
}

#[test]
fn a_fence_that_goes_back_between_two_histories_is_refused() {
    for count in [20, 40] {
        let mut history = in_turn(Mode::Exclusive, count + 1);
        assert!(judge(&history).is_ok());
        let places = [count as usize - 1, count as usize];
        let fences = places.map(|place| history[place].fence);
        (history[places[0]].fence, history[places[1]].fence) = (fences[1], fences[0]);
        assert!(judge(&history).is_err(), "{count}");
        (history[places[0]].fence, history[places[1]].fence) = (fences[0], fences[0]);
        assert!(judge(&history).is_err(), "twice {count}");
    }
}

#[test]
fn a_history_has_what_can_make_a_difference_and_no_more() {
    let mut history = in_turn(Mode::Shared, 60);
    is_long(&mut history[3]);
    let sizes: Vec<_> = histories(&history).iter().map(Vec::len).collect();
    assert_eq!(sizes, [20, 21, 21]);
    // Of a queue, all may have asked long before.
    let mut queue = in_turn(Mode::Exclusive, 60);
    let first_asked = queue[0].asked;
    queue.iter_mut().for_each(|lease| lease.asked = first_asked);
    assert_eq!(histories(&queue).iter().map(Vec::len).collect::<Vec<_>>(), [20; 3]);
}

#[test]
fn an_owner_has_the_fence_of_its_hold_only_while_the_store_may_have_that() {
    // Until 22, two TTLs after it stopped.
    let first = owned(7, [0, 1, 2]);
    let again = |asked: u64| owned(7, [asked, asked + 1, asked + 2]);
    let verdict = |history: &[Held]| is_that_of_a_lock(&history.iter().collect::<Vec<_>>());
    assert!(verdict(&[first.clone(), again(22)]));
    assert!(!verdict(&[first.clone(), again(23)]));
    // One that was entered in between has it for longer.
    assert!(verdict(&[first.clone(), again(15), again(30)]));
    assert!(!verdict(&[first, owned(8, [15, 16, 17]), again(18)]));
}

#[test]
fn readers_have_one_fence_only_if_they_asked_at_one_time() {
    let reader = |asked: u64, granted: u64| lease(Mode::Shared, 7, [asked, granted, 200]);
    let verdict = |history: &[Held]| is_that_of_a_lock(&history.iter().collect::<Vec<_>>());
    assert!(verdict(&[reader(0, 10), reader(5, 15), reader(10, 20)]));
    assert!(!verdict(&[reader(0, 1), reader(100, 101)]));
    // The second asked at one time with both others.
    assert!(!verdict(&[reader(0, 10), reader(5, 15), reader(12, 20)]));
}
