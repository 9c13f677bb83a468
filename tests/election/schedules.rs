//! Schedules on the memory store, in virtual time: which ticks run, where, and how often.

use std::{
    cell::RefCell,
    rc::Rc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use actix::Addr;
use leasehold::{
    InspectError, InvalidValue, List, LockManager, QuorumOptions, QuorumStore, Revoke, Settings, Shutdown,
    StoreError,
    schedule::{Misfire, Outcome, Schedule, Scheduler, Tick},
    store::QuorumNode,
};
use tokio::time::sleep;

use support::virtual_time::{World, in_virtual_time, millis, secs};

const TTL: Duration = secs(10);

/// The time of the store when a test begins, which is not that of this process.
const BEGIN: Duration = Duration::from_secs(2_208_988_800);

/// The ticks that ran, each with the process that ran it.
#[derive(Clone, Default)]
struct Ran(Rc<RefCell<Vec<(u8, Tick)>>>);

impl Ran {
    fn note(&self, process: u8, tick: Tick) {
        self.0.borrow_mut().push((process, tick));
    }

    /// When they were scheduled, in milliseconds since the test began.
    fn times(&self) -> Vec<u128> {
        self.0.borrow().iter().map(|(_, tick)| since_begin(tick.scheduled_for)).collect()
    }

    fn numbers(&self) -> Vec<u64> {
        self.0.borrow().iter().map(|(_, tick)| tick.number).collect()
    }

    fn processes(&self) -> Vec<u8> {
        self.0.borrow().iter().map(|(process, _)| *process).collect()
    }
}

fn since_begin(time: SystemTime) -> u128 {
    time.duration_since(UNIX_EPOCH + BEGIN).unwrap().as_millis()
}

fn world() -> World {
    let world = World::new();
    world.store.set_time(UNIX_EPOCH + BEGIN);
    world
}

fn every(period: Duration) -> Schedule {
    Schedule::every(period).named("r").ttl(TTL)
}

fn start(schedule: Schedule, locks: &Addr<LockManager>, process: u8, ran: &Ran) -> Scheduler {
    let ran = ran.clone();
    schedule.start(locks, async move |tick| ran.note(process, tick)).unwrap()
}

#[test]
fn ticks_run_at_their_times_by_the_clock_of_the_store() {
    in_virtual_time(|| async {
        let (world, ran) = (world(), Ran::default());
        start(every(secs(1)), &world.manager(), 1, &ran);
        sleep(millis(3_500)).await;
        assert_eq!(ran.times(), [1_000, 2_000, 3_000]);
        assert_eq!(ran.numbers(), [1, 2, 3]);
        world.store.set_time(UNIX_EPOCH + BEGIN + secs(100));
        sleep(secs(2)).await;
        // The tick that was about to be claimed is late now, and shows that the clock was set.
        assert_eq!(ran.times()[3..], [4_000, 100_000, 101_000]);
    });
}

#[test]
fn one_process_of_a_fleet_runs_all_ticks_and_another_one_goes_on_when_it_stops() {
    in_virtual_time(|| async {
        let (world, ran) = (world(), Ran::default());
        let managers = [world.manager(), world.manager(), world.manager()];
        let schedulers: Vec<_> = managers
            .iter()
            .zip(1..)
            .map(|(locks, process)| start(every(secs(1)), locks, process, &ran))
            .collect();
        sleep(millis(2_500)).await;
        assert_eq!(ran.processes(), [1, 1]);
        schedulers[0].stop().await;
        sleep(secs(1)).await;
        managers[1].send(Shutdown { drain: TTL }).await.unwrap();
        sleep(secs(1)).await;
        assert_eq!((ran.processes(), ran.times()), (vec![1, 1, 2, 3], vec![1_000, 2_000, 3_000, 4_000]));
        let fences: Vec<_> = ran.0.borrow().iter().map(|(_, tick)| tick.fence.unwrap()).collect();
        assert!(fences.is_sorted() && fences[1] < fences[2] && fences[2] < fences[3], "{fences:?}");
    });
}

#[test]
fn a_tick_runs_once_though_two_believe_that_they_lead() {
    in_virtual_time(|| async {
        let (world, ran) = (world(), Ran::default());
        let managers = [world.manager(), world.manager()];
        for (locks, process) in managers.iter().zip(1..) {
            start(every(millis(50)), locks, process, &ran);
        }
        sleep(millis(225)).await;
        // The first one learns of it at its next renewal, three seconds later.
        world.store.lose_notifications(true);
        managers[1].send(Revoke::at_once("r")).await.unwrap().unwrap();
        sleep(millis(5_000)).await;
        let mut times = ran.times();
        times.dedup();
        assert_eq!((times.len(), ran.times().len()), (104, 104), "{:?}", ran.times());
        assert_eq!(ran.processes().last(), Some(&2));
        assert!(ran.processes().is_sorted(), "{:?}", ran.processes());
    });
}

#[test]
fn no_tick_runs_before_its_claim_is_certain_and_a_lost_answer_runs_it_once() {
    in_virtual_time(|| async {
        let (world, ran) = (world(), Ran::default());
        start(every(secs(1)), &world.manager(), 1, &ran);
        sleep(millis(500)).await;
        world.store.stall_next(1, millis(300));
        sleep(millis(700)).await;
        assert_eq!(ran.times(), [0; 0], "the claim is on its way");
        sleep(millis(200)).await;
        assert_eq!(ran.times(), [1_000]);
        world.store.lose_next_replies(2);
        sleep(secs(1)).await;
        assert_eq!(ran.times(), [1_000, 2_000]);
    });
}

/// The ticks of 1 s that run after the store was away from 1.5 s to 5.5 s.
fn ran_after_an_outage(misfire: Misfire) -> Vec<u128> {
    let ran = Ran::default();
    let seen = ran.clone();
    in_virtual_time(|| async move {
        let world = world();
        start(every(secs(1)).misfire(misfire), &world.manager(), 1, &ran);
        sleep(millis(1_500)).await;
        world.store.stall_next(1, secs(4));
        sleep(millis(6_000)).await;
    });
    seen.times()
}

#[test]
fn missed_ticks_are_made_up_for_as_the_policy_says() {
    // The tick of 2 s was being claimed when the store was away until 6 s.
    assert_eq!(ran_after_an_outage(Misfire::Once), [1_000, 2_000, 6_000, 7_000]);
    assert_eq!(ran_after_an_outage(Misfire::Skip), [1_000, 2_000, 6_000, 7_000]);
    assert_eq!(ran_after_an_outage(Misfire::All(2)), [1_000, 2_000, 5_000, 6_000, 7_000]);
    assert_eq!(ran_after_an_outage(Misfire::All(9)), [1_000, 2_000, 3_000, 4_000, 5_000, 6_000, 7_000]);
}

#[test]
fn runs_overlap_only_as_far_as_they_may() {
    for (at_once, expected) in
        [(1, vec![1_000, 2_000, 4_000, 5_000]), (2, vec![1_000, 2_000, 3_000, 4_000, 5_000])]
    {
        in_virtual_time(|| async move {
            let (world, ran) = (world(), Ran::default());
            let seen = ran.clone();
            let work = async move |tick| {
                ran.note(1, tick);
                sleep(millis(1_500)).await;
            };
            every(secs(1))
                .overlap(at_once)
                .misfire(Misfire::Skip)
                .at_least(millis(700))
                .start(&world.manager(), work)
                .unwrap();
            sleep(millis(5_800)).await;
            assert_eq!(seen.times(), expected);
        });
    }
}

#[test]
fn a_pause_and_a_run_that_is_asked_for_count_for_the_whole_fleet() {
    in_virtual_time(|| async {
        let (world, ran) = (world(), Ran::default());
        let (first, second) = (world.manager(), world.manager());
        start(every(secs(60)), &first, 1, &ran);
        let other = start(every(secs(60)), &second, 2, &ran);
        sleep(secs(1)).await;
        other.run_now().await.unwrap();
        sleep(secs(2)).await;
        assert_eq!((ran.times(), ran.processes()), (vec![1_000], vec![1]));
        other.pause().await.unwrap();
        assert!(other.is_paused().await.unwrap());
        sleep(secs(130)).await;
        other.run_now().await.unwrap();
        sleep(secs(2)).await;
        assert_eq!(ran.times(), [1_000, 133_000]);
        other.resume().await.unwrap();
        sleep(secs(60)).await;
        assert_eq!(ran.times(), [1_000, 133_000, 180_000]);
        assert_eq!(
            other.history().await.unwrap().iter().map(|run| run.tick.asked).collect::<Vec<_>>(),
            [false, true, true]
        );
    });
}

#[test]
fn the_history_says_what_became_of_each_run() {
    in_virtual_time(|| async {
        let world = world();
        let work = async |tick: Tick| match tick.number {
            1 => Err("no paper"),
            2 => panic!("no printer"),
            3 => {
                sleep(secs(9)).await;
                Ok(())
            }
            4 => {
                sleep(millis(250)).await;
                Ok(())
            }
            _ => std::future::pending().await,
        };
        let schedule = every(secs(1)).at_most(millis(500)).history(4);
        let scheduler = schedule.start(&world.manager(), work).unwrap();
        sleep(millis(5_100)).await;
        let history = scheduler.history().await.unwrap();
        assert_eq!(history.iter().map(|run| run.tick.number).collect::<Vec<_>>(), [5, 4, 3, 2]);
        let ended: Vec<_> = history.into_iter().map(|run| run.ended).collect();
        assert_eq!(
            ended,
            [
                None,
                Some((millis(250), Outcome::Done)),
                Some((millis(500), Outcome::TimedOut)),
                Some((millis(0), Outcome::Panicked("no printer".to_owned()))),
            ]
        );
        sleep(millis(500)).await;
        let last = scheduler.history().await.unwrap().remove(0);
        assert_eq!(last.ended, Some((millis(500), Outcome::TimedOut)));
        assert_eq!(since_begin(last.started_at), 5_000);
    });
}

#[test]
fn a_stop_waits_for_the_run_as_long_as_it_may_and_then_stops_it() {
    in_virtual_time(|| async {
        for (takes, outcome) in [(millis(900), Outcome::Done), (secs(100), Outcome::Stopped)] {
            let world = world();
            let work = async move |_: Tick| sleep(takes).await;
            let schedule = every(secs(1)).finish_within(secs(1));
            let scheduler = schedule.start(&world.manager(), work).unwrap();
            sleep(millis(1_500)).await;
            scheduler.stop().await;
            sleep(millis(1)).await;
            assert_eq!(scheduler.history().await.unwrap()[0].ended.clone().unwrap().1, outcome);
        }
    });
}

#[test]
fn a_run_goes_on_while_the_store_is_away() {
    in_virtual_time(|| async {
        let (world, done) = (world(), Rc::new(RefCell::new(false)));
        let seen = Rc::clone(&done);
        let work = async move |_: Tick| {
            sleep(secs(1)).await;
            sleep(secs(2)).await;
            *done.borrow_mut() = true;
        };
        let schedule = Schedule::every(secs(3_600)).named("r").ttl(secs(100));
        let scheduler = schedule.start(&world.manager(), work).unwrap();
        sleep(millis(500)).await;
        scheduler.run_now().await.unwrap();
        sleep(millis(100)).await;
        // The next look at the state.
        world.store.stall_next(1, secs(20));
        sleep(secs(4)).await;
        assert!(*seen.borrow(), "it waits for the store");
    });
}

#[test]
fn a_store_that_has_forgotten_all_runs_no_earlier_tick_again() {
    in_virtual_time(|| async {
        let (world, ran) = (world(), Ran::default());
        start(every(secs(60)), &world.manager(), 1, &ran);
        sleep(secs(61)).await;
        world.store.restart();
        sleep(secs(60)).await;
        assert_eq!(ran.times(), [60_000, 120_000]);
    });
}

#[test]
fn a_store_without_registers_runs_nothing_and_nobody_stands() {
    in_virtual_time(|| async {
        let nodes = (0..3).map(|number| {
            (number.to_string(), std::sync::Arc::new(world().store) as std::sync::Arc<dyn QuorumNode>)
        });
        let options = QuorumOptions { fresh_start: true, ..QuorumOptions::default() };
        let store = QuorumStore::new(nodes, options).unwrap();
        let ran = Ran::default();
        let locks = World::new().builder_on(std::sync::Arc::new(store)).start_here().unwrap();
        let scheduler = start(every(secs(1)), &locks, 1, &ran);
        sleep(secs(5)).await;
        assert_eq!(scheduler.history().await.unwrap_err().kind(), "unsupported");
        assert_eq!(ran.times(), [0; 0]);
        let listed = locks.send(List::new("").schedules()).await.unwrap().unwrap_err();
        assert!(matches!(listed, InspectError::Store(StoreError::Unsupported { .. })), "{listed}");
        let leader = scheduler.election().send(leasehold::election::Leader).await.unwrap().unwrap();
        assert_eq!(leader, None);
    });
}

#[test]
fn what_cannot_be_a_schedule_is_refused() {
    in_virtual_time(|| async {
        let locks = world().manager();
        let refused = |schedule: Schedule| -> InvalidValue {
            schedule.start(&locks, async |_| {}).expect_err("refused")
        };
        let second = || every(secs(1));
        for (schedule, field) in [
            (Schedule::every(secs(1)), "schedule.named"),
            (every(millis(9)), "schedule.every"),
            (every(Duration::from_micros(10_500)), "schedule.every"),
            (second().at_most(Duration::ZERO), "schedule.at_most"),
            (second().at_least(secs(3_600 * 24 * 400)), "schedule.at_least"),
            (second().jitter(secs(1)), "schedule.jitter"),
            (second().finish_within(TTL / 3 + millis(1)), "schedule.finish_within"),
            (second().misfire(Misfire::All(0)), "schedule.misfire"),
            (second().overlap(0), "schedule.overlap"),
            (second().history(101), "schedule.history"),
        ] {
            assert_eq!(refused(schedule).field, field);
        }
        second().finish_within(TTL / 3).start(&locks, async |_| {}).expect("a third of the TTL counts");
    });
}

#[test]
fn a_time_to_finish_above_a_third_of_the_ttl_of_the_manager_runs_nothing() {
    in_virtual_time(|| async {
        let third = Settings::default().lease.ttl / 3;
        for (finishes_within, runs) in [(third, 5), (third + millis(1), 0)] {
            let (world, ran) = (world(), Ran::default());
            let schedule = Schedule::every(secs(1)).named("r").finish_within(finishes_within);
            start(schedule, &world.manager(), 1, &ran);
            sleep(millis(5_500)).await;
            assert_eq!(ran.numbers().len(), runs, "{finishes_within:?}");
        }
    });
}
#[test]
fn a_cron_expression_ticks_by_the_clocks_of_its_zone_also_where_they_are_put_forward() {
    in_virtual_time(|| async {
        let (world, ran) = (World::new(), Ran::default());
        // In the night to 2026-03-29 the clocks of Berlin go from 2:00 to 3:00, at 1:00 UTC.
        let gap = UNIX_EPOCH + secs(1_774_746_000);
        let next_night = gap + secs(23 * 3_600 + 1_800);
        world.store.set_time(gap - secs(5));
        let schedule = Schedule::cron("0 30 2 * * *", "Europe/Berlin").named("r").misfire(Misfire::Skip);
        start(schedule, &world.manager(), 1, &ran);
        sleep(secs(10)).await;
        world.store.set_time(next_night - secs(5));
        sleep(secs(10)).await;
        let ticks: Vec<_> = ran.0.borrow().iter().map(|(_, tick)| tick.scheduled_for).collect();
        assert_eq!(ticks, [gap, next_night]);
    });
}
#[test]
fn what_is_no_cron_expression_or_no_zone_is_refused() {
    in_virtual_time(|| async {
        let locks = world().manager();
        for (expression, zone, field) in
            [("* * * * *", "UTC", "schedule.cron"), ("0 * * * * *", "Mars/Olympus", "schedule.zone")]
        {
            let refused = Schedule::cron(expression, zone).named("r").start(&locks, async |_| {});
            assert_eq!(refused.unwrap_err().field, field);
        }
    });
}
