//! The actor beside a manager, on the store in memory and in virtual time.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use actix::{Actor, Addr, Context, Handler};
use tokio::{runtime::Builder, task::LocalSet, time::sleep};

use crate::{
    core::Backoff,
    lease::Lease,
    manager::LockManager,
    request::{Acquire, AcquireError, SetTuning, Settings, Shutdown, TunerSettings, Tuning, tuning::Sample},
    runtime::env::RuntimeClock,
    store::MemoryStore,
    tuner::{Figure, StopTuner, Tuner, TunerEvent, TunerRule},
};

#[derive(Clone, Default)]
struct Listener(Arc<Mutex<Vec<TunerEvent>>>);

impl Actor for Listener {
    type Context = Context<Self>;
}

impl Handler<TunerEvent> for Listener {
    type Result = ();

    fn handle(&mut self, event: TunerEvent, _: &mut Self::Context) {
        self.0.lock().unwrap().push(event);
    }
}

fn in_virtual_time(test: impl AsyncFnOnce(Addr<LockManager>)) {
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    LocalSet::new().block_on(&runtime, async {
        let clock = Arc::new(RuntimeClock::start());
        let mut settings = Settings::default();
        settings.wait.timeout = Duration::from_secs(3_600);
        settings.limits.max_waiters = 100;
        let store = Arc::new(MemoryStore::new(clock.clone()));
        let locks = LockManager::builder(store).settings(settings).clock(clock);
        let locks = locks.backoff_by(|_, _| Some(Duration::from_millis(50))).start_here().unwrap();
        test(locks.clone()).await;
        // It may have been sent before.
        let _ = locks.send(Shutdown { drain: Duration::ZERO }).await;
    });
}

async fn tuning(locks: &Addr<LockManager>) -> Tuning {
    locks.send(SetTuning::default()).await.unwrap().unwrap()
}

/// Has 40 wait for a resource that is held. Returns its lease.
async fn crowd(locks: &Addr<LockManager>) -> Lease {
    let lease = locks.send(Acquire::new("r")).await.unwrap().unwrap();
    for _ in 0..40 {
        let answer = locks.send(Acquire::new("r"));
        actix_rt::spawn(async move { answer.await.map(drop) });
    }
    lease
}

fn start(locks: &Addr<LockManager>, dry_run: bool) -> (Addr<Tuner>, Listener) {
    let (settings, listener) =
        (TunerSettings { enabled: true, dry_run, ..Default::default() }, Listener::default());
    let builder = Tuner::builder(locks).settings(settings).tell(listener.clone().start().recipient());
    (builder.start().unwrap(), listener)
}

#[test]
fn a_queue_that_nobody_serves_is_closed_to_newcomers_with_an_event() {
    in_virtual_time(async |locks| {
        let _held = crowd(&locks).await;
        let (_tuner, listener) = start(&locks, false);
        sleep(Duration::from_secs(3)).await;
        assert_eq!(tuning(&locks).await.max_waiters, TunerSettings::default().min_waiters);
        let refused = locks.send(Acquire::new("r")).await.unwrap().unwrap_err();
        assert!(matches!(refused, AcquireError::QueueFull { .. }), "{refused}");
        let told = listener.0.lock().unwrap().clone();
        assert_eq!(told.len(), 1, "{told:?}");
        assert_eq!(
            (told[0].rule, told[0].dry_run, told[0].from.max_waiters),
            (TunerRule::ShedEarly, false, 100)
        );
        assert_eq!(told[0].reason, "40 to 40 waited, 0.0 are served a second, and 200ms are allowed");
    });
}

#[test]
fn a_dry_run_tells_the_same_and_sets_nothing() {
    in_virtual_time(async |locks| {
        let before = tuning(&locks).await;
        let _held = crowd(&locks).await;
        let (tuner, listener) = start(&locks, true);
        tuner.do_send(Figure { name: "orders".to_owned(), value: f64::NAN });
        sleep(Duration::from_secs(30)).await;
        assert_eq!(tuning(&locks).await, before);
        let told = listener.0.lock().unwrap().clone();
        assert_eq!(
            told.iter().map(|it| (it.rule, it.dry_run)).collect::<Vec<_>>(),
            [(TunerRule::ShedEarly, true)]
        );
    });
}

#[test]
fn a_tuner_that_is_not_enabled_does_nothing_and_one_ends_with_its_manager() {
    in_virtual_time(async |locks| {
        let _held = crowd(&locks).await;
        let idle = Tuner::builder(&locks).start().unwrap();
        let (tuner, _) = start(&locks, true);
        sleep(Duration::from_secs(10)).await;
        assert_eq!(tuning(&locks).await.max_waiters, 100);
        assert!(idle.connected() && tuner.connected());
        locks.send(Shutdown { drain: Duration::ZERO }).await.unwrap();
        sleep(Duration::from_secs(1)).await;
        assert!(!tuner.connected());
    });
}

#[test]
fn a_tuner_that_ends_leaves_nothing_of_what_it_has_set_and_all_that_others_have() {
    in_virtual_time(async |locks| {
        let _held = crowd(&locks).await;
        let (tuner, _) = start(&locks, false);
        sleep(Duration::from_secs(3)).await;
        assert_eq!(tuning(&locks).await.max_waiters, TunerSettings::default().min_waiters);
        let wait = Some(Duration::from_secs(7));
        locks.send(SetTuning { wait, ..Default::default() }).await.unwrap().unwrap();
        tuner.send(StopTuner).await.unwrap();
        sleep(Duration::from_millis(1)).await;
        let now = tuning(&locks).await;
        assert_eq!((now.max_waiters, Some(now.wait), tuner.connected()), (100, wait, false));
        assert!(
            locks.send(Sample(None)).await.unwrap().unwrap().own_pauses,
            "its pauses are those of before"
        );
    });
}

