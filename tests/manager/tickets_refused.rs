//! Tickets that are refused, adopted twice, or answered late, and their form. In virtual time.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use futures_util::FutureExt;
use leasehold::{
    Acquire, Adopt, AdoptError, LeaseTicket, LossReason, Mode, Release, ReleaseError, Settings, Stats, Token,
    env::{Clock, Moment, RuntimeClock},
};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::tickets::{acquire, adopt, is_held, pair, short};
use support::virtual_time::{World, in_virtual_time, millis, secs};

#[test]
fn two_managers_that_adopt_one_ticket_share_the_lease_and_one_manager_refuses_the_second() {
    in_virtual_time(|| async {
        let world = World::new();
        let (giver, adopter, _) = pair(&world);
        let ticket = acquire(&giver, short()).await.into_ticket().await.unwrap();
        let both = tokio::join!(adopt(&adopter, &ticket), adopt(&adopter, &ticket));
        let (Ok(one), Err(second)) = both else { panic!("{both:?}") };
        assert!(matches!(second, AdoptError::AlreadyHeld), "{second}");
        assert!(matches!(adopt(&adopter, &ticket).await, Err(AdoptError::AlreadyHeld)));
        let other = adopt(&giver, &ticket).await.unwrap();
        sleep(secs(60)).await;
        assert!(one.is_valid() && other.is_valid(), "nobody can tell them from each other");
        one.release().await.unwrap();
        assert_eq!(other.lost().await, LossReason::NotHeld);
        let lost = other.release().await.unwrap_err();
        assert!(matches!(lost, ReleaseError::Lost { reason: LossReason::NotHeld }), "{lost}");
    });
}

#[test]
fn a_ticket_is_good_until_its_lease_is_over_whatever_the_store_answers_meanwhile() {
    in_virtual_time(|| async {
        let world = World::new();
        let (giver, adopter, _) = pair(&world);
        let ticket = acquire(&giver, Acquire::new("r").ttl(secs(30))).await.into_ticket().await.unwrap();
        world.store.fail_next(1);
        let failed = adopt(&adopter, &ticket).await.unwrap_err();
        assert!(matches!(failed, AdoptError::Store(_)), "{failed}");
        world.store.lose_next_replies(1);
        assert!(matches!(adopt(&adopter, &ticket).await, Err(AdoptError::Store(_))));
        world.store.stall_next(1, secs(3_600));
        let began = Instant::now();
        assert!(matches!(adopt(&adopter, &ticket).await, Err(AdoptError::Store(_))));
        assert_eq!(began.elapsed(), secs(15), "half of its TTL");
        // A caller that goes before the store is asked changes nothing.
        assert!(adopter.send(Adopt(ticket.clone())).now_or_never().is_none());
        let lease = adopt(&adopter, &ticket).await.unwrap();
        assert!(is_held(&giver).await);
        lease.release().await.unwrap();
        let over = adopt(&adopter, &ticket).await.unwrap_err();
        assert!(matches!(over, AdoptError::NotHeld), "{over}");
        let elsewhere = adopt(&World::new().manager(), &ticket).await.unwrap_err();
        assert!(matches!(elsewhere, AdoptError::NotHeld), "{elsewhere}");
    });
}

#[test]
fn an_adoption_that_nobody_waits_for_any_more_is_released() {
    in_virtual_time(|| async {
        let world = World::new();
        let (giver, adopter, _) = pair(&world);
        let ticket = acquire(&giver, Acquire::new("r").ttl(secs(30))).await.into_ticket().await.unwrap();
        world.store.stall_next(1, secs(2));
        let asking = tokio::time::timeout(secs(1), adopter.send(Adopt(ticket)));
        assert!(asking.await.is_err() && is_held(&giver).await);
        sleep(secs(2)).await;
        assert!(!is_held(&giver).await);
    });
}

#[test]
fn a_ticket_that_nobody_is_to_adopt_releases_its_lease() {
    in_virtual_time(|| async {
        let world = World::new();
        let (giver, adopter, _) = pair(&world);
        let ticket = acquire(&giver, short()).await.into_ticket().await.unwrap();
        adopter.send(Release::from(&ticket)).await.unwrap().unwrap();
        assert!(!is_held(&giver).await);
    });
}

#[test]
fn a_ttl_beyond_the_limits_of_the_adopter_is_refused_and_nothing_is_sent() {
    in_virtual_time(|| async {
        let world = World::new();
        let (giver, _, store) = pair(&world);
        let ticket = acquire(&giver, Acquire::new("r").ttl(secs(30))).await.into_ticket().await.unwrap();
        let mut settings = Settings::default();
        settings.lease.ttl = secs(5);
        settings.limits.max_ttl = secs(20);
        let strict = world.builder_on(Arc::new(store.clone())).settings(settings).start_here().unwrap();
        let refused = adopt(&strict, &ticket).await.unwrap_err();
        assert!(matches!(&refused, AdoptError::Invalid(value) if value.field == "ttl"), "{refused}");
        assert_eq!(store.renewals(), 0);
    });
}

