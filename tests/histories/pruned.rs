//! The orders that are ruled out before the search of the checker: without them its verdict is the same, on random small histories.

use std::time::Duration;

use leasehold::{Fence, Mode, Owner, ResourceName, env::Moment};
use leasehold_sim::linearizable::{is_that_of_a_lock, kept_until};
use leasehold_testing::history::{Held, conflicting};
use rand::{RngExt, SeedableRng, rngs::StdRng};

/// A search that tries every order of a history: what was granted and what has ended so far, as bits.
struct Search<'a>(&'a [Held]);

impl Search<'_> {
    fn finds_an_order(&self, granted: u32, ended: u32) -> bool {
        let leases = self.0;
        if granted.count_ones() as usize == leases.len() {
            return true;
        }
        let has = |set: u32, who: usize| set & (1 << who) != 0;
        let answered = |moment| {
            leases.iter().enumerate().all(|(who, lease)| lease.granted >= moment || has(granted, who))
        };
        leases.iter().enumerate().any(|(who, lease)| {
            let end = if lease.ended() > lease.granted { lease.ended() } else { lease.asked };
            if !has(granted, who) {
                let holders: Vec<_> =
                    (0..leases.len()).filter(|other| has(granted & !ended, *other)).collect();
                let before: Vec<_> = (0..leases.len()).filter(|other| has(granted, *other)).collect();
                answered(lease.asked)
                    && self.is_right(lease, &holders, &before)
                    && self.finds_an_order(granted | 1 << who, ended)
            } else {
                !has(ended, who) && answered(end) && self.finds_an_order(granted, ended | 1 << who)
            }
        })
    }

    /// Returns true if a lock with these holders grants the lease with its fence.
    fn is_right(&self, lease: &Held, holders: &[usize], before: &[usize]) -> bool {
        let entered = |other: &Held| {
            lease.owner.is_some()
                && other.owner == lease.owner
                && [other.mode, lease.mode] == [Mode::Exclusive; 2]
        };
        let all = |places: &[usize]| places.iter().map(|place| &self.0[*place]).collect::<Vec<_>>();
        let (holders, before) = (all(holders), all(before));
        let others = holders.iter().filter(|other| !entered(other)).map(|other| (other, other.mode));
        let is_kept = |other: &Held| lease.asked <= kept_until(other);
        let reenters =
            holders.iter().any(|other| entered(other) && other.fence == lease.fence && is_kept(other));
        let mut same = before.iter().filter(|other| other.fence == lease.fence).peekable();
        let is_beside = |other: &Held| other.mode == Mode::Shared && lease.asked <= other.granted;
        let of_readers =
            lease.mode == Mode::Shared && same.peek().is_some() && same.all(|other| is_beside(other));
        let largest = before.iter().map(|other| other.fence).max();
        let is_next =
            lease.fence > largest.flatten() || (reenters || of_readers) && Some(lease.fence) == largest;
        conflicting(lease.mode, others).next().is_none() && is_next
    }
}

fn random_history(random: &mut StdRng) -> Vec<Held> {
    let at = |moment: u64| Moment::since_origin(Duration::from_secs(moment));
    let modes = [Mode::Exclusive, Mode::Exclusive, Mode::Shared, Mode::permits(1, 2).unwrap()];
    let kind = random.random_range(0..4);
    let mut lease = |place: u64| {
        let asked = 3 * place + random.random_range(0..6);
        let granted = asked + random.random_range(0..4);
        let ended = granted + random.random_range(0..5);
        let mode = if random.random_bool(0.5) { Mode::Exclusive } else { modes[kind] };
        let owner =
            (kind == 0 && random.random_bool(0.8)).then(|| format!("owner {}", random.random_range(0..2)));
        let fence = place + random.random_range(0..10) / 8 - random.random_range(0..10) / 8;
        Held {
            resource: ResourceName::new("r").unwrap(),
            mode,
            owner: owner.map(|owner| Owner::new(owner).unwrap()),
            reentered: false,
            fence: Some(Fence::new(fence)),
            ttl: Duration::from_secs(random.random_range(0..4)),
            asked: at(asked),
            granted: at(granted),
            valid_until: at(ended),
            stopped: at(ended),
            lost: None,
        }
    };
    (1..=5).map(&mut lease).collect()
}

#[test]
fn the_orders_that_are_not_tried_could_change_no_verdict() {
    let (mut random, mut accepted) = (StdRng::seed_from_u64(27), 0);
    for _ in 0..4_000 {
        let history = random_history(&mut random);
        let verdict = Search(&history).finds_an_order(0, 0);
        assert_eq!(is_that_of_a_lock(&history.iter().collect::<Vec<_>>()), verdict, "{history:#?}");
        accepted += u32::from(verdict);
    }
    assert!((200..3_800).contains(&accepted), "{accepted} of 4,000 are accepted: the others show nothing");
}
