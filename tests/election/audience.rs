//! Elections that nobody needs any more, and candidates that are not refused for good.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use actix::{Actor, ActorContext, AsyncContext, Context, Handler, Recipient};
use leasehold::{
    Acquire, Backoff, Revoke, Shutdown, Token,
    election::{Candidacy, Election, ElectionEvent, Resign, Singleton, SingletonContext},
    env::{Draw, Random},
};
use tokio::time::{Instant, sleep};

use crate::election::witness::{Heard, TTL, Told, Witness, candidacy, stand, until};
use support::virtual_time::{Loaded, World, in_virtual_time, millis, secs};

/// A recipient that dies after ten seconds.
struct Mortal;

impl Mortal {
    fn start() -> Recipient<ElectionEvent> {
        Actor::start(Self).recipient()
    }
}

impl Actor for Mortal {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.run_later(secs(10), |_, ctx| ctx.stop());
    }
}

impl Handler<ElectionEvent> for Mortal {
    type Result = ();

    fn handle(&mut self, _: ElectionEvent, _: &mut Self::Context) {}
}

#[test]
fn a_leader_whose_recipients_have_all_died_gives_the_lead_up() {
    in_virtual_time(|| async {
        let world = World::new();
        let began = Instant::now();
        let ask = || Candidacy::from(Acquire::new("r").ttl(TTL));
        let leads = Election::start(&world.manager(), ask().tell(Mortal::start())).unwrap();
        sleep(millis(10)).await;
        let waits = Election::start(&world.manager(), ask().tell(Mortal::start())).unwrap();
        sleep(millis(10)).await;
        let (_election, heard) = stand(&world.manager());
        sleep(secs(9)).await;
        assert!(heard.terms().is_empty() && leads.connected() && waits.connected());
        heard.elected(1).await;
        assert!(began.elapsed() < secs(12), "{:?}", began.elapsed());
        until("ended", || !leads.connected() && !waits.connected()).await;
    });
}

#[test]
fn a_candidate_that_is_bound_to_an_actor_leaves_when_that_one_dies() {
    in_virtual_time(|| async {
        let world = World::new();
        let (bound, worker) = (Heard::default(), Actor::start(Mortal));
        let begin = || {
            let ask = Acquire::new("r").ttl(TTL).bound_to(&worker);
            Election::start(&world.manager(), Candidacy::from(ask).tell(Witness::start(&bound, secs(0))))
                .unwrap()
        };
        let leads = begin();
        sleep(millis(10)).await;
        let waits = begin();
        sleep(millis(10)).await;
        let (_election, next) = stand(&world.manager());
        sleep(secs(9)).await;
        assert!(bound.leads() && leads.connected() && waits.connected());
        until("ended", || !leads.connected() && !waits.connected()).await;
        sleep(secs(60)).await;
        assert_eq!((bound.fences().len(), bound.leads(), next.fences().len()), (1, false, 1));
    });
}

#[test]
fn a_recipient_that_dies_beside_others_costs_nothing() {
    in_virtual_time(|| async {
        let world = World::new();
        let heard = Heard::default();
        let _election = Election::start(&world.manager(), candidacy(&heard).tell(Mortal::start())).unwrap();
        sleep(secs(60)).await;
        assert!(heard.leads() && heard.demotions().is_empty());
    });
}

#[test]
fn an_observer_whose_recipients_have_all_died_ends() {
    in_virtual_time(|| async {
        let observer = Candidacy::from("r").tell(Mortal::start()).observer();
        let observer = Election::start(&World::new().manager(), observer).unwrap();
        sleep(secs(9)).await;
        assert!(observer.connected());
        sleep(secs(3)).await;
        assert!(!observer.connected());
    });
}

/// An actor that is there to be counted.
struct Counted(#[expect(dead_code, reason = "it is counted")] Arc<()>);

impl Actor for Counted {
    type Context = SingletonContext<Self>;
}

#[test]
fn nothing_is_left_of_a_singleton_that_resigned() {
    in_virtual_time(|| async {
        for (shuts_down, is_heard) in [(true, false), (true, true), (false, false), (false, true)] {
            let (locks, made) = (World::new().manager(), Arc::new(()));
            let factory = Arc::clone(&made);
            let candidacy = Candidacy::from("r");
            let candidacy = if is_heard { candidacy.tell(Mortal::start()) } else { candidacy };
            let election =
                Singleton::start(&locks, candidacy, move || Counted(Arc::clone(&factory))).unwrap();
            sleep(secs(1)).await;
            election.send(Resign).await.unwrap();
            sleep(secs(20)).await;
            assert_eq!(Arc::strong_count(&made), 2, "it may be told to stand");
            if shuts_down {
                locks.send(Shutdown { drain: secs(1) }).await.unwrap();
                until("gone", || Arc::strong_count(&made) == 1).await;
            } else {
                drop(election);
                sleep(secs(2)).await;
                assert_eq!(Arc::strong_count(&made), 1, "nobody can tell it to stand any more");
            }
        }
    });
}

#[test]
fn a_singleton_that_nothing_wakes_is_dropped_when_its_lease_is_taken_away() {
    in_virtual_time(|| async {
        let (locks, made) = (World::new().manager(), Arc::new(()));
        let factory = Arc::clone(&made);
        let _election = Singleton::start(&locks, "r", move || Counted(Arc::clone(&factory))).unwrap();
        until("it lives", || Arc::strong_count(&made) == 3).await;
        locks.send(Revoke::at_once("r")).await.unwrap().unwrap();
        until("it is dropped", || Arc::strong_count(&made) == 2).await;
        until("the next one lives", || Arc::strong_count(&made) == 3).await;
    });
}

/// Random numbers whose next tokens bring the manager down, so many times.
#[derive(Debug)]
struct Deadly {
    inner: Loaded,
    deaths: Arc<AtomicU32>,
}

impl Random for Deadly {
    fn draw(&self, what: Draw) -> f64 {
        self.inner.draw(what)
    }

    fn token(&self) -> Token {
        let die =
            self.deaths.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |deaths| deaths.checked_sub(1));
        assert!(die.is_err(), "the random numbers were told to panic");
        self.inner.token()
    }
}

#[test]
fn a_candidate_stands_again_after_the_manager_panicked_over_its_request() {
    in_virtual_time(|| async {
        let deaths = Arc::new(AtomicU32::new(0));
        let locks =
            World::new().manager_with(Deadly { inner: Loaded::new(|_| false), deaths: Arc::clone(&deaths) });
        sleep(millis(1)).await;
        deaths.store(2, Ordering::Relaxed);
        let (_election, heard) = stand(&locks);
        heard.elected(1).await;
        let refused = |pause| Told::NotStanding("restarted", Some(millis(pause)));
        assert_eq!(heard.terms()[..2], [refused(100), refused(200)]);
    });
}

#[test]
fn a_candidate_waits_without_end_whatever_the_back_off() {
    in_virtual_time(|| async {
        let world = World::new();
        let (leader, leads) = stand(&world.manager());
        leads.elected(1).await;
        let heard = Heard::default();
        let ask = Acquire::new("r").ttl(TTL).backoff(Backoff::FLASH_SALE).attempts(1);
        let waits = Candidacy::from(ask).tell(Witness::start(&heard, secs(0)));
        let _election = Election::start(&world.manager(), waits).unwrap();
        sleep(secs(3_600)).await;
        assert_eq!(heard.terms(), []);
        leader.send(Resign).await.unwrap();
        heard.elected(1).await;
    });
}