#[test]
fn an_adoption_that_is_answered_too_late_leaves_the_lease_to_another_adopter() {
    in_virtual_time(|| async {
        let world = World::new();
        let (giver, another, _) = pair(&world);
        let (clock, _, jump) = odd_clock();
        let freezes = world.builder().clock(clock).start_here().unwrap();
        let ticket = acquire(&giver, Acquire::new("r").ttl(secs(30))).await.into_ticket().await.unwrap();
        world.store.stall_next(1, secs(2));
        let asking = freezes.send(Adopt(ticket.clone()));
        let frozen = async {
            sleep(secs(1)).await;
            jump.store(60, Ordering::Relaxed);
        };
        let (late, ()) = tokio::join!(asking, frozen);
        let late = late.unwrap().unwrap_err();
        assert!(matches!(late, AdoptError::Store(_)), "{late}");
        sleep(secs(1)).await;
        let lease = adopt(&another, &ticket).await.unwrap();
        sleep(secs(60)).await;
        assert!(lease.is_valid() && is_held(&giver).await);
    });
}

/// A clock that panics once when it is told to, or jumps.
#[derive(Debug)]
struct Odd(RuntimeClock, Arc<AtomicBool>, Arc<AtomicU64>);

impl Clock for Odd {
    fn now(&self) -> Moment {
        assert!(!self.1.swap(false, Ordering::Relaxed), "the clock was told to panic");
        self.0.now() + secs(self.2.load(Ordering::Relaxed))
    }
}

/// The clock, what lets it panic, and the seconds by which it has jumped.
fn odd_clock() -> (Arc<Odd>, Arc<AtomicBool>, Arc<AtomicU64>) {
    let (armed, jump) = (Arc::default(), Arc::default());
    (Arc::new(Odd(RuntimeClock::start(), Arc::clone(&armed), Arc::clone(&jump))), armed, jump)
}

#[test]
fn a_lease_that_has_run_out_has_no_ticket_before_anybody_has_seen_that() {
    in_virtual_time(|| async {
        let (clock, _, jump) = odd_clock();
        let giver = World::new().builder().clock(clock).start_here().unwrap();
        let lease = acquire(&giver, short()).await;
        jump.store(3_600, Ordering::Relaxed);
        assert_eq!(lease.into_ticket().await.unwrap_err().reason, LossReason::Expired);
    });
}

#[test]
fn a_lost_lease_whose_ticket_was_adopted_here_again_releases_nothing_when_it_is_dropped() {
    in_virtual_time(|| async {
        let world = World::new();
        let (giver, _, store) = pair(&world);
        let (clock, _, jump) = odd_clock();
        let adopter = world.builder_on(Arc::new(store.clone())).clock(clock).start_here().unwrap();
        let ticket = acquire(&giver, Acquire::new("r").ttl(secs(30))).await.into_ticket().await.unwrap();
        let first = adopt(&adopter, &ticket).await.unwrap();
        // By its clock alone: the store has it still.
        jump.store(60, Ordering::Relaxed);
        assert_eq!(first.lost().await, LossReason::Expired);
        // Until the manager has looked.
        sleep(secs(15)).await;
        let second = adopt(&adopter, &ticket).await.unwrap();
        drop(first);
        sleep(secs(60)).await;
        assert!(second.is_valid() && is_held(&giver).await);
    });
}

#[test]
fn a_lease_whose_manager_panics_over_its_adoption_is_released() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if panic.payload_as_str() != Some("the clock was told to panic") {
            usual(panic);
        }
    }));
    in_virtual_time(|| async {
        let world = World::new();
        let (giver, _, store) = pair(&world);
        let (clock, armed, _) = odd_clock();
        let adopter = world.builder_on(Arc::new(store.clone())).clock(clock).start_here().unwrap();
        let ticket = acquire(&giver, Acquire::new("r").ttl(secs(30))).await.into_ticket().await.unwrap();
        store.answer_renewals_after(millis(500));
        let asking = adopter.send(Adopt(ticket));
        let arm = async {
            // Between two ticks of the manager, which read the clock.
            sleep(millis(400)).await;
            armed.store(true, Ordering::Relaxed);
        };
        let (answer, ()) = tokio::join!(asking, arm);
        let failed = answer.unwrap().unwrap_err();
        assert!(matches!(failed, AdoptError::AlreadyHeld), "{failed}");
        sleep(secs(5)).await;
        let counted = adopter.send(Stats).await.unwrap();
        assert_eq!((counted.manager_restarts, counted.held), (1, 0));
        assert!(!is_held(&giver).await, "long before its TTL");
    });
}

