//! Schedules on a store that is slow, fails, or forgets, in virtual time: no tick runs twice, and runs go on.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use leasehold::{
    ResourceName, Token,
    schedule::{Outcome, Schedule, Tick},
    store::{Register, RegisterVerdict, RegisterWrite, Store},
};
use tokio::time::sleep;

use support::virtual_time::{World, in_virtual_time, millis, secs};

/// The time of the store when a test begins.
pub(crate) const BEGIN: SystemTime = UNIX_EPOCH;

pub(crate) fn world() -> World {
    let world = World::new();
    world.store.set_time(BEGIN + secs(1_000_000));
    world
}

pub(crate) fn every(period: Duration) -> Schedule {
    Schedule::every(period).named("r").ttl(secs(100))
}

pub(crate) async fn seen(world: &World) -> Register {
    world.store.register(&ResourceName::new("r").unwrap(), None).await.unwrap()
}

/// Writes over what the register of the schedule has.
async fn write(world: &World, revision: u128, value: &str) {
    let write = RegisterWrite {
        expected: seen(world).await.revision,
        revision: Token::from_bits(revision),
        value: value.to_owned(),
        not_before: Duration::ZERO,
    };
    let written = world.store.register(&ResourceName::new("r").unwrap(), Some(&write)).await.unwrap();
    assert_eq!(written.verdict, RegisterVerdict::Written);
}

#[test]
fn a_runner_runs_no_tick_again_though_a_failover_has_lost_its_claim() {
    in_virtual_time(|| async {
        let (world, ran) = (world(), Rc::new(RefCell::new(Vec::new())));
        let ticks = Rc::clone(&ran);
        let work = async move |tick: Tick| ticks.borrow_mut().push((tick.number, tick.scheduled_for));
        let scheduler = every(secs(60)).start(&world.manager(), work).unwrap();
        sleep(secs(1)).await;
        let promoted = seen(&world).await.value;
        sleep(secs(60)).await;
        scheduler.run_now().await.unwrap();
        sleep(secs(2)).await;
        assert_eq!(ran.borrow().len(), 2);
        write(&world, 1, &promoted).await;
        sleep(secs(60)).await;
        let (numbers, times): (Vec<_>, Vec<_>) = ran.borrow().iter().copied().unzip();
        assert_eq!(numbers, [1, 2, 3]);
        assert!(times.is_sorted() && times[2] > times[0], "{times:?}");
    });
}

#[test]
fn a_runner_that_follows_a_failover_runs_no_tick_again_that_the_one_before_it_has_run() {
    in_virtual_time(|| async {
        let (world, ran) = (world(), Rc::new(RefCell::new(Vec::new())));
        let start = || {
            let ticks = Rc::clone(&ran);
            let work = async move |tick: Tick| ticks.borrow_mut().push((tick.number, tick.scheduled_for));
            every(secs(60)).start(&world.manager(), work).unwrap()
        };
        let first = start();
        sleep(secs(1)).await;
        let promoted = seen(&world).await.value;
        sleep(secs(20)).await;
        assert_eq!(ran.borrow().len(), 1);
        write(&world, 1, &promoted).await;
        // Its next look.
        sleep(secs(2)).await;
        first.stop().await;
        let _second = start();
        sleep(secs(60)).await;
        let (numbers, times): (Vec<_>, Vec<_>) = ran.borrow().iter().copied().unzip();
        assert_eq!(numbers, [1, 2]);
        assert!(times[0] < times[1], "{times:?}");
    });
}

#[test]
fn a_schedule_whose_register_is_removed_begins_anew_also_for_a_former_runner() {
    in_virtual_time(|| async {
        let (world, ran) = (world(), Rc::new(Cell::new(0)));
        let start = || {
            let runs = Rc::clone(&ran);
            every(secs(60)).start(&world.manager(), async move |_| runs.set(runs.get() + 1)).unwrap()
        };
        let first = start();
        sleep(secs(1)).await;
        world.store.set_time(BEGIN + secs(9_000_000));
        sleep(secs(61)).await;
        let before = ran.get();
        world.store.set_time(BEGIN + secs(1_000_000));
        sleep(secs(120)).await;
        assert_eq!(ran.get(), before, "the clock was ahead");
        world.store.restart();
        first.run_now().await.unwrap();
        sleep(secs(130)).await;
        assert!(ran.get() >= before + 3, "{} {before}", ran.get());
    });
}

#[test]
fn a_tick_whose_claim_is_on_its_way_at_a_stop_is_run() {
    in_virtual_time(|| async {
        let (world, ran) = (world(), Rc::new(Cell::new(0)));
        let runs = Rc::clone(&ran);
        let work = async move |_: Tick| runs.set(runs.get() + 1);
        let scheduler = every(secs(10)).start(&world.manager(), work).unwrap();
        sleep(millis(9_500)).await;
        world.store.stall_next(1, millis(700));
        sleep(millis(600)).await;
        assert_eq!(ran.get(), 0);
        scheduler.stop().await;
        sleep(secs(1)).await;
        assert_eq!(
            (ran.get(), scheduler.history().await.unwrap()[0].ended.clone().unwrap().1),
            (1, Outcome::Done)
        );
    });
}

