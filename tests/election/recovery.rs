//! Runs that did not end: the next runner runs their ticks again, once, if the schedule says so; and a schedule that pauses by itself.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    env,
    rc::Rc,
    sync::{Arc, mpsc::channel},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use leasehold::{
    LockManager, RedisStore, ResourceName, Shutdown,
    schedule::{Control, Outcome, Recover, Run, Schedule, Tick},
};
use serde::{Deserialize, Serialize};
use tokio::time::sleep;

use leasehold_testing::{
    process::{Process, this_program},
    servers::RedisServer,
    waiting::PATIENCE,
};
use support::{
    odd_store::odd_store,
    virtual_time::{World, in_virtual_time, millis, secs},
};

const TTL: Duration = secs(2);

fn every(period: Duration) -> Schedule {
    Schedule::every(period).named("r").ttl(TTL)
}

/// The number, the attempt and the scheduled time of each run, in seconds.
type Runs = Rc<RefCell<Vec<(u64, u32, u64)>>>;

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// Cuts the runner off from the store in its first run of so many seconds, and has another one follow it. Returns the runs of both,
/// with the time since the first, and the history.
async fn after_a_runner_was_cut_off(recover: Recover) -> (Vec<(u64, u32, u64)>, Vec<Run>) {
    let world = World::new();
    let odd = odd_store(world.store.clone());
    let (first, second) = (world.builder_on(Arc::new(odd.clone())).start_here().unwrap(), world.manager());
    let runs = Runs::default();
    for locks in [&first, &second] {
        let runs = Rc::clone(&runs);
        let work = async move |tick: Tick| {
            runs.borrow_mut().push((tick.number, tick.attempt, seconds(tick.scheduled_for)));
            sleep(secs(3)).await;
        };
        let schedule = every(secs(10)).recover(recover);
        schedule.start(locks, work).unwrap();
        sleep(millis(10)).await;
    }
    sleep(secs(11)).await;
    assert_eq!(runs.borrow().len(), 1);
    odd.go_down(true);
    sleep(secs(25)).await;
    let name = ResourceName::new("r").unwrap();
    let history = Control::find(&second, &name).await.unwrap().unwrap().history().await.unwrap();
    let mut runs = runs.take();
    let first = runs[0].2;
    runs.iter_mut().for_each(|(_, _, time)| *time -= first);
    (runs, history)
}

#[test]
fn a_tick_whose_runner_was_cut_off_is_lost_or_run_again_as_the_policy_says() {
    in_virtual_time(|| async {
        let (runs, history) = after_a_runner_was_cut_off(Recover::Skip).await;
        assert_eq!(runs, [(1, 1, 0), (2, 1, 10), (3, 1, 20)]);
        let outcome = |run: &Run| run.ended.clone().map(|(_, outcome)| outcome);
        assert_eq!(outcome(&history[2]), Some(Outcome::Stopped), "the register was there");
        let (runs, history) = after_a_runner_was_cut_off(Recover::Again { at_most: 1 }).await;
        assert_eq!(runs, [(1, 1, 0), (2, 2, 0), (3, 1, 10), (4, 1, 20)]);
        let [.., again, lost] = &history[..] else { panic!("{history:?}") };
        assert!(again.tick.fence > lost.tick.fence, "{history:?}");
        assert_eq!((outcome(again), outcome(lost)), (Some(Outcome::Done), Some(Outcome::Stopped)));
    });
}

#[test]
fn a_run_that_was_stopped_with_its_process_is_run_again_by_the_next_one() {
    in_virtual_time(|| async {
        let (world, runs) = (World::new(), Runs::default());
        let managers = [world.manager(), world.manager()];
        for locks in &managers {
            let runs = Rc::clone(&runs);
            let work = async move |tick: Tick| {
                runs.borrow_mut().push((tick.number, tick.attempt, seconds(tick.scheduled_for)));
                sleep(secs(3)).await;
            };
            every(secs(10)).recover(Recover::Again { at_most: 1 }).start(locks, work).unwrap();
            sleep(millis(10)).await;
        }
        while runs.borrow().is_empty() {
            sleep(millis(10)).await;
        }
        managers[0].send(Shutdown { drain: TTL }).await.unwrap();
        sleep(secs(1)).await;
        let runs = runs.borrow();
        let [(1, 1, first), (2, 2, again)] = runs[..] else { panic!("{runs:?}") };
        assert_eq!(first, again);
    });
}

#[test]
fn a_schedule_whose_runs_fail_in_a_row_pauses_for_the_whole_fleet_until_it_is_resumed() {
    in_virtual_time(|| async {
        let (world, runs, fails) = (World::new(), Rc::new(Cell::new(0)), Rc::new(Cell::new(true)));
        let start = |locks| {
            let (runs, fails) = (Rc::clone(&runs), Rc::clone(&fails));
            let work = async move |_| {
                runs.set(runs.get() + 1);
                if fails.get() { Err("no paper") } else { Ok(()) }
            };
            every(secs(1)).pause_after(3).start(locks, work).unwrap()
        };
        let (first, second) = (world.manager(), world.manager());
        let scheduler = start(&first);
        sleep(millis(10)).await;
        let other = start(&second);
        sleep(secs(10)).await;
        assert_eq!(runs.get(), 3);
        assert!(other.is_paused().await.unwrap());
        first.send(Shutdown { drain: TTL }).await.unwrap();
        sleep(secs(10)).await;
        assert_eq!(runs.get(), 3, "the pause is not that of its process");
        fails.set(false);
        other.resume().await.unwrap();
        sleep(secs(5)).await;
        assert!(runs.get() >= 7 && !other.is_paused().await.unwrap(), "{}", runs.get());
        drop(scheduler);
    });
}