/// A ticket, and its form as JSON.
async fn ticket(ask: Acquire) -> (LeaseTicket, Value) {
    let ticket = acquire(&World::new().manager(), ask).await.into_ticket().await.unwrap();
    let form = serde_json::to_value(&ticket).unwrap();
    (ticket, form)
}

#[test]
fn the_form_of_a_ticket_reads_back_in_any_format_and_tells_what_it_is() {
    in_virtual_time(|| async {
        let limits = short().max_hold(secs(90)).min_hold(millis(1_500)).heartbeat(secs(1)).owner("job \"7\"");
        let (made, form) = ticket(limits.lock_delay(secs(2))).await;
        let expected = json!({
            "version": 1, "resource": "r", "token": form["token"], "owner": "job \"7\"",
            "fence": made.fence().unwrap().get(), "holds": 1, "mode": "exclusive", "ttl": "3s",
            "valid_for": form["valid_for"], "min_hold": "1s 500ms", "lock_delay": "2s", "renew_every": "1s",
            "max_renewals": null, "max_hold": "1m 30s", "heartbeat": "1s", "slot": null,
        });
        assert_eq!(form, expected);
        let (odd, _) = ticket(Acquire::new([0, b'/', 0xff]).permits(2, 3).no_renew()).await;
        assert_eq!((odd.resource(), odd.mode()), ("%00/%FF", Mode::permits(2, 3).unwrap()));
        for ticket in [&made, &odd] {
            let json: LeaseTicket = serde_json::from_str(&serde_json::to_string(ticket).unwrap()).unwrap();
            let toml: LeaseTicket = toml::from_str(&toml::to_string(ticket).unwrap()).unwrap();
            for read in [json, toml] {
                assert_eq!(serde_json::to_value(&read).unwrap(), serde_json::to_value(ticket).unwrap());
            }
        }
        assert!(made.valid_for() > millis(2_900) && made.valid_for() < secs(3), "{made:?}");
    });
}

#[test]
fn a_ticket_shows_the_beginning_of_its_token_and_its_adoption_no_more() {
    in_virtual_time(|| async {
        let (ticket, form) = ticket(short()).await;
        let secret = form["token"].as_str().unwrap();
        let token: Token = secret.parse().unwrap();
        for shown in [format!("{ticket:?}"), format!("{:#?}", Adopt(ticket.clone()))] {
            assert!(shown.contains(&token.prefix().to_string()) && !shown.contains(secret), "{shown}");
        }
    });
}

#[test]
fn a_ticket_of_another_version_is_refused_by_its_number_and_fields_that_are_added_are_left_alone() {
    in_virtual_time(|| async {
        let (_, mut form) = ticket(short()).await;
        form["more"] = json!("of it");
        assert!(serde_json::from_value::<LeaseTicket>(form.clone()).is_ok());
        let error =
            serde_json::from_str::<LeaseTicket>(r#"{"version":2,"name":"r"}"#).unwrap_err().to_string();
        assert!(error.contains("a ticket of version 2, where 1 is known"), "{error}");
        form.as_object_mut().unwrap().remove("version");
        let error = serde_json::from_value::<LeaseTicket>(form).unwrap_err().to_string();
        assert!(error.contains("missing field `version`"), "{error}");
    });
}

#[test]
fn a_ticket_with_an_invalid_value_is_refused_by_its_name_and_without_its_token() {
    in_virtual_time(|| async {
        let locks = World::new().manager();
        let (_, form) = ticket(short()).await;
        let secret = "0123456789ABCDEF0123456789ABCDEF";
        for (field, value, name) in [
            ("token", json!(secret), "token"),
            ("resource", json!("{r}"), "resource"),
            ("owner", json!(""), "owner"),
            ("mode", json!({"permits": {"count": 4, "of": 3}}), "permits"),
            ("ttl", json!("1ms"), "ttl"),
            ("renew_every", json!("2s"), "renew_every"),
            ("renew_every", json!("0s"), "renew_every"),
            ("heartbeat", json!("0s"), "heartbeat"),
            ("max_hold", json!("0s"), "max_hold"),
            ("lock_delay", json!("1000days"), "lock_delay"),
        ] {
            let mut form = form.clone();
            form[field] = value;
            let ticket: LeaseTicket = serde_json::from_value(form).unwrap();
            if ["token", "resource", "owner"].contains(&field) {
                let refused = locks.send(Release::from(&ticket)).await.unwrap().unwrap_err();
                assert!(matches!(&refused, ReleaseError::Invalid(value) if value.field == name), "{refused}");
            }
            let refused = locks.send(Adopt(ticket)).await.unwrap().unwrap_err();
            assert!(matches!(&refused, AdoptError::Invalid(value) if value.field == name), "{refused}");
            assert!(!format!("{refused} {refused:?}").contains(secret), "{refused}");
        }
        assert_eq!(locks.send(Stats).await.unwrap().renewals, 0);
    });
}
