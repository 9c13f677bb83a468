//! The terms of an election: who leads, who is told, and how a term ends.

use std::{time::Duration, vec};

use actix::Addr;
use leasehold::{
    Acquire, LockManager, LossReason, ReadLock, Revoke, Settings, Shutdown,
    election::{Campaign, Candidacy, Demotion, Election, Leader, Resign, Unwell},
};
use tokio::time::{Instant, sleep};

use crate::election::witness::{Heard, TTL, Told, Witness, candidacy, stand, until};
use support::virtual_time::{World, in_virtual_time, millis, secs};

/// A candidate in a process of its own.
struct Candidate {
    locks: Addr<LockManager>,
    election: Addr<Election>,
    heard: Heard,
}

impl Candidate {
    fn new(world: &World) -> Self {
        let locks = world.manager();
        let (election, heard) = stand(&locks);
        Self { locks, election, heard }
    }
}

/// Candidates of which the first leads, and the others wait in this order.
async fn candidates<const N: usize>(world: &World) -> [Candidate; N] {
    let mut all = Vec::new();
    for _ in 0..N {
        all.push(Candidate::new(world));
        sleep(millis(10)).await;
    }
    all.try_into().ok().unwrap()
}

#[test]
fn one_of_many_leads_and_the_next_follows_when_it_resigns() {
    in_virtual_time(|| async {
        let world = World::new();
        let [first, second, third] = candidates(&world).await;
        sleep(secs(3_600)).await;
        assert!(first.heard.leads(), "a leader that is well is kept");
        assert_eq!((second.heard.terms(), third.heard.terms()), (vec![], vec![]));
        first.election.send(Resign).await.unwrap();
        sleep(millis(10)).await;
        assert!(second.heard.leads() && third.heard.terms().is_empty());
        assert_eq!(first.heard.demotions(), [Demotion::Resigned]);
        assert!(second.heard.fences() > first.heard.fences());
        sleep(secs(3_600)).await;
        assert_eq!(first.heard.fences().len(), 1, "it does not stand before it is told to");
        first.election.send(Campaign).await.unwrap();
        second.election.send(Resign).await.unwrap();
        third.election.send(Resign).await.unwrap();
        first.heard.elected(2).await;
        assert_eq!(third.heard.fences().len(), 1);
    });
}

#[test]
fn a_candidate_that_resigns_while_it_waits_is_not_elected() {
    in_virtual_time(|| async {
        let world = World::new();
        let [first, second, third] = candidates(&world).await;
        second.election.send(Resign).await.unwrap();
        first.election.send(Resign).await.unwrap();
        third.heard.elected(1).await;
        assert_eq!(second.heard.terms(), []);
        third.election.send(Resign).await.unwrap();
        sleep(secs(1)).await;
        assert_eq!(world.left().await, 0, "nobody leads, and nobody waits");
        // At once, too: no answer to the earlier request counts.
        second.election.do_send(Campaign);
        second.election.do_send(Resign);
        second.election.do_send(Campaign);
        second.heard.elected(1).await;
        second.election.send(Resign).await.unwrap();
        sleep(TTL).await;
        assert_eq!((second.heard.fences().len(), world.left().await), (1, 0));
    });
}

#[test]
fn candidates_of_one_process_lead_one_after_the_other() {
    in_virtual_time(|| async {
        let locks = World::new().manager();
        let [(first, heard), (second, also_heard)] = [stand(&locks), stand(&locks)];
        heard.elected(1).await;
        first.send(Resign).await.unwrap();
        also_heard.elected(1).await;
        first.send(Campaign).await.unwrap();
        sleep(millis(10)).await;
        second.send(Unwell).await.unwrap();
        heard.elected(2).await;
        assert!(!also_heard.leads());
        let fences = [heard.fences()[0], also_heard.fences()[0], heard.fences()[1]];
        assert!(fences.is_sorted_by(|one, next| one < next), "{fences:?}");
    });
}

#[test]
fn a_lost_lead_is_told_and_stood_for_again() {
    in_virtual_time(|| async {
        let world = World::new();
        let [leader] = candidates(&world).await;
        leader.locks.send(Revoke::at_once("r")).await.unwrap().unwrap();
        leader.heard.elected(2).await;
        let fences = leader.heard.fences();
        assert!(fences[0] < fences[1]);
        let lost = Demotion::Lost(LossReason::Forced);
        let told = [Told::Elected(1, fences[0]), Told::Demoted(1, lost), Told::Elected(2, fences[1])];
        assert_eq!(leader.heard.terms(), told);
    });
}

#[test]
fn a_leader_that_is_asked_for_the_lead_resigns_at_once_and_the_next_one_leads() {
    in_virtual_time(|| async {
        let world = World::new();
        let [first, second] = candidates(&world).await;
        let revoke = Revoke::new("r").reason("a deploy").grace(secs(60));
        let began = Instant::now();
        let revoked = world.manager().send(revoke).await.unwrap().unwrap();
        assert_eq!((revoked.finished, revoked.taken), (1, 0), "it finished by itself");
        second.heard.elected(1).await;
        assert!(began.elapsed() < secs(1), "no TTL was waited for: {:?}", began.elapsed());
        let demotions = first.heard.demotions();
        assert!(matches!(&demotions[..], [Demotion::Revoked(request)] if &*request.reason == "a deploy"));
        assert!(second.heard.fences() > first.heard.fences());
        sleep(secs(3_600)).await;
        assert!(second.heard.leads(), "the first one stands behind it");
        second.election.send(Resign).await.unwrap();
        first.heard.elected(2).await;
    });
}

