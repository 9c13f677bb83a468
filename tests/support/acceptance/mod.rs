//! What every store must do, fact by fact. A store under test is a [`World`]; one line gives it the whole suite:
//!
//! ```ignore
//! acceptance!(memory: MemoryWorld);                       // all facts
//! acceptance!(quorum: QuorumWorld, exclusive, shared);    // those of some groups
//! ```

mod ends;
mod exclusive;
mod inspection;
mod names;
mod permits;
mod reentry;
mod shared;

use std::{sync::Arc, time::Duration};

use leasehold::{
    protocol::{Fence, Mode, Owner, ResourceName},
    store::{
        Acquired, Acquisition, Grant, Hold, Inspection, Metadata, Refusal, Released, Renewed, Store,
        StoreError,
    },
    world::{Dice, SystemDice},
};

pub(crate) use self::{ends::*, exclusive::*, inspection::*, names::*, permits::*, reentry::*, shared::*};

/// A store, and the time that passes for it.
pub(crate) trait World {
    /// Starts a store. It may be shared with other facts: each works on resources of its own.
    async fn start() -> Self;

    fn store(&self) -> Arc<dyn Store>;

    /// Lets time pass for the store.
    async fn pass(&self, time: Duration);
}

/// One fact under test: a store, and a resource of which nobody else knows.
pub(crate) struct Scene<W> {
    world: W,
    store: Arc<dyn Store>,
    name: ResourceName,
}

/// The TTL of every acquisition that does not say another.
const TTL: Duration = Duration::from_secs(10);

impl<W: World> Scene<W> {
    pub(crate) async fn set() -> Self {
        let world = W::start().await;
        let store = world.store();
        let name = ResourceName::new(unique("fact/")).unwrap();
        Self { world, store, name }
    }

    fn ask(&self, mode: Mode) -> Acquisition {
        let hold = Hold { resource: self.name.clone(), token: SystemDice.token(), owner: None };
        let metadata = Metadata::from([("purpose".to_owned(), "acceptance".to_owned())]);
        Acquisition { hold, mode, reentrant: false, ttl: TTL, lock_delay: Duration::ZERO, metadata }
    }

    fn exclusive(&self) -> Acquisition {
        self.ask(Mode::Exclusive)
    }

    fn reentrant(&self, owner: &str) -> Acquisition {
        Acquisition { reentrant: true, ..owned(owner, self.exclusive()) }
    }

    fn shared(&self) -> Acquisition {
        self.ask(Mode::Shared)
    }

    fn permits(&self, count: u32, of: u32) -> Acquisition {
        self.ask(Mode::permits(count, of).unwrap())
    }

    async fn granted(&self, asked: &Acquisition) -> Grant {
        match self.store.acquire(asked).await.unwrap() {
            Acquired::Granted(grant) => grant,
            Acquired::Refused(refusal) => panic!("{:?} was refused: {refusal:?}", asked.mode),
        }
    }

    async fn refused(&self, asked: &Acquisition) -> Refusal {
        match self.store.acquire(asked).await.unwrap() {
            Acquired::Granted(_) => panic!("{:?} was granted", asked.mode),
            Acquired::Refused(refusal) => refusal,
        }
    }

    async fn failed(&self, asked: &Acquisition) -> StoreError {
        match self.store.acquire(asked).await {
            Ok(answer) => panic!("{:?} was answered {answer:?}", asked.mode),
            Err(error) => error,
        }
    }

    async fn fence(&self, asked: &Acquisition) -> Fence {
        self.granted(asked).await.fence.unwrap()
    }

    async fn renew(&self, asked: &Acquisition) -> Renewed {
        self.store.renew(&asked.hold, asked.ttl).await.unwrap()
    }

    async fn release(&self, asked: &Acquisition) -> Released {
        self.release_closed_for(asked, Duration::ZERO).await
    }

    async fn release_closed_for(&self, asked: &Acquisition, closed_for: Duration) -> Released {
        self.store.release(&asked.hold, closed_for).await.unwrap()
    }

    async fn is_held(&self, asked: &Acquisition) -> bool {
        self.store.is_held(&asked.hold).await.unwrap()
    }

    async fn inspect(&self) -> Inspection {
        self.store.inspect(&self.name, 100).await.unwrap()
    }

    async fn pass(&self, time: Duration) {
        self.world.pass(time).await;
    }
}

fn owned(owner: &str, mut asked: Acquisition) -> Acquisition {
    asked.hold.owner = Some(Owner::new(owner).unwrap());
    asked
}

const fn secs(count: u64) -> Duration {
    Duration::from_secs(count)
}

/// A text that nobody else has.
fn unique(beginning: &str) -> String {
    format!("{beginning}{}", SystemDice.token().to_hex())
}

