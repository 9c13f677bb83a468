//! What an operator does from a process of its own: schedules are found, paused and asked to run, and elections are found.

use std::{
    cell::Cell,
    rc::Rc,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use actix::Addr;
use futures_util::future::join_all;
use leasehold::{
    Acquire, Certainty, Inspect, List, LockManager, ResourceName,
    election::{Candidacy, Election},
    schedule::{Control, Outcome, Schedule, Scheduler, Status},
};
use tokio::time::{sleep, timeout};

use support::{
    odd_store::odd_store,
    virtual_time::{World, in_virtual_time, millis, secs},
};

/// The time of the store when a test begins.
const BEGIN: Duration = Duration::from_secs(2_208_988_800);

/// A world at that time, and a schedule that runs in one process of it. It counts its runs.
fn ticking(name: &str) -> (World, Scheduler, Rc<Cell<u32>>) {
    let world = World::new();
    world.store.set_time(UNIX_EPOCH + BEGIN);
    let runs = Rc::new(Cell::new(0));
    let count = Rc::clone(&runs);
    let schedule = Schedule::every(secs(60)).named(name);
    let scheduler = schedule.start(&world.manager(), async move |_| count.set(count.get() + 1)).unwrap();
    (world, scheduler, runs)
}

async fn found(locks: &Addr<LockManager>, name: &str) -> Option<Control> {
    Control::find(locks, &ResourceName::new(name).unwrap()).await.unwrap()
}

async fn status(control: &Control) -> Status {
    control.status().await.unwrap().unwrap()
}

fn at(since_begin: Duration) -> SystemTime {
    UNIX_EPOCH + BEGIN + since_begin
}

#[test]
fn a_schedule_is_controlled_from_a_process_that_does_not_run_it() {
    in_virtual_time(|| async {
        let (world, scheduler, runs) = ticking("report");
        let operator = world.manager();
        sleep(secs(61)).await;
        let control = found(&operator, "report").await.unwrap();
        assert_eq!(control.name(), scheduler.control().name());
        let seen = status(&control).await;
        assert_eq!((seen.now, seen.last, seen.runs), (at(secs(61)), at(secs(60)), 1));
        assert_eq!((seen.paused, seen.asked, seen.history.len()), (false, None, 1));

        control.pause().await.unwrap();
        assert!(scheduler.is_paused().await.unwrap());
        sleep(secs(120)).await;
        assert_eq!(runs.get(), 1, "it is paused");
        control.run_now().await.unwrap();
        assert_eq!(status(&control).await.asked, Some(at(secs(181))));
        sleep(millis(1_100)).await;
        let seen = status(&control).await;
        assert_eq!((runs.get(), seen.runs, seen.asked), (2, 2, None));
        assert!(seen.history[0].tick.asked && seen.history[0].ended == Some((Duration::ZERO, Outcome::Done)));
        control.resume().await.unwrap();
        sleep(secs(60)).await;
        assert_eq!((runs.get(), status(&control).await.last), (3, at(secs(240))));
    });
}

#[test]
fn a_name_without_a_schedule_is_not_found_and_nothing_is_begun() {
    in_virtual_time(|| async {
        let (world, ..) = ticking("report");
        let operator = world.manager();
        sleep(secs(1)).await;
        assert!(found(&operator, "reprot").await.is_none());
        let listing = operator.send(List::new("").schedules()).await.unwrap().unwrap();
        assert_eq!(listing.resources, [ResourceName::new("report").unwrap()]);
    });
}

#[test]
fn all_schedules_of_a_store_are_listed_page_by_page_whether_they_run_or_not() {
    in_virtual_time(|| async {
        let (world, stopped, _) = ticking("c");
        let locks = world.manager();
        for name in ["a", "b"] {
            Schedule::every(secs(60)).named(name).start(&locks, async |_| {}).unwrap();
        }
        let _lock = locks.send(Acquire::new("a lock")).await.unwrap().unwrap();
        sleep(secs(1)).await;
        stopped.stop().await;
        let first = locks.send(List::new("").schedules().limit(2)).await.unwrap().unwrap();
        assert!(!first.complete);
        let rest = List::new("").schedules().limit(2).after(first.resources[1].as_bytes());
        let rest = locks.send(rest).await.unwrap().unwrap();
        assert!(rest.complete);
        let names: Vec<_> = first.resources.iter().chain(&rest.resources).map(ToString::to_string).collect();
        assert_eq!(names, ["a", "b", "c"]);
    });
}

#[test]
fn a_candidate_says_that_it_is_one_unless_its_request_says_what_it_is() {
    in_virtual_time(|| async {
        let (world, ..) = ticking("report");
        let locks = world.manager();
        Election::start(&locks, "town").unwrap();
        let own = Acquire::new("ship").metadata("role", "captain");
        Election::start(&locks, Candidacy::from(own)).unwrap();
        let _lock = locks.send(Acquire::new("door")).await.unwrap().unwrap();
        sleep(secs(1)).await;
        for (name, role) in [
            ("town", Some("election")),
            ("ship", Some("captain")),
            ("door", None),
            ("report", Some("schedule")),
        ] {
            let holders = locks.send(Inspect::new(name)).await.unwrap().unwrap().holders;
            assert_eq!(holders[0].metadata.get("role").map(String::as_str), role, "{name}");
        }
    });
}

#[test]
fn fifty_who_change_a_schedule_at_the_same_time_all_succeed() {
    in_virtual_time(|| async {
        let (world, _scheduler, runs) = ticking("report");
        let operator = world.manager();
        sleep(secs(1)).await;
        let control = found(&operator, "report").await.unwrap();
        let changes = join_all((0..50).map(|number| {
            let control = control.clone();
            async move {
                match number % 3 {
                    0 => control.run_now().await,
                    1 => control.pause().await,
                    _ => control.resume().await,
                }
            }
        }));
        for changed in changes.await {
            changed.unwrap();
        }
        control.resume().await.unwrap();
        sleep(secs(61)).await;
        assert!(runs.get() >= 2, "{}", runs.get());
    });
}

#[test]
fn runs_that_are_asked_for_at_the_same_time_are_one_and_each_of_them_succeeds() {
    in_virtual_time(|| async {
        let (world, scheduler, runs) = ticking("report");
        let operator = world.manager();
        sleep(secs(1)).await;
        scheduler.stop().await;
        let control = found(&operator, "report").await.unwrap();
        control.run_now().await.unwrap();
        let before = status(&control).await.asked;
        for asked in join_all((0..50).map(|_| control.run_now())).await {
            asked.unwrap();
        }
        assert_eq!((status(&control).await.asked, runs.get()), (before, 0));
    });
}

#[test]
fn a_schedule_that_was_stopped_ends_its_election_which_would_look_who_leads_for_ever() {
    in_virtual_time(|| async {
        let (world, leads, _) = ticking("report");
        let stands_by =
            Schedule::every(secs(60)).named("report").start(&world.manager(), async |_| ()).unwrap();
        sleep(secs(1)).await;
        for scheduler in [leads, stands_by] {
            scheduler.stop().await;
            sleep(secs(2)).await;
            assert!(!scheduler.election().connected());
        }
    });
}

#[test]
fn a_stop_whose_caller_does_not_wait_for_it_ends_the_election_too() {
    in_virtual_time(|| async {
        let (_, scheduler, _) = ticking("report");
        sleep(secs(1)).await;
        drop(scheduler.stop());
        sleep(secs(2)).await;
        assert!(!scheduler.election().connected());
    });
}

#[test]
fn a_stop_whose_caller_gives_up_during_a_run_ends_the_election_after_it() {
    in_virtual_time(|| async {
        let (world, runs) = (World::new(), Rc::new(Cell::new(0)));
        let count = Rc::clone(&runs);
        let endless = async move |_| {
            count.set(count.get() + 1);
            std::future::pending::<()>().await;
        };
        let scheduler = Schedule::every(secs(1)).named("report").start(&world.manager(), endless).unwrap();
        while runs.get() == 0 {
            sleep(millis(100)).await;
        }
        assert!(timeout(millis(1), scheduler.stop()).await.is_err());
        assert!(scheduler.election().connected(), "the run goes on");
        sleep(secs(10)).await;
        assert!(!scheduler.election().connected());
    });
}

#[test]
fn a_change_that_others_always_come_before_is_a_conflict_and_not_made() {
    in_virtual_time(|| async {
        let (world, scheduler, _) = ticking("report");
        sleep(secs(1)).await;
        scheduler.stop().await;
        let store = odd_store(world.store.clone());
        let locks = world.builder_on(Arc::new(store.clone())).start_here().unwrap();
        let control = found(&locks, "report").await.unwrap();
        store.keep_registers_busy();
        let error = control.pause().await.unwrap_err();
        assert_eq!((error.kind(), error.certainty()), ("conflict", Certainty::NotExecuted));
        assert_eq!(
            error.to_string(),
            "conflict: others change the schedule report all the time; nothing was changed"
        );
        assert!(!status(&control).await.paused);
        let tries = store.register_writes();
        assert!((10..100).contains(&tries), "{tries}");
        control.resume().await.unwrap();
        assert_eq!(store.register_writes(), tries, "it is not paused, so there is nothing to write");
    });
}