#[test]
fn pauses_double_while_terms_are_short() {
    in_virtual_time(|| async {
        let world = World::new();
        let [leader] = candidates(&world).await;
        let mut pauses = Vec::new();
        for term in 1..=4 {
            leader.heard.elected(term).await;
            leader.election.send(Unwell).await.unwrap();
            leader.heard.elected(term + 1).await;
            pauses.push((leader.heard.elected_at() - leader.heard.demoted_at()).as_millis() / 100);
        }
        assert_eq!(pauses, [1, 2, 4, 8]);
        sleep(secs(11)).await;
        leader.election.send(Unwell).await.unwrap();
        leader.heard.elected(6).await;
        assert!(leader.heard.elected_at() - leader.heard.demoted_at() < millis(200), "after a long term");
    });
}

#[test]
fn a_leader_that_is_not_well_lets_another_one_lead() {
    in_virtual_time(|| async {
        let world = World::new();
        let [first, second] = candidates(&world).await;
        second.election.send(Unwell).await.unwrap();
        first.election.send(Unwell).await.unwrap();
        second.heard.elected(1).await;
        assert_eq!(first.heard.demotions(), [Demotion::Unwell]);
        assert_eq!(second.heard.demotions(), [], "it did not lead");
        second.election.send(Resign).await.unwrap();
        first.heard.elected(2).await;
    });
}

#[test]
fn a_leader_that_sends_no_heartbeat_loses_the_lead() {
    in_virtual_time(|| async {
        let world = World::new();
        let heard = Heard::default();
        let ask = Acquire::new("r").ttl(TTL).heartbeat(secs(5));
        let silent = Candidacy::from(ask).tell(Witness::start(&heard, Duration::ZERO));
        Election::start(&world.manager(), silent).unwrap();
        heard.elected(1).await;
        for _ in 0..30 {
            sleep(secs(1)).await;
            heard.lease().heartbeat();
        }
        let [other] = candidates(&world).await;
        assert!(heard.leads(), "it reported");
        let silent_since = Instant::now();
        other.heard.elected(1).await;
        assert_eq!(heard.demotions(), [Demotion::Expiring]);
        assert!(silent_since.elapsed() < TTL + secs(5), "{:?}", silent_since.elapsed());
    });
}

#[test]
fn the_lead_is_kept_until_the_recipients_have_finished() {
    in_virtual_time(|| async {
        let world = World::new();
        let (quick, slow) = (Heard::default(), Heard::default());
        let leader = candidacy(&quick).tell(Witness::start(&slow, millis(700))).budget(secs(1));
        let election = Election::start(&world.manager(), leader).unwrap();
        slow.elected(1).await;
        let [next] = candidates(&world).await;
        election.send(Resign).await.unwrap();
        assert_eq!(slow.demoted_at().elapsed(), millis(700), "the answer comes when they have");
        next.heard.elected(1).await;
        let gap = next.heard.elected_at() - slow.demoted_at();
        assert!((millis(700)..millis(800)).contains(&gap), "{gap:?}");
    });
}

#[test]
fn a_recipient_that_does_not_finish_costs_the_budget() {
    in_virtual_time(|| async {
        let world = World::new();
        let heard = Heard::default();
        let ask = Acquire::new("r").ttl(TTL);
        let leader = Candidacy::from(ask).tell(Witness::start(&heard, secs(3_600))).budget(secs(2));
        let election = Election::start(&world.manager(), leader).unwrap();
        heard.elected(1).await;
        let [next] = candidates(&world).await;
        election.send(Resign).await.unwrap();
        next.heard.elected(1).await;
        let gap = next.heard.elected_at() - heard.demoted_at();
        assert!((secs(2)..millis(2_100)).contains(&gap), "{gap:?}");
        assert!(!heard.lease().is_valid(), "keeping the lease does not keep the lead");
    });
}

#[test]
fn a_leader_steps_down_before_the_validity_ends_if_the_store_is_away() {
    in_virtual_time(|| async {
        let world = World::new();
        let heard = Heard::default();
        let leader = candidacy(&heard).budget(secs(2));
        Election::start(&world.manager(), leader).unwrap();
        heard.elected(1).await;
        world.store.fail_next(1_000_000);
        let away_since = Instant::now();
        until("demoted", || !heard.demotions().is_empty()).await;
        assert_eq!(heard.demotions(), [Demotion::Expiring]);
        let kept = away_since.elapsed();
        assert!((secs(7)..TTL - secs(2)).contains(&kept), "{kept:?}");
    });
}

