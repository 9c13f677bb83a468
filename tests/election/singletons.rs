//! Singletons: where the actor runs, what it may finish, and what follows its crashes.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use actix::{Actor, ActorContext, Addr, AsyncContext, Handler, Message, Running};
use leasehold::{
    Acquire, LockManager, Shutdown,
    election::{Candidacy, Demotion, Election, Resign, Singleton, SingletonContext},
};
use tokio::time::{Instant, sleep};

use crate::election::witness::{Heard, TTL, Witness, until};
use support::virtual_time::{World, in_virtual_time, millis, secs};

/// The habits of an actor, beside telling that it lives.
#[derive(Clone, Copy, Debug, Default)]
struct Habits {
    /// Panics so long after its start.
    panics_after: Option<Duration>,
    panics_when_made: bool,
    panics_when_stopped: bool,
    /// Stops by itself so long after its start.
    stops_after: Option<Duration>,
    /// Goes on for so long when it is stopped.
    finishes_in: Option<Duration>,
    is_silent: bool,
}

/// The lives of the actors of a process: each with its fence, its beginning, and its end.
#[derive(Clone, Default)]
struct Lives(Arc<Mutex<Vec<Life>>>);

type Life = (u64, Instant, Option<Instant>);

impl Lives {
    fn count(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    fn last(&self) -> Life {
        *self.0.lock().unwrap().last().expect("it lived")
    }

    fn is_alive(&self) -> bool {
        self.0.lock().unwrap().iter().any(|(.., end)| end.is_none())
    }

    async fn lived(&self, times: usize) {
        until(&format!("{times} lives"), || self.count() >= times && self.is_alive()).await;
    }
}

struct Worker {
    lives: Lives,
    habits: Habits,
}

impl Actor for Worker {
    type Context = SingletonContext<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        let fence = ctx.lease().fence().unwrap().get();
        self.lives.0.lock().unwrap().push((fence, Instant::now(), None));
        ctx.run_interval(secs(1), |this, ctx| {
            if !this.habits.is_silent {
                ctx.lease().heartbeat();
            }
        });
        if let Some(after) = self.habits.panics_after {
            ctx.run_later(after, |_, _| panic!("the worker was told to panic"));
        }
        if let Some(after) = self.habits.stops_after {
            ctx.run_later(after, |_, ctx| ctx.stop());
        }
    }

    fn stopping(&mut self, ctx: &mut Self::Context) -> Running {
        match self.habits.finishes_in.take() {
            Some(time) => {
                ctx.run_later(time, |_, ctx| ctx.stop());
                Running::Continue
            }
            None => Running::Stop,
        }
    }

    fn stopped(&mut self, _: &mut Self::Context) {
        assert!(!self.habits.panics_when_stopped, "the worker was told to panic when it is stopped");
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if let Some(life) = self.lives.0.lock().unwrap().last_mut() {
            life.2 = Some(Instant::now());
        }
    }
}

/// A process that runs workers while it leads.
struct Process {
    locks: Addr<LockManager>,
    election: Addr<Election>,
    lives: Lives,
    heard: Heard,
}

impl Process {
    fn new(world: &World, habits: Habits) -> Self {
        let heard = Heard::default();
        let ask = Acquire::new("r").ttl(TTL).heartbeat(secs(3));
        let candidacy = Candidacy::from(ask).budget(secs(2)).tell(Witness::start(&heard, Duration::ZERO));
        let (locks, lives) = (world.manager(), Lives::default());
        let made = lives.clone();
        let election = Singleton::start(&locks, candidacy, move || {
            assert!(!habits.panics_when_made, "the worker was told to panic when it is made");
            Worker { lives: made.clone(), habits }
        });
        Self { locks, election: election.unwrap(), lives, heard }
    }

    /// Two processes of which the first leads.
    async fn two(world: &World, first: Habits, second: Habits) -> (Self, Self) {
        let first = Self::new(world, first);
        first.heard.elected(1).await;
        let second = Self::new(world, second);
        sleep(millis(10)).await;
        (first, second)
    }
}

#[test]
fn the_actor_runs_where_the_lead_is_and_nowhere_else() {
    in_virtual_time(|| async {
        let world = World::new();
        let (first, second) = Process::two(&world, Habits::default(), Habits::default()).await;
        sleep(secs(600)).await;
        assert!(first.lives.is_alive() && second.lives.count() == 0);
        first.election.send(Resign).await.unwrap();
        assert!(!first.lives.is_alive(), "it has stopped when the answer comes");
        second.lives.lived(1).await;
        assert_eq!((first.lives.count(), second.lives.count()), (1, 1));
        assert!(second.lives.last().0 > first.lives.last().0, "a larger fence");
    });
}

#[test]
fn an_actor_may_finish_before_the_lead_is_given_up() {
    in_virtual_time(|| async {
        let world = World::new();
        let slow = Habits { finishes_in: Some(millis(1_500)), ..Habits::default() };
        let (first, second) = Process::two(&world, slow, Habits::default()).await;
        let drained = first.locks.send(Shutdown { drain: secs(5) }).await.unwrap();
        assert_eq!((drained.finished, drained.revoked), (1, 0));
        second.lives.lived(1).await;
        let (_, _, end) = first.lives.last();
        assert_eq!(end.unwrap() - first.heard.demoted_at(), millis(1_500));
        assert!(second.lives.last().1 >= end.unwrap(), "one after the other");
    });
}

#[test]
fn an_actor_that_does_not_finish_in_time_is_dropped() {
    in_virtual_time(|| async {
        let world = World::new();
        let slow = Habits { finishes_in: Some(secs(3_600)), ..Habits::default() };
        let (first, second) = Process::two(&world, slow, Habits::default()).await;
        first.election.send(Resign).await.unwrap();
        second.lives.lived(1).await;
        let lived_on = first.lives.last().2.expect("dropped") - first.heard.demoted_at();
        assert!((secs(2)..millis(2_100)).contains(&lived_on), "{lived_on:?}");
    });
}

