//! The partitions of a fleet, in every order in which things can happen.
//!
//! Each property is broken without one of the rules, in a world in which it is kept with all of them.

use leasehold_sim::checked::{KEPT, ONE_OWNER, PartitionsRules, PartitionsWorld, SETTLES, SHARED};

use super::looked::Looked;

const TODAY: PartitionsRules = PartitionsRules::TODAY;

/// Two members come, one leaves, and one freezes.
const FREEZES: PartitionsWorld = PartitionsWorld { rules: TODAY, joins: 2, drains: 1, freezes: 1, deaths: 0 };

/// Three members come; one leaves, one freezes and one dies.
const DIES: PartitionsWorld = PartitionsWorld { rules: TODAY, joins: 3, drains: 1, freezes: 1, deaths: 1 };

#[test]
fn a_partition_has_one_owner_and_in_the_end_the_right_one() {
    let freezes = Looked { world: FREEZES, steps: 30 };
    let dies = Looked { world: DIES, steps: 16 };
    freezes.found(ONE_OWNER, PartitionsRules { stops_first: false, ..TODAY });
    freezes.found(ONE_OWNER, PartitionsRules { stops_with_its_lease: false, ..TODAY });
    dies.found(SHARED, PartitionsRules { gives: false, ..TODAY });
    freezes.found(SHARED, PartitionsRules { leaves_the_list: false, ..TODAY });
    freezes.found(KEPT, PartitionsRules { waits_for_a_waiter: false, ..TODAY });
    freezes.found(SETTLES, PartitionsRules { stands_for_its_share: false, ..TODAY });
    freezes.clean(10_000);
    dies.clean(100_000);
}