#[test]
fn what_cannot_be_recovered_or_counted_is_refused() {
    in_virtual_time(|| async {
        let locks = World::new().manager();
        let refused = |schedule: Schedule| {
            let error = schedule.start(&locks, async |_| {}).unwrap_err();
            (error.field, error.value)
        };
        let again = |at_most| every(secs(1)).recover(Recover::Again { at_most });
        assert_eq!(refused(again(0)), ("schedule.recover".into(), "0".into()));
        assert_eq!(refused(again(101)), ("schedule.recover".into(), "101".into()));
        let after = |failures| every(secs(1)).history(5).pause_after(failures);
        assert_eq!(refused(after(0)), ("schedule.pause_after".into(), "0".into()));
        assert_eq!(refused(after(6)), ("schedule.pause_after".into(), "6".into()));
    });
}

/// A line that a process says of a run: as it begins, and when it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Said {
    done: bool,
    number: u64,
    attempt: u32,
    scheduled_for: u64,
    fence: u64,
}

/// The test below, as it is named on the command line, and the URL of its server.
const TEST: &str = "election::recovery::runs_for_its_fleet";
const URL: &str = "LEASEHOLD_RECOVERY_URL";
/// The number of the run of a runner that its test cuts, unless it is a repetition.
const CUT: usize = 3;

#[test]
#[ignore = "a process of the fleet, which starts it"]
fn runs_for_its_fleet() {
    let url = env::var(URL).expect("started by the fleet");
    println!();
    actix::System::new().block_on(async {
        let locks = LockManager::builder(Arc::new(RedisStore::open(&url).unwrap())).start().unwrap();
        let runs = Rc::new(Cell::new((0, 0)));
        let work = async move |tick: Tick| {
            let fence = tick.fence.unwrap().get();
            let (last, count) = runs.get();
            runs.set((fence, if last == fence { count + 1 } else { 1 }));
            let said = Said {
                done: false,
                number: tick.number,
                attempt: tick.attempt,
                scheduled_for: tick.scheduled_for.duration_since(UNIX_EPOCH).unwrap().as_millis() as u64,
                fence,
            };
            println!("{}", serde_json::to_string(&said).unwrap());
            // The one that the test cuts lasts until then, however late that is.
            let is_cut = runs.get().1 == CUT && tick.attempt == 1;
            sleep(if is_cut { PATIENCE } else { millis(100) }).await;
            println!("{}", serde_json::to_string(&Said { done: true, ..said }).unwrap());
        };
        every(millis(300)).ttl(secs(5)).recover(Recover::Again { at_most: 1 }).start(&locks, work).unwrap();
        std::future::pending::<()>().await;
    });
}

#[test]
fn each_tick_whose_process_is_killed_in_the_middle_of_it_is_run_once_more_by_another_process() {
    const KILLED: usize = 2;
    let server = RedisServer::start();
    let (say, said) = channel::<(usize, Said)>();
    let start = |number: usize| {
        let mut process = Process::start(this_program(TEST).env(URL, server.url()));
        let say = say.clone();
        process.tell(move |line| {
            serde_json::from_str(&line).map_or(true, |said| say.send((number, said)).is_ok())
        });
        process
    };
    let mut fleet: BTreeMap<usize, Process> = (0..3).map(|number| (number, start(number))).collect();
    let (mut killed, mut began, mut done) = (Vec::<Said>::new(), Vec::new(), Vec::new());
    let patience = Instant::now() + 4 * PATIENCE;
    // Until the last tick that was cut has been run again, and others after it.
    while killed.len() < KILLED
        || done.last().is_none_or(|last: &Said| last.fence <= killed[KILLED - 1].fence)
    {
        let (number, it) = said.recv_timeout(patience.saturating_duration_since(Instant::now())).unwrap();
        if it.done {
            done.push(it);
            continue;
        }
        began.push(it);
        let before = began.iter().filter(|other| other.fence == it.fence).count();
        if killed.len() < KILLED && before == CUT && it.attempt == 1 {
            fleet.remove(&number).expect("it runs").kill();
            killed.push(it);
            let next = number + 3;
            fleet.insert(next, start(next));
        }
    }
    for cut in &killed {
        let again: Vec<_> =
            began.iter().filter(|it| it.scheduled_for == cut.scheduled_for && it.attempt > 1).collect();
        let [again] = again[..] else { panic!("{cut:?} was run again as {again:?}") };
        assert!(
            again.attempt == 2 && again.fence > cut.fence && again.number > cut.number,
            "{cut:?} {again:?}"
        );
        assert!(done.iter().any(|it| it.number == again.number), "{again:?}");
    }
    // A process that a busy machine kept from renewing has lost its run as well.
    for again in began.iter().filter(|it| it.attempt > 1) {
        let is_of_it = |it: &&Said| it.scheduled_for == again.scheduled_for && it.attempt < again.attempt;
        assert!(began.iter().any(|it| is_of_it(&it)) && !done.iter().any(|it| is_of_it(&it)), "{again:?}");
    }
    let mut ticks: Vec<_> = began.iter().map(|it| (it.scheduled_for, it.attempt)).collect();
    let all = ticks.len();
    ticks.sort_unstable();
    ticks.dedup();
    assert_eq!(ticks.len(), all, "no attempt is run twice: {began:?}");
}