/// What remains shrinks while a test runs; by less than this, even on a busy machine.
const SLACK: Duration = Duration::from_secs(2);

#[track_caller]
fn assert_about(actual: Duration, expected: Duration) {
    let within = actual <= expected && actual + SLACK > expected;
    assert!(within, "{actual:?} is not about {expected:?}");
}

/// Stamps a test for each fact, against one world.
macro_rules! acceptance {
    ($store:ident: $world:ty) => {
        acceptance!($store: $world, exclusive, reentry, shared, permits, ends, inspection, names);
    };
    ($store:ident: $world:ty, $($group:ident),+) => {
        mod $store {
            use super::*;
            $(facts_of!($group: $world);)+
        }
    };
}

macro_rules! facts {
    ($world:ty: $($fact:ident)+) => {
        $(
            #[tokio::test]
            async fn $fact() {
                acceptance::$fact(acceptance::Scene::<$world>::set().await).await;
            }
        )+
    };
}

macro_rules! facts_of {
    (exclusive: $world:ty) => {
        facts! { $world:
            an_exclusive_holder_keeps_everybody_else_out
            of_many_at_once_one_is_granted
            a_release_opens_at_once
            a_stranger_can_neither_renew_nor_release
            a_repeated_acquisition_has_the_same_fence_and_a_new_end
            a_repeated_release_finds_nothing_and_harms_nobody
            giving_back_what_was_never_granted_is_harmless
            a_renewal_counts_the_end_from_now
            a_refusal_changes_nothing
            a_refusal_names_who_is_in_the_way_and_for_how_long
            a_later_grant_has_the_larger_fence
            a_token_holds_only_where_it_was_granted
        }
    };
    (reentry: $world:ty) => {
        facts! { $world:
            an_owner_enters_again_with_the_same_fence
            an_owner_leaves_as_often_as_it_entered
            each_hold_of_an_owner_ends_alone
            a_lost_hold_tells_how_many_its_owner_has_left
            nobody_else_enters_what_an_owner_holds
            a_repeated_re_entry_is_counted_once
            an_owner_that_does_not_re_enter_would_wait_for_itself
            an_upgrade_would_wait_for_itself
            a_deadlock_names_all_that_the_owner_holds
            an_owner_cannot_read_what_it_holds_exclusively
            an_owner_whose_lease_ended_does_not_wait_for_itself
            a_new_session_of_an_owner_has_a_larger_fence
            an_owner_re_enters_beside_its_own_closed_hold
        }
    };
    (shared: $world:ty) => {
        facts! { $world:
            readers_hold_together_and_a_writer_waits_for_the_last
            a_writer_waits_for_the_lock_delay_of_the_last_reader
            each_reader_has_its_own_fence
            a_reader_that_died_ages_out_alone
            a_repeated_reader_is_one_reader
            an_owner_may_read_twice
            readers_and_permits_do_not_mix
            a_thousand_readers_hold_at_once
        }
    };
    (permits: $world:ty) => {
        facts! { $world:
            permits_are_granted_up_to_the_capacity
            of_many_at_once_as_many_are_granted_as_fit
            a_large_request_waits_while_a_small_one_fits
            permits_come_back_with_a_release_and_with_an_end
            a_refusal_of_permits_names_the_first_end
            repeated_permits_are_taken_once
            another_capacity_is_an_error
            permits_and_an_exclusive_holder_exclude_each_other
            no_permit_is_lost_in_a_hundred_turns
            a_free_resource_may_be_used_with_another_capacity
        }
    };
    (ends: $world:ty) => {
        facts! { $world:
            a_lease_ends_by_itself
            a_lock_delay_keeps_an_expired_resource_closed
            a_release_before_the_end_knows_no_lock_delay
            a_renewal_keeps_the_lock_delay
            an_expired_holder_is_no_holder_during_its_lock_delay
            a_lock_delay_of_a_reader_keeps_writers_out
            a_lock_delay_keeps_permits_taken
            a_release_may_open_later
            a_closed_resource_is_closed_to_its_last_holder_too
            permits_that_open_later_stay_taken
            a_reader_that_opens_later_keeps_writers_out
            a_late_repeat_does_not_bring_a_closed_hold_back
        }
    };
    (inspection: $world:ty) => {
        facts! { $world:
            a_free_resource_has_no_holders
            holders_are_shown_in_order_of_their_end
            owner_and_metadata_read_back_whatever_their_bytes
            a_forced_release_takes_from_all_and_opens
            a_forced_release_opens_what_is_closed
            a_list_has_what_is_not_free_in_order_of_name
            a_list_is_bounded_and_says_so
            a_list_forgets_what_ended
        }
    };
    (names: $world:ty) => {
        facts! { $world:
            strange_names_are_locks_of_their_own
            strange_names_work_with_every_verb_and_mode
            a_prefix_is_no_pattern
        }
    };
}