#[test]
fn a_run_that_was_asked_for_and_has_run_is_not_run_again_though_a_failover_has_lost_its_claim() {
    in_virtual_time(|| async {
        let (world, ran) = (world(), Rc::new(Cell::new(0)));
        let runs = Rc::clone(&ran);
        let work = async move |_: Tick| runs.set(runs.get() + 1);
        let scheduler = every(secs(3_600)).start(&world.manager(), work).unwrap();
        sleep(millis(500)).await;
        scheduler.run_now().await.unwrap();
        let promoted = seen(&world).await.value;
        assert!(promoted.contains(r#""asked":{"#), "{promoted}");
        sleep(secs(2)).await;
        write(&world, 1, &promoted).await;
        sleep(secs(5)).await;
        assert_eq!(ran.get(), 1);
    });
}

#[test]
fn runs_go_on_and_end_in_time_while_a_claim_is_on_its_way() {
    in_virtual_time(|| async {
        let (world, steps) = (world(), Rc::new(Cell::new(0)));
        let counted = Rc::clone(&steps);
        let work = async move |tick: Tick| {
            let steps = if tick.number == 1 { u32::MAX } else { 0 };
            for _ in 0..steps {
                sleep(millis(10)).await;
                counted.set(counted.get() + 1);
            }
        };
        let schedule = every(secs(5)).overlap(2).at_most(secs(7));
        let scheduler = schedule.start(&world.manager(), work).unwrap();
        sleep(millis(9_500)).await;
        let before = steps.get();
        // The claim of the second tick, and what is sent after it.
        world.store.stall_next(10, secs(8));
        sleep(millis(1_500)).await;
        assert!(steps.get() >= before + 140, "{before} {}", steps.get());
        sleep(secs(60)).await;
        let ended =
            scheduler.history().await.unwrap().into_iter().rfind(|run| run.tick.number == 1).unwrap().ended;
        assert_eq!(ended, Some((secs(7), Outcome::TimedOut)));
    });
}

#[test]
fn a_run_that_was_asked_for_runs_once_though_the_clock_went_back_and_ticks_go_on() {
    in_virtual_time(|| async {
        let (world, ran) = (world(), Rc::new(RefCell::new(Vec::new())));
        let ticks = Rc::clone(&ran);
        let work = async move |tick: Tick| ticks.borrow_mut().push(tick.asked);
        let scheduler = every(secs(60)).start(&world.manager(), work).unwrap();
        sleep(secs(1)).await;
        scheduler.run_now().await.unwrap();
        world.store.set_time(BEGIN + secs(1_000_000 - 100));
        sleep(secs(3)).await;
        assert_eq!(*ran.borrow(), [true]);
        sleep(secs(180)).await;
        assert_eq!(*ran.borrow(), [true, false, false], "the first tick is the next one after the begin");
    });
}

#[test]
fn work_that_panics_when_it_is_dropped_costs_its_run_alone() {
    struct Panics;
    impl Drop for Panics {
        fn drop(&mut self) {
            assert!(std::thread::panicking(), "no way to stop");
        }
    }
    in_virtual_time(|| async {
        let world = world();
        let work = async |tick: Tick| {
            let _panics = (tick.number == 1).then(|| Panics);
            sleep(secs(u64::from(tick.number == 1))).await;
        };
        let scheduler = every(secs(2)).at_most(millis(500)).start(&world.manager(), work).unwrap();
        sleep(millis(4_500)).await;
        let ended: Vec<_> =
            scheduler.history().await.unwrap().into_iter().map(|run| run.ended.unwrap().1).collect();
        assert_eq!(ended, [Outcome::Done, Outcome::Panicked("no way to stop".to_owned())]);
    });
}

/// Returns a state with another number in a field.
fn with(state: &str, field: &str, number: u64) -> String {
    let mut state: serde_json::Map<String, serde_json::Value> = serde_json::from_str(state).unwrap();
    state.insert(field.to_owned(), number.into()).expect("the field");
    serde_json::to_string(&state).unwrap()
}

#[test]
fn a_schedule_whose_state_is_foreign_stands_still_and_goes_on_when_that_is_over() {
    in_virtual_time(|| async {
        let (world, ran) = (world(), Rc::new(Cell::new(0)));
        let runs = Rc::clone(&ran);
        let work = async move |_: Tick| runs.set(runs.get() + 1);
        let scheduler = every(secs(10)).start(&world.manager(), work).unwrap();
        sleep(secs(11)).await;
        let state = seen(&world).await.value;
        for (revision, foreign) in [
            (1, "[]".to_owned()),
            (2, with(&state, "number", u64::MAX)),
            (3, with(&state, "last", u64::MAX)),
            (4, with(&state, "started", 999_999_999_999_999)),
        ] {
            write(&world, revision, &foreign).await;
            sleep(secs(20)).await;
            assert_eq!(ran.get(), 1, "{foreign}");
            for error in [scheduler.pause().await.unwrap_err(), scheduler.history().await.unwrap_err()] {
                assert_eq!(error.kind(), "corrupt", "{foreign}");
            }
        }
        write(&world, 5, &state).await;
        sleep(secs(10)).await;
        assert!(ran.get() >= 2, "{}", ran.get());
    });
}

#[test]
fn a_store_whose_clock_is_after_the_year_9999_runs_nothing_and_goes_on_when_that_is_over() {
    in_virtual_time(|| async {
        let (world, ran) = (world(), Rc::new(Cell::new(0)));
        let runs = Rc::clone(&ran);
        let work = async move |_: Tick| runs.set(runs.get() + 1);
        let scheduler = every(secs(10)).start(&world.manager(), work).unwrap();
        sleep(secs(11)).await;
        world.store.set_time(BEGIN + secs(300_000_000_000));
        let error = scheduler.history().await.unwrap_err();
        assert!(error.to_string().contains("after the year 9999"), "{error}");
        sleep(secs(20)).await;
        world.store.set_time(BEGIN + secs(1_000_100));
        sleep(secs(30)).await;
        assert!(ran.get() >= 2, "{}", ran.get());
    });
}