#[test]
fn a_shutdown_hands_the_lead_over_at_once() {
    in_virtual_time(|| async {
        let world = World::new();
        let slow = Heard::default();
        let ask = Acquire::new("r").ttl(TTL);
        let leader = Candidacy::from(ask).tell(Witness::start(&slow, millis(50)));
        let locks = world.manager();
        let election = Election::start(&locks, leader).unwrap();
        slow.elected(1).await;
        let [next, later] = candidates(&world).await;
        let drained = locks.send(Shutdown { drain: secs(5) }).await.unwrap();
        assert_eq!((drained.finished, drained.revoked), (1, 0));
        assert_eq!(slow.demotions(), [Demotion::ShuttingDown]);
        next.heard.elected(1).await;
        assert!(next.heard.elected_at() - slow.demoted_at() < millis(100));
        assert!(!election.connected(), "it ends with its lock manager");
        // Nobody waits for the drain of one that does not lead, and nobody finishes without one.
        later.locks.send(Shutdown { drain: secs(5) }).await.unwrap();
        assert!(!later.election.connected() && later.heard.terms().is_empty());
        next.locks.send(Shutdown { drain: Duration::ZERO }).await.unwrap();
        until("demoted", || !next.heard.leads()).await;
        assert_eq!(world.left().await, 0);
    });
}

#[test]
fn observers_hear_of_every_leader_and_do_not_stand() {
    in_virtual_time(|| async {
        let world = World::new();
        let heard = Heard::default();
        let observer = Election::start(&world.manager(), candidacy(&heard).observer()).unwrap();
        assert_eq!(observer.send(Leader).await.unwrap().unwrap(), None);
        let [first, second] = candidates(&world).await;
        sleep(secs(5)).await;
        first.election.send(Resign).await.unwrap();
        sleep(secs(5)).await;
        let fences = [first.heard.fences()[0], second.heard.fences()[0]];
        assert_eq!(heard.all(), fences.map(|fence| Told::LeaderChanged(Some(fence))));
        let seen_by_itself = second.heard.all();
        assert!(seen_by_itself.contains(&Told::LeaderChanged(Some(fences[1]))), "{seen_by_itself:?}");
        let leader = observer.send(Leader).await.unwrap().unwrap().unwrap();
        assert_eq!(leader.token, second.heard.lease().token().prefix());
        second.election.send(Resign).await.unwrap();
        sleep(secs(5)).await;
        assert_eq!(heard.all().last(), Some(&Told::LeaderChanged(None)));
        observer.send(Campaign).await.unwrap();
        heard.elected(1).await;
    });
}

#[test]
fn what_cannot_be_stood_for_is_refused_or_told() {
    in_virtual_time(|| async {
        let locks = World::new().manager();
        let refused = |candidacy: Candidacy| Election::start(&locks, candidacy).unwrap_err().field;
        assert_eq!(refused("".into()), "resource");
        assert_eq!(refused(Acquire::new("r").permits(1, 2).into()), "election.request");
        assert_eq!(refused(Acquire::from(ReadLock::new("r")).into()), "election.request");
        assert_eq!(refused(Acquire::new("r").owner("o").into()), "election.owner");
        assert_eq!(refused(Acquire::new("r").min_hold(secs(1)).into()), "election.min_hold");
        assert_eq!(refused(Acquire::new("r").heartbeat(Duration::ZERO).into()), "heartbeat");
        assert_eq!(refused(Acquire::new("r").no_renew().max_renewals(2).into()), "max_renewals");
        let plain = || Candidacy::from("r");
        let long = Candidacy::from(Acquire::new("r").ttl(secs(3))).budget(millis(1_001));
        assert_eq!(refused(long), "election.budget");
        assert_eq!(refused(plain().pauses(secs(2), secs(1))), "election.pauses");
        assert_eq!(refused(plain().pauses(Duration::ZERO, secs(1))), "election.pauses");
        assert_eq!(refused(plain().look_every(Duration::ZERO)), "election.look_every");
        assert_eq!(refused(plain().max_crashes(0)), "election.max_crashes");

        let heard = Heard::default();
        let ask = Acquire::new("r").ttl(millis(1));
        let told = Candidacy::from(ask).tell(Witness::start(&heard, Duration::ZERO));
        Election::start(&locks, told).unwrap();
        sleep(secs(60)).await;
        assert_eq!(heard.terms(), [Told::NotStanding("invalid", None)]);
    });
}

#[test]
fn a_budget_above_a_third_of_the_ttl_of_the_manager_is_refused_and_not_cut() {
    in_virtual_time(|| async {
        let world = World::new();
        let third = Settings::default().lease.ttl / 3;
        let (longest, longer) = (Heard::default(), Heard::default());
        let told = |heard: &Heard| Candidacy::from("r").tell(Witness::start(heard, Duration::ZERO));
        let locks = world.manager();
        let leader = Election::start(&locks, told(&longest).budget(third)).unwrap();
        longest.elected(1).await;
        leader.send(Resign).await.unwrap();
        Election::start(&locks, told(&longer).budget(third + millis(1))).unwrap();
        sleep(secs(60)).await;
        assert_eq!(longer.terms(), [Told::NotStanding("invalid", None)]);
        assert_eq!(world.left().await, 0, "what it was granted is released");
    });
}
