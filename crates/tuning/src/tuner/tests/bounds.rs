//! The bounds that the rules keep, whatever figures they are fed.

use std::{collections::BTreeMap, time::Duration};

use proptest::{prelude::*, test_runner::Config as Cases};

use leasehold::{
    Backoff, Settings, TunerSettings, Tuning,
    rules::{Queue, Sampled},
    store::ServerLoad,
};

use super::{bounded, enabled, home, tuning};
use crate::tuner::{
    judge::Judge,
    window::{QueueDemand, Window, WindowFigures},
};

/// Any number: among them none, infinite ones and negative ones.
fn number() -> impl Strategy<Value = f64> {
    prop_oneof![any::<f64>(), Just(f64::NAN), Just(f64::INFINITY), Just(0.0), -2.0..2.0, 0.0..1e6]
}

fn figures() -> impl Strategy<Value = WindowFigures> {
    let queue = (any::<u32>(), any::<u32>(), any::<bool>(), number());
    let queue = queue.prop_map(|(fewest, most, stands, rate)| QueueDemand { fewest, most, stands, rate });
    let gauges = proptest::collection::btree_map("[ab]", number(), 0..3);
    let counts = (prop_oneof![any::<u64>(), 0..20_u64], prop_oneof![any::<u64>(), 0..20_u64]);
    let server = [(); 3].map(|()| proptest::option::of(number()));
    (proptest::option::of(queue), counts, server, any::<bool>(), gauges).prop_map(
        |(queue, (granted, timed_out), [load, memory, latency], polls, gauges)| WindowFigures {
            queue,
            granted,
            timed_out,
            polls,
            load,
            memory,
            latency,
            gauges,
        },
    )
}

fn bounds() -> impl Strategy<Value = TunerSettings> {
    let waits = (1..5_000_u64, 0..5_000_u64, 1..3_600_000_u64, 0..3_600_000_u64);
    (waits, 1..u32::MAX, 1..u32::MAX).prop_map(
        |((standing, more, pause, wait), min_waiters, min_attempts)| {
            let (millis, mut bounds) = (Duration::from_millis, enabled());
            (bounds.standing_wait, bounds.burst_wait) = (millis(standing), millis(standing + more));
            (bounds.max_pause, bounds.min_wait) = (millis(pause), millis(wait));
            (bounds.min_waiters, bounds.min_attempts) = (min_waiters, min_attempts);
            bounds
        },
    )
}

fn homes() -> impl Strategy<Value = Tuning> {
    let backoff = (1..3_600_000_u64, 0..3_600_000_u64, proptest::option::of(1..u32::MAX));
    let backoff = backoff.prop_map(|(initial, more, attempts)| {
        let longest = (initial + more).min(3_600_000);
        let backoff = Backoff::new(Duration::from_millis(initial), Duration::from_millis(longest)).unwrap();
        attempts.map_or(backoff, |most| backoff.attempts(most).unwrap())
    });
    let wait = (0..24 * 3_600_000_u64).prop_map(Duration::from_millis);
    (backoff, wait, 1..u32::MAX).prop_map(|(backoff, wait, max_waiters)| tuning(backoff, wait, max_waiters))
}

/// Checks settings as `Config` does.
fn is_accepted(tuning: Tuning) -> bool {
    let mut settings = Settings::default();
    settings.backoff = tuning.backoff;
    (settings.wait.timeout, settings.limits.max_waiters) = (tuning.wait, tuning.max_waiters);
    settings.check().is_ok()
}

