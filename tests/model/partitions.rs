//! The partitions of a fleet, in every order in which things can happen.
//!
//! Each property is broken without one of the rules, in a world in which it is kept with all of them.

use leasehold_sim::checked::{KEPT, ONE_OWNER, PartitionsRules, PartitionsWorld, SHARED};

const TODAY: PartitionsRules = PartitionsRules::TODAY;

/// Two members come, one leaves, and one freezes.
const FREEZES: PartitionsWorld = PartitionsWorld { rules: TODAY, joins: 2, drains: 1, freezes: 1, deaths: 0 };

/// Three members come; one leaves, one freezes and one dies.
const DIES: PartitionsWorld = PartitionsWorld { rules: TODAY, joins: 3, drains: 1, freezes: 1, deaths: 1 };

fn found(world: PartitionsWorld, property: &'static str, without: PartitionsRules) {
    let path = PartitionsWorld { rules: without, ..world }.broken(property, 16);
    assert!(path.is_some(), "not found: {property}");
}

#[test]
fn a_partition_has_one_owner_and_in_the_end_the_right_one() {
    found(FREEZES, ONE_OWNER, PartitionsRules { stops_first: false, ..TODAY });
    found(FREEZES, ONE_OWNER, PartitionsRules { stops_with_its_lease: false, ..TODAY });
    found(DIES, SHARED, PartitionsRules { gives: false, ..TODAY });
    found(FREEZES, SHARED, PartitionsRules { leaves_the_list: false, ..TODAY });
    found(FREEZES, KEPT, PartitionsRules { waits_for_a_waiter: false, ..TODAY });
    for (world, steps, at_least) in [(FREEZES, 30, 10_000), (DIES, 16, 100_000)] {
        let (states, path) = world.check(steps);
        assert_eq!(path, None);
        assert!(states > at_least, "{states}");
    }
}