#[test]
fn what_somebody_sets_is_what_a_tuner_returns_to_at_whichever_moment_it_is_set() {
    // At the end of the first window the tuner samples, asks for the load, and sets. The wish comes after so many turns.
    for (millis, turns) in (1_000..1_010).flat_map(|millis| (0..8).map(move |turns| (millis, turns))) {
        in_virtual_time(async |locks| {
            let _held = crowd(&locks).await;
            let (tuner, told) = start(&locks, false);
            sleep(Duration::from_millis(millis)).await;
            for _ in 0..turns {
                tokio::task::yield_now().await;
            }
            let wish = SetTuning { max_waiters: Some(90), ..Default::default() };
            locks.send(wish).await.unwrap().unwrap();
            sleep(Duration::from_secs(6)).await;
            assert!(!told.0.lock().unwrap().is_empty());
            tuner.send(StopTuner).await.unwrap();
            sleep(Duration::from_millis(1)).await;
            assert_eq!(tuning(&locks).await.max_waiters, 90, "after {millis} ms and {turns} turns");
        });
    }
}

#[test]
fn a_second_tuner_waits_until_the_first_has_ended() {
    in_virtual_time(async |locks| {
        let _held = crowd(&locks).await;
        let (first, _) = start(&locks, false);
        sleep(Duration::from_secs(1)).await;
        let (_second, told) = start(&locks, false);
        sleep(Duration::from_secs(3)).await;
        assert!(told.0.lock().unwrap().is_empty());
        first.send(StopTuner).await.unwrap();
        sleep(Duration::from_secs(3)).await;
        assert_eq!(told.0.lock().unwrap().iter().map(|it| it.from.max_waiters).collect::<Vec<_>>(), [100]);
    });
}

#[test]
fn requests_that_say_how_long_they_wait_say_nothing_about_the_wait_of_the_settings() {
    in_virtual_time(async |locks| {
        let _held = locks.send(Acquire::new("r")).await.unwrap().unwrap();
        let (_tuner, listener) = start(&locks, false);
        let wait = Duration::from_millis(20);
        for _ in 0..300 {
            let refused = locks.send(Acquire::new("r").wait(wait)).await.unwrap();
            assert!(matches!(refused, Err(AcquireError::Held { .. })), "{refused:?}");
        }
        sleep(Duration::from_secs(3)).await;
        assert!(listener.0.lock().unwrap().is_empty());
        locks.send(SetTuning { wait: Some(wait), ..Default::default() }).await.unwrap().unwrap();
        for _ in 0..300 {
            let refused = locks.send(Acquire::new("r")).await.unwrap();
            assert!(matches!(refused, Err(AcquireError::Held { .. })), "{refused:?}");
        }
        let sampled = locks.send(Sample(None)).await.unwrap().unwrap();
        // Who got the first lease waited by default, too.
        assert_eq!((sampled.granted, sampled.timed_out), (1, 300));
    });
}

#[test]
fn settings_change_while_the_manager_runs_as_a_configuration_would_accept_them() {
    in_virtual_time(async |locks| {
        let before = tuning(&locks).await;
        let set =
            SetTuning { wait: Some(Duration::from_millis(10)), max_waiters: Some(1), ..Default::default() };
        assert_eq!(locks.send(set).await.unwrap().unwrap(), before);
        let now = tuning(&locks).await;
        assert_eq!((now.wait, now.max_waiters, now.backoff), (Duration::from_millis(10), 1, before.backoff));
        let wrong = Backoff { multiplier: f64::NAN, ..Backoff::DEFAULT };
        for (set, field) in [
            (SetTuning { wait: Some(Duration::MAX), ..Default::default() }, "wait.timeout"),
            (SetTuning { max_waiters: Some(0), ..Default::default() }, "max_waiters"),
            (
                SetTuning { max_waiters: Some(101), wait: Some(Duration::ZERO), ..Default::default() },
                "max_waiters",
            ),
            (SetTuning { backoff: Some(wrong), ..Default::default() }, "backoff.multiplier"),
        ] {
            assert_eq!(locks.send(set).await.unwrap().unwrap_err().field, field);
            assert_eq!(tuning(&locks).await, now);
        }
        locks.send(SetTuning::from(before)).await.unwrap().unwrap();
        assert_eq!(tuning(&locks).await, before);
    });
}

#[test]
fn a_setting_out_of_its_bounds_is_refused_by_name() {
    in_virtual_time(async |locks| {
        let default = TunerSettings::default;
        for (settings, field) in [
            (TunerSettings { window: Duration::ZERO, ..default() }, "tuner.window"),
            (TunerSettings { burst_wait: Duration::MAX, ..default() }, "tuner.burst_wait"),
            (TunerSettings { standing_wait: Duration::from_secs(2), ..default() }, "tuner.standing_wait"),
            (TunerSettings { max_pause: Duration::ZERO, ..default() }, "tuner.max_pause"),
            (TunerSettings { min_wait: Duration::MAX, ..default() }, "tuner.min_wait"),
            (TunerSettings { min_waiters: 0, ..default() }, "tuner.min_waiters"),
            (TunerSettings { min_attempts: 0, ..default() }, "tuner.min_attempts"),
        ] {
            assert_eq!(Tuner::builder(&locks).settings(settings).start().unwrap_err().field, field);
        }
    });
}