proptest! {
    #![proptest_config(Cases::with_cases(400))]

    #[test]
    fn whatever_it_is_fed_a_tuner_stays_within_its_bounds_and_those_of_a_configuration(
        bounds in bounds(),
        home in homes(),
        fed in proptest::collection::vec(figures(), 1..40),
    ) {
        prop_assert!(bounds.check().is_ok() && is_accepted(home));
        let mut judge = Judge::new(bounds.clone(), home);
        let mut now = home;
        for figures in fed {
            for decision in judge.judge(&figures) {
                let to = decision.to;
                prop_assert_eq!(decision.from, now);
                prop_assert!(to != now, "{} changes nothing", decision.rule);
                prop_assert!(is_accepted(to), "{:?}", to);
                prop_assert!((bounds.min_waiters.min(home.max_waiters)..=home.max_waiters).contains(&to.max_waiters));
                prop_assert!((bounds.min_wait.min(home.wait)..=home.wait).contains(&to.wait));
                let (pauses, usual) = (to.backoff, home.backoff);
                prop_assert!(pauses.initial() >= usual.initial() && pauses.max() >= usual.max());
                prop_assert!(pauses.max() <= bounds.max_pause.max(usual.max()) && pauses.initial() <= pauses.max());
                let attempts = usual.max_attempts().map(|most| bounds.min_attempts.min(most)..=most);
                prop_assert!(pauses.max_attempts().zip(attempts.clone()).is_none_or(|(it, range)| range.contains(&it)));
                prop_assert_eq!(pauses.max_attempts().is_some(), attempts.is_some());
                now = to;
            }
        }
        // When nothing happens any more, everything returns.
        let calm = WindowFigures { load: Some(0.0), latency: Some(0.001), ..WindowFigures::default() };
        for _ in 0..400 {
            now = judge.judge(&calm).last().map_or(now, |decision| decision.to);
        }
        prop_assert_eq!(now, home);
    }

    #[test]
    fn a_window_has_figures_of_any_samples(
        samples in proptest::collection::vec((proptest::collection::vec((0..4_u64, any::<u32>(), any::<u64>()), 0..4), any::<u64>()), 0..30),
        busy in proptest::collection::vec(proptest::option::of(any::<u32>()), 3),
        lasted in any::<u32>(),
    ) {
        let mut window = Window::default();
        let tuning = home(1);
        for busy in busy {
            for (queues, since) in &samples {
                let queue = |(key, waiting, granted): &(u64, u32, u64)| Queue { key: *key, waiting: *waiting, granted: *granted };
                let queues = queues.iter().map(queue).collect();
                window.sample(&Sampled { queues, polls: true, own_pauses: false, granted: *since, timed_out: *since / 2, tuning }, Duration::from_nanos(*since));
            }
            let load = busy.map(|busy| vec![load("server", busy.into(), Some(0.5))]);
            let figures = window.close(Duration::from_nanos(lasted.into()), load, None);
            prop_assert!(figures.queue.is_none_or(|queue| queue.rate.is_finite() && queue.rate >= 0.0));
            prop_assert!(figures.load.is_none_or(|load| (0.0..=2.0).contains(&load)));
        }
    }
}

fn load(server: &str, busy: u64, memory: Option<f64>) -> ServerLoad {
    let mut load = ServerLoad::new(server, Duration::from_millis(busy));
    load.memory = memory;
    load
}

#[test]
fn of_several_servers_the_busiest_and_the_fullest_count() {
    let mut window = Window::default();
    let mut after = |loads: Vec<ServerLoad>| {
        let figures = window.close(Duration::from_secs(1), Some(loads), None);
        (figures.load, figures.memory)
    };
    // The one that has worked for longest has little to do now.
    assert_eq!(after(vec![load("a", 90_000, Some(0.2)), load("b", 100, None)]), (None, Some(0.2)));
    assert_eq!(after(vec![load("b", 850, Some(0.7)), load("a", 90_100, Some(0.3))]), (Some(0.75), Some(0.7)));
    // One that is new says nothing yet, and one that is away is not waited for.
    assert_eq!(after(vec![load("c", 5_000, None), load("a", 90_200, None)]), (Some(0.1), None));
}

