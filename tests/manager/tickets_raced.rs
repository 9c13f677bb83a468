//! Hand-overs and adoptions while something else happens to the lease. In virtual time.

use std::sync::Arc;

use actix::{Actor, Addr, Context};
use leasehold::{
    Acquire, Adopt, AdoptError, LockManager, LossReason, Release, ReleaseError, Released, Revoke,
};
use tokio::time::sleep;

use crate::manager::tickets::{acquire, adopt, is_held, pair, short};
use support::{
    odd_store::{OddStore, odd_store},
    virtual_time::{World, in_virtual_time, millis, secs},
};

/// An adopter whose renewals are executed at once, and answered after half a second.
fn slow_adopter(world: &World) -> (Addr<LockManager>, OddStore) {
    let store = odd_store(world.store.clone());
    store.answer_renewals_after(millis(500));
    (world.builder_on(Arc::new(store.clone())).start_here().unwrap(), store)
}

#[test]
fn a_lease_that_is_taken_or_released_while_it_is_adopted_is_none() {
    in_virtual_time(|| async {
        for taken in [true, false] {
            let world = World::new();
            let (adopter, _store) = slow_adopter(&world);
            let other = world.manager();
            let ticket = acquire(&other, short()).await.into_ticket().await.unwrap();
            let adoption = adopter.send(Adopt(ticket.clone()));
            let adoption = actix_rt::spawn(adoption);
            sleep(millis(100)).await;
            if taken {
                assert_eq!(other.send(Revoke::at_once("r")).await.unwrap().unwrap().taken, 1);
            } else {
                assert_eq!(adopter.send(Release::from(&ticket)).await.unwrap().unwrap(), Released::Freed);
            }
            let answer = adoption.await.unwrap().unwrap();
            assert!(matches!(answer, Err(AdoptError::NotHeld)), "{taken}: {answer:?}");
        }
    });
}

#[test]
fn a_ticket_is_adopted_once_at_a_time_and_not_while_its_release_is_repeated() {
    in_virtual_time(|| async {
        let world = World::new();
        let (adopter, store) = slow_adopter(&world);
        let other = world.manager();
        let ticket = acquire(&other, short()).await.into_ticket().await.unwrap();
        let first = actix_rt::spawn(adopter.send(Adopt(ticket.clone())));
        sleep(millis(100)).await;
        assert!(matches!(adopt(&adopter, &ticket).await, Err(AdoptError::AlreadyHeld)));
        let ticket = first.await.unwrap().unwrap().unwrap().into_ticket().await.unwrap();
        store.go_down(true);
        let released = adopter.send(Release::from(&ticket)).await.unwrap();
        assert!(matches!(released, Err(ReleaseError::Store(_))), "{released:?}");
        assert!(matches!(adopt(&adopter, &ticket).await, Err(AdoptError::AlreadyHeld)));
        store.go_down(false);
        sleep(secs(1)).await;
        assert!(!is_held(&other).await, "it was released in the end");
    });
}

#[test]
fn a_lease_that_a_renewal_on_its_way_finds_lost_has_no_ticket() {
    in_virtual_time(|| async {
        let world = World::new();
        let (giver, _, store) = pair(&world);
        let lease = acquire(&giver, short()).await;
        store.answer_renewals_after(millis(500));
        world.store.clear();
        while store.renewals() == 0 {
            sleep(millis(1)).await;
        }
        let lost = lease.into_ticket().await.unwrap_err();
        assert_eq!(lost.reason, LossReason::NotHeld);
    });
}

struct Owner;

impl Actor for Owner {
    type Context = Context<Self>;
}

#[test]
fn a_lease_is_handed_over_or_released_if_its_owner_dies_at_that_moment() {
    in_virtual_time(|| async {
        let (mut handed_over, mut released) = (0, 0);
        for offset in 0..250 {
            let world = World::new();
            let (giver, adopter, _) = pair(&world);
            let mut lives = Some(Owner.start());
            let ask = Acquire::new("r").ttl(secs(3)).bound_to(lives.as_ref().unwrap());
            let lease = acquire(&giver, ask).await;
            drop(lives.take());
            sleep(millis(offset)).await;
            let Ok(ticket) = lease.into_ticket().await else {
                released += 1;
                continue;
            };
            handed_over += 1;
            sleep(millis(100)).await;
            let adopted = adopt(&adopter, &ticket).await;
            assert!(adopted.is_ok(), "released at {offset} ms, and handed over: {adopted:?}");
        }
        assert!(handed_over > 0 && released > 0, "{handed_over} {released}");
    });
}