#[test]
fn an_actor_is_stopped_before_the_validity_ends_if_the_store_is_away() {
    in_virtual_time(|| async {
        let world = World::new();
        let slow = Habits { finishes_in: Some(millis(1_900)), ..Habits::default() };
        let process = Process::new(&world, slow);
        process.heard.elected(1).await;
        world.store.fail_next(1_000_000);
        until("demoted", || !process.heard.leads()).await;
        let lease = process.heard.lease();
        while process.lives.is_alive() {
            assert!(lease.is_valid(), "the actor lives");
            sleep(millis(1)).await;
        }
        assert_eq!(process.heard.demotions(), [Demotion::Expiring]);
        let lived_on = process.lives.last().2.unwrap() - process.heard.demoted_at();
        assert_eq!(lived_on, millis(1_900), "it could finish");
    });
}

#[test]
fn an_actor_that_panics_or_stops_is_started_again() {
    in_virtual_time(|| async {
        let world = World::new();
        let after = Some(secs(60));
        for habits in [
            Habits { panics_after: after, ..Habits::default() },
            Habits { stops_after: after, ..Habits::default() },
            Habits { panics_after: after, panics_when_stopped: true, ..Habits::default() },
        ] {
            let process = Process::new(&world, habits);
            process.lives.lived(5).await;
            let lives = process.lives.0.lock().unwrap().clone();
            assert!(lives.iter().all(|(fence, ..)| *fence == lives[0].0), "in one term, as each lived well");
            for two in lives.windows(2) {
                assert_eq!(two[1].1 - two[0].2.unwrap(), millis(100), "after a pause");
            }
            process.election.send(Resign).await.unwrap();
        }
    });
}

#[test]
fn after_too_many_crashes_another_instance_runs() {
    in_virtual_time(|| async {
        let world = World::new();
        let in_timer = Habits { panics_after: Some(millis(10)), ..Habits::default() };
        let when_made = Habits { panics_when_made: true, ..Habits::default() };
        for (ill, lives) in [(in_timer, 3), (when_made, 0)] {
            let (first, second) = Process::two(&world, ill, Habits::default()).await;
            second.lives.lived(1).await;
            assert_eq!((first.lives.count(), first.heard.demotions()), (lives, vec![Demotion::Unwell]));
            sleep(secs(600)).await;
            assert!(second.lives.is_alive() && first.lives.count() == lives, "who is well keeps the lead");
            second.election.send(Resign).await.unwrap();
            first.heard.elected(2).await;
            until("stepped down again", || first.heard.demotions().len() == 2).await;
            let held = first.heard.demoted_at() - first.heard.elected_at();
            assert!(held < millis(500), "the lead is not held by one that does not run: {held:?}");
            first.election.send(Resign).await.unwrap();
        }
    });
}

#[test]
fn an_actor_that_hangs_is_replaced_by_another_instance() {
    in_virtual_time(|| async {
        let world = World::new();
        let hangs = Habits { is_silent: true, ..Habits::default() };
        let (first, second) = Process::two(&world, hangs, Habits::default()).await;
        second.lives.lived(1).await;
        assert_eq!(first.heard.demotions(), [Demotion::Expiring]);
        let (stopped, began) = (first.lives.last().2.unwrap(), second.lives.last().1);
        assert!(stopped <= began && began - stopped < millis(100), "{stopped:?} {began:?}");
    });
}

#[test]
fn messages_queued_for_an_actor_that_has_stopped_are_refused() {
    /// Asks for an answer.
    #[derive(Message)]
    #[rtype(result = "()")]
    struct Ping;

    struct Pinged(Arc<Mutex<Option<Addr<Self>>>>);

    impl Actor for Pinged {
        type Context = SingletonContext<Self>;

        fn started(&mut self, ctx: &mut Self::Context) {
            *self.0.lock().unwrap() = Some(ctx.address());
        }
    }

    impl Handler<Ping> for Pinged {
        type Result = ();

        fn handle(&mut self, _: Ping, _: &mut Self::Context) {}
    }

    in_virtual_time(|| async {
        let world = World::new();
        let address = Arc::new(Mutex::new(None));
        let made = Arc::clone(&address);
        let election = Singleton::start(&world.manager(), "r", move || Pinged(Arc::clone(&made))).unwrap();
        until("started", || address.lock().unwrap().is_some()).await;
        let pinged: Addr<Pinged> = address.lock().unwrap().take().unwrap();
        pinged.send(Ping).await.unwrap();
        election.send(Resign).await.unwrap();
        assert!(pinged.send(Ping).await.is_err());
    });
}

#[test]
fn an_actor_without_anything_to_do_lives_on_and_nothing_is_left_of_it_after_the_shutdown() {
    struct Idle(#[expect(dead_code, reason = "it is there to be counted")] Arc<()>);

    impl Actor for Idle {
        type Context = SingletonContext<Self>;
    }

    in_virtual_time(|| async {
        let (locks, made) = (World::new().manager(), Arc::new(()));
        let factory = Arc::clone(&made);
        Singleton::start(&locks, "r", move || Idle(Arc::clone(&factory))).unwrap();
        for _ in 0..100 {
            sleep(secs(1)).await;
            assert_eq!(Arc::strong_count(&made), 3, "the factory and one actor have one each");
        }
        locks.send(Shutdown { drain: secs(1) }).await.unwrap();
        until("gone", || Arc::strong_count(&made) == 1).await;
    });
}