#[test]
fn the_work_of_another_server_is_no_load_of_this_one() {
    let mut window = Window::default();
    let mut after =
        |busy: u64| window.close(Duration::from_secs(1), Some(vec![load("server", busy, None)]), None).load;
    // A replica that has run for longer, and one that was started again, take its place.
    assert_eq!([100, 600, 900_000, 900_250, 10].map(&mut after), [None, Some(0.5), None, Some(0.25), None]);
}

#[test]
fn settings_that_somebody_else_changes_are_what_a_tuner_returns_to() {
    let home = home(100);
    let mut judge = Judge::new(enabled(), home);
    let queue = QueueDemand { fewest: 50, most: 50, stands: true, rate: 100.0 };
    let figures = WindowFigures { queue: Some(queue), gauges: BTreeMap::new(), ..WindowFigures::default() };
    let decided = judge.judge(&figures);
    assert_eq!(decided.iter().map(|it| it.to.max_waiters).collect::<Vec<_>>(), [20]);
    judge.notice(bounded(home, 20));
    let way_home = judge.way_home().unwrap();
    assert_eq!((way_home.max_waiters, way_home.wait, way_home.backoff), (Some(100), None, None));
    let mut others = bounded(home, 30);
    others.wait = Duration::from_secs(2);
    judge.notice(others);
    assert!(judge.way_home().is_none());
}

#[test]
fn what_somebody_set_right_before_a_change_is_what_a_tuner_returns_to() {
    let home = home(100);
    let mut judge = Judge::new(enabled(), home);
    let queue = QueueDemand { fewest: 50, most: 50, stands: true, rate: 100.0 };
    let decided = judge.judge(&WindowFigures { queue: Some(queue), ..WindowFigures::default() });
    assert_eq!(decided[0].to.max_waiters, 20);
    judge.carried_out(&decided[0], bounded(home, 90));
    let way_home = judge.way_home().unwrap();
    assert_eq!((way_home.max_waiters, way_home.wait, way_home.backoff), (Some(90), None, None));
}

#[test]
fn a_change_that_was_refused_is_not_asked_for_again_and_again() {
    let home = home(100);
    let mut judge = Judge::new(enabled(), home);
    let figures = WindowFigures { polls: true, load: Some(1.0), ..WindowFigures::default() };
    let mut asked = Vec::new();
    for window in 0..100 {
        judge.notice(home);
        for decision in judge.judge(&figures) {
            judge.refused(&decision);
            asked.push((window, decision.to.backoff.initial()));
        }
    }
    let once = home.backoff.initial() * 2;
    assert!(asked.len() <= 2 && asked.iter().all(|(_, pause)| *pause == once), "{asked:?}");
}

#[test]
fn a_step_back_that_was_lost_is_made_again() {
    let home = home(100);
    let mut judge = Judge::new(enabled(), home);
    let loaded = WindowFigures {
        polls: true,
        load: Some(1.0),
        timed_out: 30,
        granted: 10,
        ..WindowFigures::default()
    };
    let mut now = home;
    for _ in 0..4 {
        now = judge.judge(&loaded).last().map_or(now, |decision| decision.to);
    }
    assert!(now.backoff != home.backoff && now.wait != home.wait, "{now:?}");
    let calm = WindowFigures { polls: true, load: Some(0.0), ..WindowFigures::default() };
    for window in 0..60 {
        for decision in judge.judge(&calm) {
            if window < 8 { judge.refused(&decision) } else { now = decision.to }
        }
    }
    assert_eq!(now, home);
}

#[test]
fn a_change_that_was_refused_is_nobody_s_wish() {
    let home = home(100);
    let mut judge = Judge::new(enabled(), home);
    let queue = QueueDemand { fewest: 50, most: 50, stands: true, rate: 100.0 };
    let decided = judge.judge(&WindowFigures { queue: Some(queue), ..WindowFigures::default() });
    judge.refused(&decided[0]);
    assert!(judge.way_home().is_none());
    judge.notice(home);
    assert!(judge.is_home(home) && judge.way_home().is_none());
}
